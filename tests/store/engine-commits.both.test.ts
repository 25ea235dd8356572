/** Commits at the edges: keys of another order that change hands, empty texts, more texts than a commit has block ids. */
import { memory } from '@settledb/adapter-memory';
import {
  type DatabaseTables,
  type DocRow,
  type LocalRow,
  type Schema,
  type Store,
  schema,
} from '@settledb/core';
import { EMPTY_HEAD, openLogStore } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { type Hooks, hooked } from '../support/hooked-adapter';

type TestStore = Store<DatabaseTables>;

const setUp = () => {
  const world = memory();
  return async (): Promise<TestStore> =>
    openLogStore<DatabaseTables>(await world.open('db'), schema, { checkpoint: false, textCacheLength: 0 });
};

const doc = (id: string, seq: number): DocRow => ({ id, seq, rev: '1-x' });
const putDocs = (store: TestStore, put: readonly DocRow[], gone: readonly string[] = []): Promise<number> =>
  store.write([], () => ({ writes: [{ into: 'docs', put, delete: gone }], value: 0 }));
const putLocal = (store: TestStore, put: readonly LocalRow[]): Promise<number> =>
  store.write([], () => ({ writes: [{ into: 'local', put }], value: 0 }));
const bySeq = async (store: TestStore): Promise<string[]> => {
  const [rows] = await store.read([{ from: 'docs', by: 'seq', range: {} }]);
  return rows.map((row) => row.id);
};

describe('a commit', () => {
  it('lets rows exchange their keys of another order', async () => {
    const open = setUp();
    const store = await open();
    await putDocs(store, [doc('a', 1), doc('b', 2)]);
    await putDocs(store, [doc('a', 2), doc('b', 1)]);
    for (const each of [store, await open()]) expect(await bySeq(each)).toEqual(['b', 'a']);
  });

  it('lets a row take the key of another order that a deleted one had', async () => {
    const open = setUp();
    const store = await open();
    await putDocs(store, [doc('a', 1)]);
    await putDocs(store, [doc('b', 1)], ['a']);
    for (const each of [store, await open()]) expect(await bySeq(each)).toEqual(['b']);
  });

  it('may have keys of another order that lie far apart, in pages too', async () => {
    const store = await setUp()();
    const seqs = [1, 2 ** 40, ...Array.from({ length: 1_000 }, (_, i) => i + 2)];
    await putDocs(
      store,
      seqs.map((seq) => doc(`d${seq}`, seq)),
    );
    const expected = [...seqs].sort((a, b) => a - b).map((seq) => `d${seq}`);
    expect(await bySeq(store)).toEqual(expected);
    await store.compact();
    for (let times = 0; times < 2; times++) expect(await bySeq(store)).toEqual(expected);
  });

  it('that changes a row during a checkpoint, and not its key of another order, is what that order answers', async () => {
    const hooks: Hooks = {};
    const journal = await hooked(memory(), hooks).open('db');
    const store: TestStore = await openLogStore<DatabaseTables>(journal, schema, { checkpoint: false });
    await putDocs(
      store,
      Array.from({ length: 1_000 }, (_, i) => doc(`d${i}`, i + 1)),
    );
    const changed = { ...doc('d500', 501), rev: '2-y' };
    hooks.before = async ({ kind }) => {
      if (kind !== 'rewrite') return;
      hooks.before = undefined;
      await putDocs(store, [changed]);
    };
    await store.compact();
    for (let times = 0; times < 2; times++) {
      const [rows] = await store.read([{ from: 'docs', by: 'seq', range: {} }]);
      expect([rows.length, rows[500]]).toEqual([1_000, changed]);
    }
  });

  it('that writes rows of several keys over others leaves each of them once', async () => {
    interface Row {
      readonly a: string;
      readonly b: number;
      readonly value: string;
    }
    const tables: Schema = { rows: { key: ['a', 'b'], fields: ['a', 'b', 'value'] } };
    const store = await openLogStore<{ rows: Row }>(await memory().open('db'), tables);
    for (const value of ['1', '2']) {
      const put = Array.from({ length: 100 }, (_, b) => ({ a: 'a', b, value }));
      await store.write([], () => ({ writes: [{ into: 'rows', put }], value: 0 }));
    }
    const [found] = await store.read([{ from: 'rows', range: {} }]);
    expect(found.map(({ value }) => value)).toEqual(Array(100).fill('2'));
  });

  it('keeps an empty text', async () => {
    const open = setUp();
    const store = await open();
    await putLocal(store, [{ id: 'a', rev: '0-1', body: '' }]);
    for (const step of ['written', 'compacted']) {
      if (step === 'compacted') await store.compact();
      const [rows] = await (await open()).read([{ from: 'local', range: {}, texts: true }]);
      expect(rows.map((row) => row.body)).toEqual(['']);
    }
  });

  it('does not run into the blocks of the next one, however many texts it has', async () => {
    const open = setUp();
    const store = await open();
    // Each more than half a segment: one block each, were segments not made longer.
    const [first, second] = ['x'.repeat(49_300), 'y'.repeat(49_300)];
    await putLocal(
      store,
      Array.from({ length: 4200 }, (_, i) => ({ id: `a${10_000 + i}`, rev: '0-1', body: first })),
    );
    await putLocal(
      store,
      Array.from({ length: 200 }, (_, i) => ({ id: `b${i}`, rev: '0-1', body: second })),
    );
    const [rows] = await (await open()).read([
      { from: 'local', range: { gte: 'a14000', lt: 'b' }, texts: true },
    ]);
    expect(rows.length).toBe(200);
    expect(rows.every((row) => row.body === first)).toBe(true);
  });

  it('that a journal put in changes nothing but the number of the next', async () => {
    const adapter = memory();
    const journal = await adapter.open('a');
    const position = { epoch: 0, n: 0 };
    const empty = { n: 1, head: EMPTY_HEAD, tail: '', segments: [] };
    expect(await journal.append(empty, position, 'relaxed')).toBeUndefined();
    const store: Store<DatabaseTables> = await openLogStore(journal, schema);
    expect(await store.read([{ from: 'local', range: {} }])).toEqual([[]]);
    await putLocal(store, [{ id: 'a', rev: '0-1', body: '{}' }]);
    expect(store.stats().commits).toBe(2);
    await store.compact();
    expect((await store.read([{ from: 'local', range: {} }]))[0]).toHaveLength(1);
    await store.close();
  });
});

