/** Reduced views: built-in and custom, grouped and not (contract §12; CouchDB 3.5 for the newer ones). */
import { describe, expect, it } from 'vitest';
import type { Context } from '../database/context';
import { numbered, rejection } from '../database/expectations';
import {
  type Ask,
  fresh,
  keysOf,
  type TestViewResult,
  type ViewsDatabase,
  valuesOf,
  waysOf,
} from './support';

const BY_DATE = 'function (doc) { emit([doc.year, doc.month, doc._id], doc.n); }';
const BY_KIND = 'function (doc) { emit(doc.kind, doc.n); }';

/** Twelve documents, kinds `a b c`, years 2020–2022, `n` 0 … 11. */
async function dozen(context: Context): Promise<ViewsDatabase> {
  const db = fresh(context);
  await db.bulkDocs(
    numbered(12).map((n) => ({
      _id: `d${String(n).padStart(2, '0')}`,
      n,
      kind: 'abc'[n % 3],
      year: 2020 + Math.floor(n / 4),
      month: 1 + (n % 2),
    })),
  );
  return db;
}

const entries = ({ rows }: TestViewResult): unknown[] => rows.map(({ key, value }) => [key, value]);

export function reducingConformance(context: Context): void {
  for (const [way, ask] of waysOf(context)) describe(way, () => reducing(context, ask));
}

