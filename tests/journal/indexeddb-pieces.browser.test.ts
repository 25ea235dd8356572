/** Long texts in IndexedDB: which are stored in pieces, what becomes of pieces, and a database that was made before there were any. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import type { Journal } from '@settledb/engine';
import { deleteDB, openDB } from 'idb';
import { describe, expect, it, onTestFinished } from 'vitest';
import { commit, noiseText, tailId } from '../conformance/journal-bench';
import { newName, numbers, open, START } from './support';

/** What Chromium keeps out of files, however it compresses. */
const BYTES_MAX = 64 * 1024;
const block = tailId(1) + 1;

/** Everything in a store, by key. */
async function inStore(name: string, store: string): Promise<[IDBValidKey, unknown][]> {
  const db = await openDB(`settledb:${name}`);
  const [keys, values] = await Promise.all([db.getAllKeys(store), db.getAll(store)]);
  db.close();
  return keys.map((key, at) => [key, values[at]]);
}

async function change(name: string, store: string, key: IDBValidKey, value?: unknown): Promise<void> {
  const db = await openDB(`settledb:${name}`);
  if (value === undefined) await db.delete(store, key);
  else await db.put(store, value, key);
  db.close();
}

const textsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  return Object.values(value as object).filter((each) => typeof each === 'string');
};

const append = (journal: Journal, segment: string, head = 'head', tail = ''): Promise<unknown> =>
  journal.append({ n: 1, head, tail, segments: [{ id: block, text: segment }] }, START, 'relaxed');

describe('long texts in IndexedDB', () => {
  it.each([
    ['noise', false],
    ['characters of other planes', true],
  ])('are stored so that no record has more than 64 KiB (%s)', async (_, wide) => {
    const { name, journal } = await open();
    const text = (seed: number): string => noiseText(150_000, seed, wide);
    await append(journal, text(1), text(2), text(3));
    const rewrite = { put: [{ id: -1, text: text(4) }], manifest: { text: text(5), through: 0 } };
    await journal.rewrite(rewrite, { epoch: 0, n: 1 });
    for (const store of ['log', 'block', 'meta'])
      for (const [key, value] of await inStore(name, store)) {
        const bytes = textsOf(value).join('').length * (wide ? 2 : 1);
        expect([store, key, bytes < BYTES_MAX]).toEqual([store, key, true]);
      }
  });

  it('are stored in pieces, however well their middle is compressed', async () => {
    const { name, journal } = await open();
    const [before, after] = [noiseText(45_000, 1), noiseText(45_000, 2)];
    const text = before + JSON.stringify(Array.from({ length: 800 }, (_, n) => ({ n }))) + after;
    await append(journal, text, text);
    await journal.rewrite({ manifest: { text, through: 0 } }, { epoch: 0, n: 1 });
    for (const store of ['log', 'block', 'meta'])
      for (const [key, value] of await inStore(name, store))
        expect([store, key, textsOf(value).join('').length < BYTES_MAX]).toEqual([store, key, true]);
  });

  it('of commits and manifests are stored in pieces, however well they seem to be compressed', async () => {
    const { name, journal } = await open();
    const text = 'repeated '.repeat(10_000);
    await append(journal, text, text);
    await journal.rewrite({ manifest: { text, through: 0 } }, { epoch: 0, n: 1 });
    const isCut = async (store: string): Promise<boolean> =>
      (await inStore(name, store)).some(([, value]) => typeof value === 'object' && 'cut' in value!);
    expect([await isCut('log'), await isCut('meta'), await isCut('block')]).toEqual([true, true, false]);
  });

  it('are stored whole if Chromium compresses them well enough', async () => {
    const { name, journal } = await open();
    const rows = Array.from({ length: 1_000 }, (_, n) =>
      JSON.stringify({ n, name: `Person ${n}`, city: 'Graz' }),
    );
    const text = rows.join(',').repeat(3).slice(0, 97_500);
    await append(journal, text);
    expect(await inStore(name, 'block')).toEqual([[block, text]]);
  });

  it('go with their pieces', async () => {
    const { name, journal } = await open();
    await append(journal, noiseText(150_000, 1), noiseText(150_000, 2));
    const put = [{ id: -1, text: noiseText(150_000, 3) }];
    await journal.rewrite({ put, manifest: { text: noiseText(150_000, 4), through: 1 } }, { epoch: 0, n: 1 });
    const drop = [-1, block, tailId(1)];
    await journal.rewrite({ drop, manifest: { text: 'short', through: 1 } }, { epoch: 1, n: 1 });
    expect(await inStore(name, 'log')).toEqual([]);
    expect(await inStore(name, 'block')).toEqual([]);
    expect((await inStore(name, 'meta')).map(([key]) => key)).toEqual(['manifest', 'state']);
  });

  it.each([
    ['missing', undefined],
    ['shorter', 'x'],
  ])('of which a piece is %s are damaged, and nothing else is', async (_, value) => {
    const { name, journal } = await open();
    const whole = { id: block + 1, text: 'whole' };
    const segments = [{ id: block, text: noiseText(150_000, 1) }, whole];
    await journal.append({ ...commit(1), segments }, START, 'relaxed');
    await journal.append({ ...commit(2), head: noiseText(150_000, 2) }, { epoch: 0, n: 1 }, 'relaxed');
    const damaged = { name: 'corrupt', status: 500, reason: expect.stringContaining('damaged') };
    await change(name, 'block', [block, 0], value);
    await expect(journal.load([block])).rejects.toMatchObject(damaged);
    expect(await journal.load([whole.id])).toEqual(['whole']);
    expect(await numbers(journal)).toEqual([1, 2]);
    await change(name, 'log', 2 + 2 / 8192, value);
    await expect(journal.read()).rejects.toMatchObject(damaged);
  });

  it('of a commit that a manifest covers may be damaged, and the rest is read', async () => {
    const { name, journal } = await open();
    await append(journal, 'segment', noiseText(150_000, 1), 'tail');
    await journal.rewrite({ manifest: { text: 'manifest', through: 1 } }, { epoch: 0, n: 1 });
    await journal.append(commit(2), { epoch: 1, n: 1 }, 'relaxed');
    await change(name, 'log', 1 + 2 / 8192);
    expect(await numbers(journal)).toEqual([2]);
    await expect(journal.load([tailId(1)])).rejects.toMatchObject({ name: 'corrupt' });
  });

  it('may be added to a database of format 2', async () => {
    const name = newName();
    onTestFinished(() => deleteDB(`settledb:${name}`));
    const old = await openDB(`settledb:${name}`, 2, {
      upgrade(db, _old, _new, tx) {
        for (const store of ['log', 'block', 'meta', 'blob']) db.createObjectStore(store);
        void tx.objectStore('meta').put({ id: 'x', epoch: 0, through: 0, fence: 0, by: '' }, 'state');
        void tx.objectStore('log').put({ n: 1, head: 'head 1', tail: noiseText(150_000, 1), by: 'x' }, 1);
        void tx.objectStore('block').put(noiseText(150_000, 2), -1);
      },
    });
    old.close();
    const journal = await indexeddb().open(name, { mustExist: true });
    expect(await journal.load([-1, tailId(1)])).toEqual([noiseText(150_000, 2), noiseText(150_000, 1)]);
    await journal.append({ ...commit(2), head: noiseText(150_000, 3) }, { epoch: 0, n: 1 }, 'relaxed');
    expect((await journal.read()).commits.map(({ head }) => head.length)).toEqual([6, 150_000]);
    await journal.close();
  });
});
