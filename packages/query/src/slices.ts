/**
 * Long work in slices, so that a page can draw and answer in between. The work calls {@link Slices.pause} often and awaits
 * what it returns.
 */
import { nextTask } from '@settledb/core';

/** ms at a time. With a commit after it, a slice stays below 16 ms, one frame. */
export const SLICE_MS = 6;
/** If so many calls took less than this, the clock is read only once for as many: reading it takes a twentieth of a build. */
const QUESTIONS = 8;
const QUICK_MS = 0.25;

export class Slices {
  #began = performance.now();
  #looked = this.#began;
  /** Calls until the clock is read again. */
  #left = 1;

  /** A promise to wait for if it is time for other tasks, else undefined. */
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
