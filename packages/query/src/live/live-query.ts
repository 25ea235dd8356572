/**
 * A result that stays current: queried anew, or brought up to date, when documents change, and reported only if it differs.
 *
 * It works only while somebody subscribes or iterates: otherwise it hears no changes and holds nothing but its
 * last result, so that what is unchanged keeps its identity when somebody comes back.
 */
import { inMicrotask, onAbort, reportThrown } from '@settledb/core';
import type { ChangeHub } from './hub';
import { LatestIterator } from './latest';
import { type Evaluator, Run } from './run';

/** Listens to results: a function, or an observer as for Observables. */
export type LiveObserver<Result> =
  | ((result: Result) => void)
  | {
      readonly next?: ((result: Result) => void) | undefined;
      /** A query failed; nothing follows. Without this listener the error is an unhandled rejection. */
      readonly error?: ((error: unknown) => void) | undefined;
      /** The signal was aborted, the live result was cancelled, or the database was closed or destroyed. */
      readonly complete?: (() => void) | undefined;
    };

/** Ends a subscription: call it, or its method. */
export interface Unsubscribe {
  (): void;
  unsubscribe(): void;
}

/** A result that stays current while somebody iterates over it or subscribes to it. */
export interface LiveQuery<Result> extends AsyncIterable<Result> {
  /** The latest result; `undefined` before the first. While nobody subscribes, it is what it was when somebody last did. */
  readonly current: Result | undefined;
  /**
   * Calls the observer with the current result, if there is one, and with each that follows, until it leaves. What a listener throws harms no other:
   * it is reported as by an event listener. Bound, as the methods of a handle are: `useSyncExternalStore(live.subscribe, () => live.current)`.
   */
  subscribe(this: void, observer: LiveObserver<Result>): Unsubscribe;
  /** Each pass of the loop gets the latest result: results that came while it was busy are skipped. */
  [Symbol.asyncIterator](): AsyncIterator<Result, undefined>;
  /** Ends the live result for everyone, as its `signal` does. */
  cancel(): void;
}

type Listener<Result> = Exclude<LiveObserver<Result>, (result: Result) => void>;

export class RunningQuery<Result> implements LiveQuery<Result> {
  /** What it works with, until it has ended: one that is kept for longer must not keep a database. */
  #means: { readonly hub: ChangeHub; readonly makeEvaluator: () => Evaluator<Result> } | undefined;
  readonly #listeners = new Set<Listener<Result>>();
  #last: Result | undefined;
  /** The work while there are listeners. */
  #run: Run<Result> | undefined;
  /** Listened to only while it runs: a long-lived signal must not keep abandoned results in memory. */
  readonly #signals: readonly AbortSignal[];
  #unlisten: (() => void)[] = [];
  #ended: { readonly error?: unknown } | undefined;

  /**
   * @param makeEvaluator called each time it starts, because a former evaluation may still be running
   * @param signals each of which ends it
   */
  constructor(
    hub: ChangeHub,
    makeEvaluator: () => Evaluator<Result>,
    signals: readonly (AbortSignal | null | undefined)[],
  ) {
    this.#means = { hub, makeEvaluator };
    this.#signals = signals.filter((signal) => signal != null);
  }

  get current(): Result | undefined {
    return this.#last;
  }

  readonly subscribe = (observer: LiveObserver<Result>): Unsubscribe => {
    // A new object: the same observer may subscribe twice.
    const listener = typeof observer === 'function' ? { next: observer } : { ...bound(observer) };
    const leave = (): void => this.#leave(listener);
    if (this.#signals.some(({ aborted }) => aborted)) this.#end({});
    if (this.#ended === undefined) this.#join(listener);
    else {
      this.#listeners.add(listener);
      inMicrotask(() => this.#listeners.delete(listener) && end(listener, this.#ended!));
    }
    return Object.assign(leave, { unsubscribe: leave });
  };

  [Symbol.asyncIterator](): AsyncIterator<Result, undefined> {
    return new LatestIterator((observer) => this.subscribe(observer));
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
    const { hub, makeEvaluator } = this.#means!; // It has not ended.
    this.#run = new Run(hub, makeEvaluator(), this.#last, {
      next: (result) => {
        this.#last = result;
        // One that left meanwhile, as another took it away or ended it all, hears nothing more.
        for (const each of [...this.#listeners]) if (this.#listeners.has(each)) safely(each.next, result);
      },
      end: (ending) => this.#end(ending),
    });
    this.#unlisten = this.#signals.map((signal) => onAbort(signal, () => this.cancel()));
  }

  #leave(listener: Listener<Result>): void {
    if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
    // Not at once: React leaves and joins in one go when a component subscribes with another function.
    inMicrotask(() => {
      if (this.#listeners.size === 0) this.#stop();
    });
  }

  #stop(): void {
    for (const unlisten of this.#unlisten) unlisten();
    this.#run?.stop();
    this.#run = undefined;
  }

  #end(ending: { readonly error?: unknown }): void {
    if (this.#ended !== undefined) return;
    this.#ended = ending;
    this.#stop();
    this.#means = undefined;
    for (const each of this.#listeners) {
      this.#listeners.delete(each);
      end(each, ending);
    }
  }
}

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
  else void Promise.reject(ending.error); // Nobody else would hear of the error.
}

function safely<A extends unknown[]>(listener: ((...args: A) => void) | undefined, ...args: A): void {
  try {
    listener?.(...args);
  } catch (error) {
    reportThrown(error);
  }
}