function reducing(context: Context, ask: Ask): void {
  it('answers one row without id, total_rows and offset', async () => {
    const db = await dozen(context);
    const view = { map: BY_KIND, reduce: '_sum' };
    expect(await ask(db, view)).toEqual({ rows: [{ key: null, value: 66 }] });
    expect(await ask(db, view, { reduce: true })).toEqual({ rows: [{ key: null, value: 66 }] });
    expect(await ask(db, view, { key: 'a' })).toEqual({ rows: [{ key: null, value: 18 }] });
    expect(await ask(db, view, { key: 'nope' })).toEqual({ rows: [] });
    expect(await ask(db, view, { keys: ['a'] })).toEqual({ rows: [{ key: null, value: 18 }] });
    expect((await ask(db, view, { reduce: false })).total_rows).toBe(12);
    expect((await ask(db, view, { update_seq: true })).update_seq).toEqual((await db.info()).update_seq);
  });

  it('groups by key, with limit and skip for groups', async () => {
    const db = await dozen(context);
    const view = { map: BY_KIND, reduce: '_count' };
    const group = true;
    expect(entries(await ask(db, view, { group }))).toEqual([
      ['a', 4],
      ['b', 4],
      ['c', 4],
    ]);
    expect(keysOf(await ask(db, view, { group, limit: 1 }))).toEqual(['a']);
    expect(keysOf(await ask(db, view, { group, skip: 1, limit: '1' }))).toEqual(['b']);
    expect(keysOf(await ask(db, view, { group, limit: 0 }))).toEqual([]);
    expect(keysOf(await ask(db, view, { group, descending: true, limit: 2 }))).toEqual(['c', 'b']);
    expect(entries(await ask(db, view, { group, keys: ['c', 'x', 'a', 'c'] }))).toEqual([
      ['c', 4],
      ['a', 4],
      ['c', 4],
    ]);
    expect(entries(await ask(db, view, { group, startkey: 'b' }))).toEqual([
      ['b', 4],
      ['c', 4],
    ]);
    expect(await ask(db, view, { group, keys: [] })).toEqual({ rows: [] });
    const { update_seq } = await ask(db, view, { group, keys: [], update_seq: true });
    expect(update_seq).toEqual((await db.info()).update_seq);
  });

  it('groups by the beginnings of array keys', async () => {
    const db = await dozen(context);
    const view = { map: BY_DATE, reduce: '_sum' };
    expect(entries(await ask(db, view, { group_level: 0 }))).toEqual([[null, 66]]);
    expect(entries(await ask(db, view, { group_level: 1 }))).toEqual([
      [[2020], 6],
      [[2021], 22],
      [[2022], 38],
    ]);
    expect(entries(await ask(db, view, { group_level: '2', limit: 2 }))).toEqual([
      [[2020, 1], 2],
      [[2020, 2], 4],
    ]);
    for (const group_level of [3, 9, 999])
      expect((await ask(db, view, { group_level })).rows).toHaveLength(12);
    expect(entries(await ask(db, view, { group_level: 1, startkey: [2021], endkey: [2021, {}] }))).toEqual([
      [[2021], 22],
    ]);
    expect(entries(await ask(db, view, { group_level: 1, startkey: [2020, {}], descending: true }))).toEqual([
      [[2020], 6],
    ]);
    expect(entries(await ask(db, { map: BY_KIND, reduce: '_count' }, { group_level: 1 }))).toEqual([
      ['a', 4],
      ['b', 4],
      ['c', 4],
    ]);
  });

  it.each([
    ['_sum', 'doc.n', 66],
    ['_sum\nignored', 'doc.n', 66],
    ['_sum', '[doc.n, 1]', [66, 12]],
    ['_sum', 'doc.n < 2 ? [doc.n] : doc.n < 4 ? [1, doc.n] : doc.n', [63, 5]],
    ['_sum', '{ a: doc.n, b: { c: [1] } }', { a: 66, b: { c: [12] } }],
    ['_count', 'null', 12],
    ['_stats', 'doc.n', { sum: 66, count: 12, min: 0, max: 11, sumsqr: 506 }],
    [
      '_stats',
      '[doc.n, 1]',
      [
        { sum: 66, count: 12, min: 0, max: 11, sumsqr: 506 },
        { sum: 12, count: 12, min: 1, max: 1, sumsqr: 12 },
      ],
    ],
    [
      '_stats',
      '{ sum: doc.n, count: 2, min: 0, max: doc.n, sumsqr: 1 }',
      { sum: 66, count: 24, min: 0, max: 11, sumsqr: 12 },
    ],
    ['_approx_count_distinct', 'null', 3],
    ['_first', 'doc.n', 0],
    ['_last', 'doc.n', 11],
    ['_top_2', 'doc.n', [11, 10]],
    ['_bottom_3', 'doc.n', [0, 1, 2]],
    ['_top_2', '{ a: doc.n }', [{ a: 11 }, { a: 10 }]],
  ])('knows %j of %s', async (reduce, value, expected) => {
    const db = await dozen(context);
    const map = `function (doc) { emit(doc.kind, ${value}); }`;
    expect(await ask(db, { map, reduce })).toEqual({ rows: [{ key: null, value: expected }] });
  });

  it.each([
    ['_sum', '"text"'],
    ['_sum', 'null'],
    ['_sum', 'doc.n < 5 ? { a: 1 } : 1'],
    ['_stats', '"text"'],
    ['_stats', 'null'],
    ['_stats', 'doc.n < 5 ? [1] : 1'],
    ['_stats', 'doc.n < 5 ? [1] : [1, 2]'],
    ['_nope', '1'],
    ['_SUM', '1'],
    ['_top', '1'],
    ['_top_0', '1'],
    ['_top_101', '1'],
    ['_bottom_x', '1'],
    [' _sum ', '1'],
  ])('rejects %j of %s', async (reduce, value) => {
    const db = await dozen(context);
    const map = `function (doc) { emit(doc.kind, ${value}); }`;
    const error = await rejection(ask(db, { map, reduce }));
    expect(error.status).toBeGreaterThanOrEqual(400);
    // Elsewhere a reduce that there is not keeps the whole design document out.
    if (!context.features.uncheckedDesigns && error.name === 'invalid_design_doc') return;
    expect((await ask(db, { map, reduce }, { reduce: false })).rows).toHaveLength(12);
  });

  it('calls a custom function with keys and values, and with its own results', async () => {
    const db = await dozen(context);
    const seen =
      'function (keys, values, rereduce) { return rereduce ? values[0] : [keys[0], values.length, keys.length]; }';
    const result = await ask(db, { map: BY_KIND, reduce: seen }, { group: true });
    expect(valuesOf(result)).toEqual([
      [['a', 'd00'], 4, 4],
      [['b', 'd01'], 4, 4],
      [['c', 'd02'], 4, 4],
    ]);
    const summing = 'function (keys, values) { return sum(values); }';
    expect(valuesOf(await ask(db, { map: BY_KIND, reduce: summing }))).toEqual([66]);
  });

  it('keeps a row whose value is 0 or nothing', async () => {
    const db = await dozen(context);
    expect((await ask(db, { map: BY_KIND, reduce: 'function () { return 0; }' })).rows).toEqual([
      { key: null, value: 0 },
    ]);
    const [row] = (await ask(db, { map: BY_KIND, reduce: 'function () {}' })).rows;
    expect(row!.key).toBe(null);
    expect(row!.value ?? null).toBe(null);
  });

  it('gives null where the function throws, and says so', async () => {
    const db = await dozen(context);
    const reduce =
      'function (keys, values) { if (values[0] === 1) throw new Error("one"); return values[0]; }';
    expect(valuesOf(await ask(db, { map: BY_KIND, reduce }, { group: true }))).toEqual([0, null, 2]);
    if (!context.features.viewEvents) return;
    const errors: Error[] = [];
    db.on('error', (error: Error) => errors.push(error));
    await ask(db, { map: BY_KIND, reduce: `${reduce};` }, { group: true });
    expect(errors[0]!.message).toContain('one');
  });

  it('rejects include_docs, and several keys without groups', async () => {
    const db = await dozen(context);
    const view = { map: BY_KIND, reduce: '_count' };
    for (const options of [
      { include_docs: true },
      { keys: ['a', 'b'] },
      { keys: ['a', 'b'], group_level: 0 },
    ])
      expect((await rejection(ask(db, view, options))).status).toBe(400);
    expect((await ask(db, view, { include_docs: true, reduce: false })).rows[0]!.doc).toMatchObject({ n: 0 });
  });

  it('reduces many rows as few, whatever lies between', async () => {
    const db = fresh(context);
    const groups = 7;
    await db.bulkDocs(numbered(1_500).map((n) => ({ _id: `d${n}`, n, g: n % groups })));
    const map = 'function (doc) { emit([doc.g, doc.n], doc.n); }';
    const reduce = 'function (keys, values, rereduce) { return rereduce ? sum(values) : keys.length; }';
    const count = (g: number): number => numbered(1_500).filter((n) => n % groups === g).length;
    for (let time = 0; time < 2; time++) {
      for (const each of ['_count', reduce]) {
        expect(valuesOf(await ask(db, { map, reduce: each }))).toEqual([1_500]);
        expect(valuesOf(await ask(db, { map, reduce: each }, { group_level: 1 }))).toEqual(
          numbered(groups).map(count),
        );
        expect(
          valuesOf(await ask(db, { map, reduce: each }, { startkey: [2, 700], endkey: [3, 10] })),
        ).toEqual([
          numbered(1_500).filter((n) => (n % groups === 2 && n >= 700) || (n % groups === 3 && n <= 10))
            .length,
        ]);
      }
      const total = (1_499 * 1_500) / 2;
      expect(valuesOf(await ask(db, { map, reduce: '_sum' }))).toEqual([total]);
      expect(
        keysOf(await ask(db, { map, reduce: '_sum' }, { group_level: 1, descending: true, limit: 2 })),
      ).toEqual([[6], [5]]);
    }
  });

  it('gives a custom function no keys when it is given its own results', async () => {
    const db = fresh(context);
    const many = 1_200;
    await db.bulkDocs(numbered(many).map((n) => ({ _id: `d${n}`, n })));
    const map = 'function (doc) { emit(doc.n % 3, doc.n); }';
    const reduce =
      'function (keys, values, rereduce) { if (rereduce !== (keys === null)) throw new Error("keys"); return rereduce ? sum(values) : keys.filter(function (k) { return k.length === 2 && typeof k[1] === "string"; }).length; }';
    for (let time = 0; time < 2; time++) {
      expect(valuesOf(await ask(db, { map, reduce }))).toEqual([many]);
      expect(valuesOf(await ask(db, { map, reduce }, { group: true }))).toEqual([400, 400, 400]);
      expect(valuesOf(await ask(db, { map, reduce }, { startkey: 1, endkey: 1 }))).toEqual([400]);
    }
  });

  it.each([
    ['_stats', 'doc.n', { sum: 719_400, count: 1_200, min: 0, max: 1_199, sumsqr: 575_280_200 }],
    ['_sum', '[doc.n, 1]', [719_400, 1_200]],
    ['_first', 'doc.n', 0],
    ['_last', 'doc.n', 1_199],
    ['_top_3', 'doc.n', [1_199, 1_198, 1_197]],
    ['_bottom_2', 'doc.n', [0, 1]],
  ])('puts %j of %s together from many rows', async (reduce, value, expected) => {
    const db = fresh(context);
    await db.bulkDocs(numbered(1_200).map((n) => ({ _id: `d${n}`, n })));
    const map = `function (doc) { emit(doc.n, ${value}); }`;
    for (let time = 0; time < 2; time++) {
      expect(valuesOf(await ask(db, { map, reduce }))).toEqual([expected]);
      // A range that begins and ends within stored runs is put together of both.
      const within = await ask(db, { map, reduce: '_count' }, { startkey: 100, endkey: 1_099 });
      expect(valuesOf(within)).toEqual([1_000]);
    }
  });

  it('estimates how many keys there are, within three of a hundred', async () => {
    const db = fresh(context);
    await db.bulkDocs(numbered(1_200).map((n) => ({ _id: `d${n}`, n: n % 600 })));
    const map = 'function (doc) { emit([doc.n, "x"], null); }';
    const [count] = valuesOf(await ask(db, { map, reduce: '_approx_count_distinct' }));
    expect(Math.abs((count as number) - 600)).toBeLessThan(18);
  });
}
