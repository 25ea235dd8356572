/** What a handle knows of its database: a local one, which may come and go, or one behind a URL. */
import type { CallOptions, Database } from '@settledb/core';
import type { Blocked } from '@settledb/engine';

export interface Connection {
  /** The database, when calls need not wait. */
  readonly current: Database | undefined;
  /** Aborted when feeds on the database must end: it was closed, destroyed or lost. */
  readonly life: AbortSignal;
  /** Calls `work` with the database as soon as there is one; calls keep their order. */
  run<T>(work: (database: Database) => Promise<T>, signal?: AbortSignal | undefined): Promise<T>;
  close(): Promise<void>;
  destroy(options: CallOptions): Promise<{ ok: true }>;
}

/** Events of a connection for its handle. */
export interface ConnectionEvents {
  /** The database is open; `again`: another one was before. */
  opened(again: boolean): void;
  /** The database is no more, or cannot be reached: nothing that belongs to it is of use any longer. */
  detached?(): void;
  /** The database was destroyed, by this handle or another; `evicted`: by the browser. */
  destroyed(evicted?: boolean): void;
  /** Opening or destroying it waits for another context. */
  blocked?(waiting: Blocked): void;
}
