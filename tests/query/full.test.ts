/** Where the storage is full an index cannot follow its documents: what is asked of it is answered all the same, from the documents. */
import { file } from '@settledb/adapter-file';
import { memory } from '@settledb/adapter-memory';
import { quotaExceeded } from '@settledb/core';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { Disk, failure } from '../file/disk';
import { type Hooks, hooked } from '../support/hooked-adapter';

const NEWER = Array.from({ length: 40 }, (_, n) => ({ _id: `b${String(n).padStart(2, '0')}`, n: n % 7 }));
const OLDER = Array.from({ length: 40 }, (_, n) => ({ _id: `a${String(n).padStart(2, '0')}`, n: n % 5 }));
const VIEWS = {
  rows: { map: (doc: { n?: number }, emit: (key: unknown, value?: unknown) => void) => emit(doc.n, 1) },
  sums: {
    map: (doc: { n?: number }, emit: (key: unknown, value?: unknown) => void) => emit(doc.n, 1),
    reduce: '_sum',
  },
} as const;

let count = 0;
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0)) await each();
});

/** Documents that the indexes have not, and no room for them. */
async function filled() {
  const hooks: Hooks = {};
  const adapter = hooked(memory(), hooks);
  const db = new SettleDB<{ n: number }>(`full-${++count}`, { adapter, views: VIEWS });
  undo.push(
    () => {
      hooks.before = undefined;
    },
    () => db.destroy(),
  );
  await db.bulkDocs(OLDER);
  await db.createIndex({ fields: ['n'], ddoc: 'n', name: 'n' });
  await db.createIndex({
    fields: ['n'],
    ddoc: 'some',
    name: 'some',
    partial_filter_selector: { n: { $gt: 2 } },
  });
  for (const view of ['rows', 'sums']) await db.query(view);
  await db.bulkDocs(NEWER);
  const full = (): void => {
    hooks.before = ({ kind }) => {
      if (kind === 'append' || kind === 'rewrite') throw quotaExceeded();
    };
  };
  const room = (): void => {
    hooks.before = undefined;
  };
  return { db, hooks, full, room };
}

