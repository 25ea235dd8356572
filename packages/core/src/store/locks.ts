/** Web Locks, as far as all who ask for some have to know of them. */

/** The lock manager; undefined on pages without https, in old browsers, and where a page is imitated (happy-dom has `null`). */
export function lockManager(): LockManager | undefined {
  return (globalThis.navigator as { locks?: LockManager | null } | undefined)?.locks ?? undefined;
}

/** A page asks again when its `window.open` has returned, and may open several windows: see {@link isLockFault}. */
export const LOCK_TRIES = 10;

/**
 * Whether a Web Lock was refused though nothing is wrong: while `window.open` runs, which keeps all pages of the process waiting, Chromium
 * (156) gives their locks, but calls no function for them ("The provided callback is no longer runnable"). 51 of 63 windows cost a lock.
 *
 * @param error of a request whose function was not called. Other refusals are `DOMException`s, which have names
 * @param signal of the request: its reason may be anything
 */
export const isLockFault = (error: unknown, signal: AbortSignal | undefined): boolean =>
  !signal?.aborted && (error as Error | undefined)?.name === 'Error';
