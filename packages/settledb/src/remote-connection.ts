/** Between a handle and a database behind a URL. */
import { type CallOptions, closed, type Database, onAbort } from '@settledb/core';
import type { Connection, ConnectionEvents } from './connection';

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
    if (this.#opening !== undefined) return this.#opening;
    const opening = this.#load();
    this.#opening = opening;
    // First of what waits for it, and with nothing in between: a call that need not wait comes after those that did.
    opening.then(
      (database) => {
        this.#database = database;
      },
      () => {
        this.#opening = undefined;
      },
    );
    return opening;
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
