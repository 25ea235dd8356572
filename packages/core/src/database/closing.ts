/**
 * The moment when a database handle ends, for the feeds that hang on it.
 *
 * It has as much of an `AbortSignal` as feeds use, but is not one: a handle may have any number of feeds, and Node warns of a leak
 * at the eleventh listener of a signal.
 */
export class Closing {
  readonly #listeners = new Set<() => void>();
  #aborted = false;

  get aborted(): boolean {
    return this.#aborted;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.#aborted) this.#listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.delete(listener);
  }

  /** Calls every listener, once. Idempotent. */
  abort(): void {
    this.#aborted = true;
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener();
  }
}

/** Calls of several steps, which closing waits for. */
export class Served {
  readonly #calls = new Set<Promise<unknown>>();

  /** @returns `work` itself */
  add<T>(work: Promise<T>): Promise<T> {
    this.#calls.add(work);
    const forget = (): void => void this.#calls.delete(work);
    work.then(forget, forget);
    return work;
  }

  /** Resolves when the calls begun so far have ended. */
  async over(): Promise<void> {
    await Promise.allSettled(this.#calls);
  }
}
