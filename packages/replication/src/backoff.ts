/** How long to wait before trying again, and the waiting: woken early when the network or the page comes back. */
import { sleep } from '@settledb/core';
import { statusOf } from './peer';

/** The first wait: long enough for a connection that was just cut, short enough not to be noticed. */
const FIRST_DELAY_MS = 500;
/** No failure makes us wait longer than this. */
export const LONGEST_DELAY_MS = 10 * 60_000;
/** The longest wait at first, and as long as nobody answers at all: a server that comes back is found again within 10 s. */
const SOON_MS = 8_000;
/** After this many failures in a row, some 5 minutes of them, a server that answers with errors is asked more rarely. */
const PATIENCE = 40;

/**
 * Doubles the delay up to `most`, spread over its upper quarter, so that a thousand clients cut off together do not come back
 * together.
 *
 * @param random 0 ≤ x < 1
 */
export function defaultBackOff(
  random: () => number = Math.random,
  most = LONGEST_DELAY_MS,
): (delay: number) => number {
  return (delay) => {
    const base = Math.min(delay > 0 ? delay * 2 : FIRST_DELAY_MS, most);
    return Math.round(base * (0.75 + random() / 4));
  };
}

const rarely = defaultBackOff();
const soon = defaultBackOff(Math.random, SOON_MS);

/** The waits of one replication: they grow while nothing succeeds. */
export class BackOff {
  readonly #next: ((delay: number) => number) | undefined;
  #delay = 0;
  #failures = 0;
  /** When a live feed began to wait for changes. */
  #feedBegan: number | undefined;

  /** @param next the user's own function; it is asked every time, and what it throws ends the replication */
  constructor(next?: (delay: number) => number) {
    this.#next = next;
  }

  /** Something succeeded: the next wait is a first one again. */
  reset(): void {
    this.#delay = 0;
    this.#failures = 0;
  }

  /**
   * All is transferred, and a live feed waits for more. Where it fails at once, as that of a server with too many feeds does, this is no
   * success yet: the attempt that follows would come as far, without end. It is one if it holds for as long as one would have waited.
   */
  caughtUp(): void {
    this.#feedBegan ??= performance.now();
  }

  /** Waits as this failure asks for. Ends early, without an error, when `signal` is aborted. */
  async wait(error: unknown, signal: AbortSignal): Promise<void> {
    if (this.#feedBegan !== undefined && performance.now() - this.#feedBegan >= SOON_MS) this.reset();
    this.#feedBegan = undefined;
    const own = this.#next?.(this.#delay);
    // What is no time to wait (NaN, a promise, nothing) must not make us ask without end: as if nothing had been said.
    const next = ++this.#failures > PATIENCE && isAnswered(error) ? rarely : soon;
    this.#delay = bounded(typeof own === 'number' && own >= 0 ? own : next(this.#delay));
    const asked = retryAfterMs(error);
    await sleep(Math.max(this.#delay, asked), signal, { wakes: asked === 0 });
  }
}

/** True if a server answered with this error; false if there was no connection, or it was lost. */
export function isAnswered(error: unknown): boolean {
  return statusOf(error) !== 0 && !UNANSWERED.has((error as { name?: unknown }).name);
}

/** Our client's names for errors without an answer of the server: see `RemoteError`. */
const UNANSWERED: ReadonlySet<unknown> = new Set(['unreachable', 'timeout']);

/**
 * What the failure itself asks for: `retryAfterMs`, as our client gives it, or `retryAfter` in seconds, as in the HTTP header it
 * comes from. 0: nothing.
 */
function retryAfterMs(error: unknown): number {
  if (typeof error !== 'object' || error === null) return 0;
  const told = error as { readonly retryAfterMs?: unknown; readonly retryAfter?: unknown };
  if (typeof told.retryAfterMs === 'number') return bounded(told.retryAfterMs);
  return typeof told.retryAfter === 'number' ? bounded(told.retryAfter * 1000) : 0;
}

const bounded = (delay: number): number => (delay > 0 ? Math.min(delay, LONGEST_DELAY_MS) : 0);
