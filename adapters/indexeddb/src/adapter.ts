/**
 * The IndexedDB adapter: one IndexedDB database per database, named `settledb:<name>`, shared by all tabs and workers of the
 * origin. Nothing is touched before `open` or `destroy`, so that it may be imported anywhere.
 */
import type { Adapter } from '@settledb/engine';
import { Channel } from './channel';
import { type Driver, platform } from './driver';
import { IndexedDbJournal } from './journal';
import { deleteDatabase, OPEN_TIMEOUT_MS } from './open';
import { ANSWER_TIMEOUT_MS } from './watchdog';

export interface IndexedDbOptions {
  /** Milliseconds after which opening or destroying gives up with an error. Default 10,000; at half of that an opening asks the browser again. */
  readonly openTimeoutMs?: number;
  /** Milliseconds after which the transactions under way are given up if none of them has ended. Default 30,000. */
  readonly answerTimeoutMs?: number;
  /** Stands in for the browser's opening and deleting. For tests of a storage that fails. */
  readonly driver?: Partial<Driver>;
}

/** Databases in the browser's IndexedDB. */
export function indexeddb(options: IndexedDbOptions = {}): Adapter {
  const driver: Driver = { ...platform, ...options.driver };
  const timeoutMs = options.openTimeoutMs ?? OPEN_TIMEOUT_MS;
  const answerTimeoutMs = options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS;
  return {
    name: 'indexeddb',
    location: (name) => `indexeddb:${name}`,
    open: (name, { mustExist = false, blocked, reading } = {}) =>
      IndexedDbJournal.open({ driver, name, mustExist, timeoutMs, answerTimeoutMs, blocked }, reading),
    async destroy(name, options) {
      const channel = new Channel(name);
      channel.post({ type: 'destroy' });
      channel.close();
      await deleteDatabase(driver, name, timeoutMs, options);
    },
  };
}
