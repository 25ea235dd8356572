/** What an open program hears when another tab has a newer one, which changes the layout of the database: why, and from all that it does. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { memory } from '@settledb/adapter-memory';
import { deleteDB, openDB } from 'idb';
import { expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';

const NEWER = {
  status: 500,
  name: 'io',
  reason: expect.stringMatching(
    /format 7, this program reads format \d: update the program, or reload the page/,
  ),
};

it('a handle whose database newer code has changed fails in all that it does, and says why', async () => {
  const name = `newer-${Date.now()}`;
  const db = new SettleDB(name, { adapter: indexeddb() });
  const peer = new SettleDB('peer', { adapter: memory() });
  await db.put({ _id: 'a' });
  const idle = db.changes({ live: true, since: 'now' });
  const iterated = (async () => {
    for await (const _ of db.changes({ live: true }));
  })();
  const ended: unknown[] = [];
  const live = db.live.allDocs();
  live.subscribe({ complete: () => ended.push('complete'), error: (error) => ended.push(error) });
  const once = db.replicate.to(peer, { live: true });
  const retried = db.sync(peer, { live: true, retry: true });
  await vi.waitFor(async () => {
    expect(live.current?.rows).toHaveLength(1);
    expect((await peer.info()).doc_count).toBe(1);
  });
  const outcomes = Promise.allSettled([Promise.resolve(idle), iterated, Promise.resolve(once)]);
  const settled = vi.fn();
  retried.then(settled, settled);

  (await openDB(`settledb:${name}`, 7)).close();
  await expect(db.info()).rejects.toMatchObject(NEWER);
  for (const outcome of await outcomes) expect(outcome).toMatchObject({ status: 'rejected', reason: NEWER });
  await vi.waitFor(() => expect(ended).toEqual([expect.objectContaining(NEWER)]));
  await expect(Promise.resolve(db.changes({ live: true }))).rejects.toMatchObject(NEWER);
  // A replication that tries again does so, and tells what it waits for.
  await vi.waitFor(() => expect(retried.status().push).toMatchObject({ phase: 'waiting', error: NEWER }));
  expect(settled).not.toHaveBeenCalled();
  retried.cancel();
  await retried;
  await db.close();
  await deleteDB(`settledb:${name}`);
  await peer.destroy();
});