describe('without room for an index', () => {
  it.each([
    { selector: { n: 3 } },
    { selector: { n: { $gte: 1 } }, sort: ['n'], limit: 30, skip: 3 },
    { selector: { n: { $gt: 1 } }, sort: [{ n: 'desc' }], use_index: 'n', limit: 100 },
  ] as const)('a find answers from the documents: %j', async (request) => {
    const { db, full, room } = await filled();
    full();
    const ids = async () => (await db.find(request)).docs.map(({ n, _id }) => [n, _id]);
    const found = await ids();
    await expect(db.put({ _id: 'c', n: 1 })).rejects.toMatchObject({ name: 'quota_exceeded' });
    room();
    expect(found.sort()).toEqual((await ids()).sort());
    expect(found.length).toBeGreaterThan(10);
  });

  it('a find that goes on, or is of a partial index, is refused until there is room', async () => {
    const { db, full, room } = await filled();
    const asked = { selector: { n: { $gte: 1 } }, limit: 10 };
    const { bookmark } = await db.find({ ...asked, update: false } as never);
    full();
    const refused = { name: 'quota_exceeded', status: 507 };
    await expect(db.find({ ...asked, bookmark })).rejects.toMatchObject(refused);
    await expect(db.find({ ...asked, use_index: 'some' })).rejects.toMatchObject(refused);
    room();
    expect((await db.find({ ...asked, bookmark })).docs).toHaveLength(10);
  });

  it('an index that is to be made is not, and leaves nothing behind', async () => {
    const { db, hooks } = await filled();
    await db.bulkDocs([
      { _id: '_design/bare', language: 'query' },
      { _id: '_design/other', language: 'query', lib: 1 },
    ] as never[]);
    const before = await db.getIndexes();
    const refused = { name: 'quota_exceeded', status: 507 };
    for (const ddoc of ['new', 'n', 'bare', 'other']) {
      // There is room for the design document, and again for what undoes it, but not for the index.
      let appends = 0;
      hooks.before = ({ kind }) => {
        if (kind === 'append' && ++appends === 2) throw quotaExceeded();
      };
      await expect(db.createIndex({ fields: ['n'], ddoc, name: 'too-large' }), ddoc).rejects.toMatchObject(
        refused,
      );
      expect(await db.getIndexes(), ddoc).toEqual(before);
    }
    expect(await db.get('_design/bare')).toMatchObject({ language: 'query' });
    expect(await db.get('_design/other')).toMatchObject({ language: 'query', lib: 1 });
    await expect(db.get('_design/new')).rejects.toMatchObject({ status: 404 });
    hooks.before = undefined;
    expect(await db.createIndex({ fields: ['n'], ddoc: 'new', name: 'x' })).toMatchObject({
      result: 'created',
    });
  });

  it('an index that is to be made and was there before stays', async () => {
    const { db, full, room } = await filled();
    const before = await db.getIndexes();
    full();
    await expect(db.createIndex({ fields: ['n'], ddoc: 'n', name: 'n' })).rejects.toMatchObject({
      status: 507,
    });
    room();
    expect(await db.getIndexes()).toEqual(before);
  });

  it('views answer from the documents', async () => {
    const { db, full, room } = await filled();
    full();
    const ask = async () => [
      await db.query('rows', { key: 3 }),
      await db.query('rows', { keys: [4, 1], include_docs: true, descending: true }),
      await db.query('rows', { startkey: 2, limit: 9, skip: 2 }),
      await db.query('sums', { group: true }),
      await db.query('sums'),
      ...(await db.queries('sums', [{ key: 2 }, { reduce: false, limit: 3 }])),
    ];
    const answers = await ask();
    room();
    expect(answers).toEqual(await ask());
  });

  it('a live find goes on', async () => {
    const { db, full, room } = await filled();
    full();
    const lengths: number[] = [];
    const failed: unknown[] = [];
    const leave = db.live
      .find({ selector: { n: { $gt: 2 } } })
      .subscribe({ next: ({ docs }) => lengths.push(docs.length), error: (error) => failed.push(error) });
    undo.push(leave);
    await vi.waitFor(() => expect(lengths.length + failed.length).toBe(1));
    room();
    await db.put({ _id: 'c', n: 9 });
    await vi.waitFor(() => expect(lengths).toHaveLength(2));
    expect(lengths[1]).toBe(lengths[0]! + 1);
    expect(failed).toEqual([]);
  });
});

// A file takes what one edit did to an index in the turn in which it is asked for: other code meets the full disk there.
it('on a file, finds and views answer from the documents too', async () => {
  const disk = new Disk();
  const db = new SettleDB<{ n: number }>(`/settledb-no-such-folder/full-${++count}`, {
    adapter: file({ files: disk }),
    views: VIEWS,
  });
  undo.push(() => db.destroy());
  await db.bulkDocs(OLDER);
  await db.createIndex({ fields: ['n'], ddoc: 'n', name: 'n' });
  const ask = async () => [
    await db.query('rows', { key: 3 }),
    await db.query('sums'),
    (await db.find({ selector: { n: 3 } })).docs,
  ];
  await ask();
  await db.put({ _id: 'b', n: 3 });
  disk.fail = (call) => {
    if (call.startsWith('write')) throw failure('ENOSPC');
    return undefined;
  };
  const answers = await ask();
  await expect(db.put({ _id: 'c', n: 3 })).rejects.toMatchObject({ name: 'quota_exceeded' });
  disk.fail = () => undefined;
  expect(answers).toEqual(await ask());
  expect(answers[2]).toContainEqual(expect.objectContaining({ _id: 'b' }));
});
