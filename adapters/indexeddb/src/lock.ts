/** A Web Lock that is held until it is released, as a value instead of a callback. */
import { inTime, ioError, isLockFault, LOCK_TRIES } from '@settledb/core';

/** Longer than any honest wait: a lock taken by force takes one turn, and one that is asked for only if it is free, none. */
const LOCK_TIMEOUT_MS = 10_000;

export interface Hold {
  /** Resolves when the lock manager has the lock back. */
  release(): Promise<void>;
}

const lockSilent = (name: string): Error =>
  ioError(`The browser's lock manager does not answer about "${name}"`);

/** The lock manager; undefined on pages without https, in old browsers, and where a page is simulated (happy-dom has `null`). */
export function lockManager(): LockManager | undefined {
  return globalThis.navigator?.locks ?? undefined;
}

/**
 * @param stolen called when another context took the lock by force
 * @returns undefined when `ifAvailable` was given and the lock is not available
 * @throws (rejects) the lock manager's error: an aborted signal, a document that is gone
 */
export function acquire(
  locks: LockManager,
  name: string,
  options: LockOptions,
  stolen: (hold: Hold) => void = () => {},
): Promise<Hold | undefined> {
  return new Promise((resolve, reject) => {
    let hold: Hold | undefined;
    let released = false;
    const take = (lock: Lock | null): Promise<void> | undefined => {
      if (lock === null) {
        resolve(undefined);
        return undefined;
      }
      return new Promise<void>((letGo) => {
        hold = {
          release() {
            released = true;
            letGo();
            return held;
          },
        };
        resolve(hold);
      });
    };
    // Repeated in this handler: that the lock was taken by force must be told in the same turn of the microtasks.
    const ask = (tries: number): Promise<void> =>
      locks.request(name, options, take).then(
        () => {},
        (cause) => {
          if (hold !== undefined) {
            if (!released) stolen(hold);
          } else if (tries > 1 && isLockFault(cause, options.signal)) return ask(tries - 1);
          else reject(cause);
        },
      );
    const held = ask(LOCK_TRIES);
  });
}

/**
 * As {@link acquire}, in bounded time: whatever the lock manager does, a signal included. A lock that is given later is released.
 *
 * @throws (rejects) as {@link acquire}; `io` when the lock manager does not answer
 */
export function acquireInTime(
  locks: LockManager,
  name: string,
  options: LockOptions,
  stolen?: (hold: Hold) => void,
): Promise<Hold | undefined> {
  const waiting = acquire(locks, name, options, stolen);
  return inTime(waiting, LOCK_TIMEOUT_MS, () => {
    waiting.then(
      (hold) => hold?.release(),
      () => {},
    );
    return lockSilent(name);
  });
}

/** The lock if it is free. */
export const acquireNow = (
  locks: LockManager,
  name: string,
  stolen?: (hold: Hold) => void,
): Promise<Hold | undefined> => acquireInTime(locks, name, { ifAvailable: true }, stolen);
