/**
 * Between a handle and its local database: which database it is at the moment, and which calls wait while there is none.
 *
 *   opening ── open ── (destroyed by another) ── idle ── opening at the next call ── open …
 *      │                   └ closed, destroyed by itself: refuses every call from then on
 *      └ failed: refuses the calls that waited ── idle
 */
import { type CallOptions, closed, type Database, type LocalDatabase } from '@settledb/core';
import type { Blocked } from '@settledb/engine';
import type { Connection, ConnectionEvents } from './connection';
import { Life } from './life';
import {
  acquire,
  destroy,
  type Handle,
  type Location,
  release,
  type Shared,
  type SharedOptions,
} from './registry';
import { WaitingCalls } from './waiting-calls';

/** A connection to a database of this realm's registry. */
export class LocalConnection implements Connection, Handle {
  readonly #location: Location;
  readonly #options: SharedOptions;
  readonly #events: ConnectionEvents;
  #shared: Shared | undefined;
  #database: Database | undefined;
  readonly #calls = new WaitingCalls();
  readonly #life = new Life();
  #closing: Promise<void> | undefined;
  #created = false;
  /** Closed by its user. */
  #left = false;
  #over = false;

  /** Begins to open. */
  constructor(location: Location, options: SharedOptions, events: ConnectionEvents) {
    this.#location = location;
    this.#options = options;
    this.#events = events;
    this.#open();
  }

  get current(): Database | undefined {
    return this.#closing === undefined ? this.#database : undefined;
  }

  get life(): AbortSignal {
    return this.#life.signal;
  }

  run<T>(work: (database: Database) => Promise<T>, signal?: AbortSignal | undefined): Promise<T> {
    if (this.#closing !== undefined) return Promise.reject(closed());
    if (this.#database !== undefined) return this.#calls.behind(work(this.#database));
    if (signal?.aborted) return Promise.reject(signal.reason);
    const answer = this.#calls.wait(work, signal);
    if (this.#shared === undefined) this.#open();
    return answer;
  }

  /** Calls made before are passed on first. Idempotent. */
  close(): Promise<void> {
    this.#left = true;
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async destroy({ signal }: CallOptions): Promise<{ ok: true }> {
    if (this.#closing !== undefined) throw closed();
    signal?.throwIfAborted();
    const work = destroy(this.#location, this);
    this.#closing = work.catch(() => {});
    this.#life.end();
    try {
      await work;
    } catch (error) {
      // The database still exists, and so does this handle, unless it was closed meanwhile.
      if (!this.#left) this.#closing = undefined;
      // Another handle may have destroyed the one before: this handle is to hear of the next.
      this.#over = this.#left;
      throw error;
    }
    return { ok: true };
  }

  detached(lost: boolean): void {
    this.#shared = undefined;
    this.#database = undefined;
    this.#events.detached?.();
    if (!lost) this.#life.end();
    if (this.#calls.none) return;
    if (this.#closing === undefined) this.#open();
    else this.#calls.fail(closed());
  }

  destroyed(evicted?: boolean): void {
    if (this.#over) return;
    this.#over = this.#closing !== undefined;
    this.#events.destroyed(evicted);
  }

  blocked(waiting: Blocked): void {
    this.#events.blocked?.(waiting);
  }

  reading(): void {
    this.#calls.reading();
  }

  #open(): void {
    const shared = acquire(this.#location, this, this.#options);
    this.#shared = shared;
    shared.opening.then(
      (database) => this.#opened(shared, database),
      (error: unknown) => this.#failed(shared, error),
    );
  }

  #opened(shared: Shared, database: LocalDatabase): void {
    if (this.#shared !== shared) return;
    this.#database = database;
    this.#calls.start(database);
    const again = this.#created;
    this.#created = true;
    this.#events.opened(again);
  }

  #failed(shared: Shared, error: unknown): void {
    if (this.#shared !== shared) return;
    // By the next call, another tab may have let go of it, or the browser's storage may be back.
    this.#shared = undefined;
    this.#calls.fail(error);
  }

  async #close(): Promise<void> {
    // Before anything is awaited: a replication whose requests are refused from now on would fail.
    this.#life.end();
    await this.#shared?.opening.catch(() => {}); // whoever waits for it is told
    const shared = this.#shared;
    // A closed handle may be kept for long, and must not keep what was in memory.
    this.#shared = undefined;
    this.#database = undefined;
    // Nor hear of a destruction that was asked for before, and is done when another tab lets go.
    this.#over = true;
    if (shared !== undefined) await release(this.#location, shared, this);
  }
}
