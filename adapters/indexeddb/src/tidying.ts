/**
 * Makes the browser free the room of deleted data. Chromium keeps small deleted records until it happens to merge the files they lie
 * in (13 MB of 34 once documents of 2 KB had filled a storage one by one), and counts them as used. Deleting a database, of whatever
 * size, makes it merge what was written last at once (some 40 ms); to others that is a database that comes and goes.
 */
import { afterTimer } from '@settledb/core';
import type { Driver } from './driver';

/** Without a colon, so that none of our databases has this name. A page closed in the middle leaves it, empty, for the next time. */
const NAME = 'settledb tidies up';
/** Tidying then rests for this many times as long as it took: there is little to merge before more was written. */
const REST = 16;
/** … but at most this many ms: a machine that stood still says nothing of the next time, and removals are refused until then. */
const REST_MAX_MS = 5_000;
/** Far more than it was ever seen to take; the caller waits for it. */
const TIMEOUT_MS = 5_000;

export class Tidying {
  readonly #driver: Driver;
  #running: Promise<boolean> | undefined;
  /** ms, by `performance.now`. */
  #restsUntil = 0;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /**
   * @param force tidies even if it was done a moment ago
   * @returns whether it was done just now, so that what was refused may be tried again
   */
  async tidy(force: boolean): Promise<boolean> {
    const from = performance.now();
    if (this.#running === undefined && from < this.#restsUntil && !force) return false;
    this.#running ??= Promise.race([this.#once(), afterTimer(TIMEOUT_MS).then(() => false)]).finally(() => {
      this.#running = undefined;
      const to = performance.now();
      this.#restsUntil = to + Math.min((to - from) * REST, REST_MAX_MS);
    });
    return this.#running;
  }

  async #once(): Promise<boolean> {
    try {
      const database = await this.#driver.openDB(NAME);
      const isEmpty = database.objectStoreNames.length === 0;
      database.close();
      // If somebody else made a database of this name, its content is kept.
      if (isEmpty) await this.#driver.deleteDB(NAME);
      return isEmpty;
    } catch {
      return false; // no room even for this, as may be in any other browser: then none could be gained
    }
  }
}
