/** An index that was dropped is not built again because others are brought up to date, or because of its policy. */
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, DROPPED, evaluate, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { afterEach, expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';

const adapter = memory();
const opened: SettleDB[] = [];
let count = 0;

afterEach(async () => {
  for (const db of opened.splice(0)) await db.close();
});

function open(name = `dropped ${++count}`): SettleDB {
  const db = new SettleDB(name, { adapter, evaluate });
  opened.push(db);
  return db;
}

const counted = globalThis as unknown as { mappedOld: number };
const OLD = 'function (doc) { globalThis.mappedOld++; emit(doc.n); }';
const NEW = 'function (doc) { emit(doc.n, 1); }';
const DOCS = 500;

const docs = (prefix: string, length: number) => Array.from({ length }, (_, n) => ({ _id: prefix + n, n }));
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A database with the views `old` and `new`, each in its design document. @param options of the old one */
async function filled(options: object): Promise<SettleDB> {
  const db = open();
  await db.bulkDocs(docs('d', DOCS));
  await db.put({ _id: '_design/old', ...options, views: { old: { map: OLD } } });
  await db.put({ _id: '_design/new', views: { new: { map: NEW } } });
  counted.mappedOld = 0;
  return db;
}

/** What is stored of indexes. */
async function storedRows(name: string) {
  const store = await openLogStore<DatabaseTables>(await adapter.open(name), schema);
  const range = { gte: [] as never[] };
  const [index, reductions, views] = await store.read([
    { from: 'index', range },
    { from: 'reductions', range },
    { from: 'views', range: { gte: '' } },
  ]);
  await store.close();
  return { index, reductions, views };
}

it.each([
  ['without a policy', {}, 'this'],
  ['without a policy', {}, 'another'],
  ['that is idle', { options: { update: 'idle' } }, 'this'],
  ['that is eager', { options: { update: 'eager' } }, 'this'],
  ['that is eager', { options: { update: 'eager' } }, 'another'],
])('an index %s, %j, that %s context dropped stays dropped', async (_, options, who) => {
  const db = await filled(options);
  await db.query('old');
  await db.query('new');
  expect(counted.mappedOld).toBe(DOCS);
  const cleaner = who === 'this' ? db : open(db.name);
  await cleaner.remove(await cleaner.get('_design/old'));
  await cleaner.viewCleanup();
  await db.bulkDocs(docs('e', 50));
  const { rows } = await db.query('new', { key: 7 });
  expect(rows).toHaveLength(2);
  await wait(400); // Indexes follow when writes pause.
  expect(counted.mappedOld).toBe(DOCS);
});

it('all rows and runs of an index of many slices are removed, and no others', async () => {
  const db = open();
  const SUMMED = 'function (doc) { emit(doc.n % 50, 1); }';
  const views = { kept: { map: 'function (doc) { emit(doc._id); }' }, sums: { map: NEW, reduce: '_sum' } };
  await db.bulkDocs(docs('d', 4_500));
  await db.put({ _id: '_design/old', views: { old: { map: SUMMED, reduce: '_stats' } } });
  await db.put({ _id: '_design/new', views });
  for (const view of ['old', 'new/kept', 'new/sums']) await db.query(view, { group_level: 1 } as never);
  const { rows: before } = await db.query('new/sums', { group: true });
  await db.remove(await db.get('_design/old'));
  await db.viewCleanup();
  const left = await storedRows(db.name);
  expect(left.views.filter(({ view }) => view.startsWith(DROPPED))).toEqual([]);
  const tags = new Set(left.views.map(({ tag }) => tag));
  for (const { tag } of [...left.index, ...left.reductions]) expect(tags).toContain(tag);
  expect(left.index).toHaveLength(2 * 4_500);
  expect((await db.query('new/sums', { group: true })).rows).toEqual(before);
});

it('an index by fields that was deleted stays so', async () => {
  const db = open();
  await db.bulkDocs(docs('d', DOCS));
  await db.createIndex({ index: { fields: ['n', 'm'] }, ddoc: 'old', name: 'old' });
  await db.createIndex({ index: { fields: ['n'] }, ddoc: 'new', name: 'new' });
  await db.deleteIndex({ ddoc: '_design/old', name: 'old' });
  await db.viewCleanup();
  await db.bulkDocs(docs('e', 50));
  const steps: number[] = [];
  db.on('indexing', ({ results_count }) => steps.push(results_count ?? 0));
  await db.find({ selector: { n: 7 } });
  expect(steps.reduce((all, one) => all + one, 0)).toBeLessThan(60);
});

it('an index that was dropped and is defined again is built, and follows', async () => {
  const db = await filled({});
  await db.query('old');
  const { _rev, ...ddoc } = (await db.get('_design/old')) as { _id: string; _rev: string };
  await db.remove(ddoc._id, _rev);
  await db.viewCleanup();
  await db.put({ _id: 'one', n: 1 });
  await wait(300);
  await db.put(ddoc);
  const total = async (stale?: 'ok') => (await db.query('old', { stale, limit: 0 })).total_rows;
  expect(await total()).toBe(DOCS + 1);
  await db.put({ _id: 'two', n: 2 });
  await vi.waitFor(async () => expect(await total('ok')).toBe(DOCS + 2));
});

it.each(['idle', 'eager'])('an %s index that was only asked as it stands is built', async (update) => {
  const db = await filled({ options: { update } });
  const total = async () => (await db.query('old', { stale: 'ok', limit: 0 })).total_rows;
  expect(await total()).toBe(0);
  await vi.waitFor(async () => expect(await total()).toBe(DOCS));
});
