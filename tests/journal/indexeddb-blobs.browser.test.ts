/** Content in IndexedDB: a database of the format before, and records that are not what they were. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { deleteDB, openDB } from 'idb';
import { expect, it, onTestFinished } from 'vitest';
import { noise, same } from '../conformance/database/attachment-bytes';

const place = '0'.repeat(32);

it('adds its store to a database of format 1, and keeps what is in it', async () => {
  const name = `format-1-${Date.now()}`;
  onTestFinished(() => deleteDB(`settledb:${name}`));
  const old = await openDB(`settledb:${name}`, 1, {
    upgrade(db, _old, _new, tx) {
      for (const store of ['log', 'block', 'meta']) db.createObjectStore(store);
      void tx.objectStore('meta').put({ id: 'x', epoch: 0, through: 0, fence: 0, by: '' }, 'state');
      void tx.objectStore('log').put({ n: 1, head: 'head 1', tail: 'tail 1', by: 'x' }, 1);
    },
  });
  old.close();
  const journal = await indexeddb().open(name, { mustExist: true });
  expect((await journal.read()).commits).toEqual([{ n: 1, head: 'head 1', tail: 'tail 1' }]);
  await journal.blobs.put(place, [noise(50_000)], 'relaxed');
  expect(same((await journal.blobs.get(place, 0))!, noise(50_000))).toBe(true);
  await journal.close();
});

it('reads chunks that were stored before they had checksums', async () => {
  const name = `bare-${Date.now()}`;
  onTestFinished(() => deleteDB(`settledb:${name}`));
  const journal = await indexeddb().open(name);
  const db = await openDB(`settledb:${name}`);
  await db.put('blob', noise(1003), [place, 0]);
  await db.put('blob', noise(10), [place, 1]);
  db.close();
  expect(same((await journal.blobs.get(place, 0))!, noise(1003))).toBe(true);
  expect(same((await journal.blobs.get(place, 1))!, noise(10))).toBe(true);
  await journal.close();
});

it('finds every kind of damage to a record', async () => {
  const name = `damaged-${Date.now()}`;
  onTestFinished(() => deleteDB(`settledb:${name}`));
  const journal = await indexeddb().open(name);
  const bytes = noise(1003);
  const damage: ((record: { sum: number; bytes: Uint8Array }) => unknown)[] = [
    (record) => {
      record.bytes[500]! ^= 1;
      return record;
    },
    (record) => {
      record.bytes[1002]! ^= 128;
      return record;
    },
    (record) => {
      record.bytes.copyWithin(0, 4, 8);
      return record;
    },
    (record) => ({ ...record, bytes: record.bytes.slice(0, 1000) }),
    (record) => ({ ...record, bytes: new Uint8Array(1003) }),
    (record) => ({ sum: record.sum }),
    () => ({}),
    () => 'text',
  ];
  const db = await openDB(`settledb:${name}`);
  for (const [i, change] of damage.entries()) {
    const at = `${i}`.padStart(32, '0');
    await journal.blobs.put(at, [bytes], 'relaxed');
    await db.put('blob', change(await db.get('blob', [at, 0])), [at, 0]);
    await expect(journal.blobs.get(at, 0), `damage ${i}`).rejects.toMatchObject({ name: 'corrupt' });
  }
  // Asked for in the same turn, the others are answered.
  await journal.blobs.put('f'.repeat(32), [bytes], 'relaxed');
  const [bad, good] = await Promise.allSettled([
    journal.blobs.get('0'.repeat(32), 0),
    journal.blobs.get('f'.repeat(32), 0),
  ]);
  expect(bad.status).toBe('rejected');
  expect(good).toMatchObject({ status: 'fulfilled' });
  db.close();
  await journal.close();
});
