/** What tests of live results share. */
import { memory } from '@settledb/adapter-memory';
import type { Adapter } from '@settledb/engine';
import { afterEach } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';

export const adapter: Adapter = memory();
let count = 0;
const opened: SettleDB[] = [];

/** A name that nothing has used. */
export const fresh = (): string => `live-${Date.now()}-${++count}`;

/** A handle that is closed after the test. */
export function open(name = fresh(), by: Adapter = adapter): SettleDB {
  const db = new SettleDB(name, { adapter: by });
  opened.push(db);
  return db;
}
afterEach(() => Promise.all(opened.splice(0).map((db) => db.close())));

/** Feeds that are open on a handle. */
export function countFeeds(db: SettleDB): () => number {
  let open = 0;
  const { changes } = db;
  Object.assign(db, {
    changes: (options: object) => {
      open++;
      const feed = changes(options);
      feed.then(
        () => open--,
        () => open--,
      );
      return feed;
    },
  });
  return () => open;
}

export interface Heard<Result> {
  readonly results: Result[];
  readonly last: Result;
  readonly leave: () => void;
}

/** Subscribes, and keeps what it is told. */
export function hear<Result>(live: {
  subscribe(next: (result: Result) => void): { unsubscribe(): void };
}): Heard<Result> {
  const results: Result[] = [];
  const { unsubscribe } = live.subscribe((result) => results.push(result));
  return {
    results,
    get last() {
      return results.at(-1)!;
    },
    leave: () => unsubscribe(),
  };
}

export const idsIn = (result: { docs: readonly { _id: string }[] } | undefined): string =>
  (result?.docs ?? []).map(({ _id }) => _id).join('');

export const docs = [
  { _id: 'a', n: 1, type: 'x' },
  { _id: 'b', n: 2, type: 'x' },
  { _id: 'c', n: 3, type: 'y' },
];
