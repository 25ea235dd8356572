/**
 * A handle's queries by index. Their code is loaded when it is first needed: a program that only reads by id does not pay for
 * it. All handles on a database share its indexes; functions and names of views belong to each handle.
 */
import { type Database, type LocalDatabase, notImplemented, type Queries } from '@settledb/core';
import type { Indexes, IndexingProgress, LiveQueries, LocalQueries, RegisteredViews } from '@settledb/query';
import { queryCode } from './code';
import type { LocalSettleOptions } from './options';

/** Events for a handle's listeners. */
interface QueryEvents {
  indexing(progress: IndexingProgress): void;
  error(error: unknown): void;
}

interface Opened {
  readonly database: Database;
  readonly queries: Promise<LocalQueries>;
  /** Set once they are loaded. */
  ready: Queries | undefined;
  /** Those that it hears, likewise. */
  indexes: Indexes | undefined;
}

const indexesOf = new WeakMap<Database, Indexes>();

/** Queries with live results of their own, which need not query anew for each change. */
interface WithLive {
  live(host: LiveHost, life: AbortSignal): LiveQueries;
}
type LiveHost = ConstructorParameters<typeof LiveQueries>[0];

export class HandleQueries {
  readonly #options: LocalSettleOptions;
  readonly #events: QueryEvents;
  #opened: Opened | undefined;

  constructor(options: LocalSettleOptions, events: QueryEvents) {
    this.#options = options;
    this.#events = events;
  }

  /** Like {@link of}, if they are loaded already. */
  ready(database: Database): Queries | undefined {
    return this.#opened?.database === database ? this.#opened.ready : undefined;
  }

  /** The queries of a database: its own, if it has them (a remote one), otherwise those of its indexes. */
  of(database: Database): Promise<Queries> {
    if ('query' in database) return Promise.resolve(database as unknown as Queries);
    if (!('store' in database)) return Promise.reject(notImplemented('This database answers no queries'));
    if (this.#opened?.database !== database) {
      this.leave();
      this.#opened = this.#open(database as LocalDatabase);
    }
    return this.#opened.queries;
  }

  /** Live results on a database, for the handle `host`: they share its changes feed, and end with this `life`. */
  liveOf(database: Database, host: LiveHost, life: AbortSignal): Promise<LiveQueries> {
    if (this.#live?.database === database && this.#live.life === life) return this.#live.live;
    const made = { database, life, live: this.#makeLive(database, host, life) };
    this.#live = made;
    made.live.catch(() => {
      // This caller gets the error, and the next one tries again.
      if (this.#live === made) this.#live = undefined;
    });
    return made.live;
  }
  #live:
    | { readonly database: Database; readonly life: AbortSignal; readonly live: Promise<LiveQueries> }
    | undefined;

  async #makeLive(database: Database, host: LiveHost, life: AbortSignal): Promise<LiveQueries> {
    const [{ LiveQueries }, queries] = await Promise.all([queryCode.load(), this.of(database)]);
    return 'live' in queries
      ? (queries as unknown as WithLive).live(host, life)
      : new LiveQueries(host, life);
  }

  /** Loads the code for indexes that follow writes without a query. */
  begin(database: Database | undefined): void {
    if (database !== undefined && hasPolicy(this.#options.views)) void this.of(database).catch(() => {});
  }

  /** Hears no more of the database, and defines no views there. */
  leave(): void {
    const { indexing, error } = this.#events;
    this.#opened?.indexes?.off('indexing', indexing).off('error', error);
    // If their code could not be loaded, nothing was defined, and the caller has the error.
    for (const left of [this.#opened?.queries, this.#live?.live])
      left?.then(
        (each) => each.leave(),
        () => {},
      );
    this.#opened = undefined;
    this.#live = undefined;
  }

  #open(database: LocalDatabase): Opened {
    const queries = queryCode.load().then(({ Indexes, LocalQueries }) => {
      const indexes = indexesOf.get(database) ?? new Indexes(database);
      indexesOf.set(database, indexes);
      const { evaluate, views } = this.#options;
      const made = new LocalQueries(database, indexes, { evaluate, views });
      const { indexing, error } = this.#events;
      if (this.#opened === opened) opened.indexes = indexes.on('indexing', indexing).on('error', error);
      return made;
    });
    const opened: Opened = { database, queries, ready: undefined, indexes: undefined };
    queries.then(
      (ready) => (opened.ready = ready),
      () => {
        // This caller gets the error, and the next one tries again.
        if (this.#opened === opened) this.#opened = undefined;
      },
    );
    return opened;
  }
}

/** Whether any index is to follow writes. Invalid views count as views that are not: the first query reports what is wrong with them. */
const hasPolicy = (views: RegisteredViews | null = {}): boolean =>
  Object.values(views ?? {}).some((view) => typeof view === 'object' && (view?.update ?? 'lazy') !== 'lazy');
