/**
 * What is stored in IndexedDB, and is not what was written: an attachment fails alone, wherever it is read from the storage; a log refuses
 * every call, and says so to nobody else.
 */
import { openDB } from 'idb';
import { expect, it, onTestFinished } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.browser';
import { noise, same } from '../conformance/database/attachment-bytes';
import { unhandledBy } from '../support/unhandled';

/** Changes one byte of the content that begins as `bytes` do. */
async function damage(name: string, bytes: Uint8Array): Promise<void> {
  const storage = await openDB(`settledb:${name}`);
  const keys = await storage.getAllKeys('blob');
  let found = 0;
  for (const key of keys) {
    const record: { bytes: Uint8Array } = await storage.get('blob', key);
    if (!same(record.bytes, bytes)) continue;
    record.bytes[500]! ^= 1;
    await storage.put('blob', record, key);
    found++;
  }
  storage.close();
  expect(found).toBe(1);
}

it('a damaged attachment fails alone; a Blob of it that was made before holds what was written', async () => {
  const name = `damaged-${Date.now()}`;
  const before = new SettleDB(name);
  for (const [i, id] of ['a', 'b', 'c'].entries()) {
    const data = new Blob([noise(50_000, i) as Uint8Array<ArrayBuffer>]);
    await before.putAttachment(id, 'f', data, 'image/png');
  }
  await before.getAttachment('b', 'f');
  await damage(name, noise(50_000, 1));
  const kept = (await before.getAttachment('b', 'f')) as Blob;
  expect(same(new Uint8Array(await kept.arrayBuffer()), noise(50_000, 1))).toBe(true);
  await before.close();

  const db = new SettleDB(name);
  onTestFinished(() => void db.destroy());
  const damaged = { status: 500, name: 'corrupt' };
  for (let again = 0; again < 2; again++) {
    await expect(db.getAttachment('b', 'f')).rejects.toMatchObject(damaged);
    for (const binary of [false, true])
      await expect(db.get('b', { attachments: true, binary })).rejects.toMatchObject(damaged);
  }
  for (const [i, id] of [
    [0, 'a'],
    [2, 'c'],
  ] as const) {
    const blob = (await db.getAttachment(id, 'f')) as Blob;
    expect(same(new Uint8Array(await blob.arrayBuffer()), noise(50_000, i))).toBe(true);
  }
  // As replication asks for it: the others can be had.
  const { results } = await db.bulkGet({ docs: ['a', 'b', 'c'].map((id) => ({ id })), attachments: true });
  expect(results.map(({ docs: [row] }) => ('error' in row! ? row.error.error : 'ok'))).toEqual([
    'ok',
    'corrupt',
    'ok',
  ]);
});

it('documents whose block is gone fail alone: a replication brings all others over, and then says so', async () => {
  const name = `lacking-${Date.now()}`;
  const before = new SettleDB(name);
  const docs = Array.from({ length: 3_000 }, (_, n) => ({
    _id: `doc${n}`,
    text: 'some text '.repeat(20),
    n,
  }));
  await before.bulkDocs(docs);
  await before.close();
  const storage = await openDB(`settledb:${name}`);
  const keys = await storage.getAllKeys('block');
  const texts: [IDBValidKey, string][] = [];
  for (const key of keys) texts.push([key, await storage.get('block', key)]);
  const [key, text] = texts.filter(([, block]) => block.includes('some text'))[3]!;
  await storage.delete('block', key);
  storage.close();
  const lost = new Set(text.match(/"n":\d+/g)!.map((n) => `doc${n.slice(4)}`));
  expect(lost.size).toBeGreaterThan(100);

  const db = new SettleDB(name);
  const other = new SettleDB(`${name}-other`);
  onTestFinished(() => void Promise.all([db.destroy(), other.destroy()]));
  await expect(db.replicate.to(other)).rejects.toMatchObject({ name: 'corrupt', docId: expect.any(String) });
  const { rows } = await other.allDocs({ include_docs: true });
  expect(rows.map(({ id }) => id).sort()).toEqual(
    docs
      .map(({ _id }) => _id)
      .filter((id) => !lost.has(id))
      .sort(),
  );
});

it('a page of changes that is gone ends a replication with an error of no document; the documents can be read', async () => {
  const name = `no-page-${Date.now()}`;
  const before = new SettleDB(name);
  await before.bulkDocs(Array.from({ length: 1_000 }, (_, n) => ({ _id: `doc${n}` })));
  await before.compact();
  await before.close();
  const storage = await openDB(`settledb:${name}`);
  let found = 0;
  for (const key of await storage.getAllKeys('block')) {
    // Of seqs, from 513 on in fences of 32.
    if (!String(await storage.get('block', key)).startsWith('[[545,')) continue;
    await storage.delete('block', key);
    found++;
  }
  storage.close();
  expect(found).toBe(1);

  const db = new SettleDB(name);
  const other = new SettleDB(`${name}-other`);
  onTestFinished(() => void Promise.all([db.destroy(), other.destroy()]));
  const failure: object = await db.replicate.to(other).catch((error: object) => error);
  expect(failure).toMatchObject({ name: 'corrupt', result: { docs_written: 100, last_seq: 100 } });
  expect(failure).not.toHaveProperty('docId', expect.any(String));
  expect((await db.allDocs({ include_docs: true })).rows).toHaveLength(1_000);
});

it('a log that lacks a commit refuses each call, and leaves no rejection behind', async () => {
  const name = `damaged log ${Date.now()}`;
  const before = new SettleDB(name);
  for (const _id of ['a', 'b', 'c']) await before.put({ _id });
  await before.close();
  const storage = await openDB(`settledb:${name}`);
  await storage.delete('log', 2);
  storage.close();

  const db = new SettleDB(name);
  onTestFinished(() => void db.destroy());
  const unhandled = await unhandledBy(async () => {
    const corrupt = { name: 'corrupt', reason: 'The log has commit 3 where commit 2 should be' };
    for (const call of [db.info(), db.get('a'), db.put({ _id: 'd' })])
      await expect(call).rejects.toMatchObject(corrupt);
  });
  expect(unhandled).toEqual([]);
});