it('what names content is not written at once: the journal takes the content with it, in time of its own', async () => {
  const store = await setUp()();
  const place = await store.blobs.put([new Uint8Array(3)], {});
  const put = [{ blob: 'md5-x', place, size: 3 }];
  const plan = () => ({ writes: [{ into: 'blobs' as const, put }], places: [place], value: 1 });
  expect(store.writeNow!([], plan)).toBeUndefined();
  expect(await store.read([{ from: 'blobs', keys: ['md5-x'] }])).toEqual([[undefined]]);
  expect(await store.write([], plan)).toBe(1);
  expect(await store.read([{ from: 'blobs', keys: ['md5-x'] }])).toEqual([put]);
});

it('a plan that writes nothing counts only if made from the latest moment, whichever call took that over', async () => {
  const world = memory();
  const here: Store<DatabaseTables> = await openLogStore(await world.open('db'), schema);
  const hooks: Hooks = { deaf: true };
  const there: Store<DatabaseTables> = await openLogStore(await hooked(world, hooks).open('db'), schema);
  await putLocal(here, [{ id: 'a', rev: '0-1', body: '{}' }]);
  // Its look at the journal takes longer than that of a read that comes after it.
  let go = (): void => {};
  const held = new Promise<void>((resolve) => (go = resolve));
  let looks = 0;
  hooks.after = ({ kind }) => (kind === 'read' && looks++ === 0 ? held : undefined);
  const seen = there.write([{ from: 'local', keys: ['a'] }], ([[row]]) => ({ writes: [], value: row?.rev }));
  await there.read([{ from: 'local', keys: ['a'] }]);
  expect(looks).toBe(2);
  go();
  expect(await seen).toBe('0-1');
});

it('a write is done also where the one before it in line failed', async () => {
  const open = setUp();
  const store = await open();
  const failing = store.write([], () => {
    throw new Error('planned so');
  });
  const [failed, done] = await Promise.allSettled([
    failing,
    putLocal(store, [{ id: 'a', rev: '0-1', body: '{}' }]),
  ]);
  expect(failed).toMatchObject({ status: 'rejected', reason: { message: 'planned so' } });
  expect(done).toMatchObject({ status: 'fulfilled' });
  const [rows] = await (await open()).read([{ from: 'local', keys: ['a'] }]);
  expect(rows).toMatchObject([{ id: 'a' }]);
});

it('writes that wait in line when the store is closed are done before it is', async () => {
  const world = memory();
  const open = async (hooks: Hooks = {}): Promise<TestStore> =>
    openLogStore(await hooked(world, hooks).open('db'), schema, { checkpoint: false });
  // A storage that takes its time.
  const before = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
  const store = await open({ before });
  const writes = ['a', 'b', 'c'].map((id, i) => putDocs(store, [doc(id, i + 1)]));
  await store.close();
  await Promise.all(writes);
  expect(await bySeq(await open())).toEqual(['a', 'b', 'c']);
});

it('a plan that fails has failed, at once too', async () => {
  const store = await setUp()();
  const plan = () => {
    throw new Error('planned so');
  };
  expect(() => store.writeNow!([], plan)).toThrow('planned so');
  await expect(store.write([], plan)).rejects.toThrow('planned so');
});

it('a store whose database is gone answers nothing any more, at once or later', async () => {
  const world = memory();
  const store: Store<DatabaseTables> = await openLogStore(await world.open('db'), schema);
  const query = [{ from: 'local', keys: ['a'] }] as const;
  await putLocal(store, [{ id: 'a', rev: '0-1', body: '{}' }]);
  await store.read(query);
  await world.destroy('db');
  const nothing = () => ({ writes: [], value: 0 });
  const asked: Record<string, () => unknown> = {
    read: () => store.read(query),
    readNow: () => store.readNow!(query),
    rowNow: () => store.rowNow!('local', 'a', []),
    fieldNow: () => store.fieldNow!('docs', 'id', [], 1),
    stateNow: () => store.stateNow!(),
    write: () => store.write([], nothing),
    writeNow: () => store.writeNow!([], nothing),
    compact: () => store.compact(),
    blobs: () => store.blobs.put([new Uint8Array(1)], {}),
  };
  for (const [what, ask] of Object.entries(asked))
    await expect((async () => ask())(), what).rejects.toMatchObject({ status: 412, name: 'closed' });
  await store.close();
});
