/** Following what has a status: one replication, or the two of a sync. */

/** What {@link watch} needs of whatever has a status. */
export interface Watched {
  /** Nothing will change any more. */
  readonly over: boolean;
  /** Calls `hear` with every change from now on. @returns the way to stop that */
  listen(hear: () => void): () => void;
}

/**
 * `make()` now, and again when anything has changed since it was taken, until all are over. It can be left while it waits, too: nothing
 * may change for days, and a generator alone would not end before.
 */
export function watch<T>(all: readonly Watched[], make: () => T): AsyncGenerator<T, void> {
  let isLeft = false;
  let wake: (() => void) | undefined;
  const follow = async function* (): AsyncGenerator<T, void> {
    let changed = true;
    const ends = all.map((one) =>
      one.listen(() => {
        changed = true;
        wake?.();
      }),
    );
    try {
      for (;;) {
        if (!changed && all.every((one) => one.over)) return;
        if (!changed) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        if (isLeft) return;
        changed = false;
        yield make();
      }
    } finally {
      for (const end of ends) end();
    }
  };
  const statuses = follow();
  const leave = statuses.return.bind(statuses);
  return Object.assign(statuses, {
    return: () => {
      isLeft = true;
      wake?.();
      return leave();
    },
  });
}
