/** Following the status of something: of one replication, or of the two of a sync. */

/** Whatever has a status that changes. */
export abstract class Watched {
  readonly #listeners = new Set<() => void>();

  /** Nothing will change any more. */
  abstract get over(): boolean;

  /** Calls `hear` with every change from now on. @returns a function that stops this */
  listen(hear: () => void): () => void {
    this.#listeners.add(hear);
    return () => this.#listeners.delete(hear);
  }

  protected changed(): void {
    for (const hear of this.#listeners) hear();
  }
}

/**
 * `make()` now, and again whenever anything has changed since, until all are over. It can also be left while it waits: nothing
 * may change for days, and a generator alone would not end before the next change.
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
  // Not assigned, which is refused where the prototype of generators is frozen (lockdown of SES).
  return Object.defineProperty(statuses, 'return', {
    value: () => {
      isLeft = true;
      wake?.();
      return leave();
    },
  });
}
