/** Replications that a page begins: at its host, or in the page where one of the databases is only there. */
import { memory } from '@settledb/adapter-memory';
import { BasicFeed } from '@settledb/core';
import type { Replication } from '@settledb/replication';
import { describe, expect, it, vi } from 'vitest';
import { contextOf } from '../../packages/settledb/src/hosting';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { hostAndPage, rejection } from './support';

describe('replication', () => {
  it('runs at the host, between handles and names, both ways, and tells all it would tell', async () => {
    const { Hosted } = hostAndPage();
    const [one, two] = [new Hosted('one'), new Hosted('two')];
    await one.bulkDocs([{ _id: 'a' }, { _id: 'b' }]);
    await two.put({ _id: 'c' });
    const push = one.replicate.to(two);
    const changes: unknown[] = [];
    push.on('change', (change) => changes.push(change));
    expect(await push).toMatchObject({ ok: true, docs_written: 2, status: 'complete' });
    expect(changes).toMatchObject([{ docs_written: 2, docs: [{ _id: 'a' }, { _id: 'b' }] }]);
    expect(push.status()).toMatchObject({ phase: 'complete', docs_written: 2 });
    expect(await one.replicate.from('two')).toMatchObject({ docs_written: 1 });
    await one.put({ _id: 'd' });
    expect(await one.sync('two')).toMatchObject({ push: { docs_written: 1 }, pull: { docs_written: 0 } });
    expect(await Hosted.replicate('one', 'three')).toMatchObject({ docs_written: 4 });
    expect(await Hosted.sync(two, 'three')).toMatchObject({ push: { ok: true }, pull: { ok: true } });
    expect(await rejection(one.replicate.to('two', { doc_ids: 'a' as never }))).toMatchObject({
      status: 400,
    });
  });

  it('of large attachments tells of them as stubs', async () => {
    const { Hosted } = hostAndPage();
    const [one, two] = [new Hosted('one'), new Hosted('two')];
    const data = new Blob([new Uint8Array(1_500_000)]);
    await one.put({ _id: 'a', _attachments: { big: { content_type: 'x/y', data } } } as never);
    const feed = one.replicate.to('two', { live: true });
    const docs = new Map<string, unknown>();
    feed.on('change', (change) => {
      for (const doc of change.docs) docs.set(doc._id, doc);
    });
    await one.put({ _id: 'b' });
    await vi.waitFor(() => expect(docs.size).toBe(2));
    expect(docs.get('a')).toMatchObject({ _attachments: { big: { stub: true, length: 1_500_000 } } });
    expect((await two.getAttachment('a', 'big')) as Blob).toMatchObject({ size: 1_500_000 });
    feed.cancel();
    expect(await feed).toMatchObject({ status: 'cancelled', docs_written: 2 });
  });

  it('goes on when a document that it tells of cannot cross, and leaves that one out', async () => {
    const docs = [{ _id: 'a' }, { _id: 'b', f: () => 1 }];
    const to = (): BasicFeed<unknown, unknown> =>
      new BasicFeed(async ({ push }) => {
        await push({ ok: true, docs_written: 2, docs });
        await push({ ok: true, docs_written: 3, docs: [{ _id: 'c' }] });
        return { ok: true, docs_written: 3, status: 'complete' };
      });
    const open = () => ({ on: () => {}, close: async () => {}, replicate: { to } });
    const feed = new (hostAndPage({}, {}, open as never).Hosted)('one').replicate.to('two');
    const told: string[] = [];
    feed.on('change', (change) => told.push(...change.docs.map(({ _id }) => _id)));
    expect(await feed).toMatchObject({ docs_written: 3, status: 'complete' });
    expect(told).toEqual(['a', 'c']);
  });

  it('with a database that is only in the page runs in the page', async () => {
    const { Hosted } = hostAndPage();
    const [here, there] = [new SettleDB('here', { adapter: memory() }), new Hosted('there')];
    await here.put({ _id: 'a' });
    await there.put({ _id: 'b' });
    expect(await there.replicate.from(here)).toMatchObject({ docs_written: 1 });
    expect(await here.replicate.from(there)).toMatchObject({ docs_written: 1 });
    expect(await there.sync(here)).toMatchObject({ push: { ok: true }, pull: { ok: true } });
    expect((await here.info()).doc_count).toBe(2);
  });

  it('both ways is not begun if its signal was aborted before', async () => {
    const { Hosted } = hostAndPage();
    const [one, other] = [new Hosted('one'), new Hosted('other')];
    await one.put({ _id: 'a' });
    await Promise.all([one.sync('other'), other.info()]); // The code for it is there.
    for (let turn = 0; turn < 10; turn++) {
      const sync = one.sync('other', { signal: AbortSignal.abort() });
      expect(await sync).toMatchObject({ push: { status: 'cancelled' }, pull: { status: 'cancelled' } });
    }
  });

  it('with a database that is only in the page is cancelled when another handle destroys that of the worker', async () => {
    const inner = memory();
    // Live feeds end when destroying begins; pages are told when nothing is left of the database.
    const destroy = async (name: string): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      await inner.destroy(name);
    };
    const Memory = SettleDB.defaults({ adapter: { ...inner, destroy } });
    const { Hosted, page } = hostAndPage({}, {}, contextOf(Memory));
    for (const Other of [Hosted, page()])
      for (const retry of [false, true]) {
        const db = new Hosted('there');
        const [here, too] = ['here', 'too'].map((name) => new SettleDB(name, { adapter: memory() })) as [
          SettleDB,
          SettleDB,
        ];
        await db.put({ _id: 'a' });
        const [to, sync] = [
          db.replicate.to(here, { live: true, retry }),
          db.sync(too, { live: true, retry }),
        ];
        await Promise.all([to, sync].map((feed) => new Promise((resolve) => feed.once('paused', resolve))));
        await new Other('there').destroy();
        expect(await to).toMatchObject({ status: 'cancelled', docs_written: 1 });
        expect(await sync).toMatchObject({ push: { status: 'cancelled' }, pull: { status: 'cancelled' } });
        await Promise.all([here.destroy(), too.destroy()]);
      }
  });

  for (const end of ['close', 'destroy'] as const) {
    it(`with a database that is only in the page is cancelled by ${end} of that of the worker, whatever it does just then`, async () => {
      const { Hosted } = hostAndPage();
      for (let ms = 0; ms < 12; ms++) {
        const db = new Hosted(`there ${ms}`);
        const here = new SettleDB(`here ${ms}`, { adapter: memory() });
        await db.bulkDocs(Array.from({ length: 300 }, (_, n) => ({ _id: `${n}` })));
        const sync = db.sync(here, { live: true, retry: ms % 2 === 0 });
        const result = sync.catch((error: unknown) => error);
        await new Promise((resolve) => setTimeout(resolve, ms * 2));
        await db[end]();
        expect(await result).toMatchObject({ push: { status: 'cancelled' }, pull: { status: 'cancelled' } });
      }
    });
  }

  describe('with documents that are denied', () => {
    const counted = (feed: Replication): unknown => {
      const { docs_written, doc_write_failures, errors } = feed.status();
      return [docs_written, doc_write_failures, errors.map(({ id }) => id)];
    };
    /** A handle that refuses documents called so, and the way to let it take them. */
    const strict = (db: SettleDB<object>, ...names: string[]): ((name: string) => void) => {
      const refused = new Set(names);
      const { bulkDocs } = db as unknown as { bulkDocs(request: object, options: object): Promise<object[]> };
      const picky = async ({ docs }: { docs: { _id: string; _rev: string }[] }, options: object) => {
        const taken = docs.filter(({ _id }) => !refused.has(_id));
        const rows = docs
          .filter((doc) => !taken.includes(doc))
          .map(({ _id, _rev }) => ({ id: _id, rev: _rev }));
        const denied = rows.map((row) => ({ ...row, error: 'forbidden', reason: 'not yet' }));
        return [...(await bulkDocs({ docs: taken, new_edits: false }, options)), ...denied];
      };
      Object.defineProperty(db, 'bulkDocs', { value: picky });
      return (name) => refused.delete(name);
    };
    const docs = ['a', 'b', 'c'].map((_id) => ({ _id }));

    it('counts those that were carried over once more, with a peer in the page', async () => {
      const db = new (hostAndPage().Hosted)('there');
      const here = new SettleDB('here', { adapter: memory() });
      const allow = strict(here, 'a', 'b');
      await db.bulkDocs(docs);
      const feed = db.replicate.to(here, { live: true });
      await vi.waitFor(() => expect(counted(feed)).toEqual([1, 2, ['a', 'b']]));
      allow('b');
      expect(await feed.retryDenied()).toMatchObject({ docs_written: 1, doc_write_failures: 1 });
      await db.put({ _id: 'd' });
      await vi.waitFor(() => expect(counted(feed)).toEqual([3, 1, ['a']]));
      feed.cancel();
      expect(await feed).toMatchObject({ docs_written: 3, doc_write_failures: 1, status: 'cancelled' });
      const signal = AbortSignal.abort();
      expect(await feed.retryDenied({ signal })).toMatchObject({ status: 'cancelled' });
      expect(counted(feed)).toEqual([3, 1, ['a']]);
      allow('a');
      expect(await feed.retryDenied()).toMatchObject({ docs_written: 1 });
      expect(counted(feed)).toEqual([4, 0, []]);
    });

    it('counts those that were carried over once more, at its host, for whoever follows it', async () => {
      const Memory = SettleDB.defaults({ adapter: memory() });
      let allow = (_name: string): void => {};
      const open = (name: string) => {
        const db = new Memory(name);
        if (name !== 'strict') return db;
        const also = allow;
        const allowed = strict(db, 'a', 'b');
        allow = (each) => [also, allowed].forEach((one) => void one(each));
        return db;
      };
      const { page } = hostAndPage({}, {}, open as never);
      const [one, other] = [page(), page()];
      const source = new one('one');
      await source.bulkDocs(docs);
      const begin = (Hosted: typeof one): Replication =>
        new Hosted('strict').replicate.from('one', { live: true });
      const feeds = [begin(one), begin(other)] as const;
      for (const feed of feeds) await vi.waitFor(() => expect(counted(feed)).toEqual([1, 2, ['a', 'b']]));
      allow('b');
      expect(await feeds[0].retryDenied()).toMatchObject({ docs_written: 1, doc_write_failures: 1 });
      expect(counted(feeds[0])).toEqual([2, 1, ['a']]);
      await source.put({ _id: 'd' });
      for (const feed of feeds) await vi.waitFor(() => expect(counted(feed)).toEqual([3, 1, ['a']]));
      feeds[0].cancel();
      expect(await feeds[0]).toMatchObject({ docs_written: 3, doc_write_failures: 1, status: 'cancelled' });
      const signal = AbortSignal.abort();
      expect(await feeds[0].retryDenied({ signal })).toMatchObject({ status: 'cancelled' });
      expect(counted(feeds[0])).toEqual([3, 1, ['a']]);
      allow('a');
      expect(await feeds[0].retryDenied()).toMatchObject({ docs_written: 1 });
      expect(counted(feeds[0])).toEqual([4, 0, []]);
      feeds[1].cancel();
      await feeds[1];
    });
  });

  for (const end of ['close', 'destroy', 'destroy by another'] as const)
    it(`after ${end} of its handle, denied documents are not transferred: that is cancelled, as in the page`, async () => {
      const { Hosted } = hostAndPage();
      const Here = SettleDB.defaults({ adapter: memory() });
      const peer = new SettleDB('peer', { adapter: memory() });
      for (const Handle of [Here, Hosted]) {
        const [db, other] = [new Handle('one'), new Handle('one')];
        const feeds = [db.replicate.to('two'), db.replicate.to(peer)];
        const sync = db.sync('two');
        await Promise.all([...feeds, sync]);
        const ended = new Promise((resolve) => db.once('destroyed', resolve));
        if (end === 'destroy by another') await Promise.all([other.destroy(), ended]);
        else await db[end]();
        for (const feed of [...feeds, sync.push, sync.pull])
          expect(await feed.retryDenied()).toMatchObject({ status: 'cancelled', docs_written: 0 });
        if (end === 'destroy by another') continue;
        for (const peers of ['two', peer])
          for (const verb of ['to', 'from'] as const)
            expect(await rejection(db.replicate[verb](peers))).toMatchObject({ name: 'closed' });
        expect(await rejection(db.sync('two'))).toMatchObject({ name: 'closed' });
        expect(await rejection(db.changes())).toMatchObject({ name: 'closed' });
      }
    });

  for (const end of ['close', 'destroy', 'destroy by another'] as const)
    it(`after ${end} of its peer, denied documents are not transferred, least of all into what is made anew`, async () => {
      const { Hosted } = hostAndPage();
      const Here = SettleDB.defaults({ adapter: memory() });
      for (const Handle of [Here, Hosted])
        for (const Peer of [Here, Hosted]) {
          const db = new Handle('one');
          const [peer, other] = [new Peer('two'), new Peer('two')];
          const feeds = [db.replicate.to(peer), db.replicate.from(peer)];
          const sync = db.sync(peer);
          await Promise.all([...feeds, sync]);
          const ended = new Promise((resolve) => peer.once('destroyed', resolve));
          if (end === 'destroy by another') await Promise.all([other.destroy(), ended]);
          else await peer[end]();
          for (const feed of [...feeds, sync.push, sync.pull])
            expect(await feed.retryDenied()).toMatchObject({ status: 'cancelled', docs_written: 0 });
        }
    });

  it('that is begun again in the same turn, before or after the one before is cancelled, goes on', async () => {
    const { Hosted } = hostAndPage();
    const [db, other] = [new Hosted('one'), new Hosted('two')];
    await Promise.all([db.info(), other.info()]);
    const begin = (): Replication => db.replicate.to('two', { live: true });
    let feed = begin();
    let written = 0;
    for (const inOrder of [true, false, true, false]) {
      const before = feed;
      if (inOrder) before.cancel();
      feed = begin();
      if (!inOrder) before.cancel();
      await db.put({ _id: `${written++}` });
      await vi.waitFor(async () => expect((await other.info()).doc_count).toBe(written));
      expect(await before).toMatchObject({ status: 'cancelled' });
    }
    feed.cancel();
    expect(await feed).toMatchObject({ status: 'cancelled' });
  });

  it('that waits says why, with the error it would have in the page', async () => {
    const { Hosted } = hostAndPage();
    const db = new Hosted('notes');
    const feed = db.replicate.to('http://127.0.0.1:9/notes', { live: true, retry: true });
    feed.catch(() => undefined);
    for await (const { phase, error } of feed.statuses()) {
      if (phase !== 'waiting') continue;
      expect(error).toBeInstanceOf(Error);
      expect(error).toMatchObject({ name: 'unreachable', status: 503 });
      break;
    }
    feed.cancel();
  });

  it('ends with its handle', async () => {
    const { Hosted } = hostAndPage();
    const db = new Hosted('one');
    const live = db.sync('two', { live: true });
    await new Promise((resolve) => live.once('paused', resolve));
    await db.close();
    await Promise.allSettled([live]);
  });
});
