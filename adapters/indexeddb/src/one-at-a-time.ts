/**
 * Transactions one after the other, each begun when the one before has ended in the storage.
 *
 * For workers of WebKit (2.50). What a worker that is terminated has asked of its storage is undone there, but for a transaction
 * that waits for its turn, or that was committed before it had begun: that one begins later and never ends, and every other
 * context waits behind it until the page goes. With nothing but IndexedDB in the worker, that became of 3 of 10 that had several
 * transactions open, of 1 of 4 that committed early, and of none of 264 that had one and let it end by itself (decision 0018).
 */

type Begin = (ended: () => void) => void;

export class OneAtATime {
  /** As many as there are calls under way; its owner bounds those. */
  readonly #waiting: Begin[] = [];
  #busy = false;

  /** Calls `begin` when it is its turn; the next one is when that says that it has `ended`. */
  take(begin: Begin): void {
    this.#waiting.push(begin);
    if (!this.#busy) this.#next();
  }

  readonly #next = (): void => {
    const begin = this.#waiting.shift();
    this.#busy = begin !== undefined;
    begin?.(this.#next);
  };
}

/** There is nothing by which to tell but its name, which others have added to theirs. */
export const isWebKit = (): boolean =>
  /AppleWebKit(?!.*Chrom)/.test((globalThis.navigator as Navigator | undefined)?.userAgent ?? '');

/** In a worker of WebKit? */
export const needsTurns = (): boolean => 'WorkerGlobalScope' in globalThis && isWebKit();
