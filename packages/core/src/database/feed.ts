/**
 * One primitive for everything that goes on for a while: changes, replications, syncs. A {@link Feed} can be iterated
 * (`for await`), awaited for its result, listened to (`on`) and ended (`cancel`, or the call's `signal`).
 *
 * {@link BasicFeed} is that primitive around a driver: one async function that is handed a {@link FeedController}, pushes
 * items, and returns the result. Iteration, events, cancelling and the reporting of failures are settled here, once.
 */
import { inMicrotask } from '../store/timers';
import { type AnyEvents, Emitter } from './emitter';
import { Controller, type FeedController } from './feed-controller';
import { Reader } from './feed-reader';
import { either, whenAborted } from './on-abort';

/** What `error` listeners get, and a feed rejects with: usually a DatabaseError, otherwise a TypeError or what a filter threw. */
export type FeedError = Error & {
  readonly status?: number;
  readonly reason?: string;
  readonly docId?: string;
};

/** The events that every feed has. */
export interface FeedEvents<Item, Result> {
  /** Each item, as soon as it is there; the feed does not wait for listeners. */
  change: Item;
  /** The end, also of a cancelled feed; what awaiting the feed gives. */
  complete: Result;
  /** The end by a failure; what awaiting the feed rejects with. */
  error: FeedError;
}

/** What goes on for a while: iterate over it, await its result, listen to it, end it. */
export interface Feed<Item, Result, Events extends object = FeedEvents<Item, Result>>
  extends AsyncIterable<Item>,
    Promise<Result> {
  /** Iteration pulls: the feed reads on when the loop is done with an item. Leaving the loop cancels the feed. */
  [Symbol.asyncIterator](): AsyncIterator<Item>;
  /** Calls `listener` at each `event` from now on. The same function added twice is called twice. */
  on<E extends keyof Events & string>(event: E, listener: (value: Events[E]) => void): this;
  /** As {@link on}, for the next time only. */
  once<E extends keyof Events & string>(event: E, listener: (value: Events[E]) => void): this;
  /** Removes the latest addition of `listener`; no error if there is none. */
  off<E extends keyof Events & string>(event: E, listener: (value: Events[E]) => void): this;
  /** As {@link off}. */
  removeListener<E extends keyof Events & string>(event: E, listener: (value: Events[E]) => void): this;
  /** Removes the listeners of `event`, or of all events. */
  removeAllListeners(event?: keyof Events & string): this;
  /** Whether it was cancelled, by {@link cancel}, its signal, or the end of its database. PouchDB's spelling. */
  readonly canceled: boolean;
  /** Ends the feed: no item follows, not even one that is in flight; the result is then that of a cancelled feed. Idempotent. */
  cancel(): void;
}

/** Does the work of a feed. What it returns is the feed's result and goes with `complete`; what it throws, with `error`. */
type FeedDriver<Item, Result> = (controller: FeedController<Item>) => Promise<Result> | Result;

export interface FeedOptions<Result> {
  /** Aborting it is cancelling: the feed ends with its cancelled result, iteration ends without an error. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The result of a cancelled feed: it then ends within a microtask of `cancel()`, and whatever the driver still does,
   * returns or throws is not heard (cancelled before it began, it does not begin). Without this a cancelled feed ends when the
   * driver returns, with what that returns; the driver watches `controller.signal`, which may be aborted when it begins.
   */
  readonly cancelled?: (() => Result) | undefined;
  /**
   * The first `push` waits until there is somebody to deliver to, so that whoever iterates or listens a little later misses
   * nothing. Default false: the work goes on unobserved, as a replication should.
   */
  readonly holds?: boolean | undefined;
}

type Outcome<Result> = { readonly result: Result } | { readonly error: unknown };

/**
 * A {@link Feed} around `run`, which starts in a microtask, so that listeners added in the same turn hear everything.
 *
 * - Events: `change` (item), `complete` (result) or `error`, the last two once and before the promise settles; others as
 *   the driver emits them. What a listener throws harms neither the feed nor other listeners (see {@link Emitter}).
 * - A failure is an unhandled rejection exactly when nobody ever listened, iterated or awaited: with listeners only,
 *   even if none is for `error`, there is none.
 * - The promise and the iterators exist only when asked for; an item costs no promise where nobody iterates.
 */
