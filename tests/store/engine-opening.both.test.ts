/** What opening and the first read load: counted in turns of the storage, which is what they cost in a browser. */
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, type DocRow, type Store, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { type Hooks, hooked } from '../support/hooked-adapter';
import { timeless } from '../support/turns';

type TestStore = Store<DatabaseTables>;

const info = {
  name: 'info',
  uuid: 'u',
  update_seq: 0,
  doc_count: 0,
  doc_del_count: 0,
  purge_seq: 0,
} as const;
const nameOf = (i: number): string => `d${String(i).padStart(4, '0')}`;
const doc = (i: number, seq = i + 1): DocRow => {
  return { id: nameOf(i), seq, rev: `${seq}-x`, body: `"${nameOf(i)} ${seq}${'.'.repeat(300)}"` };
};

/** A thousand documents in pages, and the counters in one of their own; opened anew. */
async function opened() {
  const hooks: Hooks = {};
  const adapter = hooked(memory(), hooks);
  const open = async (): Promise<TestStore> =>
    openLogStore<DatabaseTables>(await adapter.open('db'), schema, { checkpoint: false });
  const first = await open();
  await put(
    first,
    Array.from({ length: 1000 }, (_, i) => doc(i)),
  );
  await first.write([], () => ({ writes: [{ into: 'info', put: [info] }], value: 0 }));
  await first.compact();
  await first.close();
  const store = await open();
  const steps: string[] = [];
  hooks.before = ({ kind }) => void steps.push(kind);
  return { store, steps, open };
}

const put = (store: TestStore, rows: readonly DocRow[], gone: readonly string[] = []): Promise<number> =>
  store.write([], () => ({ writes: [{ into: 'docs', put: rows, delete: gone }], value: 0 }));

const get = async (store: TestStore, id: string): Promise<unknown> => {
  const [[row]] = await store.read([{ from: 'docs', keys: [id], texts: ['body'] }]);
  return row?.body;
};

describe('a store that was opened', () => {
  it('has the counters without loading anything, also after a checkpoint that did not touch them', async () => {
    timeless();
    const { store, steps, open } = await opened();
    const queries = [{ from: 'info', keys: ['info'] }] as const;
    expect(store.readNow(queries)).toEqual([[info]]);
    expect(steps).toEqual([]);
    await put(store, [doc(5, 1001)]);
    await store.compact();
    await store.close();
    expect((await open()).readNow(queries)).toEqual([[info]]);
  });

  it('loads page and text of a document in one turn, wherever in its page it stands', async () => {
    for (const i of [0, 1, 255, 256, 500, 731, 999]) {
      const { store, steps } = await opened();
      expect(await get(store, nameOf(i))).toBe(doc(i).body);
      expect(steps).toEqual(['load']);
    }
  });

  it('is not troubled where the text that most likely follows is gone, or lies elsewhere', async () => {
    const { store, open } = await opened();
    // All documents of the first blocks go, and one comes back, while a checkpoint has them in its pages.
    const compacting = store.compact();
    await put(
      store,
      [doc(300, 1001)],
      Array.from({ length: 700 }, (_, i) => nameOf(i)),
    );
    await compacting;
    const cold = await open();
    for (const missing of ['d', 'd0000', 'd0001x', 'd0350', 'd0699', 'zzz'])
      expect(await get(cold, missing)).toBeUndefined();
    expect(await get(cold, 'd0300')).toBe(doc(300, 1001).body);
    expect(await get(cold, 'd0700')).toBe(doc(700).body);
  });

  it('answers calls made before it read from what it read, and only until they return', async () => {
    timeless();
    const { store, steps, open } = await opened();
    const other = await open(); // Two on one storage: none is alone, each read has a look.
    const query = [{ from: 'info', keys: ['info'] }] as const;
    steps.length = 0;
    expect(store.readNow(query)).toBeUndefined();
    expect(store.asOpened?.(() => store.readNow(query))).toEqual([[info]]);
    expect(steps).toEqual([]);
    expect(store.readNow(query)).toBeUndefined();
    await other.write([], () => ({
      writes: [{ into: 'info', put: [{ ...info, update_seq: 7 }] }],
      value: 0,
    }));
    expect(await store.read(query)).toMatchObject([[{ update_seq: 7 }]]);
  });
});
