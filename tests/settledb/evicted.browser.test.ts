/** A database that the browser took away: said aloud, and never mistaken for the one that stands in its place. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { memory } from '@settledb/adapter-memory';
import { deleteDB } from 'idb';
import { describe, expect, it, vi } from 'vitest';
import { storage } from '../../packages/settledb/src/entry.browser';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { FaultyIdb } from '../support/faulty-idb';

describe('an evicted database', () => {
  it('is told as evicted and destroyed, has another id from then on, and is synced from the start', async () => {
    const idb = new FaultyIdb();
    const name = `evicted-${Date.now()}`;
    const db = new SettleDB(name, { adapter: indexeddb({ driver: { openDB: idb.openDB } }) });
    const peer = new SettleDB('peer', { adapter: memory() });
    await db.bulkDocs([{ _id: 'a' }, { _id: 'b' }]);
    await db.sync(peer);
    const id = await db.id();
    const events: string[] = [];
    for (const event of ['evicted', 'destroyed'] as const) db.on(event, () => events.push(event));
    const live = db.changes({ live: true });
    idb.terminate();
    await deleteDB(`settledb:${name}`);
    // Whatever is asked meanwhile is answered by nothing at all, or by the new database.
    await db.info().catch(() => {});
    await live;
    expect(events).toEqual(['evicted', 'destroyed']);
    expect((await db.info()).doc_count).toBe(0);
    expect(await db.id()).not.toBe(id);
    expect(await db.sync(peer)).toMatchObject({ pull: { docs_written: 2 } });
    expect((await db.info()).doc_count).toBe(2);
    await db.destroy();
    await peer.destroy();
  });

  it('ends what lives on it though the browser, taking it away, ends what is being opened too', async () => {
    const idb = new FaultyIdb();
    const name = `evicted-amid-${Date.now()}`;
    let aborts = 0;
    const openDB: typeof idb.openDB = (...args) => {
      if (aborts-- <= 0) return idb.openDB(...args);
      // As Chromium says it.
      return Promise.reject(new DOMException('The connection was closed.', 'AbortError'));
    };
    const db = new SettleDB(name, { adapter: indexeddb({ driver: { openDB } }) });
    await db.put({ _id: 'a' });
    let evicted = 0;
    db.on('evicted', () => evicted++);
    const endings: unknown[] = [];
    const live = db.live.allDocs();
    live.subscribe({ complete: () => endings.push('complete'), error: (error) => endings.push(error) });
    await vi.waitFor(() => expect(live.current?.rows).toHaveLength(1));
    const feed = db.changes({ live: true });
    aborts = 1;
    idb.terminate();
    await deleteDB(`settledb:${name}`);
    await db.info().catch(() => {});
    expect(await feed).toEqual({ status: 'cancelled' });
    await vi.waitFor(() => expect(endings).toEqual(['complete']));
    expect(evicted).toBe(1);
    expect((await db.info()).doc_count).toBe(0);
    // One that ends time after time is told.
    await db.close();
    aborts = 2;
    const again = new SettleDB(name, { adapter: indexeddb({ driver: { openDB } }) });
    await expect(again.info()).rejects.toMatchObject({ name: 'io', cause: { name: 'AbortError' } });
    expect((await again.info()).doc_count).toBe(0);
    await again.destroy();
  });

  it('can be asked about, and asked to be kept', async () => {
    expect(typeof (await storage.persisted())).toBe('boolean');
    expect(typeof (await storage.persist())).toBe('boolean');
    const estimate = await storage.estimate();
    // A browser may not tell (WebKitGTK 2.50).
    if ((navigator.storage as StorageManager | undefined)?.estimate === undefined)
      expect(estimate).toBeUndefined();
    else expect(estimate!.quota).toBeGreaterThan(0);
  });
});