export class BasicFeed<Item, Result, Events extends object = AnyEvents>
  extends Emitter<Events>
  implements Feed<Item, Result, Events>
{
  readonly #options: FeedOptions<Result>;
  readonly #readers = new Set<Reader<Item>>();
  readonly #unlisten: () => void;
  #cancelled = false;
  #abort: AbortController | undefined;
  #outcome: Outcome<Result> | undefined;
  #promise: Promise<Result> | undefined;
  #settlePromise: (() => void) | undefined;
  /** Somebody listened, iterated or awaited at some time. */
  #observed = false;
  readonly #onObserved: (() => void)[] = [];
  readonly #onOver: (() => void)[] = [];

  constructor(run: FeedDriver<Item, Result>, options: FeedOptions<Result> = {}) {
    super();
    this.#options = options;
    this.#unlisten = whenAborted(options.signal, () => this.cancel());
    inMicrotask(() => void this.#start(run));
  }

  /** Makes a feed count as a `Promise` for the compiler, as PouchDB's do: `event.waitUntil(db.replicate.to(…))`. */
  override get [Symbol.toStringTag](): string {
    return 'Feed';
  }

  then<A = Result, B = never>(
    onFulfilled?: ((result: Result) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#asPromise().then(onFulfilled, onRejected);
  }

  catch<Other = never>(
    onRejected?: ((reason: unknown) => Other | PromiseLike<Other>) | null,
  ): Promise<Result | Other> {
    return this.#asPromise().catch(onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<Result> {
    return this.#asPromise().finally(onFinally);
  }

  /** Each iterator gets every item from now on, and the feed goes at the pace of the slowest. */
  [Symbol.asyncIterator](): AsyncIterator<Item> {
    const reader = new Reader<Item>(() => this.cancel());
    if (this.#outcome !== undefined) reader.end(this.#outcome);
    else if (this.#cancelled) reader.abandon();
    else this.#readers.add(reader);
    this.#observe();
    return reader;
  }

  override on<E extends keyof Events & string>(event: E, listener: (value: Events[E]) => void): this {
    super.on(event, listener);
    return this.#observe();
  }

  override once<E extends keyof Events & string>(event: E, listener: (value: Events[E]) => void): this {
    super.once(event, listener);
    return this.#observe();
  }

  /**
   * Calls `listener` when the feed has ended, in whatever way; at once if it already has. For code that cleans up after somebody
   * else's feed: unlike `on` and `then` it does not count as having heard of a failure.
   */
  whenOver(listener: () => void): void {
    if (this.#outcome !== undefined) listener();
    else this.#onOver.push(listener);
  }

  get canceled(): boolean {
    return this.#cancelled;
  }

  cancel(): void {
    if (this.#cancelled || this.#outcome !== undefined) return;
    this.#cancelled = true;
    for (const reader of this.#readers) reader.abandon();
    this.#readers.clear();
    this.#release();
    this.#abort?.abort();
    const { cancelled } = this.#options;
    // Not at once, so that `feed.cancel(); feed.on('complete', …)` hears it too.
    if (cancelled !== undefined) inMicrotask(() => this.#end({ result: cancelled() }));
  }

  async #start(run: FeedDriver<Item, Result>): Promise<void> {
    if (this.#cancelled && this.#options.cancelled !== undefined) return;
    try {
      this.#end({ result: await run(this.#controller()) });
    } catch (error) {
      this.#end({ error });
    }
  }

  #controller(): FeedController<Item> {
    return new Controller<Item>({
      signal: () => this.#signal(),
      cancelled: () => this.#cancelled,
      heard: () => !this.#observed || this.#readers.size > 0 || this.listens('change'),
      push: (item) => this.#push(item),
      emit: (event, value) => {
        if (!this.#cancelled) this.fire(event, value);
      },
      cancel: () => this.cancel(),
    });
  }

  #signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#cancelled) this.#abort.abort();
    }
    return this.#abort.signal;
  }

  #push(item: Item): Promise<void> | undefined {
    if (this.#cancelled) return undefined;
    if (this.#options.holds && !this.#observed) return this.#pushWhenObserved(item);
    this.fire('change', item);
    let waits: Promise<void>[] | undefined;
    for (const reader of this.#readers) {
      const wait = reader.give(item);
      if (wait !== undefined) waits = [...(waits ?? []), wait];
    }
    if (waits === undefined || waits.length === 1) return waits?.[0];
    return Promise.all(waits).then(() => undefined);
  }

  async #pushWhenObserved(item: Item): Promise<void> {
    await new Promise<void>((resolve) => this.#onObserved.push(resolve));
    await this.#push(item);
  }

  #observe(): this {
    this.#observed = true;
    this.#release();
    return this;
  }

  #release(): void {
    for (const go of this.#onObserved.splice(0)) go();
  }

  #end(outcome: Outcome<Result>): void {
    if (this.#outcome !== undefined) return;
    const { cancelled } = this.#options;
    // Even if the driver ended between `cancel()` and this, the feed counts as cancelled.
    const final = this.#cancelled && cancelled !== undefined ? { result: cancelled() } : outcome;
    this.#outcome = final;
    this.#unlisten();
    for (const reader of this.#readers) reader.end(final);
    this.#readers.clear();
    for (const over of this.#onOver) over();
    if ('error' in final) this.fire('error', final.error);
    else this.fire('complete', final.result);
    if (this.#settlePromise !== undefined) this.#settlePromise();
    // Nobody has listened: an ordinary rejected promise, which the platform reports unless somebody attaches to it at once.
    else if ('error' in final && !this.#observed) this.#promise ??= Promise.reject(final.error);
  }

  #asPromise(): Promise<Result> {
    this.#observe();
    this.#promise ??= new Promise((resolve, reject) => {
      const settle = (): void => {
        const outcome = this.#outcome!; // called only after the end
        if ('error' in outcome) reject(outcome.error);
        else resolve(outcome.result);
      };
      if (this.#outcome === undefined) this.#settlePromise = settle;
      else settle();
    });
    return this.#promise;
  }
}

/** The feed that `begin` makes; `over` is called when it has ended, or if it does not begin. */
export function begun<F extends object>(over: () => void, begin: () => F): F {
  let feed: F | undefined;
  try {
    feed = begin();
    return feed;
  } finally {
    if (feed instanceof BasicFeed) feed.whenOver(over);
    else over();
  }
}

/** As {@link begun}, given a signal that is aborted when one of `signals` is. They are listened to until the feed ends. */
export function feedUntil<F extends object>(
  signals: readonly (AbortSignal | null | undefined)[],
  begin: (signal: AbortSignal) => F,
): F {
  const { signal, leave } = either(...signals);
  return begun(leave, () => begin(signal));
}
