/**
 * Notices that nothing answers any more: transactions are running, and for a long while not one has ended. The storage
 * process of a browser may hang, or be gone, without a word (Safari, on return from the background).
 *
 * Ticks are counted, not time: a page that was frozen finds its timer late and the answers behind it. One transaction that ends
 * proves that the storage is alive, so waiting behind a large write is not taken for silence.
 */
import { unref } from '@settledb/core';

/** Far more than one transaction was ever seen to take; as long as a person waits before taking the page for dead. */
export const ANSWER_TIMEOUT_MS = 30_000;
const TICKS = 3;

export class Watchdog {
  readonly #everyMs: number;
  readonly #silent: () => void;
  #running = 0;
  #quiet = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(timeoutMs: number, silent: () => void) {
    this.#everyMs = timeoutMs / TICKS;
    this.#silent = silent;
  }

  began(): void {
    this.#running++;
    // It goes on by itself until there is nothing to watch: a timer for each transaction would cost more.
    this.#timer ??= unref(setInterval(() => this.#tick(), this.#everyMs));
  }

  ended(): void {
    this.#running--;
    this.#quiet = 0;
  }

  /** Nothing more will begin. What is still running is watched to its end. */
  close(): void {
    if (this.#running === 0) this.#rest();
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#quiet = 0;
  }

  #tick(): void {
    if (this.#running === 0) this.#rest();
    else if (++this.#quiet > TICKS) {
      this.#quiet = 0;
      this.#silent();
    }
  }
}
