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
