/**
 * Listening to a signal that many listen to. Node warns of a leak at the eleventh listener on one `AbortSignal`, but twenty live
 * feeds of one page, or one signal for everything a component does, are no leak. Here they share one listener.
 */

interface Watch {
  readonly listeners: Set<() => void>;
  readonly stop: () => void;
}

const watches = new WeakMap<AbortSignal, Watch>();

/**
 * Calls `listener` once when `signal` is aborted; not if it already is.
 * @returns the way to stop listening
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const watch = watches.get(signal) ?? begin(signal);
  let heard: (() => void) | undefined = listener;
  // A function of its own, so that the same listener may be added twice.
  const call = (): void => heard?.();
  watch.listeners.add(call);
  return () => {
    // Old tables of the set still hold `call`, and each leads to the next: an old one, dead but not yet collected, would keep
    // everything that has been waited for since.
    heard = undefined;
    if (watch.listeners.delete(call) && watch.listeners.size === 0) watch.stop();
  };
}

/** As {@link onAbort}, but at once if `signal` already is aborted; never without one. */
export function whenAborted(signal: AbortSignal | null | undefined, listener: () => void): () => void {
  if (signal == null) return () => {};
  const stop = onAbort(signal, listener);
  if (signal.aborted) listener();
  return stop;
}

/** Known by its shape: what comes from an iframe, or from jsdom, is no instance of this realm's class. */
export const isSignal = (value: unknown): value is AbortSignal =>
  typeof (value as Partial<AbortSignal> | null)?.addEventListener === 'function' &&
  'aborted' in (value as object);

/** @throws TypeError for an option `signal` that is none: it would end nothing */
export function checkSignal(options: unknown): void {
  const { signal } = (options ?? {}) as { signal?: unknown };
  if (signal != null && !isSignal(signal))
    throw new TypeError('`signal` must be an AbortSignal: the `signal` of an AbortController');
}

function begin(signal: AbortSignal): Watch {
  checkSignal({ signal });
  const listeners = new Set<() => void>();
  const stop = (): void => {
    signal.removeEventListener('abort', callAll);
    watches.delete(signal);
  };
  const callAll = (): void => {
    const called = [...listeners];
    listeners.clear();
    stop();
    for (const listener of called) listener();
  };
  signal.addEventListener('abort', callAll);
  const watch = { listeners, stop };
  watches.set(signal, watch);
  return watch;
}

/** `work`, or the signal's reason, whichever comes first. A later outcome of `work` is ignored. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | null | undefined): Promise<T> {
  if (signal == null) return work;
  return new Promise((resolve, reject) => {
    const stop = whenAborted(signal, () => reject(signal.reason));
    work.then(resolve, reject).finally(stop);
  });
}

/** The signal that {@link either} makes of several. */
interface Either {
  readonly signal: AbortSignal;
  /** To be called when the signal is no longer needed. */
  readonly leave: () => void;
}

/**
 * Aborted when one of the given signals is. `null` means none, as for `fetch`, so any `signal` here may be `null`. Let go of by hand,
 * not made by `AbortSignal.any`: with that Node 20 keeps something of each in signals that live long, such as a handle's or a
 * program's, and browsers before 2024 have none.
 */
export function either(...given: readonly (AbortSignal | null | undefined)[]): Either {
  const signals = given.filter((signal) => signal != null);
  if (signals.length === 1) return { signal: signals[0]!, leave: () => {} };
  const both = new AbortController();
  const stops = signals.map((signal) => whenAborted(signal, () => both.abort(signal.reason)));
  const leave = (): void => {
    for (const stop of stops) stop();
  };
  return { signal: both.signal, leave };
}

/** As {@link either}, for as long as `work` takes. */
export async function withEither<T>(
  one: AbortSignal,
  other: AbortSignal | null | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, leave } = either(one, other);
  try {
    return await work(signal);
  } finally {
    leave();
  }
}
