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
