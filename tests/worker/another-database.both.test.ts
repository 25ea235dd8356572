/** Databases that are destroyed while their page has no host: the next one opens another under the same name. */
import { memory } from '@settledb/adapter-memory';
import { expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { Hosts, PATIENCE } from './hosts';

const NAME = 'another';

/** A handle with all that goes on, on a database of three documents, and the way from its host to the next. */
async function begun() {
  const Databases = SettleDB.defaults({ adapter: memory() });
  const hosts = new Hosts();
  hosts.open = (name, options) => new Databases(name, options);
  const db = new (hosts.connect())(NAME);
  const heard: string[] = [];
  for (const event of ['created', 'destroyed', 'evicted', 'closed'] as const)
    db.on(event, () => heard.push(event));
  await db.bulkDocs([{ _id: 'a' }, { _id: 'b' }, { _id: 'c' }]);
  const told: string[] = [];
  const feed = db.changes({ live: true, since: 0 }).on('change', ({ id }) => told.push(id));
  const rows: number[] = [];
  const completed = new Promise<void>((complete) => {
    db.live.allDocs().subscribe({ next: (value) => rows.push(value.rows.length), complete });
  });
  const replication = db.replicate.to('elsewhere', { live: true });
  await vi.waitFor(() => {
    expect([told.length, rows, replication.status().docs_written]).toEqual([3, [3], 3]);
  }, PATIENCE);
  /** @param work done while there is no host */
  const next = async (work: () => Promise<unknown>): Promise<void> => {
    const done = new Promise<void>((resolve, reject) => {
      hosts.begin = () => work().then(() => resolve(), reject);
    });
    hosts.now.leave();
    await done;
  };
  return { Databases, db, heard, told, feed, rows, completed, replication, next };
}

it('a handle hears that its database was destroyed, and what goes on of it ends', async () => {
  const { Databases, db, heard, told, feed, rows, completed, replication, next } = await begun();
  let later: Promise<string[]> | undefined;
  let count: Promise<number> | undefined;
  await next(async () => {
    await new Databases(NAME).destroy();
    await new Databases(NAME).bulkDocs([{ _id: 'd' }, { _id: 'e' }]);
    // What is asked for now is of the next one.
    later = db.changes({ since: 0 }).then((end) => ('results' in end ? end.results.map(({ id }) => id) : []));
    count = db.info().then(({ doc_count }) => doc_count);
  });
  expect(await count).toBe(2);
  expect(heard).toEqual(['created', 'destroyed']);
  expect(await feed).toEqual({ status: 'cancelled' });
  await completed;
  expect(await replication).toMatchObject({ ok: true, status: 'cancelled' });
  expect(await later).toEqual(['d', 'e']);
  await db.put({ _id: 'f' });
  expect([told, rows, heard]).toEqual([['a', 'b', 'c'], [3], ['created', 'destroyed']]);
  const elsewhere = await new Databases('elsewhere').info();
  expect(elsewhere.doc_count).toBe(3);
});

it('a handle that nobody asks anything hears of it too', async () => {
  const { Databases, heard, next } = await begun();
  await next(() => new Databases(NAME).destroy());
  await vi.waitFor(() => expect(heard).toEqual(['created', 'destroyed']), PATIENCE);
});

it('a handle whose database was destroyed before hears nothing of that from its next host', async () => {
  const { Databases, db, heard, feed, completed, next } = await begun();
  await new Databases(NAME).destroy();
  await Promise.all([feed, completed]);
  await db.put({ _id: 'd' });
  const told: string[] = [];
  const later = db.changes({ live: true, since: 0 }).on('change', ({ id }) => told.push(id));
  await vi.waitFor(() => expect(told).toEqual(['d']), PATIENCE);
  await next(() => new Databases(NAME).put({ _id: 'e' }));
  await vi.waitFor(() => expect(told).toEqual(['d', 'e']), PATIENCE);
  expect(heard).toEqual(['created', 'destroyed']);
  later.cancel();
  await later;
});

it('a handle that asked for nothing since its database was destroyed hears nothing of that either', async () => {
  const { Databases, db, heard, feed, completed, next } = await begun();
  await new Databases(NAME).destroy();
  await Promise.all([feed, completed]);
  await next(() => new Databases(NAME).put({ _id: 'd' }));
  expect((await db.info()).doc_count).toBe(1);
  expect(heard).toEqual(['created', 'destroyed']);
});

it('a handle whose database is the same hears nothing, and all goes on', async () => {
  const { Databases, db, heard, told, feed, rows, replication, next } = await begun();
  await next(() => new Databases(NAME).put({ _id: 'd' }));
  await vi.waitFor(() => {
    // Of both hosts.
    const { docs_written } = replication.status();
    expect([told.length, rows.at(-1), docs_written]).toEqual([4, 4, 4]);
  }, PATIENCE);
  expect(told).toEqual(['a', 'b', 'c', 'd']);
  expect(heard).toEqual(['created']);
  await db.close();
  expect(await feed).toEqual({ status: 'cancelled' });
});

it('a handle hears once that its database was destroyed, though a host that it has left still answers it, and what it asks for then goes on', async () => {
  const Databases = SettleDB.defaults({ adapter: memory() });
  const hosts = new Hosts();
  let answer = (): void => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const compact = vi.fn(() => held);
  hosts.open = (name, options) => Object.assign(new Databases(name, options), { compact });
  const db = new (hosts.connect())(NAME);
  await db.put({ _id: 'a' });
  const compacted = db.compact();
  await vi.waitFor(() => expect(compact).toHaveBeenCalled(), PATIENCE);
  const told: string[] = [];
  let ends = 0;
  db.on('destroyed', () => {
    ends++;
    db.changes({ live: true, since: 0 }).on('change', ({ id }) => told.push(id));
  });
  hosts.now.leave();
  expect((await db.info()).doc_count).toBe(1);
  expect(hosts.sessions).toHaveLength(2);
  await new Databases(NAME).destroy();
  answer();
  // Which the host that it has left says last.
  await compacted;
  await db.put({ _id: 'b' });
  await vi.waitFor(() => expect(told).toEqual(['b']), PATIENCE);
  await db.put({ _id: 'c' });
  await vi.waitFor(() => expect(told).toEqual(['b', 'c']), PATIENCE);
  expect(ends).toBe(1);
});
