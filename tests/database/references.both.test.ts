/** References of revisions to content: which go with an edit, with a compaction, with a purge, and which must stay. */
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, LocalDatabase, type LocalOptions, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { expect, it, onTestFinished } from 'vitest';
import { bytesOf, noise, same } from '../conformance/database/attachment-bytes';

type AnyDatabase = LocalDatabase<Record<string, unknown>>;

async function open(world: ReturnType<typeof memory>, options: Partial<LocalOptions>): Promise<AnyDatabase> {
  const store = await openLogStore<DatabaseTables>(await world.open('db'), schema, { cachedBytes: 0 });
  const db: AnyDatabase = await LocalDatabase.open(store, { name: 'db', adapter: 'memory', ...options });
  onTestFinished(() => db.close());
  return db;
}

/** Edits one document so often, each time with other content. @returns its revisions */
async function edited(db: AnyDatabase, times: number): Promise<string[]> {
  const revs: string[] = [];
  for (let i = 0; i < times; i++) {
    const { rev } = await db.put({
      _id: 'a',
      ...(i === 0 ? {} : { _rev: revs.at(-1)! }),
      _attachments: { f: { content_type: 'x/y', data: noise(200, i + 1) } },
    });
    revs.push(rev);
  }
  return revs;
}

async function kept(db: AnyDatabase): Promise<{ contents: number; references: number }> {
  const [blobs, refs] = await db.store.read([
    { from: 'blobs', range: {} },
    { from: 'blobrefs', range: {} },
  ]);
  return { contents: blobs.length, references: refs.length };
}

it.each([1, 2, 5])('compaction drops the content of revisions that revs_limit %i forgot', async (limit) => {
  const db = await open(memory(), { revs_limit: limit });
  await edited(db, 10);
  await db.compact();
  expect(await kept(db)).toEqual({ contents: 1, references: 1 });
  expect(same(await bytesOf(await db.getAttachment('a', 'f')), noise(200, 10))).toBe(true);
});

it.each([1, 2, 5])('a purged document leaves no content behind, with revs_limit %i', async (limit) => {
  const db = await open(memory(), { revs_limit: limit });
  const revs = await edited(db, 6);
  expect(await db.purge('a', revs.at(-1)!)).toMatchObject({ documentWasRemovedCompletely: true });
  expect(await kept(db)).toEqual({ contents: 0, references: 0 });
});

it('a purge drops the content of revisions that revs_limit forgot, though others of the document stay', async () => {
  const db = await open(memory(), { revs_limit: 1 });
  const attached = { f: { content_type: 'x/y', data: noise(200, 1) } };
  const leaves = [
    { _id: 'a', _rev: '1-c' },
    { _id: 'a', _rev: '1-a', _attachments: attached },
  ];
  await db.bulkDocs(leaves, { new_edits: false });
  const { rev } = await db.put({ _id: 'a', _rev: '1-a' });
  expect(await db.purge('a', rev)).toMatchObject({ deletedRevs: [rev], documentWasRemovedCompletely: false });
  expect(await db.get('a')).toEqual({ _id: 'a', _rev: '1-c' });
  expect(await kept(db)).toEqual({ contents: 0, references: 0 });
});

it('compaction drops the content of local documents that were deleted, and made anew with other content', async () => {
  const db = await open(memory(), {});
  const put = (name: string, seed: number) =>
    db.put({ _id: '_local/a', _attachments: { [name]: { content_type: 'x/y', data: noise(200, seed) } } });
  for (const seed of [1, 2, 3]) {
    expect(await put('f', seed)).toMatchObject({ rev: '0-1' });
    await db.put({ _id: '_local/a', _rev: '0-1', _deleted: true });
  }
  const { rev } = await put('g', 4);
  await db.compact();
  expect(await kept(db)).toEqual({ contents: 1, references: 1 });
  const { _attachments } = await db.get('_local/a', { attachments: true });
  expect(_attachments).toMatchObject({ g: { content_type: 'x/y' } });
  await db.put({ _id: '_local/a', _rev: rev, _deleted: true });
  await db.put({ _id: '_local/a' });
  await db.compact();
  expect(await kept(db)).toEqual({ contents: 0, references: 0 });
});

it('a refused edit takes nothing from past revisions, whenever auto_compaction was switched on', async () => {
  const world = memory();
  const before = await open(world, {});
  const [first, second] = await edited(before, 2);
  await before.close();
  const db = await open(world, { auto_compaction: true });
  await expect(db.put({ _id: 'a', n: 1 })).rejects.toMatchObject({ status: 409 });
  const past = await db.getAttachment('a', 'f', { rev: first! });
  expect(same(await bytesOf(past), noise(200, 1))).toBe(true);
  await db.put({ _id: 'a', _rev: second!, n: 2 });
  expect(await kept(db)).toEqual({ contents: 0, references: 0 });
});

it('an edit with auto_compaction takes nothing from another branch', async () => {
  const db = await open(memory(), { auto_compaction: true });
  const revs = ['1-aaaa', '1-bbbb'];
  for (const [i, rev] of revs.entries()) {
    const _attachments = { f: { content_type: 'x/y', data: noise(200, i) } };
    await db.bulkDocs([{ _id: 'a', _rev: rev, _attachments } as never], { new_edits: false });
  }
  await db.put({ _id: 'a', _rev: revs[1]!, n: 1 });
  expect(await kept(db)).toEqual({ contents: 1, references: 1 });
  const other = await db.getAttachment('a', 'f', { rev: revs[0]! });
  expect(same(await bytesOf(other), noise(200, 0))).toBe(true);
});
