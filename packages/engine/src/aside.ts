/**
 * Work that can be done at any time waits while a caller writes one document after another, or reads in a loop: otherwise each call
 * would wait for a slice of the work, ten to thirty times as long as the call itself takes.
 */
import { onAbort } from '@settledb/core';
import type { Rewritable } from './checkpoint';
import { isCrowded } from './crowded';

/** ms to watch for a commit or a used-up turn: on any storage two or more awaited writes come in it, or as many turns of a loop. */
const LOOK_MS = 20;
/** Most ms that one checkpoint waits: 500 writes by IndexedDB. Then it goes on, or steady calls would keep it from ever ending. */
const ASIDE_MAX = 250;

/**
 * Timers of a hidden page are late by a second each, and after some minutes by up to a minute (Chromium), in which a rewrite would keep
 * all other contexts from theirs.
 */
export const isHidden = (): boolean =>
  (globalThis as { readonly document?: { readonly hidden?: boolean } }).document?.hidden === true;

export class Aside {
  readonly #store: Rewritable;
  readonly #ending: AbortSignal | undefined;
  /** Commits and turns at the last look; undefined before the first. */
  #calls: number | undefined;
  #left = ASIDE_MAX;

  /** @param ending once it is aborted the work no longer waits; absent: it never does */
  constructor(store: Rewritable, ending: AbortSignal | undefined) {
    this.#store = store;
    this.#ending = ending;
  }

  /**
   * Resolves if there were no such calls since the last time, or soon after them; at once when it has waited long enough, and where
   * nobody looks at the page.
   */
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
    if (this.#left <= 0 || this.#ending?.aborted !== false || isHidden()) return false;
    return this.#seen() !== this.#calls && !isCrowded(this.#store.image);
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
