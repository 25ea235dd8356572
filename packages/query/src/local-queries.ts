/** All queries of a local database that use indexes: views, Mango, and live results. */
import type {
  CallOptions,
  CreateIndexRequest,
  Database,
  FindRequest,
  IndexFields,
  MapFunction,
  Queries,
  ViewOptions,
  ViewSource,
} from '@settledb/core';
import type { Indexes, IndexHost } from './indexes';
import type { WatchCommits } from './live/hub';
import { type LiveHost, LiveQueries } from './live/live';
import { Mango } from './mango/mango';
import { Views, type ViewsOptions } from './views';

export class LocalQueries implements Required<Queries> {
  readonly #views: Views;
  readonly #mango: Mango;
  readonly #store: IndexHost['store'];

  constructor(database: Database & IndexHost, indexes: Indexes, options: ViewsOptions = {}) {
    this.#views = new Views(database, indexes, options);
    this.#mango = new Mango(database, indexes);
    this.#store = database.store;
  }

  /** The handle that these belong to is closed. */
  leave(): void {
    this.#views.leave();
  }

  /** @param host the handle that the results belong to @param life they end with it */
  live(host: LiveHost, life: AbortSignal): LiveQueries {
    const watch: WatchCommits = (listener) =>
      this.#store.watch(({ type }) => {
        if (type === 'commit') listener();
      });
    return new LiveQueries(host, life, this.#mango, watch);
  }

  query(view: string | MapFunction | ViewSource, options?: ViewOptions) {
    return this.#views.query(view, options);
  }

  queries(view: string, queries: readonly ViewOptions[], options?: CallOptions) {
    return this.#views.queries(view, queries, options);
  }

  viewCleanup(options?: CallOptions) {
    return this.#views.viewCleanup(options);
  }

  viewInfo(ddoc: string, options?: CallOptions) {
    return this.#views.viewInfo(ddoc, options);
  }

  createIndex(request: CreateIndexRequest | IndexFields, options?: CallOptions) {
    return this.#mango.createIndex(request, options);
  }

  getIndexes(options?: CallOptions) {
    return this.#mango.getIndexes(options);
  }

  deleteIndex(index: Parameters<Queries['deleteIndex']>[0], options?: CallOptions) {
    return this.#mango.deleteIndex(index, options);
  }

  find(request: FindRequest) {
    return this.#mango.find(request);
  }

  explain(request: FindRequest) {
    return this.#mango.explain(request);
  }
}
