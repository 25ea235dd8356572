/**
 * Web Locks that Chromium (156) refuses to a page though nothing is wrong: while `window.open` runs, which keeps all pages of the process
 * waiting, their locks are given, but no function is called for them ("The provided callback is no longer runnable"). 51 of 63 calls of it
 * cost a lock.
 */

/** The page asks again when `window.open` has returned; and it may open several windows. */
export const LOCK_TRIES = 10;

/** Of a request whose function was not called. Other refusals are `DOMException`s, which have names; a signal's reason may be anything. */
export const isLockFault = (error: unknown, signal: AbortSignal | undefined): boolean =>
  !signal?.aborted && (error as Error | undefined)?.name === 'Error';

/** Asks for a lock as `LockManager.request` does, and again if it was refused by that fault. */
export function requestLock<T>(
  locks: LockManager,
  name: string,
  options: LockOptions,
  granted: (lock: Lock | null) => T,
  tries = LOCK_TRIES,
): Promise<Awaited<T>> {
  let isCalled = false;
  const called = (lock: Lock | null): T => {
    isCalled = true;
    return granted(lock);
  };
  return (locks.request(name, options, called) as Promise<Awaited<T>>).catch((error) => {
    if (isCalled || tries === 1 || !isLockFault(error, options.signal)) throw error;
    return requestLock(locks, name, options, granted, tries - 1);
  });
}
