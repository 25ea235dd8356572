/** How long what was asked of a database may run: until it is closed, destroyed or lost. */
import { closed } from '@settledb/core';

export class Life {
  #now = new AbortController();

  get signal(): AbortSignal {
    return this.#now.signal;
  }

  /** Feeds and the like end. Those requested from now on are of what comes next: another database, or an error. */
  end(): void {
    this.#now.abort(closed());
    this.#now = new AbortController();
  }
}

const lives = new WeakMap<object, () => AbortSignal>();

/** Says how long what a handle takes part in may run. */
export function setLife(handle: object, life: () => AbortSignal): void {
  lives.set(handle, life);
}

/** Of a handle of this package; of any other database nothing is known. */
export const lifeOf = (peer: unknown): AbortSignal | undefined => lives.get(peer as object)?.();
