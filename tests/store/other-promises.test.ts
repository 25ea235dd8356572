/** A library has put promises of its own in place of the platform's, as zone.js does: those of async functions are no instances of them. */
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, LocalDatabase, schema } from '@settledb/core';
import { type Journal, openLogStore } from '@settledb/engine';
import { afterEach, expect, it, vi } from 'vitest';

afterEach(() => void vi.unstubAllGlobals());

it('a storage that has to be waited for is read and written', async () => {
  const journal = await memory().open('db');
  const waitedFor = new Proxy(journal, {
    get(target, key) {
      const value: unknown = key === 'loadNow' ? undefined : target[key as keyof Journal];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  vi.stubGlobal('Promise', class Other<T> extends Promise<T> {});
  const store = await openLogStore<DatabaseTables>(waitedFor, schema, { textCacheLength: 0 });
  const database = await LocalDatabase.open(store, { name: 'db', adapter: 'memory' });
  const { rev } = await database.put({ _id: 'a', text: 'x'.repeat(1_000) } as never);
  await database.compact();
  const asked = [{ from: 'docs', keys: ['a'], texts: true }] as const;
  expect(await store.read(asked)).toMatchObject([[{ id: 'a', rev }]]);
  const written = await store.write(asked, ([[row]]) => ({ writes: [], value: row?.body }));
  expect(written).toContain('xxx');
  await database.close();
});
