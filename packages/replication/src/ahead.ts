/**
 * Two small parts of the pipeline: {@link ahead}, which keeps a producer working while its consumer is busy, and
 * {@link Inbox}, in which what a live feed brings waits to be taken as a batch.
 */

/**
 * The same items in the same order, each made while the consumer is busy with the one before. One ahead is there when it is wanted, as
 * quickly as several would be; and a collector that looks at the young first copies everything twice of what is under way for longer
 * (0010).
 *
 * When the consumer leaves, the producer is asked to end but not waited for: it may wait for a peer; a signal ends that.
 */
export async function* ahead<T>(items: AsyncIterable<T>): AsyncGenerator<T, void> {
  const iterator = items[Symbol.asyncIterator]();
  const order = (): Promise<IteratorResult<T>> => {
    const next = iterator.next();
    // Heard when its turn comes, which may be never.
    next.catch(() => undefined);
    return next;
  };
  try {
    let coming = order();
    for (;;) {
      const next = await coming;
      if (next.done) return;
      coming = order();
      yield next.value;
    }
  } finally {
    iterator.return?.().catch(() => undefined);
  }
}

/** A queue of one taker. */
export class Inbox<T> {
  readonly #room: number;
  #items: T[] = [];
  #failure: { readonly error: unknown } | undefined;
  #notEmpty: (() => void) | undefined;
  #notFull: (() => void) | undefined;

  /** @param room items beyond which {@link put} asks its caller to wait */
  constructor(room: number) {
    this.#room = room;
  }

  get size(): number {
    return this.#items.length;
  }

  /** @returns when to go on; `undefined`: at once */
  put(item: T): Promise<void> | undefined {
    this.#items.push(item);
    this.#notEmpty?.();
    if (this.#items.length < this.#room) return undefined;
    return new Promise((resolve) => {
      this.#notFull = resolve;
    });
  }

  /** After what was put, there comes this. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#notEmpty?.();
  }

  /** Waits for at least one item. @throws what the inbox failed with, once it is empty */
  async take(most: number): Promise<T[]> {
    if (this.#items.length === 0 && this.#failure === undefined) {
      await new Promise<void>((resolve) => {
        this.#notEmpty = resolve;
      });
      this.#notEmpty = undefined;
    }
    if (this.#items.length === 0) throw this.#failure!.error; // Woken by nothing else.
    const taken = this.#items.splice(0, most);
    if (this.#items.length < this.#room) this.#notFull?.();
    return taken;
  }
}
