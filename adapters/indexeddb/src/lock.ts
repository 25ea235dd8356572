/** A Web Lock that is held until it is released, as a value instead of a callback. */

export interface Hold {
  /** Resolves when the lock manager has the lock back. */
  release(): Promise<void>;
}

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
    const held = locks
      .request(name, options, (lock) => {
        if (lock === null) return resolve(undefined);
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
      })
      .then(
        () => {},
        (cause) => {
          if (hold === undefined) reject(cause);
          else if (!released) stolen(hold);
        },
      );
  });
}
