/**
 * Lets others have their turn. What memory answers, or a file at once, settles without a task of its own: a loop that awaited such
 * calls one by one kept timers, sockets and the page waiting until its end. So after some ms of calls the next one waits for a later
 * task.
 */
import { nextTask, unref } from '@settledb/core';

/** ms of consecutive calls before a pause: what a page or a server does not notice. */
const TURN_MS = 10;
/**
 * ms of calls before it is found out, by a timer, whether they are consecutive: for each of calls with tasks of their own, such as
 * writes to IndexedDB, a timer would cost a page some 20 µs.
 */
const WATCHED_MS = TURN_MS / 2;
/** Quick calls per look at the clock; so many take 0.1 to 2 ms. */
const CALLS = 64;

/** Taken once: tests that replace the clock, and count what waits, need not know of this. */
const { setTimeout } = globalThis;

export class Turn {
  /** How many turns were used up: it grows while calls go on without a pause of their own. */
  over = 0;
  #left = CALLS;
  /** When calls were first seen; once watched, in this turn of the event loop. */
  #since: number | undefined;
  #isWatched = false;
  #pausing: Promise<void> | undefined;

  /** Whether a call should wait for {@link pause}: for quick calls. */
  isOver(): boolean {
    return --this.#left <= 0 && this.isLate();
  }

  /** The same for calls that may take longer. */
  isLate(): boolean {
    const now = Date.now();
    this.#since ??= now;
    const isLong = Math.abs(now - this.#since) >= WATCHED_MS;
    const late = isLong && this.#isWatched;
    if (isLong && !late) this.#watch(now);
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

  /** Calls may have begun in an earlier turn: they count from now on. */
  #watch(now: number): void {
    this.#since = now;
    this.#isWatched = true;
    const timer = setTimeout(() => {
      this.#since = undefined;
      this.#isWatched = false;
    }, 0);
    unref(timer);
  }
}
