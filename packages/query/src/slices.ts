/**
 * Long work in slices, so that a page draws and answers between them. Whoever works asks {@link Slices.pause} often and awaits
 * what it gives.
 */
import { nextTask } from '@settledb/core';

/** ms at a time. With a commit after it, a slice stays below 16 ms, one frame. */
export const SLICE_MS = 6;
/** Where so many questions took less than this, the clock is looked at once for as many: it takes a twentieth of a build. */
const QUESTIONS = 8;
const QUICK_MS = 0.25;

export class Slices {
  #began = performance.now();
  #looked = this.#began;
  /** Questions until the clock is looked at again. */
  #left = 1;

  /** A promise to wait for when it is time for others, else undefined. */
  pause(): Promise<void> | undefined {
    if (--this.#left > 0) return undefined;
    const now = performance.now();
    this.#left = now - this.#looked < QUICK_MS ? QUESTIONS : 1;
    this.#looked = now;
    return now - this.#began < SLICE_MS ? undefined : this.next();
  }

  /** Goes on in a later task. */
  async next(): Promise<void> {
    await nextTask();
    this.#began = performance.now();
    this.#looked = this.#began;
    this.#left = 1;
  }
}
