/** Whether page and host had better stay awake while they wait for each other: see `awake.ts`. Nothing tells but the time that calls take. */

/** Milliseconds within which calls are made one after the other; what a call takes beyond them is the storage's. */
const AT_ONCE = 0.5;

/** Calls that are tried the other way: enough to outweigh a clock of tenths of a millisecond. */
const TRIED = 8;

/** Calls until then: at first, and at most; after each trial in vain so many times as before. */
const SOON = 64;
const LATE = 4_096;
const LATER = 4;

/** The part of what the others took that calls have to take to be called better. */
const BETTER = 0.8;

/** Of calls made one after the other some are tried the other way, now and then, and what is better is kept to. */
export class Pace {
  isAwake = false;
  #isTrial = false;
  /** Calls until the next trial. */
  #span = SOON;
  /** Calls of this stretch, and what its last ones took. */
  #calls = 0;
  #took = 0;
  /** What the last calls before the trial took. */
  #usual = 0;
  #saidAt = 0;
  #heardAt = Number.NEGATIVE_INFINITY;
  #isCounted = false;

  /** @returns whether what is said at `now`, in milliseconds, follows at once upon what was heard */
  said(now: number): boolean {
    this.#saidAt = now;
    this.#isCounted = now - this.#heardAt < AT_ONCE;
    return this.#isCounted;
  }

  heard(now: number): void {
    this.#heardAt = now;
    if (!this.#isCounted) return;
    this.#isCounted = false;
    // The first call that is tried finds the host as it was before.
    const last = this.#isTrial ? TRIED + 1 : this.#span;
    this.#calls++;
    if (this.#calls > last - TRIED) this.#took += Math.min(now - this.#saidAt, AT_ONCE);
    if (this.#calls === last) this.#next();
  }

  #next(): void {
    const isBetter = this.#isTrial && this.#took < this.#usual * BETTER;
    if (this.#isTrial) this.#span = isBetter ? SOON : Math.min(this.#span * LATER, LATE);
    if (!isBetter) this.isAwake = !this.isAwake;
    this.#isTrial = !this.#isTrial;
    this.#usual = this.#took;
    this.#calls = 0;
    this.#took = 0;
  }
}
