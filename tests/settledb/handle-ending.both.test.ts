/** Handles on one database, and how they end: closed, destroyed, by themselves or by others. */
import { memory } from '@settledb/adapter-memory';
import { ioError, quotaExceeded } from '@settledb/core';
import type { Adapter, Journal } from '@settledb/engine';
import { runCode } from '@settledb/replication';
import { describe, expect, it, vi } from 'vitest';
import { isDatabaseError, SettleDB } from '../../packages/settledb/src/entry.browser';
import { watched } from '../support/watched-adapter';
import { event, gate, name } from './handles';

describe('sharing', () => {
  it('opens a location once, for fifty handles, and again after the last one closed', async () => {
    const adapter = watched();
    const shared = name();
    const handles = Array.from({ length: 50 }, () => new SettleDB(shared, { adapter }));
    await Promise.all(handles.map((db, n) => db.put({ _id: `doc-${n}` })));
    expect(adapter.open).toHaveBeenCalledTimes(1);
    await Promise.all(handles.map((db) => db.close()));
    const again = new SettleDB(shared, { adapter });
    expect((await again.info()).doc_count).toBe(50);
    expect(adapter.open).toHaveBeenCalledTimes(2);
  });

  it('tells prefix and name of one handle from those of another', async () => {
    const adapter = memory();
    const [one, other] = [
      new SettleDB('bc', { adapter, prefix: 'a' }),
      new SettleDB('c', { adapter, prefix: 'ab' }),
    ];
    await one.put({ _id: 'x' });
    expect(await other.info()).toMatchObject({ db_name: 'c', doc_count: 1 });
    expect(await one.info()).toMatchObject({ db_name: 'bc', doc_count: 1 });
  });

  it('waits for a destruction that is called while others wait for the opening', async () => {
    const adapter = watched();
    const [one, other] = [new SettleDB('a', { adapter }), new SettleDB('a', { adapter })];
    const putting = other.put({ _id: 'x' });
    await one.destroy();
    expect(await putting).toMatchObject({ ok: true });
    expect(await other.get('x')).toMatchObject({ _id: 'x' });
    expect(adapter.open).toHaveBeenCalledTimes(2);
    await other.close();
  });

  it('goes on to tell a handle of destructions after its own failed that waited for another one', async () => {
    const inner = memory();
    const refuse = vi.fn(inner.destroy);
    const adapter = { ...inner, destroy: refuse };
    const shared = name();
    const [one, two, three] = [1, 2, 3].map(() => new SettleDB(shared, { adapter })) as [
      SettleDB,
      ...SettleDB[],
    ];
    await Promise.all([one.info(), two!.info(), three!.info()]);
    refuse.mockImplementationOnce(inner.destroy).mockRejectedValueOnce(new Error('not now'));
    const [first, second] = await Promise.allSettled([one.destroy(), two!.destroy()]);
    expect([first.status, second.status]).toEqual(['fulfilled', 'rejected']);
    await two!.put({ _id: 'x' });
    const told = event(two!, 'destroyed');
    await three!.destroy();
    await told;
    await two!.close();
  });

  it('tells of a destruction that is done late the handles that are still open', async () => {
    let late: (() => void) | undefined;
    const destroy: Adapter['destroy'] = async (_, options) => {
      late = options?.late;
      throw ioError('another tab keeps it open');
    };
    const [adapter, shared] = [{ ...memory(), destroy }, name()];
    const handles = [1, 2, 3].map(() => new SettleDB(shared, { adapter }));
    await Promise.all(handles.map((db) => db.info()));
    const told: number[] = [];
    for (const [n, db] of handles.entries()) db.on('destroyed', () => told.push(n));
    const [asking, left, open] = handles as [SettleDB, SettleDB, SettleDB];
    await expect(asking.destroy()).rejects.toMatchObject({ name: 'io' });
    await Promise.all([asking.close(), left.close()]);
    late?.();
    expect(told).toEqual([2]);
    await open.close();
  });

  it('waits for a close under way before it opens again', async () => {
    const adapter = watched();
    const db = new SettleDB('a', { adapter });
    await db.info();
    const journal: Journal = await adapter.open.mock.results[0]!.value;
    const close = journal.close.bind(journal);
    const { promise, go } = gate();
    const closed = vi.fn(async () => {
      await promise;
      await close();
    });
    journal.close = closed;
    const closing = db.close();
    await vi.waitFor(() => expect(closed).toHaveBeenCalled());
    const again = new SettleDB('a', { adapter });
    const info = again.info();
    await new Promise<void>((resolve) => setTimeout(resolve));
    expect(adapter.open).toHaveBeenCalledTimes(1);
    go();
    await Promise.all([closing, info]);
    expect(adapter.open).toHaveBeenCalledTimes(2);
  });

  it('stays open when a handle comes while the last one leaves', async () => {
    const adapter = watched();
    const db = new SettleDB('a', { adapter });
    const closing = db.close();
    const again = new SettleDB('a', { adapter });
    await again.put({ _id: 'a' });
    await closing;
    expect((await again.info()).doc_count).toBe(1);
    expect(adapter.open).toHaveBeenCalledTimes(1);
  });
});

