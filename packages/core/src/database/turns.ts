/** Work by key, one after the other. A key is forgotten with the last of its work. */
export class Turns {
  /** Resolves when the last work of a key is over; never rejects. */
  readonly #last = new Map<string, Promise<void>>();

  /** Does `work` when what was begun for `key` before is over, however that ended. */
  take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const end = (): void => {
      if (this.#last.get(key) === over) this.#last.delete(key);
    };
    const over = turn.then(end, end);
    this.#last.set(key, over);
    return turn;
  }

  /** When the work that was begun for `key` until now will be over; `undefined` if there is none. Never rejects. */
  pending(key: string): Promise<void> | undefined {
    return this.#last.get(key);
  }

  /** Resolves when no work is left. */
  async over(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
