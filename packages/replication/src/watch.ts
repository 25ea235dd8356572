/** Following what has a status: one replication, or the two of a sync. */

/** What {@link watch} needs of whatever has a status. */
export interface Watched {
  /** Nothing will change any more. */
  readonly over: boolean;
  /** Calls `hear` with every change from now on. @returns the way to stop that */
  listen(hear: () => void): () => void;
}

/** `make()` now, and again when anything has changed since it was taken, until all are over. */
export async function* watch<T>(all: readonly Watched[], make: () => T): AsyncGenerator<T, void> {
  let changed = true;
  let wake: (() => void) | undefined;
  const leaves = all.map((one) =>
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
      changed = false;
      yield make();
    }
  } finally {
    for (const leave of leaves) leave();
  }
}
