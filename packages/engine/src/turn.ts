/**
 * Lets others have their turn. What memory answers, or a file at once, settles without a task of its own: a loop that awaited such
 * calls one by one kept timers, sockets and the page waiting until its end. So after some ms of calls the next one waits for a later
 * task.
 */
import { nextTask, unref } from '@settledb/core';

/** ms of consecutive calls before a pause: what a page or a server does not notice. */
const TURN_MS = 10;
/** Quick calls per look at the clock; so many take 0.1 to 2 ms. */
const CALLS = 64;

/** Taken once: tests that replace the clock, and count what waits, need not know of this. */
const { setTimeout } = globalThis;

export class Turn {
  /** How many turns were used up: it grows while calls go on without a pause of their own. */
  over = 0;
  #left = CALLS;
  /** When calls were first seen in this turn of the event loop. */
  #since: number | undefined;
  #pausing: Promise<void> | undefined;

  /** Whether a call should wait for {@link pause}: for quick calls. */
  isOver(): boolean {
    return --this.#left <= 0 && this.isLate();
  }

  /** The same for calls that may take longer. */
  isLate(): boolean {
    const now = Date.now();
    this.#since ??= this.#begin(now);
    const late = Math.abs(now - this.#since) >= TURN_MS;
    this.#left = late ? 0 : CALLS;
    return late;
  }

  /** What a call must wait for, if anything. */
  pause(): Promise<void> | undefined {
    if (!this.isLate()) return this.#pausing;
    this.#pausing ??= nextTask().then(() => {
      this.over++;
      this.#pausing = undefined;
      this.#since = undefined;
      this.#left = CALLS;
    });
    return this.#pausing;
  }

  /** The present pause, if there is one. */
  get pausing(): Promise<void> | undefined {
    return this.#pausing;
  }

  #begin(now: number): number {
    const timer = setTimeout(() => {
      this.#since = undefined;
    }, 0);
    unref(timer);
    return now;
  }
}
