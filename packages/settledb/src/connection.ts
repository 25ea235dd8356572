/**
 * Between a handle and its database: which one it is at the moment, and what waits while there is none.
 *
 *   opening ── open ── (destroyed by another) ── idle ── opening at the next call ── open …
 *      │                   └ closed, destroyed by itself: refuses every call from then on
 *      └ failed: refuses the calls that waited ── idle
 */
import { type CallOptions, closed, type Database, type LocalDatabase, onAbort } from '@settledb/core';
import type { Blocked } from '@settledb/engine';
import {
  acquire,
  destroy,
  type Handle,
  type Location,
  release,
  type Shared,
  type SharedOptions,
} from './registry';

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

/** What a connection tells its handle. */
export interface ConnectionEvents {
  /** The database is open; `again`: another one was before. */
  opened(again: boolean): void;
  /** The database was destroyed, by this handle or by whomever; `evicted`: by the browser. */
  destroyed(evicted?: boolean): void;
  /** Opening or destroying it waits for another context. */
  blocked?(waiting: Blocked): void;
}

interface Waiting {
  /** Asked for before opening read: what that read answers it. */
  early: boolean;
  readonly start: (database: Database) => void;
  readonly fail: (error: unknown) => void;
}

/** A connection to a database of this realm's registry. */
export class LocalConnection implements Connection, Handle {
  readonly #location: Location;
  readonly #options: SharedOptions;
  readonly #events: ConnectionEvents;
  #shared: Shared | undefined;
  #database: Database | undefined;
  #waiting: Waiting[] = [];
  /** Calls that waited and are not answered yet. */
  #late = 0;
  #life = new AbortController();
  #closing: Promise<void> | undefined;
  #created = false;
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
    if (this.#database !== undefined) {
      const answer = work(this.#database);
      // What waited is answered a step later than it was done: nothing asked for after it overtakes it there.
      return this.#late === 0 ? answer : answer.then((value) => value);
    }
    if (signal?.aborted) return Promise.reject(signal.reason);
    const result = new Promise<T>((resolve, reject) => {
      const unlisten =
        signal &&
        onAbort(signal, () => {
          this.#waiting = this.#waiting.filter((each) => each !== waiting);
          reject(signal.reason);
        });
      const waiting: Waiting = {
        early: false,
        start: (database) => {
          unlisten?.();
          this.#late++;
          const settled = <Value>(then: (value: Value) => void) => {
            return (value: Value): void => {
              this.#late--;
              then(value);
            };
          };
          // What one call throws must not keep those behind it waiting for ever.
          try {
            work(database).then(settled(resolve), settled(reject));
          } catch (error) {
            settled(reject)(error);
          }
        },
        fail: (error) => {
          unlisten?.();
          reject(error);
        },
      };
      this.#waiting.push(waiting);
    });
    if (this.#shared === undefined) this.#open();
    return result;
  }

  /** Calls made before are handed on first. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async destroy({ signal }: CallOptions): Promise<{ ok: true }> {
    if (this.#closing !== undefined) throw closed();
    signal?.throwIfAborted();
    const work = destroy(this.#location, this);
    this.#closing = work.catch(() => {});
    try {
      await work;
    } catch (error) {
      this.#closing = undefined; // It is still there, and so is this handle.
      throw error;
    }
    return { ok: true };
  }

  detached(): void {
    this.#shared = undefined;
    this.#database = undefined;
    this.#endFeeds();
    if (this.#waiting.length === 0) return;
    if (this.#closing === undefined) this.#open();
    else this.#failWaiting(closed());
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
    for (const waiting of this.#waiting) waiting.early = true;
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
    for (const { early, start } of this.#waiting.splice(0)) {
      if (early && database.store.asOpened) database.store.asOpened(() => start(database));
      else start(database);
    }
    const again = this.#created;
    this.#created = true;
    this.#events.opened(again);
  }

  #failed(shared: Shared, error: unknown): void {
    if (this.#shared !== shared) return;
    // Another tab may let go of it by the next call, and a browser's storage come back.
    this.#shared = undefined;
    this.#failWaiting(error);
  }

  #failWaiting(error: unknown): void {
    for (const waiting of this.#waiting.splice(0)) waiting.fail(error);
  }

  async #close(): Promise<void> {
    const shared = await this.#settled();
    this.#endFeeds();
    // A closed handle may be kept for long: what was in memory must not be kept with it.
    this.#shared = undefined;
    this.#database = undefined;
    if (shared !== undefined) await release(this.#location, shared, this);
  }

  /** Feeds asked for from now on are those of what comes next: another database, or an error. */
  #endFeeds(): void {
    this.#life.abort(closed());
    this.#life = new AbortController();
  }

