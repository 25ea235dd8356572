/**
 * Two small parts of the pipeline: {@link ahead}, which keeps a producer working while its consumer is busy, and
 * {@link Inbox}, where the changes of a live feed wait to be taken as a batch.
 */

/**
 * The same items in the same order, each made while the consumer is busy with the one before. Working one item ahead is as quick as
 * working several ahead; and whatever is under way for longer is copied twice by a garbage collector with a young generation (0010).
 *
 * When the consumer leaves, the producer is asked to end; nothing waits for that: it may be waiting for a peer, which a signal ends.
 */
export async function* ahead<T>(items: AsyncIterable<T>): AsyncGenerator<T, void> {
  const iterator = items[Symbol.asyncIterator]();
  const order = (): Promise<IteratorResult<T>> => {
    const next = iterator.next();
    // The error is thrown when this item's turn comes, which may be never.
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

  /** @param room above this many items, {@link put} asks its caller to wait */
  constructor(room: number) {
    this.#room = room;
  }

  get size(): number {
    return this.#items.length;
  }

  /** @returns a promise of when the caller may go on; `undefined`: at once */
  put(item: T): Promise<void> | undefined {
    // An item stands for all before it, also for one that was no item.
    if (this.#failure !== undefined) return undefined;
    this.#items.push(item);
    this.#notEmpty?.();
    if (this.#items.length < this.#room) return undefined;
    return new Promise((resolve) => {
      this.#notFull = resolve;
    });
  }

  /** The error is thrown after the items that were put before it. */
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
    if (this.#items.length === 0) throw this.#failure!.error; // Nothing else wakes the taker.
    const taken = this.#items.splice(0, most);
    if (this.#items.length < this.#room) this.#notFull?.();
    return taken;
  }
}
