/**
 * How long to wait before trying again, and the waiting: woken early when the network or the page comes back.
 *
 * The listeners for that exist only while somebody waits.
 */

/** The first wait: long enough for a connection that was just cut, short enough not to be noticed. */
const FIRST_DELAY_MS = 500;
/** No failure makes us wait longer than this. */
export const LONGEST_DELAY_MS = 10 * 60_000;

/**
 * Doubles the delay up to {@link LONGEST_DELAY_MS}, then spreads it over its upper half, so that a thousand clients cut
 * off together do not come back together.
 *
 * @param random 0 ≤ x < 1
 */
export function defaultBackOff(random: () => number = Math.random): (delay: number) => number {
  return (delay) => {
    const base = Math.min(delay > 0 ? delay * 2 : FIRST_DELAY_MS, LONGEST_DELAY_MS);
    return Math.round(base * (0.75 + random() / 4));
  };
}

/** The waits of one replication: they grow while nothing succeeds. */
export class BackOff {
  readonly #next: (delay: number) => number;
  #delay = 0;

  constructor(next: (delay: number) => number) {
    this.#next = next;
  }

  /** Something succeeded: the next wait is a first one again. */
  reset(): void {
    this.#delay = 0;
  }

  /** Waits as this failure asks for. Ends early, without an error, when `signal` is aborted. */
  async wait(error: unknown, signal: AbortSignal): Promise<void> {
    this.#delay = bounded(this.#next(this.#delay));
    const asked = retryAfterMs(error);
    await sleep(Math.max(this.#delay, asked), signal, { wakes: asked === 0 });
  }
}

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

const bounded = (delay: number): number =>
  Number.isFinite(delay) && delay > 0 ? Math.min(delay, LONGEST_DELAY_MS) : 0;

interface Listening {
  addEventListener(type: string, listener: () => void): void;
  removeEventListener(type: string, listener: () => void): void;
}
type Page = Partial<Listening> & { readonly visibilityState?: string };

/**
 * Waits `ms`; ends early when `signal` is aborted and, if it `wakes`, when the browser is online again or the page is looked at
 * again (timers of hidden pages are slowed down).
 */
export function sleep(ms: number, signal: AbortSignal, { wakes = true } = {}): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const realm = globalThis as Partial<Listening> & { readonly document?: Page };
  const page = realm.document;
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      realm.removeEventListener?.('online', end);
      page?.removeEventListener?.('visibilitychange', onVisibility);
      resolve();
    };
    const onVisibility = (): void => {
      if (page?.visibilityState === 'visible') end();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    if (!wakes) return;
    realm.addEventListener?.('online', end);
    page?.addEventListener?.('visibilitychange', onVisibility);
  });
}
