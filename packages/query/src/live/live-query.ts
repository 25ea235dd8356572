/**
 * A result that stays current: asked anew, or brought up to date, when documents change, and told only when it became another.
 *
 * It works while somebody subscribes or iterates, and not before or after: then it hears no changes and holds nothing but its
 * last result, so that what is unchanged keeps its identity when somebody comes back.
 */
import { isDatabaseError, onAbort } from '@settledb/core';
import { type Changed, type ChangeHub, MAX_IDS } from './hub';

/** What listens to results: a function, or an observer as Observables have them. */
export type LiveObserver<Result> =
  | ((result: Result) => void)
  | {
      readonly next?: ((result: Result) => void) | undefined;
      /** Asking failed; nothing follows. Without it the error goes to whoever has such: it is an unhandled rejection. */
      readonly error?: ((error: unknown) => void) | undefined;
      /** Its signal was aborted, it was cancelled, or the database was closed. */
      readonly complete?: (() => void) | undefined;
    };

/** Ends a subscription: call it, or its method. */
export interface Unsubscribe {
  (): void;
  unsubscribe(): void;
}

export interface LiveQuery<Result> extends AsyncIterable<Result> {
  /** The latest result; `undefined` before the first, and while nobody subscribes. */
  readonly current: Result | undefined;
  /** Calls with the result there is, if there is one, and with each that follows. What a listener throws harms nobody else. */
  subscribe(observer: LiveObserver<Result>): Unsubscribe;
  /** Each pass of the loop gets the latest result: those that came while it was busy are skipped. */
  [Symbol.asyncIterator](): AsyncIterator<Result, undefined>;
  /** Ends it for everyone, as its `signal` does. */
  cancel(): void;
}

/** Makes the results of one question. */
export interface Evaluator<Result> {
  /**
   * @param changed what may differ from the last result; `undefined`: everything
   * @param last the result before, to keep what is the same
   * @returns `last` itself when nothing changed
   */
  evaluate(changed: Changed | undefined, last: Result | undefined): Promise<Result>;
}

/**
 * ms between two evaluations: a frame. A burst of writes is one evaluation, and a question that takes long is asked at most
 * half of the time.
 */
const MIN_INTERVAL_MS = 16;

const observableSymbol: symbol =
  (Symbol as { readonly observable?: symbol }).observable ?? Symbol.for('observable');

type Listener<Result> = Exclude<LiveObserver<Result>, (result: Result) => void>;

export class RunningQuery<Result> implements LiveQuery<Result> {
  readonly #hub: ChangeHub;
  readonly #makeEvaluator: () => Evaluator<Result>;
  readonly #listeners = new Set<Listener<Result>>();
  #last: Result | undefined;
  /** What runs while there are listeners. */
  #run: Run<Result> | undefined;
  /** Heard while it runs: a signal that lives long must not keep the results that were left. */
  readonly #signal: AbortSignal | undefined;
  #unlisten: (() => void) | undefined;
  #ended: { readonly error?: unknown } | undefined;

  /** @param makeEvaluator called each time it begins to work, as an evaluation of the time before may still be under way */
  constructor(hub: ChangeHub, makeEvaluator: () => Evaluator<Result>, signal?: AbortSignal | undefined) {
    this.#hub = hub;
    this.#makeEvaluator = makeEvaluator;
    this.#signal = signal;
  }

  get current(): Result | undefined {
    return this.#run?.current;
  }

  subscribe(observer: LiveObserver<Result>): Unsubscribe {
    // An object of its own: the same observer may subscribe twice.
    const listener = typeof observer === 'function' ? { next: observer } : { ...bound(observer) };
    const leave = (): void => this.#leave(listener);
    if (this.#signal?.aborted) this.#ended ??= {};
    if (this.#ended !== undefined) queueMicrotask(() => end(listener, this.#ended!));
    else this.#join(listener);
    return Object.assign(leave, { unsubscribe: leave });
  }

  [Symbol.asyncIterator](): AsyncIterator<Result, undefined> {
    return new LatestIterator(this);
  }

  /** For `from(live)` of RxJS and others. */
  [observableSymbol](): this {
    return this;
  }

  cancel(): void {
    this.#end({});
  }

  #join(listener: Listener<Result>): void {
    this.#listeners.add(listener);
    if (this.#run !== undefined) {
      if (this.#run.current !== undefined) safely(listener.next, this.#run.current);
      return;
    }
    this.#run = new Run(this.#hub, this.#makeEvaluator(), this.#last, {
      next: (result) => {
        this.#last = result;
        for (const each of [...this.#listeners]) safely(each.next, result);
      },
      end: (ending) => this.#end(ending),
    });
    this.#unlisten = this.#signal && onAbort(this.#signal, () => this.cancel());
  }

  #leave(listener: Listener<Result>): void {
    if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#stop();
  }

  #stop(): void {
    this.#unlisten?.();
    this.#run?.stop();
    this.#run = undefined;
  }

  #end(ending: { readonly error?: unknown }): void {
    if (this.#ended !== undefined) return;
    this.#ended = ending;
    this.#stop();
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const each of listeners) end(each, ending);
  }
}

interface RunEvents<Result> {
  next(result: Result): void;
  end(ending: { readonly error?: unknown }): void;
}

