/** Taken once: in a test that replaces these by its own clock, and does not advance it, calls are answered all the same. */
const { setTimeout, queueMicrotask } = globalThis;

/** Does `work` in a microtask, also if `queueMicrotask` was replaced since: Jest's fake timers do. */
export const inMicrotask = (work: () => void): void => queueMicrotask(work);

/** For the database's own waits: uses the platform's clock, even if it has been replaced since. */
export function afterTimer(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * So many parts make up the time for an answer: a page or worker that stood still (busy, frozen, in a debugger) finds its timer late with
 * the answer behind it, or finds a worker that could not start meanwhile. However long that was, it uses up one part, or two where a
 * browser keeps to the beat of a timer.
 */
const PARTS = 4;
/** Of a part: a timer counts in 32 bits, and fires at once for more. In a hundred days nobody waits any more. */
const PART_MAX_MS = 2 ** 31 - 1;

/**
 * Whether this page is prerendered (Chromium): until somebody looks at it, which may be in minutes, it is given no lock, no worker and no
 * message of other contexts, while its timers run. There is nobody whom an error would help.
 */
const isPrerendered = (): boolean =>
  (globalThis as { readonly document?: { readonly prerendering?: boolean } }).document?.prerendering === true;

/**
 * Calls `late` once, after so many ms, if it is not called off before. The time in which a page is prerendered does not count.
 *
 * @param timed is given the timer: `unref`, if a Node process may end meanwhile
 * @returns calls it off
 */
export function after(ms: number, late: () => void, timed?: (timer: unknown) => void): () => void {
  let left = PARTS;
  const partMs = Math.min(ms / PARTS, PART_MAX_MS);
  const end = (): void => clearInterval(timer);
  const timer = setInterval(() => {
    if (isPrerendered() || --left > 0) return;
    end();
    late();
  }, partMs);
  timed?.(timer);
  return end;
}

/** What `work` comes to; rejects with what `late` makes if that takes more than so many ms. */
export function inTime<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = after(ms, () => reject(late()));
    work.then(resolve, reject).finally(end);
  });
}

/**
 * Lets a Node process end while `waiting`, a timer or a channel, waits: a database must not keep it alive. In browsers timers are
 * numbers, and channels hold nothing.
 */
export function unref<T>(waiting: T): T {
  (waiting as { unref?: () => void }).unref?.();
  return waiting;
}