describe('closing', () => {
  it('serves what was called before, ends feeds as cancelled, and then rejects', async () => {
    const db = new SettleDB(name(), { adapter: memory() });
    const put = db.put({ _id: 'a' });
    const live = db.changes({ live: true });
    const closed = event(db, 'closed');
    const closing = db.close();
    expect(db.close()).toBe(db.close());
    expect((await put).ok).toBe(true);
    expect(await live).toEqual({ status: 'cancelled' });
    await closing;
    await closed;
    await db.close();
    const calls = [db.get('a'), db.info(), db.post({}), db.destroy(), db.changes()];
    for (const error of await Promise.all(
      calls.map((call) => Promise.resolve(call).catch((e: unknown) => e)),
    ))
      expect(isDatabaseError(error) && error.message).toBe('database is closed');
  });

  for (const end of ['close', 'destroy'] as const)
    it(`ends replications as cancelled that were begun while it opens, by ${end}`, async () => {
      await runCode.load(); // Not only when it is open.
      const slow = watched();
      slow.open.mockImplementation(async (location) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return memory().open(location);
      });
      const peer = new SettleDB(name(), { adapter: memory() });
      const db = new SettleDB(name(), { adapter: slow });
      const feeds = [db.replicate.to(peer), db.replicate.from(peer, { live: true })];
      const both = db.sync(peer, { live: true, retry: true });
      await db[end]();
      for (const feed of feeds) expect(await feed).toMatchObject({ status: 'cancelled' });
      expect(await both).toMatchObject({ push: { status: 'cancelled' }, pull: { status: 'cancelled' } });
      expect([...feeds, both].map(({ canceled }) => canceled)).toEqual([true, true, true]);
      await peer.close();
    });

  for (const end of ['close', 'destroy', 'destroy by another'] as const)
    it(`of one side ends every replication between the two as cancelled: ${end}`, async () => {
      const adapter = memory();
      const open = (of: string) => new SettleDB(of, { adapter });
      const [here, there] = [name(), name()];
      const [db, other, peer] = [open(here), open(here), open(there)];
      const live = { live: true, retry: true };
      const feeds = [
        peer.replicate.to(db, live), // a pull waits for its source
        peer.replicate.from(db, live),
        SettleDB.replicate(peer, db, live),
        SettleDB.defaults({ adapter }).replicate(there, db, live),
      ];
      const syncs = [peer.sync(db, live), SettleDB.sync(db, peer, live)];
      // Its own handle on the name is not closed by `close`.
      const named = end === 'close' ? [] : [SettleDB.defaults({ adapter }).sync(peer, here, live)];
      const halves = [...syncs, ...named].flatMap(({ push, pull }) => [push, pull]);
      const all = [...feeds, ...halves];
      await vi.waitFor(() => expect(all.every((feed) => feed.status().phase === 'idle')).toBe(true));
      if (end === 'destroy by another') await other.destroy();
      else await db[end]();
      for (const feed of all) expect(await feed).toMatchObject({ status: 'cancelled' });
      for (const both of [...syncs, ...named]) expect(await both).toHaveProperty('pull.status', 'cancelled');
      await Promise.allSettled([other.close(), peer.close()]);
    });

  it('cancels the transfer of denied documents, of a sync as of a replication', async () => {
    const peer = new SettleDB(name(), { adapter: memory() });
    const db = new SettleDB(name(), { adapter: memory() });
    await db.put({ _id: 'a' });
    let refuses = true;
    const { bulkDocs } = peer;
    peer.bulkDocs = async (given, options) => {
      if (!refuses) return bulkDocs(given, options);
      const { docs } = given as unknown as { docs: { _id: string; _rev: string }[] };
      return docs.map(({ _id: id, _rev: rev }) => ({ id, rev, error: 'forbidden', reason: 'no' }) as never);
    };
    const one = db.replicate.to(peer);
    const both = db.sync(peer);
    await Promise.all([one, both]);
    refuses = false;
    const retried = [one.retryDenied(), both.push.retryDenied()];
    await db.close();
    for (const again of retried) expect(await again).toMatchObject({ status: 'cancelled' });
    await peer.close();
  });

  it('says what went wrong where the storage cannot be closed, and the name can be opened again', async () => {
    const adapter = watched();
    const db = new SettleDB('a', { adapter });
    await db.put({ _id: 'a' });
    const journal: Journal = await adapter.open.mock.results[0]!.value;
    journal.close = () => Promise.reject(quotaExceeded());
    await expect(db.close()).rejects.toMatchObject({ name: 'quota_exceeded', status: 507 });
    const again = new SettleDB('a', { adapter });
    expect(await again.get('a')).toMatchObject({ _id: 'a' });
  });

  it('ends only its own feeds', async () => {
    const adapter = memory();
    const [one, other] = [new SettleDB('a', { adapter }), new SettleDB('a', { adapter })];
    await Promise.all([one.info(), other.info()]);
    const [first, second] = [one.changes({ live: true }), other.changes({ live: true })];
    const heard = new Promise((resolve) => second.on('change', resolve));
    await one.close();
    expect(await first).toEqual({ status: 'cancelled' });
    await other.put({ _id: 'a' });
    expect(await heard).toMatchObject({ id: 'a' });
    await other.close();
    expect(await second).toEqual({ status: 'cancelled' });
  });

  it('is what `await using` does', async () => {
    const db = new SettleDB(name(), { adapter: memory() });
    const dispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');
    await db[dispose as typeof Symbol.asyncDispose]();
    await expect(db.info()).rejects.toThrow('database is closed');
  });
});

