/** Keys so long that 256 of them are more than a storage takes in one record: pages, fences and what is read of them. */
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, type IndexEntry, type Store, schema, toKey } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { PAGE_LENGTH } from '../../packages/engine/src/cuts';
import { type Hooks, hooked } from '../support/hooked-adapter';

const KEY_LENGTH = 150_000;
const ROWS = 60;

const rowOf = (i: number): IndexEntry => ({
  tag: 'a',
  key: toKey(`${String(i).padStart(3, '0')}${'x'.repeat(KEY_LENGTH)}`),
  id: `d${i}`,
  n: 0,
});
const all = Array.from({ length: ROWS }, (_, i) => rowOf(i));

async function setUp() {
  const hooks: Hooks = {};
  const adapter = memory();
  const keeper = await adapter.open('db');
  const open = async () => {
    const journal = await hooked(adapter, hooks).open('db');
    return openLogStore<DatabaseTables>(journal, schema, { checkpoint: false });
  };
  return { hooks, keeper, open, store: await open() };
}

const put = (store: Store<DatabaseTables>, rows: readonly IndexEntry[]): Promise<number> =>
  store.write([], () => ({ writes: [{ into: 'index', put: rows }], value: 0 }));

async function expectAll(store: Store<DatabaseTables>): Promise<void> {
  const [rows, byDoc, some, count] = await store.read([
    { from: 'index', range: {} },
    { from: 'index', by: 'doc', range: { gte: ['d7'], lt: ['d8'] } },
    { from: 'index', range: { gte: ['a', toKey('01')], lt: ['a', toKey('02')] }, reverse: true },
    { from: 'index', count: { gte: ['a', toKey('005')] } },
  ]);
  // Compared one by one: what differs would be printed.
  expect(rows.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
  expect(rows.every(({ key }, i) => key === all[i]!.key)).toBe(true);
  expect(byDoc.map(({ id }) => id)).toEqual(['d7']);
  expect(some.map(({ id }) => id)).toEqual(
    all
      .slice(10, 20)
      .map(({ id }) => id)
      .reverse(),
  );
  expect(count).toBe(ROWS - 5);
}

describe('long keys', () => {
  it('are cut into pages, and their fences into blocks, by characters; every look finds what it did', async () => {
    const { hooks, keeper, open, store } = await setUp();
    const lengths: number[] = [];
    hooks.before = (step) => {
      if (step.kind !== 'rewrite') return;
      for (const { text } of step.change.put ?? []) lengths.push(text.length);
      if (step.change.manifest) lengths.push(step.change.manifest.text.length);
    };
    await put(store, all);
    await store.compact();
    await expectAll(store);
    await put(
      store,
      all.filter((_, i) => i % 3 === 0),
    ); // into pages that are full
    await store.compact();
    await expectAll(store);
    expect(Math.max(...lengths)).toBeLessThan(PAGE_LENGTH * 1.5);
    await store.close();
    const again = await open();
    await expectAll(again);
    await again.close();
    await keeper.close();
  });
});
