/**
 * Has the browser give back the room of what is gone. Chromium keeps small records that were deleted until it happens to merge the files
 * they lie in, for it 13 MB of 34 once documents of 2 KB had filled a storage one by one, and counts them as used. Deleting a database, of
 * whatever size, has it merge what was written last at once (some 40 ms); to others it is a database that comes and goes.
 */
import { afterTimer } from '@settledb/core';
import type { Driver } from './open';

/** Without a colon, so that it is the name of no database of ours. A page that is closed amid it leaves it, empty, for the next time. */
const NAME = 'settledb tidies up';
/** Then it rests for so many times as long as it took: there is little to merge before more was written. */
const REST = 16;
/** ms, and for so long at most: a machine that stood still meanwhile says nothing of the next time, and removals are refused until then. */
const REST_MAX_MS = 5_000;
/** Far beyond what it was seen to take; who asks waits for it. */
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
   * @param force though it was done a moment ago
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
      // Whoever else may have made one of this name keeps what is in it.
      if (isEmpty) await this.#driver.deleteDB(NAME);
      return isEmpty;
    } catch {
      return false; // Where there is no room for it either, as may be anywhere else, nothing was to be had.
    }
  }
}
