/**
 * Work that can be done at any time stands aside for who writes one document after another: each write would wait for a slice of it, ten
 * to thirty times as long as it takes by itself.
 */
import { onAbort } from '@settledb/core';
import type { Image } from './image';

/** ms without a commit: of awaited writes two or more come in it, on any storage. */
const LOOK_MS = 20;
/** ms of one checkpoint: 500 writes by IndexedDB. Who writes on is not waited for, or no checkpoint would ever be done. */
const ASIDE_MAX = 250;
/** With more rows than this outside pages nobody is waited for. */
const ROWS_MAX = 32_768;

export class Aside {
  readonly #image: Image;
  readonly #ending: AbortSignal | undefined;
  /** The last commit when it was looked; none: it was not yet. */
  #n: number | undefined;
  #left = ASIDE_MAX;

  /** @param ending once it is aborted the work is waited for; absent: it is from the beginning */
  constructor(image: Image, ending: AbortSignal | undefined) {
    this.#image = image;
    this.#ending = ending;
  }

  /** Resolves when nothing was committed since the last call, or soon after a commit; at once where that was waited for long enough. */
  async whileWritten(): Promise<void> {
    while (this.#stands()) {
      this.#n = this.#image.n;
      const begun = Date.now();
      await look(this.#ending!);
      this.#left -= Math.abs(Date.now() - begun);
    }
    this.#n = this.#image.n;
  }

  #stands(): boolean {
    const { n, recentRows } = this.#image;
    return n !== this.#n && this.#left > 0 && this.#ending?.aborted === false && recentRows <= ROWS_MAX;
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
