/**
 * Answers that are read in several parts: by pages of a bookmark, and in batches, of rows most of which have one and the same key.
 * Where the parts meet no row is lost, doubled, or read for ever.
 */
import { compareKeys, type Json } from '@settledb/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { IndexBound, IndexRange } from '../../packages/query/src/index-reader';
import { behind } from '../../packages/query/src/mango/indexed';
import { naiveMango, realMango } from './support';

interface Row {
  readonly key: Json;
  readonly id: string;
}

const order = (a: Row, b: Row): number =>
  compareKeys(a.key, b.key) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

/** Whether a row lies on the inner side of a bound. A bound without an id is the whole of its key. */
function isInside(row: Row, bound: IndexBound | undefined, sign: number): boolean {
  if (bound === undefined) return true;
  const { key, id, inclusive } = bound;
  const side = sign * (compareKeys(row.key, key) || (id === undefined ? 0 : order(row, { key, id })));
  return side > 0 || (side === 0 && inclusive);
}

const rowsOf = (rows: readonly Row[], { from, to }: IndexRange): Row[] =>
  rows.filter((row) => isInside(row, from, 1) && isInside(row, to, -1));

const key = fc.constantFrom<Json>(null, 1, 2, 'x');
const id = fc.constantFrom('a', 'b', 'c', 'd');
const bound = fc.record({ key, id, inclusive: fc.boolean() }, { requiredKeys: ['key', 'inclusive'] });
const range = fc.record({ from: bound, to: bound }, { requiredKeys: [] });

it('what comes behind a place is the rows behind it, and no others', () => {
  const rows = [null, 1, 2, 'x'].flatMap((each) => ['a', 'b', 'c', 'd'].map((of) => ({ key: each, id: of })));
  fc.assert(
    fc.property(range, key, id, fc.boolean(), (within, of, at, descending) => {
      const place = { key: of, id: at };
      const wanted = rowsOf(rows, within).filter((row) => order(row, place) * (descending ? -1 : 1) > 0);
      const found = behind([within as IndexRange], place, descending).flatMap((rest) => rowsOf(rows, rest));
      expect(found).toEqual(wanted);
    }),
    { numRuns: 2_000 },
  );
});

describe.each([
  ['indexes that are kept', realMango],
  ['indexes that are mapped anew', naiveMango],
])('by %s', (_, make) => {
  it.each(['asc', 'desc'] as const)('pages of one key follow one another, %s', async (direction) => {
    const { db, mango } = make();
    const ids = Array.from({ length: 9 }, (_, i) => `d${i}`);
    await db.bulkDocs(ids.map((each) => ({ _id: each, type: 'a', n: 1 })));
    await mango.createIndex({ fields: ['type', 'n'] });
    const sort = [{ type: direction }, { n: direction }];
    const pages: string[][] = [];
    for (let bookmark: string | undefined; pages.length < 10; ) {
      const found = await mango.find({ selector: { type: 'a' }, sort, limit: 2, bookmark });
      if (found.docs.length === 0) break;
      pages.push(found.docs.map(({ _id }) => _id));
      bookmark = found.bookmark;
    }
    expect(pages.flat()).toEqual(direction === 'asc' ? ids : [...ids].reverse());
    await db.close();
  });
});

describe('more documents of one key than are read at a time', () => {
  /** More than two batches of a find, and more than two of a gathering. */
  const MANY = 10_500;
  const docs = Array.from({ length: MANY }, (_, i) => ({ _id: `d${100_000 + i}`, type: 'a', n: MANY - i }));

  it('are gone through once', async () => {
    const { db, mango } = realMango();
    await db.bulkDocs(docs);
    await mango.createIndex({ fields: ['type'] });
    const nothing = await mango.find({ selector: { type: 'a', rare: true }, execution_stats: true });
    expect(nothing.docs).toEqual([]);
    expect(nothing.execution_stats).toMatchObject({ total_keys_examined: MANY });
    const last = await mango.find({ selector: { type: 'a', n: 1 } });
    expect(last.docs.map(({ _id }) => _id)).toEqual([docs.at(-1)!._id]);
    // In another order than the index has: all are gathered first.
    const least = await mango.find({ selector: { type: 'a' }, sort: ['n'], limit: 2 });
    expect(least.docs.map(({ _id }) => _id)).toEqual(
      docs
        .slice(-2)
        .map(({ _id }) => _id)
        .reverse(),
    );
    const rest = await mango.find({ selector: { type: 'a' }, limit: MANY });
    expect(rest.docs).toHaveLength(MANY);
    await db.close();
  });
});

it('an index that begins with _id finds what it should', async () => {
  const { db, mango } = realMango();
  await db.bulkDocs([
    { _id: 'a', type: 'note' },
    { _id: 'b', type: 'task' },
    { _id: 'c', type: 'note' },
  ]);
  await mango.createIndex({ fields: ['_id', 'type'] });
  const ids = async (asked: Parameters<typeof mango.find>[0]) =>
    (await mango.find(asked)).docs.map(({ _id }) => _id);
  expect(await ids({ selector: { type: 'note' }, sort: ['_id'] })).toEqual(['a', 'c']);
  expect(await ids({ selector: {}, sort: ['_id'] })).toEqual(['a', 'b', 'c']);
  expect(await ids({ selector: { _id: { $gt: 'a' } }, sort: [{ _id: 'desc' }] })).toEqual(['c', 'b']);
  expect(await ids({ selector: { _id: 'b', type: 'task' } })).toEqual(['b']);
  await db.close();
});
