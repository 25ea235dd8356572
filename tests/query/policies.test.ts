/** When indexes follow writes: asked, soon, at once; and that what nobody asks for comes to rest. */
import { memory } from '@settledb/adapter-memory';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { IndexPolicy } from '../../packages/query/src/index';
import { SettleDB } from '../../packages/settledb/src/settledb';

const adapter = memory();
const opened: SettleDB[] = [];
let count = 0;

afterEach(async () => {
  for (const db of opened.splice(0)) await db.close();
});

type Emit = (key?: unknown, value?: unknown) => void;

/** A database with a view `v` of this policy, and how often each document was mapped. */
function withPolicy(update: IndexPolicy | undefined): { db: SettleDB; mapped: () => number } {
  let mapped = 0;
  const map = (doc: { n: number }, emit: Emit): void => {
    mapped++;
    emit(doc.n);
  };
  const views = { v: { map, update }, other: (doc: { n: number }, emit: Emit) => emit(-doc.n) };
  const db = new SettleDB(`policies ${++count}`, { adapter, views });
  opened.push(db);
  return { db, mapped: () => mapped };
}

const docs = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({ _id: `d${from + i}`, n: from + i }));

const indexed = async (db: SettleDB): Promise<number | undefined> =>
  (await db.query('v', { stale: 'ok' })).total_rows;

describe.each(['eager', 'idle'] as const)('an %s index', (policy) => {
  it('follows writes that nobody asks about', async () => {
    const { db } = withPolicy(policy);
    await db.bulkDocs(docs(0, 50));
    await vi.waitFor(async () => expect(await indexed(db)).toBe(50));
    await db.put({ _id: 'one', n: 1 });
    await vi.waitFor(async () => expect(await indexed(db)).toBe(51));
  });

  it('follows writes into the database that comes after one that was destroyed, too', async () => {
    const { db, mapped } = withPolicy(policy);
    await db.info();
    await new SettleDB(db.name, { adapter }).destroy();
    await db.bulkDocs(docs(0, 50));
    await vi.waitFor(() => expect(mapped()).toBe(50));
  });

  it('rests when nobody asks for it, and goes on when somebody does', async () => {
    const { db, mapped } = withPolicy(policy);
    let written = 0;
    const write = async (): Promise<void> => {
      await db.bulkDocs(docs(written, written + 2_000));
      written += 2_000;
    };
    // Until more was mapped than what is mapped unasked; each time it follows, or has had its chance to.
    for (let round = 0; round < 10; round++) {
      const isToFollow = mapped() < 10_000;
      await write();
      if (isToFollow) await vi.waitFor(() => expect(mapped()).toBeGreaterThanOrEqual(written));
      const { promise, stop } = nextIndexing(db, 300);
      await promise;
      stop();
      await db.query('other', { limit: 0 });
    }
    expect(written).toBe(20_000);
    expect(mapped()).toBeGreaterThanOrEqual(10_000);
    expect(mapped()).toBeLessThan(20_000);
    expect((await db.query('v', { limit: 0 })).total_rows).toBe(20_000);
    await db.put({ _id: 'one', n: 1 });
    await vi.waitFor(async () => expect(await indexed(db)).toBe(20_001));
  });
});

/** The end of a step of indexing, or `ms` without one. */
function nextIndexing(db: SettleDB, ms: number): { promise: Promise<void>; stop(): void } {
  let timer: ReturnType<typeof setTimeout>;
  let hear = (): void => {};
  const promise = new Promise<void>((resolve) => {
    const wait = (): void => {
      clearTimeout(timer);
      timer = setTimeout(resolve, ms);
    };
    hear = wait;
    db.on('indexing', wait);
    wait();
  });
  return { promise, stop: () => void db.off('indexing', hear) };
}

describe('an index without a policy', () => {
  it('follows once it was asked for, and not before', async () => {
    const { db, mapped } = withPolicy(undefined);
    await db.bulkDocs(docs(0, 50));
    const { promise, stop } = nextIndexing(db, 400);
    await promise;
    stop();
    expect(mapped()).toBe(0);
    await db.query('v', { limit: 0 });
    await db.bulkDocs(docs(50, 80));
    await vi.waitFor(async () => expect(await indexed(db)).toBe(80));
    expect(mapped()).toBe(80);
  });

  it.each([
    ['by fields', {}],
    ['by fields, if it may', { autoupdate: false }],
  ])('%s', async (_, said) => {
    const db = new SettleDB(`policies ${++count}`, { adapter });
    opened.push(db);
    await db.createIndex({ index: { fields: ['n'] }, ddoc: 'by', name: 'n' });
    await db.put({ ...(await db.get('_design/by')), ...said });
    const selector = { n: { $gte: 0 } };
    await db.find({ selector });
    await db.bulkDocs(docs(0, 20));
    const found = async (): Promise<number> => (await db.find({ selector, update: false })).docs.length;
    if ('autoupdate' in said) {
      const { promise, stop } = nextIndexing(db, 400);
      await promise;
      stop();
      expect(await found()).toBe(0);
    } else await vi.waitFor(async () => expect(await found()).toBe(20));
  });
});

it('a lazy index does not follow', async () => {
  const { db, mapped } = withPolicy('lazy');
  await db.query('v');
  await db.bulkDocs(docs(0, 50));
  const { promise, stop } = nextIndexing(db, 400);
  await promise;
  stop();
  expect(mapped()).toBe(0);
  expect((await db.query('v')).total_rows).toBe(50);
});

it('indexes in use are brought up to date together: a document is read once for all', async () => {
  const seqs: number[] = [];
  const views = {
    one: (doc: { n: number }, emit: Emit) => emit(doc.n),
    two: (doc: { n: number }, emit: Emit) => emit(-doc.n),
  };
  const db = new SettleDB(`policies ${++count}`, { adapter, views });
  opened.push(db);
  await db.bulkDocs(docs(0, 10));
  await db.query('one');
  await db.query('two');
  await db.bulkDocs(docs(10, 20));
  db.on('indexing', ({ results_count }) => results_count && seqs.push(results_count));
  await db.query('one');
  expect(seqs).toEqual([10]);
  expect((await db.query('two', { stale: 'ok' })).total_rows).toBe(20);
});

it.each([
  ['views', 1],
  ['views', 'v'],
  ['a view', { v: null }],
  ['a view', { v: 1 }],
  ['a map', { v: {} }],
  ['a map', { v: { map: 'function (doc) {}' } }],
  ['update', { v: { map: () => {}, update: 'often' } }],
])('what is wrong with the option views (%s) is said to whoever asks first, in CouchDB’s form', async (_, views) => {
  const db = new SettleDB(`policies ${++count}`, { adapter, views: views as never });
  opened.push(db);
  await db.put({ _id: 'a' });
  await expect(db.query('v')).rejects.toMatchObject({ status: 400, name: 'bad_request' });
});

it('a design document whose options or views are none has no views, and no policy', async () => {
  const db = new SettleDB(`policies ${++count}`, { adapter });
  opened.push(db);
  await db.bulkDocs([
    { _id: '_design/a', views: 1, options: 1 },
    { _id: '_design/b', views: { v: 1 }, options: null },
  ]);
  for (const name of ['a/v', 'b/v'])
    await expect(db.query(name)).rejects.toMatchObject({ status: 404, name: 'not_found' });
  expect((await db.viewInfo('a')).view_index).toMatchObject({ rows: 0 });
});
