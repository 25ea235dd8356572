/** Web Locks, asked for again where they are refused by a fault. */
import { isLockFault, LOCK_TRIES } from '@settledb/core';

/** Asks for a lock as `LockManager.request` does, and again if it was refused by a fault of Chromium: see {@link isLockFault}. */
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