/** From the first listener to the last: hears changes, evaluates, tells. */
class Run<Result> {
  current: Result | undefined;
  readonly #evaluator: Evaluator<Result>;
  readonly #events: RunEvents<Result>;
  readonly #leaveHub: () => void;
  /** What was heard since the last evaluation began. */
  #changed: Set<string> | 'all' | undefined;
  #last: Result | undefined;
  #evaluating = false;
  #stopped = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #notBefore = 0;

  constructor(
    hub: ChangeHub,
    evaluator: Evaluator<Result>,
    last: Result | undefined,
    events: RunEvents<Result>,
  ) {
    this.#evaluator = evaluator;
    this.#events = events;
    this.#last = last;
    this.#leaveHub = hub.join({
      ready: () => this.#hear(undefined),
      changed: (ids) => this.#hear(ids),
      end: (ending) => this.#end(ending),
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#leaveHub();
    clearTimeout(this.#timer);
  }

  #hear(ids: Changed | undefined): void {
    if (this.#changed !== 'all') {
      this.#changed ??= new Set();
      for (const id of ids ?? []) this.#changed.add(id);
      if (ids === undefined || this.#changed.size > MAX_IDS) this.#changed = 'all';
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#stopped || this.#evaluating || this.#timer !== undefined) return;
    const wait = Math.max(0, this.#notBefore - performance.now());
    // Even without a wait not at once: the rest of a burst is on its way.
    this.#timer = setTimeout(() => void this.#evaluate(), wait);
  }

  async #evaluate(): Promise<void> {
    this.#timer = undefined;
    const changed = this.#changed;
    this.#changed = undefined;
    this.#evaluating = true;
    const began = performance.now();
    try {
      const first = this.current === undefined;
      const asked = changed === 'all' || first ? undefined : changed;
      const result = await this.#evaluator.evaluate(asked, this.#last);
      if (this.#stopped) return;
      const isNew = first || result !== this.#last;
      this.#last = result;
      this.current = result;
      if (isNew) this.#events.next(result);
    } catch (error) {
      // A database that was closed while it was asked ends what lives on it, as at any other time.
      this.#end(isDatabaseError(error) && error.name === 'closed' ? {} : { error });
    }
    const took = performance.now() - began;
    this.#notBefore = performance.now() + Math.max(MIN_INTERVAL_MS, took);
    this.#evaluating = false;
    if (this.#changed !== undefined) this.#schedule();
  }

  #end(ending: { readonly error?: unknown }): void {
    if (!this.#stopped) this.#events.end(ending);
  }
}

/** One loop over results: keeps the latest that was not taken. */
class LatestIterator<Result> implements AsyncIterator<Result, undefined> {
  readonly #leave: () => void;
  #latest: { readonly value: Result } | undefined;
  #ended: { readonly error?: unknown } | undefined;
  #asked: {
    readonly resolve: (next: IteratorResult<Result, undefined>) => void;
    readonly reject: (error: unknown) => void;
  }[] = [];

  constructor(live: LiveQuery<Result>) {
    this.#leave = live.subscribe({
      next: (value) => {
        const asked = this.#asked.shift();
        if (asked === undefined) this.#latest = { value };
        else asked.resolve({ value, done: false });
      },
      error: (error) => this.#end({ error }),
      complete: () => this.#end({}),
    });
  }

  next(): Promise<IteratorResult<Result, undefined>> {
    const latest = this.#latest;
    this.#latest = undefined;
    if (latest !== undefined) return Promise.resolve({ value: latest.value, done: false });
    if (this.#ended === undefined)
      return new Promise((resolve, reject) => this.#asked.push({ resolve, reject }));
    const ended = this.#ended;
    this.#ended = {}; // An error is thrown once; then the loop is over.
    return 'error' in ended ? Promise.reject(ended.error) : Promise.resolve(DONE);
  }

  return(): Promise<IteratorResult<Result, undefined>> {
    this.#leave();
    this.#latest = undefined;
    this.#end({});
    return Promise.resolve(DONE);
  }

  #end(ending: { readonly error?: unknown }): void {
    if (this.#ended !== undefined) return;
    this.#ended = ending;
    for (const asked of this.#asked.splice(0)) {
      if ('error' in this.#ended) {
        const { error } = this.#ended;
        this.#ended = {};
        asked.reject(error);
      } else asked.resolve(DONE);
    }
  }
}

const DONE: IteratorResult<never, undefined> = Object.freeze({ value: undefined, done: true });

/** Methods of an observer may use `this`. */
function bound<Result>(observer: Listener<Result>): Listener<Result> {
  return {
    next: observer.next?.bind(observer),
    error: observer.error?.bind(observer),
    complete: observer.complete?.bind(observer),
  };
}

function end<Result>(listener: Listener<Result>, ending: { readonly error?: unknown }): void {
  if (!('error' in ending)) safely(listener.complete);
  else if (listener.error !== undefined) safely(listener.error, ending.error);
  else void Promise.reject(ending.error); // Nobody else would hear of it.
}

function safely<A extends unknown[]>(listener: ((...args: A) => void) | undefined, ...args: A): void {
  try {
    listener?.(...args);
  } catch (error) {
    // As an event listener's: the platform's business, not the other listeners'.
    globalThis.reportError?.(error);
  }
}
