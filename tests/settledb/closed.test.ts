/** A closed handle keeps nothing of its database in memory, however long a program keeps the handle. */
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { file } from '@settledb/adapter-file';
import type { OpenOptions } from '@settledb/engine';
import { expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { home } from '../file/support';

const folder = home();
let count = 0;
/** A path that nothing has used. */
const fresh = (): string => join(folder, `db ${++count}`);

const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const MB = 1024 * 1024;
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapUsed(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

/** Soon: timers of the last calls may still have to end. */
const releases = (before: number, bound: number): Promise<void> =>
  vi.waitFor(() => expect(heapUsed() - before).toBeLessThan(bound));

it('an index that was asked for before is made, and answered', async () => {
  const path = fresh();
  const db = new SettleDB(path);
  await db.bulkDocs(Array.from({ length: 5_000 }, (_, n) => ({ _id: `d${n}`, n })));
  await db.getIndexes(); // The code for it is there.
  const made = db.createIndex({ fields: ['n'], name: 'n' });
  await db.close();
  expect(await made).toMatchObject({ name: 'n', result: 'created' });
  const again = new SettleDB(path);
  expect((await again.getIndexes()).indexes.map(({ name }) => name)).toEqual(['_all_docs', 'n']);
  await again.close();
});

it('an index that was asked for before is made, however long its design document is looked for', async () => {
  const path = fresh();
  const slow = file();
  const adapter = {
    ...slow,
    open: async (name: string, options?: OpenOptions) => {
      const journal = await slow.open(name, options);
      const load = journal.load.bind(journal);
      return Object.assign(journal, {
        ...{ loadNow: undefined, loadParts: undefined, takesParts: undefined, readIn: undefined },
        load: (ids: readonly number[]) => later(50).then(() => load(ids)),
      });
    },
  };
  const first = new SettleDB(path);
  await first.bulkDocs(
    Array.from({ length: 600 }, (_, n) => ({ _id: `_design/${n}`, language: 'query', n })),
  );
  await first.close();
  for (const call of ['createIndex', 'deleteIndex'] as const) {
    const db = new SettleDB(path, { adapter });
    await db.find({ selector: { _id: '_design/1' } }); // The code for it is there.
    const done = db[call]({ fields: ['n'], ddoc: '300', name: 'n' } as never);
    await db.close();
    expect(await done).toMatchObject(call === 'createIndex' ? { result: 'created' } : { ok: true });
  }
});

it('a closed handle holds none of what was in memory', async () => {
  const path = fresh();
  const db = new SettleDB(path);
  await db.createIndex({ fields: ['n'] });
  const before = heapUsed();
  for (let i = 0; i < 20; i++) {
    const docs = Array.from({ length: 200 }, (_, n) => ({
      _id: `${i}-${n}`,
      n,
      text: `${i} ${n} `.repeat(1_000),
    }));
    await db.bulkDocs(docs);
  }
  await db.find({ selector: { n: { $gte: 0 } }, limit: 5_000 });
  await db.allDocs({ include_docs: true });
  const open = heapUsed() - before;
  expect(open).toBeGreaterThan(16 * MB);
  await db.close();
  await releases(before, 4 * MB);
  await expect(db.get('0-0')).rejects.toMatchObject({ name: 'closed' });
});

it.each([
  'by itself',
  'by another one',
])('nor does a handle whose database was destroyed %s, and its live results', async (by) => {
  const path = fresh();
  const db = new SettleDB(path);
  await db.createIndex({ fields: ['n'] });
  const live = db.live.find({ selector: { n: 1 }, fields: ['n'] });
  const results = live[Symbol.asyncIterator]();
  await results.next();
  const before = heapUsed();
  for (let i = 0; i < 20; i++)
    await db.bulkDocs(Array.from({ length: 200 }, (_, n) => ({ n: -n, text: `${i} ${n} `.repeat(1_000) })));
  await db.find({ selector: { n: { $lte: 0 } }, limit: 5_000 });
  await db.allDocs({ include_docs: true });
  expect(heapUsed() - before).toBeGreaterThan(16 * MB);
  const other = new SettleDB(path);
  await (by === 'by itself' ? db : other).destroy();
  expect(await results.next()).toMatchObject({ done: true });
  await releases(before, 4 * MB);
  expect([db.name, live.current]).toEqual([path, { docs: [] }]);
  await Promise.all([db.close(), other.close()]);
});

it.each([
  'that nobody listens to',
  'that somebody listens to only now',
])('nor does a live result %s as the database is destroyed', async (which) => {
  const path = fresh();
  const db = new SettleDB(path);
  const live = db.live.find({ selector: { n: 1 }, fields: ['n'] });
  const results = live[Symbol.asyncIterator]();
  if (which === 'that nobody listens to') {
    await results.next();
    await results.return!();
  }
  const before = heapUsed();
  for (let i = 0; i < 20; i++)
    await db.bulkDocs(Array.from({ length: 200 }, (_, n) => ({ n: -n, text: `${i} ${n} `.repeat(1_000) })));
  await db.allDocs({ include_docs: true });
  expect(heapUsed() - before).toBeGreaterThan(16 * MB);
  const other = new SettleDB(path);
  const ended = new Promise<void>((resolve) => {
    if (which === 'that somebody listens to only now') live.subscribe({ complete: resolve });
    else resolve();
  });
  await other.destroy();
  await ended;
  await releases(before, 4 * MB);
  // It was of that database.
  await new Promise<void>((complete) => live.subscribe({ complete }));
  await Promise.all([db.close(), other.close()]);
});

it.each([
  'opens',
  'is open',
])('nor does a feed that ended, and that began while its database %s', async (when) => {
  const path = fresh();
  const first = new SettleDB(path);
  await first.put({ _id: 'a' });
  await first.changes(); // The code for it is there.
  await first.close();
  const before = heapUsed();
  let db: SettleDB | undefined = new SettleDB(path);
  if (when === 'is open') await db.info();
  const feed = db.changes();
  await feed;
  const docs = Array.from({ length: 800 }, (_, n) => ({ _id: `${n}`, text: `${n} `.repeat(2_000) }));
  await db.bulkDocs(docs.splice(0));
  await db.allDocs({ include_docs: true });
  expect(heapUsed() - before).toBeGreaterThan(4 * MB);
  await db.close();
  db = undefined;
  await releases(before, 2 * MB);
  expect(feed.canceled).toBe(false);
});
