/** What a find holds in memory has bounds; beyond them it says so, or takes another way to the same answer. */
import { describe, expect, it, vi } from 'vitest';
import type { IndexReader } from '../../packages/query/src/index-reader';
import type { Source } from '../../packages/query/src/mango/batches';
import { conjunctionOf, pathKey } from '../../packages/query/src/mango/constraint';
import { documentsOf } from '../../packages/query/src/mango/documents';
import { formulaOf } from '../../packages/query/src/mango/formula';
import { SORT_BUDGET, type Sorted, TopOf } from '../../packages/query/src/mango/in-memory';
import { keysOf } from '../../packages/query/src/mango/mango-index';
import { normalizeSelector } from '../../packages/query/src/mango/normalize';
import { makePlan } from '../../packages/query/src/mango/planner';
import { projectedPaths } from '../../packages/query/src/mango/project';
import { Slices } from '../../packages/query/src/slices';
import { naiveMango, realMango } from './support';

describe('sorting in memory', () => {
  const sort = [{ name: 'n', path: ['n'], descending: false }] as never;
  const item = (n: number): Sorted => ({ values: [n], id: `d${n}`, doc: { _id: `d${n}`, _rev: '1-a' } });

  it('keeps as many as are asked for, of however many', () => {
    const top = new TopOf(sort, 3);
    for (let n = 0; n < 2 * SORT_BUDGET; n++) top.add(item((n * 7919) % (2 * SORT_BUDGET)));
    expect(top.take().map(({ doc }) => doc._id)).toEqual(['d0', 'd1', 'd2']);
  });

  it('refuses to keep more than its budget, and says what helps', () => {
    const top = new TopOf(sort, Number.POSITIVE_INFINITY);
    for (let n = 0; n < SORT_BUDGET; n++) top.add(item(n));
    expect(() => top.add(item(SORT_BUDGET))).toThrow(/keep more than 50000 documents .* create an index/);
  });
});

it('of fields, those that others bring along are left out, in a time that does not grow with the square of their number', () => {
  const fields = ['d.e', 'a.b', 'a', 'a.b.c', 'd.e', 'd', '__proto__.x', 'a\\.b'];
  expect(projectedPaths(fields)).toEqual([['a'], ['d'], ['__proto__', 'x'], ['a.b']]);
  expect(projectedPaths(['ab', 'a', 'a"', 'a".b', 'a\0.c'])).toEqual([['ab'], ['a'], ['a"'], ['a\0', 'c']]);
  // Each compared with each, or each beginning of each looked for, took minutes.
  const deep = 'a.'.repeat(200_000);
  expect(projectedPaths([`${deep}b`, `${deep}c`, `${deep}b.c`])).toHaveLength(2);
  const many = Array.from({ length: 200_000 }, (_, n) => `f${n}.g`);
  expect(projectedPaths([...many, ...many])).toHaveLength(200_000);
});

describe('a plan for many conditions on one field', () => {
  const gaps = Array.from({ length: 5_000 }, (_, n) => ({
    $or: [{ a: { $lt: n } }, { a: { $gt: n + 0.5 } }],
  }));
  const values = (selector: object) =>
    conjunctionOf(formulaOf(normalizeSelector(selector as never))).fields.get(pathKey(['a']))!.values;

  it('narrows it no further than some intervals', () => {
    // Each compared with all of them, they took 12 s here, and so did the conditions on an element.
    expect(values({ $and: gaps }).length).toBeLessThan(100);
    const onElement = gaps.map((_, n) => ({ $or: [{ $lt: n }, { $gt: n + 0.5 }] }));
    expect(values({ a: { $elemMatch: { $and: onElement } } })).toHaveLength(1);
    // A branch within a branch is worked out once.
    let nested: object = { a: -1 };
    for (let n = 0; n < 200; n++)
      nested = { $or: [nested, ...gaps.slice(0, 20).map((_, i) => ({ a: 20 * n + i }))] };
    expect(values(nested)).toHaveLength(4_001);
  });

  it('keeps to single values, whatever stands before them', () => {
    const some = Array.from({ length: 100 }, (_, n) => ({ a: n }));
    expect(values({ $and: [{ $or: some }, { a: 5 }] })).toHaveLength(1);
    expect(values({ $and: [{ $or: some }, { a: { $gt: 5 } }] })).toHaveLength(100);
    expect(values({ $and: [{ $or: some.slice(50) }, { a: { $lt: 60 } }] })).toHaveLength(10);
  });

  it('finds what matches', async () => {
    const { db, mango } = realMango();
    await db.bulkDocs(Array.from({ length: 400 }, (_, n) => ({ _id: `d${1_000 + n}`, a: n / 4 })));
    const selector = { $and: gaps.slice(0, 90), b: { $exists: false } };
    const scanned = (await mango.find({ selector, limit: 400 })).docs;
    await mango.createIndex({ fields: ['a'] });
    const { docs, execution_stats } = await mango.find({ selector, limit: 400, execution_stats: true });
    expect(docs).toEqual(scanned);
    expect(docs).toHaveLength(130);
    expect(execution_stats!.total_docs_examined).toBeLessThan(300);
    await db.destroy();
  });
});

