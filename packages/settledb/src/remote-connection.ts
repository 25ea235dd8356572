/** Between a handle and a database behind a URL. */
import { type CallOptions, closed, type Database, inMicrotask } from '@settledb/core';
import type { Connection, ConnectionEvents } from './connection';
import { Life } from './life';
import { WaitingCalls } from './waiting-calls';

/** A database behind a URL. */
type Remote = Database & { readonly address: string | undefined };

/**
 * The remote connections of this realm that are not closed, to tell them of a destruction. Held weakly: handles on URLs are made for a
 * call or two, and need not be closed. Dead references are swept here, not by a FinalizationRegistry: Chromium throws a page
 * that is called back out of the back/forward cache.
 */
const remotes = new Set<WeakRef<RemoteConnection>>();
/** At so many references, living and dead, the dead are swept; then at twice the number of the living. */
const SWEEP_MIN = 64;
let sweepAt = SWEEP_MIN;

function remember(remote: WeakRef<RemoteConnection>): void {
  remotes.add(remote);
  if (remotes.size < sweepAt) return;
  for (const each of remotes) if (each.deref() === undefined) remotes.delete(each);
  sweepAt = Math.max(SWEEP_MIN, 2 * remotes.size);
}

/** A connection to a remote database, which is always there, whatever happens to its calls. Only its code has to be loaded. */
export class RemoteConnection implements Connection {
  readonly #self = new WeakRef(this);
  readonly #load: () => Promise<Remote>;
  readonly #events: ConnectionEvents;
  #opening: Promise<Remote> | undefined;
  #database: Remote | undefined;
  readonly #calls = new WaitingCalls();
  readonly #life = new Life();
  #closing: Promise<void> | undefined;

  /** @param load gives the database; called again after it rejected */
  constructor(load: () => Promise<Remote>, events: ConnectionEvents) {
    this.#load = load;
    this.#events = events;
    remember(this.#self);
    void this.#open(); // The first call reports the error.
    inMicrotask(() => events.opened(false));
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
    const answer = this.#calls.wait(work, signal);
    void this.#open();
    return answer;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async destroy(options: CallOptions): Promise<{ ok: true }> {
    // If another handle is destroying it too, each tells its own handle.
    remotes.delete(this.#self);
    try {
      await this.run((database) => database.destroy(options), options.signal);
    } catch (error) {
      if (this.#closing === undefined) remember(this.#self);
      throw error;
    }
    const { address } = this.#database!; // It was used above.
    this.#closing = Promise.resolve();
    this.#life.end();
    this.#events.destroyed();
    for (const ref of remotes) {
      const other = ref.deref();
      if (other !== undefined) void other.#destroyedBy(address);
    }
    return { ok: true };
  }

  /** Another handle destroyed the database: feeds end, like those of local handles. Calls still ask the server, which reports it. */
  async #destroyedBy(address: string | undefined): Promise<void> {
    // Without waiting where it is known: the feeds that are requested when `destroy` has resolved are of what is there then.
    const database = this.#database ?? (await this.#open().catch(() => undefined));
    if (database?.address !== address || !remotes.has(this.#self)) return;
    this.#life.end();
    this.#events.destroyed();
  }

  #open(): Promise<Remote> {
    if (this.#opening !== undefined) return this.#opening;
    const opening = this.#load();
    this.#opening = opening;
    // With nothing in between: a call that need not wait comes after those that did.
    opening.then(
      (database) => {
        this.#database = database;
        this.#calls.start(database);
      },
      (error: unknown) => {
        this.#opening = undefined;
        this.#calls.fail(error);
      },
    );
    return opening;
  }

  async #close(): Promise<void> {
    remotes.delete(this.#self);
    this.#life.end();
    // Calls made before come first.
    const database = await this.#open().catch(() => undefined);
    await database?.close();
  }
}
