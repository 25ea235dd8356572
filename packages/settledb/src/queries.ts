/**
 * What a handle asks by index. The code for it is loaded when it is first needed: a program that only reads by id does not pay for
 * it. The indexes of a database are one thing for all handles on it; functions and names of views are each handle's own.
 */
import { type Database, type LocalDatabase, notImplemented, type Queries } from '@settledb/core';
import type { Indexes, IndexingProgress, RegisteredViews, Views } from '@settledb/query';
import type { LocalSettleOptions } from './options';

export type ViewQueries = Pick<Queries, 'query' | 'queries' | 'viewCleanup' | 'viewInfo'>;

/** What a handle tells its listeners. */
export interface QueryEvents {
  indexing(progress: IndexingProgress): void;
  error(error: unknown): void;
}

interface Opened {
  readonly database: Database;
  readonly queries: Promise<ViewQueries>;
  leave(): void;
}

const indexesOf = new WeakMap<Database, Indexes>();

export class HandleQueries {
  readonly #options: LocalSettleOptions;
  readonly #events: QueryEvents;
  #opened: Opened | undefined;

  constructor(options: LocalSettleOptions, events: QueryEvents) {
    this.#options = options;
    this.#events = events;
  }

  /** The queries of a database: its own, where it has them (a remote one), else those of its indexes. */
  of(database: Database): Promise<ViewQueries> {
    if ('query' in database) return Promise.resolve(database as unknown as ViewQueries);
    if (!('store' in database)) return Promise.reject(notImplemented('This database answers no queries'));
    if (this.#opened?.database !== database) {
      this.leave();
      this.#opened = this.#open(database as LocalDatabase);
    }
    return this.#opened.queries;
  }

  /** Loads what follows writes unasked. */
  begin(database: Database | undefined): void {
    if (database !== undefined && hasPolicy(this.#options.views)) void this.of(database).catch(() => {});
  }

  /** Hears no more of the database. */
  leave(): void {
    this.#opened?.leave();
    this.#opened = undefined;
  }

  #open(database: LocalDatabase): Opened {
    let leave = (): void => {};
    let left = false;
    const queries = import('@settledb/query').then(({ Indexes, Views }): Views => {
      const indexes = indexesOf.get(database) ?? new Indexes(database);
      indexesOf.set(database, indexes);
      const { indexing, error } = this.#events;
      leave = () => indexes.off('indexing', indexing).off('error', error);
      if (!left) indexes.on('indexing', indexing).on('error', error);
      const { evaluate, views } = this.#options;
      return new Views(database, indexes, { evaluate, views });
    });
    return {
      database,
      queries,
      leave: () => {
        left = true;
        leave();
      },
    };
  }
}

const hasPolicy = (views: RegisteredViews = {}): boolean =>
  Object.values(views).some((view) => typeof view === 'object' && (view.update ?? 'lazy') !== 'lazy');
