/** Messages between a page and another tab's worker that never come: Chromium drops what is for a context that a debugger stops. */
import { memory } from '@settledb/adapter-memory';
import { expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { begun, Hosts, PATIENCE } from './hosts';
import { rejection } from './support';

/** Nothing that is posted meanwhile comes, and no silence is long enough for anybody to wonder. */
async function dropping<Value>(work: () => Value): Promise<Awaited<Value>> {
  const posted = vi.spyOn(BroadcastChannel.prototype, 'postMessage').mockImplementation(() => {});
  try {
    const value = await work();
    await new Promise((resolve) => setTimeout(resolve));
    expect(posted).toHaveBeenCalled();
    return value;
  } finally {
    posted.mockRestore();
  }
}

it('a live feed goes on after the last change that it gave', async () => {
  const Databases = SettleDB.defaults({ adapter: memory() });
  const hosts = new Hosts();
  hosts.open = (name, options) => new Databases(name, options);
  const db = new (hosts.connect())('lost');
  const there = new Databases('lost');
  const told: string[] = [];
  const feed = db.changes({ live: true, since: 0 }).on('change', ({ id }) => told.push(id));
  await there.put({ _id: 'a' });
  await vi.waitFor(() => expect(told).toEqual(['a']), PATIENCE);
  await dropping(() => there.put({ _id: 'b' }));
  await there.put({ _id: 'c' });
  await vi.waitFor(() => expect(told).toEqual(['a', 'b', 'c']), PATIENCE);
  feed.cancel();
  await Promise.all([feed, there.close()]);
});

it('a read whose answer was lost is asked again, and a write, which may have been done, is refused', async () => {
  const { hosts, db } = await begun();
  const release = hosts.holdFirst();
  const [put, get] = [rejection(db.put({ _id: 'a' })), db.get('b')];
  await vi.waitFor(() => expect(hosts.done[0]).toHaveLength(2), PATIENCE);
  await dropping(release);
  expect(await get).toMatchObject({ host: 1 });
  expect(await put).toMatchObject({ name: 'worker_terminated' });
  expect(hosts.done[1]).toEqual(['get b']);
});

it('a write that was lost on its way is done by the next host, once, before those after it', async () => {
  const { hosts, db } = await begun();
  const puts = await dropping(() => [db.put({ _id: 'a' })]);
  puts.push(db.put({ _id: 'b' }));
  expect(await Promise.all(puts)).toMatchObject([{ host: 1 }, { host: 1 }]);
  expect(hosts.done).toEqual([[], ['put a', 'put b']]);
});
