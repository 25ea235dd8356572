/** From the opening of a handle to its end: whether it takes calls, what its closing ends, and what that waits for. */
import { closed, type DatabaseError } from '../model';
import type { DatabaseTables } from '../store/schema';
import type { CallOptions, Store, StoreEvent } from '../store/store';
import { Served } from './served';

export class Lifetime {
  /** Calls that closing waits for, besides those of the writer. */
  readonly served = new Served();
  /** Through this, closing ends the feeds, however many: `onAbort` listens once for all of them. */
  readonly #feeds = new AbortController();
  /** Aborted by closing, which cannot wait for the streams that attachments are being read from: they may never end. */
  readonly #sources = new AbortController();
  readonly #unwatch: () => void;
  /** Set when the database was closed, destroyed or lost, from when on every call is refused; with the cause, if something failed. */
  #gone: { readonly cause?: DatabaseError } | undefined;

  constructor(store: Store<DatabaseTables>) {
    this.#unwatch = store.watch((event) => this.#hear(event));
  }

  /** Aborted when feeds end. */
  get feeds(): AbortSignal {
    return this.#feeds.signal;
  }

  /** Aborted when streams that are read from are left. */
  get sources(): AbortSignal {
    return this.#sources.signal;
  }

  /** Why calls are refused, if they are. */
  get refusal(): DatabaseError | undefined {
    return this.#gone && (this.#gone.cause ?? closed());
  }

  /** Begins a call. @throws closed; the reason of an aborted signal */
  begin({ signal }: CallOptions): void {
    if (this.#gone !== undefined) throw this.refusal;
    signal?.throwIfAborted();
  }

  /** Takes no more calls. Resolves when those that it serves are answered. */
  async end(): Promise<void> {
    this.#stop();
    this.#sources.abort(closed());
    await this.served.over();
  }

  #stop(): void {
    this.#gone ??= {};
    this.#unwatch();
    this.#feeds.abort();
  }

  #hear(event: StoreEvent): void {
    if (event.type === 'destroyed') this.#stop();
    // Feeds hear of a lost storage from the store, and fail; closing merely ends them.
    else if (event.type === 'lost') this.#gone ??= { cause: event.cause };
  }
}
