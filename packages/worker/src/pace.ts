/** Whether page and host should stay awake while they wait for each other: see `awake.ts`. Only the time that calls take can tell. */

/** Milliseconds within which calls count as made one after the other; what a call takes beyond that is the storage's time. */
const AT_ONCE = 0.5;

/** Calls that are tried the other way: enough to outweigh a clock of tenths of a millisecond. */
const TRIED = 8;

/** Calls until the next trial: at first, and at most; each failed trial multiplies the number. */
const SOON = 64;
const LATE = 4_096;
const LATER = 4;

/** A trial's calls are better if they take no more than this part of the time that the others took. */
const BETTER = 0.8;

/** Among calls made one after the other, some are tried the other way from time to time; the better way is kept. */
export class Pace {
  isAwake = false;
  #isTrial = false;
  /** Calls until the next trial. */
  #span = SOON;
  /** Calls of the current stretch, and what its last ones took. */
  #calls = 0;
  #took = 0;
  /** What the last calls before the trial took. */
  #usual = 0;
  #saidAt = 0;
  #heardAt = Number.NEGATIVE_INFINITY;
  #isCounted = false;

  /** @returns whether what is sent at `now`, in milliseconds, follows immediately on what was heard */
  said(now: number): boolean {
    this.#saidAt = now;
    this.#isCounted = now - this.#heardAt < AT_ONCE;
    return this.#isCounted;
  }

  heard(now: number): void {
    this.#heardAt = now;
    if (!this.#isCounted) return;
    this.#isCounted = false;
    // The first call of a trial meets the host as it was before.
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
