/** Live feeds of a database that IndexedDB does not let be read for a while. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { expect, it, onTestFinished, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { FaultyIdb, invalidState } from '../support/faulty-idb';
import { PATIENCE_MS } from '../support/timeouts';

const PATIENCE = { timeout: PATIENCE_MS, interval: 10 };

it('a live feed goes on when the storage can be read again', async () => {
  const name = `unreadable-${crypto.randomUUID()}`;
  const idb = new FaultyIdb();
  const db = new SettleDB(name, { adapter: indexeddb({ driver: { openDB: idb.openDB } }) });
  // As another context: handles on one location share one opened database.
  const writer = new SettleDB(name, { adapter: { ...indexeddb(), location: () => `elsewhere:${name}` } });
  onTestFinished(async () => {
    idb.tamper = () => {};
    await writer.close();
    await db.destroy();
  });
  await db.info();
  const heard: string[] = [];
  const failed = vi.fn();
  const feed = db.changes({ live: true });
  feed.on('change', ({ id }) => heard.push(id)).on('error', failed);
  await writer.put({ _id: 'a' });
  await vi.waitFor(() => expect(heard).toEqual(['a']), PATIENCE);
  let refused = 0;
  idb.tamper = (tx) => {
    if (tx.mode !== 'readonly') return;
    refused++;
    invalidState(tx);
  };
  await writer.put({ _id: 'b' });
  await vi.waitFor(() => {
    document.dispatchEvent(new Event('visibilitychange')); // it looks
    expect(refused).toBeGreaterThan(4);
  }, PATIENCE);
  idb.tamper = () => {};
  await vi.waitFor(() => expect(heard).toEqual(['a', 'b']), PATIENCE);
  expect(failed).not.toHaveBeenCalled();
  feed.cancel();
});
