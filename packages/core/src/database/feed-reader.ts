/** The iteration of a feed. */

/** How a feed ended: with a result, with a failure, or (for an iteration that was left) with neither. */
type Ending = { readonly result?: unknown } | { readonly error: unknown };

/** One iteration of a feed: at most a few items wait here, since the driver waits until they are taken. */
export class Reader<Item> implements AsyncIterator<Item> {
  readonly #leave: () => void;
  #items: Item[] = [];
  /** Answers the calls that wait: only while no item does. */
  readonly #asked: ((next: IteratorResult<Item> | Promise<IteratorResult<Item>>) => void)[] = [];
  #ended: Ending | undefined;
  #drained: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  constructor(leave: () => void) {
    this.#leave = leave;
  }

  /** Not to be called after the end. */
  give(item: Item): Promise<void> | undefined {
    const answer = this.#asked.shift();
    if (answer !== undefined) {
      answer({ value: item, done: false });
      return undefined;
    }
    this.#items.push(item);
    this.#drained ??= withResolver();
    return this.#drained.promise;
  }

  /** Once the waiting items are taken, iteration ends, or throws if the feed failed. */
  end(outcome: Ending): void {
    this.#ended = outcome;
    for (const answer of this.#asked.splice(0)) answer(this.next());
  }

  /** Iteration ends at once; items not yet taken are dropped. */
  abandon(): void {
    this.#items = [];
    this.end({});
    this.#drained?.resolve();
  }

  next(): Promise<IteratorResult<Item>> {
    if (this.#items.length > 0) {
      const value = this.#items.shift() as Item;
      if (this.#items.length === 0) {
        this.#drained?.resolve();
        this.#drained = undefined;
      }
      return Promise.resolve({ value, done: false });
    }
    if (this.#ended === undefined) return new Promise((resolve) => this.#asked.push(resolve));
    if (!('error' in this.#ended)) return Promise.resolve(DONE);
    const { error } = this.#ended;
    this.#ended = {}; // Thrown once; then iteration is over, as with a generator.
    return Promise.reject(error);
  }

  return(): Promise<IteratorResult<Item>> {
    this.#leave();
    this.abandon();
    return Promise.resolve(DONE);
  }
}

const DONE: IteratorResult<never> = /* @__PURE__ */ Object.freeze({ value: undefined, done: true });

function withResolver(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
