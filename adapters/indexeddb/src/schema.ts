/**
 * What lies in IndexedDB: four object stores with out-of-line keys, and checks of what is read from them.
 *
 *   log    n        → { n, head, tail, by }     one record per commit; adding an existing n fails: the key is the lock
 *                   → { n, by, cut }            one that is long: its head and tail are in pieces (pieces.ts)
 *   block  id       → text                      segments (positive ids), blocks of rewrites (negative); or in pieces
 *   meta   'state'  → { id, epoch, through, fence, by, barriers }     read by every append that is not sure to be alone, in its own transaction
 *          'manifest' → text, or in pieces
 *          0, 1, …    → noise, in whose place something else has room (reserve.ts)
 *   blob   [place, i] → { sum, bytes }          chunk i of the content at a place, and its checksum (chunk.ts);
 *                   of the first builds: bytes
 */

import { corrupt, uuid } from '@settledb/core';

/** Version of the layout: the version of the IndexedDB database. 2 added `blob`, 3 pieces of long texts. */
export const FORMAT = 3;

/** Precedes the name, so that databases of the page's other libraries are never met. */
export const PREFIX = 'settledb:';

export type StoreName = 'log' | 'block' | 'meta' | 'blob';

/** The record `meta.state`. */
export interface State {
  /** Random, given at creation: tells a database from one made anew after an eviction. */
  readonly id: string;
  readonly epoch: number;
  /** The manifest covers commits 1…through. Their log records may stay for a while, but only as loadable tails. */
  readonly through: number;
  /** Rises whenever the presence lock is taken by force: a context that lost the lock without noticing is refused (presence.ts). */
  readonly fence: number;
  /** The random id of the `rewrite` call that made this epoch. */
  readonly by: string;
  /** Commits that occupy the number of a context whose lock was taken (commits.ts): their records stay. Absent: none. */
  readonly barriers?: readonly number[];
}

export interface LogRecord {
  readonly n: number;
  readonly head: string;
  readonly tail: string;
  /** The id of the `append` call that wrote it: shows whether a commit of unknown fate is ours. */
  readonly by: string;
}

/** Those that are not there: a database that was opened by its name alone, to look whether it exists, is of version 1 and has none. */
export function createStores(db: IDBDatabase, tx: IDBTransaction): void {
  const names: StoreName[] = ['blob', 'log', 'block', 'meta'];
  const absent = names.filter((name) => !db.objectStoreNames.contains(name));
  for (const name of absent) db.createObjectStore(name);
  if (!absent.includes('meta')) return;
  const state: State = { id: uuid(), epoch: 0, through: 0, fence: 0, by: '' };
  tx.objectStore('meta').put(state, 'state');
}

export function checkState(value: unknown): State {
  const state = value as Partial<State> | undefined;
  const whole =
    typeof state?.id === 'string' && [state.epoch, state.through, state.fence].every(Number.isSafeInteger);
  if (!whole) throw corrupt('The record meta.state is missing or damaged');
  return state as State;
}

export function checkRecord(value: unknown, n: number): LogRecord {
  const record = value as Partial<LogRecord> | undefined;
  if (typeof record?.head !== 'string' || typeof record.tail !== 'string') {
    throw corrupt(`The log record of commit ${n} is missing or damaged`);
  }
  if (record.n !== n) throw corrupt(`The log has commit ${record.n} where commit ${n} should be`);
  return record as LogRecord;
}
