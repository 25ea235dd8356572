/** Live feeds over the reference store: what wakes them, and what happens between two of their reads. */
import {
  type Bytes,
  corrupt,
  type DatabaseTables,
  ioError,
  localChanges,
  portableBytes,
  type Store,
  tellReturn,
} from '@settledb/core';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { database, docs, listen } from './feeds';
import { newStore, open } from './local';

describe('a live feed', () => {
  it('delivers each change exactly once while writes and its reads overlap', async () => {
    const { db } = await database({ now: false });
    await db.bulkDocs(docs(25));
    const feed = db.changes({ live: true, batch_size: 7 });
    const heard = listen(feed);
    for (let round = 1; round < 10; round++)
      await Promise.all(docs(8, 25 + round * 8).map((doc) => db.put(doc)));
    await heard.until(97);
    feed.cancel();
    expect(new Set(heard.ids()).size).toBe(97);
    expect(heard.heard.map(({ seq }) => seq)).toEqual(Array.from({ length: 97 }, (_, i) => i + 1));
    expect(await feed).toEqual({ status: 'cancelled' });
  });

  it("from 'now' hears what is written in the same turn, and nothing from before", async () => {
    const { db } = await database();
    await db.bulkDocs(docs(5));
    const feed = db.changes({ live: true, since: 'now' });
    const heard = listen(feed);
    await db.put({ _id: 'after' });
    await heard.until(1);
    feed.cancel();
    expect(heard.ids()).toEqual(['after']);
  });

  it('leaves no timer behind, neither when it is woken nor when it ends', async () => {
    const { db } = await database();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const feed = db.changes({ live: true });
    const heard = listen(feed);
    for (let count = 1; count <= 3; count++) {
      await db.put({ _id: `d${count}` });
      await vi.waitUntil(() => heard.ids().length === count && vi.getTimerCount() > 0);
      expect(vi.getTimerCount()).toBe(1);
    }
    feed.cancel();
    await feed;
    await vi.waitUntil(() => vi.getTimerCount() === 0);
  });

  it('needs no news: hints that are false or doubled repeat nothing', async () => {
    const { db, store, tell } = await database({ now: false });
    await db.bulkDocs(docs(3));
    const feed = db.changes({ live: true });
    const heard = listen(feed);
    await heard.until(3);
    for (let i = 0; i < 20; i++) {
      tell({ type: 'commit' });
      const { length } = store.read.mock.calls;
      await vi.waitFor(() => expect(store.read.mock.calls.length).toBeGreaterThanOrEqual(length));
    }
    await db.put({ _id: 'last' });
    await heard.until(4);
    feed.cancel();
    expect(heard.ids()).toEqual([...docs(3).map(({ _id }) => _id), 'last']);
  });

  it('looks again after a while when it was told nothing, and when somebody is back', async () => {
    vi.useFakeTimers();
    try {
      const { db, store } = await database();
      const silent = { store: { ...store, watch: () => () => {} } as unknown as Store<DatabaseTables> };
      const feed = localChanges(silent, { live: true });
      const heard: string[] = [];
      feed.on('change', ({ id }) => heard.push(id));
      await vi.advanceTimersByTimeAsync(10);
      await db.put({ _id: 'a' });
      expect(heard).toEqual([]);
      await vi.advanceTimersByTimeAsync(20_000);
      expect(heard).toEqual(['a']);
      await db.put({ _id: 'b' });
      tellReturn(false); // as to a worker one of whose pages is shown again
      await vi.advanceTimersByTimeAsync(10);
      expect(heard).toEqual(['a', 'b']);
      feed.cancel();
      await vi.advanceTimersByTimeAsync(0);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('ends with its limit, its closed or destroyed database, and fails with a lost storage', async () => {
    const { db, watchers, tell } = await database();
    await db.bulkDocs(docs(5));
    const limited = db.changes({ live: true, limit: 3, return_docs: true });
    const heard = listen(limited);
    expect(await limited).toEqual({ status: 'cancelled' });
    expect(heard.heard).toHaveLength(3);

    const idle = watchers.size;
    const lost = db.changes({ live: true });
    await listen(lost).until(5);
    const cause = ioError('a newer program is needed');
    tell({ type: 'lost', cause });
    await db.close();
    await expect(Promise.resolve(lost)).rejects.toBe(cause);
    expect(watchers.size).toBe(idle - 1); // that of the database itself

    const other = await database();
    await other.db.put({ _id: 'a' });
    const destroyed = other.db.changes({ live: true });
    await listen(destroyed).until(1);
    other.tell({ type: 'destroyed' });
    expect(await destroyed).toEqual({ status: 'cancelled' });

    const third = await database();
    await third.db.put({ _id: 'a' });
    const closed = third.db.changes({ live: true });
    await listen(closed).until(1);
    await third.db.close();
    expect(await closed).toEqual({ status: 'cancelled' });
  });

  describe('whose storage cannot be read', () => {
    const SECOND = 1_000;
    const io = ioError('the storage process is gone');

    /** One that has given a first document, and whose reads fail from now on, so many times. */
    async function begun(error: Error, times = Number.POSITIVE_INFINITY) {
      const { db, store, tell } = await database({ now: false });
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      onTestFinished(() => void vi.useRealTimers());
      await db.put({ _id: 'first' });
      const feed = db.changes({ live: true, batch_size: 2 });
      const heard = listen(feed);
      const outcome = feed.catch((failure: unknown) => failure);
      await heard.until(1);
      await vi.waitUntil(() => vi.getTimerCount() > 0);
      const read = store.read.getMockImplementation()!;
      let failures = 0;
      store.read.mockImplementation((...args) => {
        if (failures === times) return read(...args);
        failures++;
        return Promise.reject(error);
      });
      tell({ type: 'commit' });
      await vi.waitUntil(() => failures > 0);
      const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
      return { db, tell, feed, heard, outcome, pass, failures: () => failures };
    }

    it('goes on if it can be read within half a minute, whatever was heard, and has missed and repeated nothing', async () => {
      const { db, tell, feed, heard, pass, failures } = await begun(io, 5);
      for (const [before, seconds] of [1, 2, 4, 8].entries()) {
        expect(failures()).toBe(before + 1);
        tell({ type: 'commit' });
        await pass(seconds * SECOND);
      }
      expect(heard.ids()).toEqual(['first']);
      await db.bulkDocs(docs(3));
      await pass(16 * SECOND);
      await heard.until(4);
      expect(heard.ids()).toEqual(['first', ...docs(3).map(({ _id }) => _id)]);
      feed.cancel();
    });

    it('fails with what has lasted for longer, and at once with what stays, or if it has not begun', async () => {
      const lasting = await begun(io);
      await lasting.pass(31 * SECOND);
      expect(await lasting.outcome).toBe(io);
      expect(lasting.failures()).toBe(6);

      const damage = corrupt('a page is damaged');
      const damaged = await begun(damage);
      expect(await damaged.outcome).toBe(damage);

      const { db, store } = await database({ now: false });
      store.read.mockRejectedValue(io);
      await expect(db.changes({ live: true })).rejects.toBe(io);
      expect(vi.getTimerCount()).toBe(0);
    });

    it('ends while it waits, when it is cancelled, or its database is closed, destroyed or lost', async () => {
      const cause = ioError('a newer program is needed');
      const endings: [end: (feed: Awaited<ReturnType<typeof begun>>) => unknown, outcome: unknown][] = [
        [({ feed }) => feed.cancel(), { status: 'cancelled' }],
        [({ db }) => db.close(), { status: 'cancelled' }],
        [({ tell }) => tell({ type: 'destroyed' }), { status: 'cancelled' }],
        [({ tell }) => tell({ type: 'lost', cause }), cause],
      ];
      for (const [end, expected] of endings) {
        const feed = await begun(io);
        await feed.pass(SECOND / 2);
        await end(feed);
        expect(await feed.outcome).toEqual(expected);
        await feed.pass(0);
        expect([vi.getTimerCount(), feed.failures()]).toEqual([0, 1]);
      }
    });

    it('gives no document twice when it is the content of the next one that cannot be read', async () => {
      const store = newStore();
      const db = await open(store);
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      onTestFinished(() => void vi.useRealTimers());
      let asked = 0;
      const toBase64: Bytes['toBase64'] = (pieces) => {
        if (++asked === 2 || asked === 3) throw io;
        return portableBytes.toBase64(pieces);
      };
      const source = { store, bytes: { ...portableBytes, toBase64 } };
      const feed = localChanges(source, { live: true, include_docs: true, attachments: true });
      const heard = listen(feed as ReturnType<typeof db.changes>);
      await vi.waitUntil(() => vi.getTimerCount() > 0);
      const attached = (_id: string) => ({ a: { content_type: 'text/plain', data: btoa(_id) } });
      await db.bulkDocs(docs(3).map((doc) => ({ ...doc, _attachments: attached(doc._id) })) as never);
      await vi.waitUntil(() => asked === 2);
      await vi.advanceTimersByTimeAsync(SECOND);
      expect([asked, heard.ids()]).toEqual([3, ['doc-00000']]);
      await vi.advanceTimersByTimeAsync(2 * SECOND);
      await heard.until(3);
      expect(heard.ids()).toEqual(docs(3).map(({ _id }) => _id));
      feed.cancel();
    });
  });

  it('leaves nothing behind when it is cancelled', async () => {
    const { db, watchers } = await database();
    await db.put({ _id: 'a' });
    const before = watchers.size;
    const feeds = Array.from({ length: 20 }, () => db.changes({ live: true }));
    await Promise.all(feeds.map((feed) => listen(feed).until(1)));
    for (const feed of feeds) feed.cancel();
    await Promise.all(feeds);
    await vi.waitFor(() => expect(watchers.size).toBe(before));
  });

  it('waits for an iteration that is slow, and misses nothing', async () => {
    const { db } = await database();
    const seen: string[] = [];
    const feed = db.changes({ live: true });
    const loop = (async () => {
      for await (const change of feed) {
        seen.push(change.id);
        if (seen.length <= 20) await db.put({ _id: `next-${seen.length}` });
        else break;
      }
    })();
    await db.put({ _id: 'first' });
    await loop;
    expect(seen).toEqual(['first', ...Array.from({ length: 20 }, (_, i) => `next-${i + 1}`)]);
  });
});
