/** Work that nobody waits for until the end, and whose failure is no error. */
export class UnderWay {
  readonly #work = new Set<Promise<void>>();

  add(work: Promise<unknown>): void {
    const over = work
      .catch(() => {}) // Said by whoever adds it: what is left behind, a later sweep finds.
      .then(() => {
        this.#work.delete(over);
      });
    this.#work.add(over);
  }

  /** Resolves when none is under way. */
  async settled(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work);
  }
}