  /** When opening is over, and with it the waiting of calls. */
  async #settled(): Promise<Shared | undefined> {
    await this.#shared?.opening.then(
      () => {},
      () => {},
    );
    return this.#shared;
  }
}

/** A database behind a URL. */
type Remote = Database & { readonly address: string | undefined };

/**
 * The remote ones of this realm that are not closed, to tell them of a destruction. Not held by it: handles on URLs are made for a
 * call or two, and nobody need close them. What is left of those is swept here, not by a FinalizationRegistry: Chromium throws a page
 * that is called back out of the back/forward cache.
 */
const remotes = new Set<WeakRef<RemoteConnection>>();
/** Of so many, living and dead, the dead are swept; then of twice as many as live. */
const SWEEP_MIN = 64;
let sweepAt = SWEEP_MIN;

function remember(remote: WeakRef<RemoteConnection>): void {
  remotes.add(remote);
  if (remotes.size < sweepAt) return;
  for (const each of remotes) if (each.deref() === undefined) remotes.delete(each);
  sweepAt = Math.max(SWEEP_MIN, 2 * remotes.size);
}

/** A connection to a database that is always there, whatever may become of its calls: a remote one. Only its code must come. */
export class RemoteConnection implements Connection {
  readonly #self = new WeakRef(this);
  readonly #load: () => Promise<Remote>;
  readonly #events: ConnectionEvents;
  #opening: Promise<Remote> | undefined;
  #database: Remote | undefined;
  #life = new AbortController();
  #closing: Promise<void> | undefined;

  /** @param load the database; called again when it rejected */
  constructor(load: () => Promise<Remote>, events: ConnectionEvents) {
    this.#load = load;
    this.#events = events;
    remember(this.#self);
    this.#open().catch(() => {}); // The first call tells.
    queueMicrotask(() => events.opened(false));
  }

  get current(): Database | undefined {
    return this.#closing === undefined ? this.#database : undefined;
  }

  get life(): AbortSignal {
    return this.#life.signal;
  }

  run<T>(work: (database: Database) => Promise<T>, signal?: AbortSignal | undefined): Promise<T> {
    if (this.#closing !== undefined) return Promise.reject(closed());
    if (this.#database !== undefined) return work(this.#database);
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise<T>((resolve, reject) => {
      const unlisten = signal && onAbort(signal, () => reject(signal.reason));
      const start = (database: Database): Promise<T> => {
        unlisten?.();
        signal?.throwIfAborted();
        return work(database);
      };
      const fail = (error: unknown): never => {
        unlisten?.();
        throw error;
      };
      // Whatever `work` throws rejects, too.
      this.#open().then(start, fail).then(resolve, reject);
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async destroy(options: CallOptions): Promise<{ ok: true }> {
    // Should another one be destroying it too, each tells its own handle.
    remotes.delete(this.#self);
    try {
      await this.run((database) => database.destroy(options), options.signal);
    } catch (error) {
      if (this.#closing === undefined) remember(this.#self);
      throw error;
    }
    const { address } = this.#database!; // It was asked.
    this.#closing = Promise.resolve();
    this.#endFeeds();
    this.#events.destroyed();
    for (const ref of remotes) {
      const other = ref.deref();
      if (other !== undefined) void other.#destroyedBy(address);
    }
    return { ok: true };
  }

  /** Another handle destroyed what is there: feeds end, as those of local handles. Calls go on to ask the server, which says so. */
  async #destroyedBy(address: string | undefined): Promise<void> {
    const database = await this.#open().catch(() => undefined);
    if (database?.address !== address || !remotes.has(this.#self)) return;
    this.#endFeeds();
    this.#events.destroyed();
  }

  #open(): Promise<Remote> {
    this.#opening ??= this.#load().then(
      (database) => {
        this.#database = database;
        return database;
      },
      (error: unknown) => {
        this.#opening = undefined;
        throw error;
      },
    );
    return this.#opening;
  }

  async #close(): Promise<void> {
    remotes.delete(this.#self);
    this.#endFeeds();
    // Calls made before go first.
    const database = await this.#open().catch(() => undefined);
    await database?.close();
  }

  #endFeeds(): void {
    this.#life.abort(closed());
    this.#life = new AbortController();
  }
}
