/** Feeds of a database over the reference store, whose reads are counted and can be interfered with. */
import {
  type Change,
  type ChangesOptions,
  type DatabaseTables,
  LocalDatabase,
  type Store,
  type StoreEvent,
  schema,
} from '@settledb/core';
import { type Mock, vi } from 'vitest';
import { type NaiveOptions, naiveStore } from '../support/naive-store';

type Read = (...args: unknown[]) => Promise<unknown[]>;

export interface Note {
  n?: number;
  [field: string]: unknown;
}

export async function database(options: NaiveOptions = {}) {
  const store = naiveStore<DatabaseTables>(schema, options);
  const watchers = new Set<(event: StoreEvent) => void>();
  const spied = {
    ...Object.fromEntries(
      (['write', 'compact', 'stats', 'close'] as const).map((name) => [name, store[name].bind(store)]),
    ),
    read: vi.fn(store.read.bind(store)),
    readNow: vi.fn(store.readNow.bind(store)),
    rowNow: store.rowNow.bind(store),
    stateNow: store.stateNow.bind(store),
    watchRows: store.watchRows.bind(store),
    watch: vi.fn((listener: (event: StoreEvent) => void) => {
      watchers.add(listener);
      const stop = store.watch(listener);
      return () => {
        watchers.delete(listener);
        stop();
      };
    }),
  } as unknown as Store<DatabaseTables> & { read: Mock<Read>; readNow: Mock };
  const db = await LocalDatabase.open<Note>(spied, { name: 'test', adapter: 'naive' });
  const tell = (event: StoreEvent): void => {
    for (const watcher of [...watchers]) watcher(event);
  };
  return { db, store: spied, watchers, tell };
}

export const docs = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ _id: `doc-${String(from + i).padStart(5, '0')}`, n: from + i }));

export async function results(db: LocalDatabase<Note>, options: ChangesOptions = {}) {
  const answer = await db.changes(options);
  if (!('results' in answer)) throw new Error('cancelled');
  return answer;
}

/** Collects from a live feed; `until(n)` resolves when it has n changes. */
export function listen(feed: ReturnType<LocalDatabase<Note>['changes']>) {
  const heard: Change[] = [];
  let check = (): void => {};
  feed.on('change', (change: Change) => {
    heard.push(change);
    check();
  });
  const until = (count: number): Promise<void> =>
    new Promise((resolve) => {
      check = () => heard.length >= count && resolve();
      check();
    });
  return { heard, until, ids: () => heard.map(({ id }) => id) };
}