describe('destroying', () => {
  it('tells every live handle once, rejects on the destroyed one, and gives others an empty database', async () => {
    const adapter = memory();
    const [one, two, three] = [1, 2, 3].map(() => new SettleDB('a', { adapter }));
    const told = vi.fn();
    for (const db of [one!, two!, three!]) db.on('destroyed', told);
    await two!.put({ _id: 'a' });
    await three!.close();
    const live = two!.changes({ live: true });
    expect(await one!.destroy()).toEqual({ ok: true });
    expect(told).toHaveBeenCalledTimes(2);
    expect(await live).toEqual({ status: 'cancelled' });
    await expect(one!.get('a')).rejects.toThrow('database is closed');
    await expect(one!.destroy()).rejects.toThrow('database is closed');
    expect((await two!.info()).doc_count).toBe(0);
    await two!.put({ _id: 'b' });
    expect((await new SettleDB('a', { adapter }).info()).doc_count).toBe(1);
  });

  it('serves calls of others that come meanwhile from the empty database', async () => {
    const adapter = watched();
    const [one, two] = [new SettleDB('a', { adapter }), new SettleDB('a', { adapter })];
    await one.put({ _id: 'old' });
    const destroyed = one.destroy();
    const { promise, go } = gate();
    const remove = adapter.destroy.getMockImplementation()!;
    adapter.destroy.mockImplementationOnce(async (...args) => {
      await promise;
      await remove(...args);
    });
    await vi.waitFor(() => expect(adapter.destroy).toHaveBeenCalled());
    const put = two.put({ _id: 'new' });
    go();
    await Promise.all([destroyed, put]);
    const { rows } = await two.allDocs();
    expect(rows.map(({ key }) => key)).toEqual(['new']);
  });

  it.each([
    'open',
    'opening',
  ])('acknowledges no call for the database that goes, when that is %s', async (state) => {
    const adapter = memory();
    const [one, two] = [new SettleDB('a', { adapter }), new SettleDB('a', { adapter })];
    if (state === 'open') await Promise.all([one.info(), two.info()]);
    const before = one.put({ _id: 'its own, before' });
    const destroyed = one.destroy();
    const after = two.put({ _id: 'another handle, after' });
    const three = new SettleDB('a', { adapter });
    await Promise.all([before, destroyed, after, three.put({ _id: 'a new handle' })]);
    const { rows } = await three.allDocs();
    expect(rows.map(({ key }) => key)).toEqual(['a new handle', 'another handle, after']);
    await three.destroy();
  });

  it('leaves the handle usable when it could not be done', async () => {
    const adapter = watched();
    const db = new SettleDB('a', { adapter });
    await db.put({ _id: 'a' });
    adapter.destroy.mockRejectedValueOnce(new Error('in use'));
    await expect(db.destroy()).rejects.toThrow('in use');
    expect((await db.info()).doc_count).toBe(1);
    await db.destroy();
  });

  it('leaves the handle closed if that was asked for meanwhile, also when it could not be done', async () => {
    const adapter = watched();
    const db = new SettleDB('a', { adapter });
    await db.put({ _id: 'a' });
    adapter.destroy.mockRejectedValueOnce(new Error('in use'));
    const refused = expect(db.destroy()).rejects.toThrow('in use');
    await db.close();
    await refused;
    await expect(db.info()).rejects.toMatchObject({ name: 'closed' });
    const again = new SettleDB('a', { adapter });
    expect(await again.get('a')).toMatchObject({ _id: 'a' });
    await again.destroy();
  });

  it('is also possible for a database that cannot be opened', async () => {
    const adapter = watched();
    adapter.open.mockRejectedValueOnce(new Error('corrupt'));
    const db = new SettleDB('a', { adapter });
    await expect(db.info()).rejects.toThrow('corrupt');
    await db.destroy();
    expect(adapter.destroy).toHaveBeenCalledTimes(1);
  });

  it('by another context reaches the handles here, which then find an empty database', async () => {
    const adapter = memory();
    const db = new SettleDB('a', { adapter });
    await db.put({ _id: 'a' });
    const told = event(db, 'destroyed');
    await adapter.destroy('a');
    await told;
    expect((await db.info()).doc_count).toBe(0);
  });

  it('keeps the number of listeners small, whatever was going on', async () => {
    const db = new SettleDB(name(), { adapter: memory() });
    await db.info();
    const feeds = Array.from({ length: 30 }, () => db.changes({ live: true }));
    expect(db.listeners('destroyed')).toHaveLength(0);
    for (const feed of feeds) feed.cancel();
    await Promise.all(feeds);
  });
});
