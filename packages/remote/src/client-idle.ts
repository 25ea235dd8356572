/** The timeout of one request. */
import { tellSign, untilAborted, whenAborted } from '@settledb/core';

/** The reason with which a finished request's signal is aborted. */
const OVER = new Error('the request is over');

/** Aborts when nothing was heard for a while, when the given signal does, or when told to. */
export class Idle {
  readonly #controller = new AbortController();
  readonly #ms: number;
  readonly #given: AbortSignal | undefined;
  readonly #leave: () => void;
  #timer: ReturnType<typeof setTimeout>;
  #isOver = false;
  timedOut = false;
  /** Its body is long. */
  isLarge = false;

  constructor(ms: number, given: AbortSignal | undefined) {
    this.#ms = ms;
    this.#given = given;
    this.#leave = whenAborted(given, this.abort);
    this.#timer = this.#start();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Something was heard. @param more as of {@link wait} */
  heard(more?: number): void {
    tellSign(this.#given);
    this.wait(more);
  }

  /** The time to the next sign begins now, unless this is over: a body may go on being sent. @param more ms beyond the usual */
  wait(more?: number): void {
    this.rest();
    if (!this.#isOver && !this.signal.aborted) this.#timer = this.#start(more);
  }

  /** Nothing is expected until something is {@link heard} again. */
  rest(): void {
    clearTimeout(this.#timer);
  }

  /** The request was aborted before its end. */
  get isBroken(): boolean {
    return this.signal.aborted && this.signal.reason !== OVER;
  }

  end(): void {
    this.#isOver = true;
    this.rest();
    this.#leave();
    // Ends nothing but undici's hold on the request, above all its body, which would last until a full garbage collection.
    if (this.isLarge) this.#controller.abort(OVER);
  }

  /** As `reading`, but no longer than this lasts, whether or not the transport heeds the signal. */
  race<T>(reading: Promise<T>): Promise<T> {
    return untilAborted(reading, this.signal);
  }

  readonly abort = (): void => this.#controller.abort();

  #start(more = 0): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      this.timedOut = true;
      this.#controller.abort();
    }, this.#ms + more);
  }
}
