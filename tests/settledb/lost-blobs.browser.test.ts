/**
 * Blobs that WebKit (2.50) loses with its storage process, while the page goes on: one that nobody had asked for its size says that it is
 * empty, and none can be read. Both are played here.
 */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { FaultyIdb } from '../support/faulty-idb';
import { refuse } from '../support/refused-idb';

afterEach(() => vi.restoreAllMocks());

function open(idb: FaultyIdb): SettleDB {
  const driver = { openDB: idb.openDB };
  const db = new SettleDB(`blobs-${crypto.randomUUID()}`, { adapter: indexeddb({ driver }) });
  onTestFinished(() => db.destroy().then(() => {}));
  return db;
}

it('a Blob that is lost is not stored as if it were empty, and an empty one is', async () => {
  const db = open(new FaultyIdb());
  const lost = new Blob([]);
  lost.arrayBuffer = () => Promise.reject(new DOMException('It cannot be found here.', 'NotFoundError'));
  await expect(db.putAttachment('a', 'f', lost, 'a/b')).rejects.toMatchObject({ name: 'NotFoundError' });
  await expect(db.get('a')).rejects.toMatchObject({ status: 404 });
  await db.putAttachment('a', 'f', new Blob([]), 'a/b');
  expect(((await db.getAttachment('a', 'f')) as Blob).size).toBe(0);
});

it('a Blob that was made before the storage was lost is not handed out again', async () => {
  const idb = new FaultyIdb();
  const db = open(idb);
  await db.putAttachment('a', 'f', new Blob(['content']), 'a/b');
  const before = await db.getAttachment('a', 'f');
  expect(await db.getAttachment('a', 'f')).toBe(before);
  refuse(window);
  idb.terminate();
  await db.put({ _id: 'b' }); // asks for another connection
  const after = (await db.getAttachment('a', 'f')) as Blob;
  expect(after).not.toBe(before);
  expect(await after.text()).toBe('content');
});
