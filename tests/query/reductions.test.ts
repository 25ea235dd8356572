/** Stored reductions: how little is read where they are, and that they are those of the rows. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { memory } from '@settledb/adapter-memory';
import type { Loose, MapFunction, ReduceFunction, ViewOptions } from '@settledb/core';
import { afterEach, describe, expect, it } from 'vitest';
import { expectWhole, openContext, type QueryContext } from '../support/query-context';
import { mulberry32 } from '../support/slow-adapter';

const ROWS = 20_000;
const GROUPS = 10;
const DDOC = {
  _id: '_design/v',
  views: {
    v: { map: 'function (doc) { emit([doc.n % 10, doc.n], doc.n); }', reduce: '_sum' },
    count: { map: 'function (doc) { emit([doc.n % 10, doc.n], doc.n); }', reduce: '_count' },
    own: {
      map: 'function (doc) { emit([doc.n % 10, doc.n], doc.n); }',
      reduce: 'function (keys, values, rereduce) { return rereduce ? sum(values) : keys.length; }',
    },
  },
};

const opened: QueryContext[] = [];
afterEach(async () => {
  for (const { database } of opened.splice(0)) await database.close();
});

async function filled(
  adapter = memory() as Parameters<typeof openContext>[0],
  name = 'db',
): Promise<QueryContext> {
  const context = await openContext(adapter, name);
  opened.push(context);
  await context.database.bulkDocs(Array.from({ length: ROWS }, (_, n) => ({ _id: `d${n}`, n })));
  await context.database.put(DDOC as never);
  await context.views.query('v', { limit: 0 });
  return context;
}

/** Rows of the index that a query reads. */
async function rowsRead({ store, views }: QueryContext, view: string, options: object = {}): Promise<number> {
  let rows = 0;
  const counted = (queries: readonly { from: string }[], found: readonly unknown[][] | undefined): void => {
    for (const [i, { from }] of queries.entries()) if (from === 'index') rows += found?.[i]?.length ?? 0;
  };
  const { read, readNow } = store;
  Object.assign(store, {
    read: async (queries: never, given: never) => {
      const found = await read.call(store, queries, given);
      counted(queries, found as never);
      return found;
    },
    readNow: (queries: never) => {
      const found = readNow.call(store, queries);
      counted(queries, found as never);
      return found;
    },
  });
  try {
    await views.query(view, options);
  } finally {
    Object.assign(store, { read, readNow });
  }
  return rows;
}

