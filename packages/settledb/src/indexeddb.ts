/** `settledb/indexeddb`: databases in the browser's IndexedDB. */
import { type IndexedDbOptions as AllOptions, indexeddb as adapter } from '@settledb/adapter-indexeddb';
import type { Adapter } from '@settledb/engine';

/** Without the options for our tests, whose types would bring those of `idb`, and so of the DOM, into every program. */
export interface IndexedDbOptions {
  /** Milliseconds after which opening or destroying gives up with an error. Default 10,000; the browser is asked again at half of that. */
  readonly openTimeoutMs?: number | undefined;
  /** Milliseconds after which the transactions under way are given up if none of them has ended. Default 30,000. */
  readonly answerTimeoutMs?: number | undefined;
}

/** Databases in the browser's IndexedDB, each in an IndexedDB database of its own. */
export const indexeddb = (options: IndexedDbOptions = {}): Adapter => adapter(options as AllOptions);
