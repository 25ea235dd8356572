/**
 * Lets others have their turn. What memory answers, or a file at once, settles without a task of its own: a loop of such calls, awaited one by
 * one, kept timers, sockets and the page waiting until its end. So after some ms of calls the next one waits for a later task.
 */
import { nextTask } from '@settledb/core';

/** ms of calls, one after the other, before a pause: what a page or a server does not notice. */
const TURN_MS = 10;
/** Of quick calls the clock is looked at once for so many, which take 0.1 ms to 2. */
const CALLS = 64;

/** Taken once: who puts a clock of his own in its place, and counts what waits, need not know of this. */
const { setTimeout } = globalThis;

export class Turn {
  /** How many were used up: they grow while calls go on without a pause of their own. */
  over = 0;
  #left = CALLS;
  /** When it was first seen, in this turn of the event loop, that there are calls. */
  #since: number | undefined;
  #pausing: Promise<void> | undefined;

  /** Whether a call should be made one that waits for {@link pause}: for quick ones. */
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

  /** What a call has to wait for, if anything. */
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

  /** The pause there is just now. */
  get pausing(): Promise<void> | undefined {
    return this.#pausing;
  }

  #begin(now: number): number {
    const timer = setTimeout(() => {
      this.#since = undefined;
    }, 0);
    // It must not keep a Node process alive; browsers' timers are numbers.
    if (typeof timer === 'object') (timer as { unref?(): void }).unref?.();
    return now;
  }
}
