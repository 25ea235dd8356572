/** `live`: finds, queries of views and lists of documents that stay current. */
import {
  type AllDocsOptions,
  type AllDocsResult,
  type Database,
  type FeedController,
  type FindRequest,
  type FindResult,
  type MapFunction,
  type Queries,
  type ViewOptions,
  type ViewResult,
  type ViewSource,
  whenAborted,
} from '@settledb/core';
import type { Mango } from '../mango/mango';
import { ChangeHub, type IsPassing, type WatchCommits } from './hub';
import { LiveFind } from './live-find';
import { type LiveQuery, RunningQuery } from './live-query';
import type { Evaluator } from './run';
import { sameResult } from './same';

/**
 * Most documents in a live result of a `find` without a `limit`: screens show fewer. A result is held in memory as long as
 * somebody subscribes.
 */
const LIVE_LIMIT = 10_000;

export type LiveHost = Pick<Database, 'info' | 'changes' | 'allDocs'> & Pick<Queries, 'query' | 'find'>;

/** Results that stay current, each as long as somebody subscribes to it. */
export class LiveQueries {
  readonly #host: LiveHost;
  readonly #life: AbortSignal;
  /** Live finds use this; absent if finds are answered elsewhere, as for a remote database. */
  #mango: Mango | undefined;
  readonly #hub: ChangeHub;

  /**
   * @param life aborted when the database is closed or destroyed: results end then, also those that nobody listens to
   * @param isPassing whether a failure will pass: the last results then stay, and queries are repeated. Default: none does
   */
  constructor(
    host: LiveHost,
    life: AbortSignal,
    mango?: Mango | undefined,
    watch?: WatchCommits | undefined,
    isPassing: IsPassing = () => false,
  ) {
    this.#host = host;
    this.#life = life;
    this.#mango = mango;
    this.#hub = new ChangeHub(host, watch, isPassing);
  }

  /** Without a `limit` all documents that match, up to {@link LIVE_LIMIT}: not 25, as of a `find`. It gives no bookmark and no statistics. */
  find(request: FindRequest): LiveQuery<FindResult> {
    const { signal, execution_stats: _, ...rest } = request ?? {};
    const asked: FindRequest = { limit: LIVE_LIMIT, ...(rest as FindRequest) };
    const again = this.#again(async () => {
      const { bookmark: _, ...result } = await this.#host.find(asked);
      return result;
    }, sameFind);
    const make = (): Evaluator<FindResult> => {
      const mango = this.#mango;
      return mango === undefined ? again() : new LiveFind(mango.source, mango.catalog, asked);
    };
    return this.#run(make, signal);
  }

  query(view: string | MapFunction | ViewSource, options: ViewOptions = {}): LiveQuery<ViewResult> {
    const { signal, ...rest } = options;
    return this.#run(
      this.#again(() => this.#host.query(view, rest), sameView),
      signal,
    );
  }

  allDocs(options: AllDocsOptions = {}): LiveQuery<AllDocsResult> {
    const { signal, ...rest } = options;
    return this.#run(
      this.#again(() => this.#host.allDocs(rest), sameAllDocs),
      signal,
    );
  }

  /** The database is no more, or cannot be reached: results that nobody listens to now, and that are kept, must not keep it. */
  leave(): void {
    this.#mango = undefined;
    this.#hub.leave();
  }

  /** Pushes at first and whenever everything is to be queried anew, until cancelled: for listeners that do not hear of purges. */
  tellPurges({ push, signal }: FeedController<true>): Promise<void> {
    return new Promise((resolve, reject) => {
      const anew = (): void => void push(true);
      const leave = this.#hub.join({
        ready: anew,
        changed: (ids) => ids === undefined && anew(),
        end: (ending) => ('error' in ending ? reject(ending.error) : resolve()),
      });
      const end = (): void => {
        leave();
        resolve();
      };
      whenAborted(signal, end);
    });
  }

  #run<Result>(make: () => Evaluator<Result>, signal: AbortSignal | undefined): LiveQuery<Result> {
    return new RunningQuery(this.#hub, make, [this.#life, signal]);
  }

  /** Queries anew each time, and keeps the parts of the last result that are unchanged. */
  #again<Result extends object>(
    ask: () => Promise<Result>,
    keep: (next: Result, last: Result) => Result,
  ): () => Evaluator<Result> {
    return () => ({
      async evaluate(_, last) {
        const next = await ask();
        return last === undefined ? next : keep(next, last);
      },
    });
  }
}

const sameFind = (next: FindResult, last: FindResult): FindResult =>
  sameResult(next, last, 'docs', (doc) => doc._id);
const sameAllDocs = (next: AllDocsResult, last: AllDocsResult): AllDocsResult =>
  sameResult(next, last, 'rows', (row) => row.key);
const sameView = (next: ViewResult, last: ViewResult): ViewResult =>
  sameResult(next, last, 'rows', (row) => JSON.stringify([row.key, row.id]));