describe('a reduced query over many rows', () => {
  it('reads them once, then few, whatever the reduce', async () => {
    const context = await filled();
    for (const view of ['v', 'v/own']) {
      expect(await rowsRead(context, view)).toBeGreaterThanOrEqual(ROWS);
      expect(await rowsRead(context, view)).toBeLessThan(400);
      expect(await rowsRead(context, view, { group_level: 1 })).toBeLessThan(ROWS / 3);
      expect(await rowsRead(context, view, { group_level: 1 })).toBeLessThan(400 + 2 * GROUPS * 256);
      expect(await rowsRead(context, view, { startkey: [2, 100], endkey: [7, 900] })).toBeLessThan(1_500);
    }
    await expectWhole(context.store);
  });

  it('counts by what the store knows, and reads no row', async () => {
    const context = await filled();
    const { views, database } = context;
    const first = (await database.get('d777')) as { _id: string; _rev: string; n: number };
    await database.put({ ...first, n: 1_000_777 } as never);
    const second = (await database.get('d42')) as { _id: string; _rev: string };
    await database.put({ ...second, _deleted: true } as never);
    const ranges: object[] = [
      {},
      { key: [7, 1_000_777] },
      { startkey: [2, 32], endkey: [2, 72] },
      { startkey: [7], endkey: [7, {}] },
      { startkey: [2, 100], endkey: [7, 900], inclusive_end: false },
      { startkey: [7, 900], endkey: [2, 100], descending: true },
      { startkey: [7, 7], startkey_docid: 'd8', endkey: [7, 27], endkey_docid: 'd26' },
    ];
    for (const range of ranges) {
      const { rows } = await views.query('v/count', { ...range, reduce: false });
      expect(await rowsRead(context, 'v/count', range)).toBe(0);
      expect((await views.query('v/count', range)).rows).toEqual([{ key: null, value: rows.length }]);
      // The long way.
      const asked = { ...range, update: 'lazy' } as const;
      expect((await views.query('v/count', asked)).rows).toEqual([{ key: null, value: rows.length }]);
    }
    expect((await views.query('v/count', { key: 'nothing' })).rows).toEqual([]);
    expect((await views.query('v/count', { skip: 1 })).rows).toEqual([]);
  });

  it('reads a run anew after an edit in it', async () => {
    const context = await filled();
    const { views, database } = context;
    expect((await views.query('v')).rows).toEqual([{ key: null, value: (ROWS * (ROWS - 1)) / 2 }]);
    const doc = (await database.get('d777')) as { _id: string; _rev: string; n: number };
    await database.put({ ...doc, n: 1_000_777 } as never);
    await views.query('v', { reduce: false, limit: 0 });
    expect(await rowsRead(context, 'v')).toBeLessThan(1_200);
    expect((await views.query('v')).rows).toEqual([
      { key: null, value: (ROWS * (ROWS - 1)) / 2 + 1_000_000 },
    ]);
    expect(await rowsRead(context, 'v')).toBeLessThan(400);
    await expectWhole(context.store);
  });

  it('is that of the rows after an edit that changes a value and no key', async () => {
    const { views, database } = await filled();
    const map = 'function (doc) { emit(doc.n, doc.v || 1); }';
    await database.put({ _id: '_design/w', views: { w: { map, reduce: '_sum' } } } as never);
    const total = async () => (await views.query('w')).rows[0]?.value;
    expect([await total(), await total()]).toEqual([ROWS, ROWS]);
    await database.put({ ...(await database.get('d777')), v: 1_000 } as never);
    expect([await total(), await total()]).toEqual([ROWS + 999, ROWS + 999]);
  });

  it('begins with the groups that are wanted, from either end', async () => {
    const context = await filled();
    const limit = { group_level: 1, limit: 1 };
    expect(await rowsRead(context, 'v', limit)).toBeLessThan(2 * 2_048 + 400);
    expect((await context.views.query('v', { ...limit, descending: true })).rows[0]?.key).toEqual([9]);
    expect(await rowsRead(context, 'v', { ...limit, descending: true })).toBeLessThan(2 * 2_048 + 400);
  });

  it('has as many groups as there are, more than a call takes arguments', async () => {
    const map = (doc: Loose, emit: (key: unknown, value: unknown) => void): void => {
      for (let i = 0; i < 3_000; i++) emit([doc.n, i], 1);
    };
    const context = await openContext(memory(), 'db', { views: { v: { map, reduce: '_sum' } } });
    opened.push(context);
    await context.database.bulkDocs(Array.from({ length: 50 }, (_, n) => ({ _id: `d${n}`, n })));
    expect((await context.views.query('v', { group: true })).rows.length).toBe(150_000);
  });

  it('answers the same again where JSON has no word for what was reduced', async () => {
    const map = (doc: Loose, emit: (key: unknown, value: unknown) => void): void => emit(doc.n, 1e308);
    const kinds = (values: readonly unknown[]): string => [...new Set(values.map(kindOf))].join();
    const kindOf = (value: unknown): string =>
      Array.isArray(value) ? `[${value.map(kindOf)}]` : (value?.constructor.name ?? String(value));
    const made = {
      infinite: Infinity,
      date: new Date(0),
      map: new Map(),
      hole: [1, undefined],
      odd: { a: NaN },
    };
    const views: Record<string, { map: MapFunction; reduce: string | ReduceFunction }> = {
      sum: { map, reduce: '_sum' },
      stats: { map, reduce: '_stats' },
    };
    for (const [name, value] of Object.entries(made))
      views[name] = { map, reduce: (_keys, values, again) => (again ? `${name} ${kinds(values)}` : value) };
    const context = await openContext(memory(), 'db', { views });
    opened.push(context);
    await context.database.bulkDocs(Array.from({ length: 600 }, (_, n) => ({ _id: `d${n}`, n })));
    for (const name of Object.keys(views)) {
      const answer = await context.views.query(name);
      expect(await context.views.query(name)).toEqual(answer);
      if (name === 'stats') expect(answer.rows[0]?.value).toMatchObject({ sum: Infinity, count: 600 });
    }
  });

  // Reduces that share an index store their states in the same runs: what one query left of them serves the next.
  it.each([1, 2, 3, 4])('is that of the rows, whatever was asked before (seed %i)', async (seed) => {
    const random = mulberry32(seed);
    const below = (most: number): number => Math.floor(random() * most);
    const map = 'function (doc) { emit([doc.g, doc.n], doc.n); }';
    // Adds up into what it is given, which in CouchDB is a copy.
    const own = `function (keys, values, again) {
      if (!again) return { n: values.length };
      var all = values[0];
      for (var i = 1; i < values.length; i++) all.n += values[i].n;
      return all;
    }`;
    const naive: Record<string, (values: number[]) => unknown> = {
      sum: (values) => values.reduce((a, b) => a + b, 0),
      count: (values) => values.length,
      own: (values) => ({ n: values.length }),
    };
    const context = await openContext(memory(), 'db');
    opened.push(context);
    const { database, views } = context;
    const reduces = { sum: '_sum', count: '_count', own };
    const of = ([name, reduce]: [string, string]) => [name, { map, reduce }];
    await database.put({
      _id: '_design/v',
      views: Object.fromEntries(Object.entries(reduces).map(of)),
    } as never);
    const kinds = 2 + below(5);
    const docs = Array.from({ length: 1_500 }, (_, n) => ({ _id: `d${n}`, g: below(kinds), n }));
    await database.bulkDocs(docs);
    for (let asked = 0; asked < 60; asked++) {
      const view = Object.keys(reduces)[below(3)]!;
      const [from, to] = [below(kinds), below(kinds)].sort() as [number, number];
      const ends = random() < 0.5 ? undefined : ([[from], [to, {}]] as const);
      const descending = random() < 0.3;
      const skip = random() < 0.3 ? below(3) : 0;
      const limit = random() < 0.5 ? below(4) + 1 : undefined;
      const group_level = below(2);
      const within = docs.filter(({ g }) => ends === undefined || (g >= from && g <= to));
      const groups = new Map<number | null, number[]>();
      for (const { g, n } of within) {
        const group = group_level === 0 ? null : g;
        groups.set(group, [...(groups.get(group) ?? []), n]);
      }
      const expected = [...groups]
        .sort(([a], [b]) => (descending ? -1 : 1) * ((a ?? 0) - (b ?? 0)))
        .map(([g, values]) => ({ key: g === null ? null : [g], value: naive[view]!(values) }))
        .slice(skip, limit && skip + limit);
      const [startkey, endkey] = ends === undefined ? [] : descending ? [ends[1], ends[0]] : ends;
      const range = ends === undefined ? {} : { startkey, endkey };
      const options = { ...range, descending, skip, group_level, ...(limit && { limit }) } as ViewOptions;
      expect((await views.query(`v/${view}`, options)).rows, JSON.stringify(options)).toEqual(expected);
    }
    await expectWhole(context.store);
  });

  it('keeps the states of the reduces that were asked last, not of every text that a reduce has ever had', async () => {
    const context = await openContext(memory(), 'db');
    opened.push(context);
    const { database, views, store } = context;
    const map = 'function (doc) { emit(doc.n, doc.n); }';
    await database.bulkDocs(Array.from({ length: 1_000 }, (_, n) => ({ _id: `d${n}`, n })));
    const all = [{ from: 'reductions', range: {}, texts: true }] as const;
    let _rev: string | undefined;
    const edited = async (edit: number): Promise<void> => {
      const reduce = `function (keys, values) { return sum(values) + ${edit} - ${edit}; }`;
      const put = { _id: '_design/v', ...(_rev && { _rev }), views: { v: { map, reduce } } };
      ({ rev: _rev } = (await database.put(put as never)) as { rev: string });
      for (let again = 0; again < 2; again++)
        expect((await views.query('v')).rows).toEqual([{ key: null, value: 499_500 }]);
    };
    const expectFew = async (): Promise<void> => {
      const [runs] = await store.read(all);
      expect(runs.length).toBeGreaterThan(2);
      for (const { values } of runs)
        expect(Object.keys(JSON.parse(values as string)).length).toBeLessThan(40);
    };
    for (let edit = 0; edit < 60; edit++) await edited(edit);
    await expectFew();
    // What earlier code left goes with the next one that is stored.
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`2 former${n}`, [0]]));
    await store.write(all, ([runs]) => ({
      writes: [{ into: 'reductions', put: runs.map((run) => ({ ...run, values: JSON.stringify(many) })) }],
      value: undefined,
    }));
    await edited(60);
    await expectFew();
    expect(await rowsRead(context, 'v')).toBeLessThan(400);
    await expectWhole(store);
  });

  it('makes no use of what earlier code stored', async () => {
    const context = await filled();
    const { views, store } = context;
    const { rows } = await views.query('v');
    const all = [{ from: 'reductions', range: {}, texts: true }] as const;
    await store.write(all, ([runs]) => ({
      writes: [{ into: 'reductions', put: runs.map((run) => ({ ...run, values: '{"_sum":1}' })) }],
      value: undefined,
    }));
    expect((await views.query('v')).rows).toEqual(rows);
    expect(await rowsRead(context, 'v')).toBeLessThan(400);
  });

  it('keeps what it stored, and reads few pages of a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'settledb-reductions-'));
    try {
      const first = await filled(file(), join(folder, 'db'));
      const answer = await first.views.query('v', { group_level: 1 });
      await first.views.query('v');
      await first.database.compact();
      await first.database.close();
      opened.length = 0;
      const again = await openContext(file(), join(folder, 'db'));
      opened.push(again);
      expect(await again.views.query('v', { group_level: 1 })).toEqual(answer);
      const { pages, pagesLoaded } = again.store.stats();
      expect(pages).toBeGreaterThan(200);
      expect(pagesLoaded).toBeLessThan(40);
    } finally {
      for (const { database } of opened.splice(0)) await database.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
