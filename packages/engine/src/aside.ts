/**
 * Work that can be done at any time stands aside for who writes one document after another, or reads in a loop: each call would wait for
 * a slice of it, ten to thirty times as long as it takes by itself.
 */
import { onAbort } from '@settledb/core';
import type { Rewritable } from './checkpoint';

/** ms without a commit, or a turn used up: of awaited writes two or more come in it, on any storage, and as many turns of a loop. */
const LOOK_MS = 20;
/** ms of one checkpoint: 500 writes by IndexedDB. Who calls on is not waited for, or no checkpoint would ever be done. */
const ASIDE_MAX = 250;
/** With more rows than this outside pages nobody is waited for. */
const ROWS_MAX = 32_768;

export class Aside {
  readonly #store: Rewritable;
  readonly #ending: AbortSignal | undefined;
  /** Commits and turns when it was looked; none: it was not yet. */
  #calls: number | undefined;
  #left = ASIDE_MAX;

  /** @param ending once it is aborted the work is waited for; absent: it is from the beginning */
  constructor(store: Rewritable, ending: AbortSignal | undefined) {
    this.#store = store;
    this.#ending = ending;
  }

  /** Resolves when there were no such calls since the last time, or soon after them; at once where they were waited for long enough. */
  async whileCalled(): Promise<void> {
    while (this.#stands()) {
      this.#calls = this.#seen();
      const begun = Date.now();
      await look(this.#ending!);
      this.#left -= Math.abs(Date.now() - begun);
    }
    this.#calls = this.#seen();
  }

  #stands(): boolean {
    if (this.#left <= 0 || this.#ending?.aborted !== false) return false;
    return this.#seen() !== this.#calls && this.#store.image.recentRows <= ROWS_MAX;
  }

  #seen(): number {
    return this.#store.image.n + this.#store.turn.over;
  }
}

function look(ending: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    const timer = setTimeout(end, LOOK_MS);
    const stop = onAbort(ending, end);
  });
}