it('a union has no more ids than ranges, whatever list a branch of an $or names', () => {
  const index = { ddoc: '_design/a', name: 'a', fields: [{ name: 'a', direction: 'asc' }] } as const;
  const planned = (ids: number) => {
    // More than a call takes arguments.
    const $in = Array.from({ length: ids }, (_, n) => `d${n}`);
    const exact = normalizeSelector({ $or: [{ _id: { $in } }, { a: 1 }] });
    return makePlan({ exact, sort: [] }, [index]);
  };
  expect(planned(400)).toMatchObject({ kind: 'gather', ids: { length: 400 } });
  expect(planned(600_000).kind).toBe('scan');
});

it('documents are tested in slices, between which other tasks have their turn', async () => {
  const { db, mango } = naiveMango();
  await db.bulkDocs(Array.from({ length: 50 }, (_, n) => ({ n })));
  await mango.find({ selector: { n: 0 } });
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 10)); // as if each test took so long
  const next = vi.spyOn(Slices.prototype, 'next');
  for (const sort of [[], ['n']]) {
    next.mockClear();
    await mango.find({ selector: { n: { $lt: 0 } }, sort });
    expect(next.mock.calls.length).toBeGreaterThanOrEqual(50);
  }
  vi.restoreAllMocks();
  await db.destroy();
});

it('the rows of a list repeat no more of the other fields than a bound, and its elements are found all the same', async () => {
  const tags = Array.from({ length: 1_000 }, (_, n) => n);
  const texts = tags.map((n) => `${n}`.padEnd(2_000));
  const lengthOf = (doc: object, fields: string[]): number =>
    JSON.stringify(
      keysOf(
        fields.map((name) => [name]),
        doc,
      ),
    ).length;
  // 3 MB of text became 3 GB of keys.
  expect(lengthOf({ tags, text: 'x'.repeat(100_000) }, ['tags', 'text'])).toBeLessThan(500_000);
  expect(lengthOf({ tags, texts }, ['tags', 'texts'])).toBeLessThan(5_000_000);
  expect(keysOf([['tags'], ['n']], { tags, n: 1 })).toHaveLength(1_001);
  expect(keysOf([['tags']], { tags: texts })).toHaveLength(1_001);

  const { db, mango } = realMango();
  await db.bulkDocs([
    { _id: 'long', tags, text: 'x'.repeat(300) },
    { _id: 'other', tags: [-1], text: 'x'.repeat(300_000) },
    { _id: 'short', tags: [3, 4], text: 'x' },
  ]);
  await mango.createIndex({ fields: ['tags', 'text'] });
  const found = async (tag: number): Promise<string[]> =>
    (await mango.find({ selector: { tags: { $in: [tag] } } })).docs.map(({ _id }) => _id);
  expect(await found(3)).toEqual(['long', 'short']);
  expect(await found(-1)).toEqual(['other']);
  await db.destroy();
});

it('a union of more ids than may be collected reads all documents instead', async () => {
  const rows = Array.from({ length: 5_000 }, (_, n) => ({ id: `d${n}`, key: [n], value: null }));
  let reads = 0;
  const reader: IndexReader = {
    async read(_, ranges) {
      const from = 5_000 * reads++;
      return ranges.map(() => ({
        rows: rows.map((row, n) => ({ ...row, id: `d${from + n}` })),
        update_seq: 1,
      }));
    },
  };
  const docs = [{ _id: 'a', _rev: '1-a' }];
  const database = {
    name: 'db',
    allDocs: async ({ startkey }: { startkey?: string }) => ({
      total_rows: 1,
      offset: 0,
      rows: (startkey === undefined ? docs : []).map((doc) => ({
        id: doc._id,
        key: doc._id,
        value: { rev: doc._rev },
        doc,
      })),
    }),
  } as unknown as Source['database'];
  const index = { ddoc: '_design/x', name: 'x', fields: [{ name: 'n', direction: 'asc' as const }] };
  const plan = {
    kind: 'gather',
    ids: [],
    accesses: [{ index, ranges: [{}] }],
    descending: false,
    sorts: false,
  };
  const found: string[] = [];
  const tally = { keys: 0, docs: 0, seqs: new Set<number>() };
  for await (const batch of documentsOf({ database, reader }, plan as never, { wanted: 25 }, tally as never))
    for (const { doc } of batch) found.push(doc._id);
  expect(found).toEqual(['a']);
  // Those that were collected, and the one that was read.
  expect(tally.keys).toBe(505_001);
});
