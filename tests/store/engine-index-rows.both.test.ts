/** The tables of indexes on the engine: many rows in a commit, ranges by parts of a composite key, and the order of documents. */
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, fromKey, type IndexEntry, type Store, schema, toKey } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { describe, expect, it } from 'vitest';

const ROWS = 10_000;
const TAGS = ['a', 'b'];

/** Keys of several types, two rows a document, values in the row and apart. */
const entries: IndexEntry[] = TAGS.flatMap((tag) =>
  Array.from({ length: ROWS / 2 }, (_, i) => {
    const value = i % 7 === 0 ? { long: JSON.stringify(`long ${i} `.repeat(40)) } : { value: String(i) };
    return { tag, key: toKey([i % 10, i % 3 === 0 ? null : `k${i}`]), id: `d${i >> 1}`, n: i % 2, ...value };
  }),
);
const place = ({ tag, key, id, n }: IndexEntry): string => JSON.stringify([tag, fromKey(key), id, n]);
const inOrder = [...entries].sort((x, y) => {
  for (const field of ['tag', 'key', 'id', 'n'] as const)
    if (x[field] !== y[field]) return x[field] < y[field] ? -1 : 1;
  return 0;
});

async function expectAll(store: Store<DatabaseTables>): Promise<void> {
  const [all, second, some, after, one, byDoc] = await store.read([
    { from: 'index', range: { gte: [''] }, texts: true },
    { from: 'index', range: { gte: ['b'], lte: ['b', []] } },
    { from: 'index', range: { gte: ['a', toKey([3])], lt: ['a', toKey([4])] } },
    { from: 'index', range: { gt: ['a', toKey([3, null]), []], lte: ['a', []] }, limit: 1 },
    { from: 'index', range: { gte: ['b', toKey([0, null]), 'd0'], lte: ['b', toKey([0, null]), 'd0', []] } },
    { from: 'index', by: 'doc', range: { gte: ['d77', 'b'], lte: ['d77', 'b', []] } },
  ]);
  expect(all).toEqual(inOrder);
  expect(second.map(place)).toEqual(inOrder.filter(({ tag }) => tag === 'b').map(place));
  const within = ({ tag, key }: IndexEntry): boolean => tag === 'a' && key >= toKey([3]) && key < toKey([4]);
  expect(some.map(place)).toEqual(inOrder.filter(within).map(place));
  expect(after.map(({ key }) => fromKey(key))).toEqual([[3, 'k1003']]);
  expect(one.map(place)).toEqual([JSON.stringify(['b', [0, null], 'd0', 0])]);
  expect(byDoc.map(({ n }) => n)).toEqual([0, 1]);
}

describe('rows of indexes', () => {
  it(`are found in all their orders, ${ROWS} in one commit, before and after a rewrite, and when opened anew`, async () => {
    const adapter = memory();
    const keeper = await adapter.open('db');
    const store = await openLogStore<DatabaseTables>(await adapter.open('db'), schema, { checkpoint: false });
    await store.write([], () => ({ writes: [{ into: 'index', put: entries }], value: undefined }));
    await expectAll(store);
    await store.compact();
    await expectAll(store);
    await store.close();
    const again = await openLogStore<DatabaseTables>(await adapter.open('db'), schema);
    await expectAll(again);
    await again.close();
    await keeper.close();
  });

  it('that a plan says are new are found like others, whatever becomes of them, also by another handle', async () => {
    const adapter = memory();
    const keeper = await adapter.open('db');
    const open = async () =>
      openLogStore<DatabaseTables>(await adapter.open('db'), schema, { checkpoint: false });
    const store = await open();
    const other = await open();
    const expectSame = async (...wanted: IndexEntry[][]): Promise<void> => {
      const sorted = wanted.flat().sort((x, y) => (x.key < y.key ? -1 : 1));
      for (const each of [store, other]) {
        const [found, count, byDoc] = await each.read([
          { from: 'index', range: { gte: [''] } },
          { from: 'index', count: { gte: ['a'] } },
          { from: 'index', by: 'doc', range: { gte: ['d'], lte: ['d', []] } },
        ]);
        expect([found, count, byDoc.length]).toEqual([sorted, wanted.flat().length, wanted.flat().length]);
      }
    };
    /** Every third from `first` on: runs that lie between one another. */
    const run = (first: number, value: string): IndexEntry[] =>
      Array.from({ length: 100 }, (_, i) => ({
        tag: 'a',
        key: toKey(first + 3 * i),
        id: 'd',
        n: first + 3 * i,
        value,
      }));
    const keyOf = ({ tag, key, id, n }: IndexEntry) => [tag, key, id, n];
    const [one, two, three] = [run(0, '1'), run(1, '2'), run(2, '3')];
    const put = (rows: IndexEntry[], fresh: boolean) =>
      store.write([], () => ({ writes: [{ into: 'index', put: rows, fresh }], value: undefined }));
    await put(one, true);
    await put(two, true);
    await expectSame(one, two);
    // Gone, changed, and new again at the same keys.
    await store.write([], () => ({
      writes: [
        { into: 'index', delete: one.map(keyOf) },
        { into: 'index', put: two.map((row) => ({ ...row, value: 'x' })) },
      ],
      value: undefined,
    }));
    const changed = two.map((row) => ({ ...row, value: 'x' }));
    await expectSame(changed);
    await put(one, true);
    await put(three, true);
    await expectSame(one, changed, three);
    await store.compact();
    await expectSame(one, changed, three);
    await store.write([], () => ({
      writes: [{ into: 'index', delete: three.map(keyOf) }],
      value: undefined,
    }));
    await put(three, true); // over rows of pages that are gone
    await expectSame(one, changed, three);
    for (const each of [store, other, keeper]) await each.close();
  });
});
