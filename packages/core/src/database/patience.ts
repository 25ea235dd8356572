/** How long what goes on for as long as somebody listens waits for storage that could not be read. */
import { isDatabaseError } from '../model/errors';

/**
 * ms after which it is read again, then twice as many, and how often in a row: half a minute, as a storage process may take to come
 * back; some minutes where each try waits for an answer that does not come. Tries are counted, not time: a page may be frozen meanwhile.
 */
const RETRY_MS = 1_000;
const RETRIES_MAX = 5;

/** Of one feed or live result. It has none until something was read: what cannot even begin fails at once. */
export class Patience {
  #left = 0;

  /** Something was read. */
  renew(): void {
    this.#left = RETRIES_MAX;
  }

  /**
   * @returns ms after which to try again; `undefined`: not at all, as it was tried often enough, or the failure will not pass. Damage
   * stays, and so do functions that throw and wrong options.
   */
  after(error: unknown): number | undefined {
    const isPassing = isDatabaseError(error) && error.name === 'io';
    if (!isPassing || this.#left === 0) return undefined;
    return RETRY_MS * 2 ** (RETRIES_MAX - this.#left--);
  }
}
