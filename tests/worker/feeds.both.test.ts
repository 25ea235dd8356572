/** Feeds whose work is done at the host: their pace, their going on, and replications. */
import { memory } from '@settledb/adapter-memory';
import { BasicFeed, type Change, DatabaseError, onAbort } from '@settledb/core';
import { type Replication, StatusBoard, watch } from '@settledb/replication';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { contextOf } from '../../packages/settledb/src/hosting';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { FeedPump } from '../../packages/worker/src/feed-pump';
import { keyOf, SharedFeeds } from '../../packages/worker/src/shared-feeds';
import type { FeedLike } from '../../packages/worker/src/verbs';
import type { HostOp } from '../../packages/worker/src/wire';
import { hostAndPage, rejection } from './support';

/** Resolves when tasks and messages that were under way have had their turn, several times over. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve));
}

/** A handle whose changes never end, and how many of them were read. */
function endless(): { open: () => object; read: () => number } {
  let read = 0;
  const changes = (): BasicFeed<unknown, unknown> =>
    new BasicFeed(async (controller) => {
      while (!controller.cancelled) {
        const wait = controller.push({ id: 'a', seq: ++read, changes: [] });
        if (wait !== undefined) await wait;
      }
      return { status: 'cancelled' };
    });
  return { open: () => ({ on: () => {}, close: async () => {}, changes }), read: () => read };
}

describe('a feed', () => {
  it('takes its turn among the calls: one made right after it is no past to it', async () => {
    const asked: string[] = [];
    const changes = (): BasicFeed<unknown, unknown> => {
      asked.push('changes');
      return new BasicFeed(async () => ({ status: 'cancelled' }));
    };
    const put = async ({ _id }: { _id: string }): Promise<unknown> => ({ ok: asked.push(`put ${_id}`) > 0 });
    const info = async (): Promise<unknown> => ({ update_seq: 0 });
    const open = () => ({ on: () => {}, close: async () => {}, changes, put, info });
    const db = new (hostAndPage({}, {}, open as never).Hosted)('notes');
    for (const connected of ['connecting', 'connected']) {
      const calls = [db.put({ _id: 'a' }), db.changes({ live: true, since: 'now' }), db.put({ _id: 'b' })];
      const abort = new AbortController();
      abort.abort();
      calls.push(db.changes({ live: true, since: 'now', signal: abort.signal }) as never);
      const cancelled = db.changes({ live: true, since: 'now' });
      cancelled.cancel();
      calls.push(cancelled as never);
      await Promise.all(calls);
      expect(asked.splice(0).slice(0, 3), connected).toEqual(['put a', 'changes', 'put b']);
    }
  });

  it('is read no further ahead than the page allows, and goes on when the page does', async () => {
    const { open, read } = endless();
    const { Hosted } = hostAndPage({}, {}, open as never);
    const feed = new Hosted('notes').changes({ live: true });
    const changes = feed[Symbol.asyncIterator]();
    expect((await changes.next()).value).toMatchObject({ seq: 1 });
    await settled();
    const ahead = read();
    expect(ahead).toBeLessThanOrEqual(1_010);
    await settled();
    expect(read()).toBe(ahead);
    for (let seq = 2; seq <= 3_000; seq++) expect((await changes.next()).value).toMatchObject({ seq });
    expect(read()).toBeLessThanOrEqual(4_010);
    await changes.return?.();
    await settled();
    const last = read();
    await settled();
    expect(read()).toBe(last);
  });

  it('with documents is read less far ahead', async () => {
    const { open, read } = endless();
    const { Hosted } = hostAndPage({}, {}, open as never);
    const feed = new Hosted('notes').changes({ live: true, include_docs: true });
    await feed[Symbol.asyncIterator]().next();
    await settled();
    expect(read()).toBeLessThanOrEqual(110);
    feed.cancel();
  });

  it('tells listeners, iterators and who awaits it the same as one in the page', async () => {
    const { Hosted } = hostAndPage();
    const db = new Hosted('notes');
    await db.bulkDocs(Array.from({ length: 2_500 }, (_, n) => ({ _id: `doc-${n}` })));
    const heard: Change[] = [];
    const feed = db.changes({ since: 500 });
    feed.on('change', (change) => heard.push(change as Change));
    const complete = vi.fn();
    feed.on('complete', complete);
    const result = (await feed) as { results: Change[]; last_seq: number };
    expect(result.last_seq).toBe(2_500);
    expect(result.results).toEqual(heard);
    expect(heard.map(({ seq }) => seq)).toEqual(Array.from({ length: 2_000 }, (_, n) => n + 501));
    expect(complete).toHaveBeenCalledExactlyOnceWith(result);
    expect(await db.changes({ return_docs: false })).toEqual({ results: [], last_seq: 2_500 });
    expect(await db.changes({ limit: 3, descending: true })).toMatchObject({
      results: [{ seq: 2_500 }, { seq: 2_499 }, { seq: 2_498 }],
    });
  });

  it('whose items cannot cross says so, and is not read on', async () => {
    let cancelled = false;
    const changes = (): BasicFeed<unknown, unknown> =>
      new BasicFeed(async ({ push, signal }) => {
        void push({ id: 'a', seq: 1, changes: [], f: () => 1 });
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        cancelled = true;
        return { status: 'cancelled' };
      });
    const open = () => ({ on: () => {}, close: async () => {}, changes });
    const feed = new (hostAndPage({}, {}, open as never).Hosted)('notes').changes({ live: true });
    const refused = await rejection(feed);
    expect(refused).toMatchObject({ status: 400, message: expect.stringContaining('could not cross') });
    await vi.waitFor(() => expect(cancelled).toBe(true));
  });
});

describe('live results', () => {
  it('of finds, lists and views stay current', async () => {
    const { Hosted } = hostAndPage({ functions: 'source' });
    const db = new Hosted('notes');
    await db.bulkDocs([1, 2, 3].map((n) => ({ _id: String(n), n })));
    const seen: number[] = [];
    const stop = db.live
      .find({ selector: { n: { $gt: 1 } } })
      .subscribe(({ docs }) => void seen.push(docs.length));
    await vi.waitFor(() => expect(seen.at(-1)).toBe(2));
    await db.put({ _id: '4', n: 4 });
    await vi.waitFor(() => expect(seen.at(-1)).toBe(3));
    stop();
    const map = (doc: { n: number }, emit: (key: number) => void): void => emit(doc.n);
    const rows = db.live.query(map as never, { descending: true })[Symbol.asyncIterator]();
    expect((await rows.next()).value?.rows[0]).toMatchObject({ key: 4 });
    await db.put({ _id: '5', n: 5 });
    expect((await rows.next()).value?.rows[0]).toMatchObject({ key: 5 });
    await rows.return?.();
  });

  it('that there are go on when no worker answered for a while; first ones fail, as calls do', async () => {
    const lost = new DatabaseError({ status: 503, name: 'worker_terminated', reason: 'no answer' });
    let losses = 0;
    class Losing extends SettleDB<Record<string, unknown>> {
      override allDocs(...args: unknown[]): Promise<never> {
        if (losses-- > 0) return Promise.reject(lost);
        return Reflect.apply(super.allDocs, this, args) as Promise<never>;
      }
    }
    const { Hosted } = hostAndPage({}, {}, contextOf(Losing.defaults({ adapter: memory() })));
    const db = new Hosted('notes');
    const told: unknown[] = [];
    const watch = (): unknown =>
      db.live.allDocs().subscribe({
        next: ({ rows }) => told.push(rows.length),
        error: (error) => told.push((error as Error).name),
      });
    losses = 1;
    watch();
    await vi.waitFor(() => expect(told).toEqual(['worker_terminated']));
    losses = 0;
    watch();
    await vi.waitFor(() => expect(told).toEqual(['worker_terminated', 0]));
    losses = 2;
    await db.put({ _id: 'a' });
    await vi.waitFor(() => expect(told).toEqual(['worker_terminated', 0, 1]));
    expect(losses).toBeLessThan(0);
    // The page that lets its worker go ends them: nobody asks for ever.
    Hosted.disconnect();
    await vi.waitFor(() => expect(told).toEqual(['worker_terminated', 0, 1, 'worker_terminated']));
  });

  it('are complete when the handle is closed while they begin, and refused after', async () => {
    const { Hosted } = hostAndPage();
    const told: string[] = [];
    const watch = (db: InstanceType<typeof Hosted>): unknown =>
      db.live.allDocs().subscribe({
        error: (error) => told.push((error as Error).name),
        complete: () => told.push('complete'),
      });
    for (const when of ['before', 'before', 'after']) {
      const db = new Hosted('notes');
      await db.info();
      if (when === 'before') watch(db);
      await db.close();
      if (when === 'after') watch(db);
    }
    await vi.waitFor(() => expect(told).toEqual(['complete', 'complete', 'closed']));
  });

  it('see what any page purges', async () => {
    const { page } = hostAndPage();
    const [db, other] = [new (page())('notes'), new (page())('notes')];
    const revs = await db.bulkDocs([1, 2, 3].map((n) => ({ _id: String(n), n })));
    const rev = (at: number): string => (revs[at] as { rev: string }).rev;
    const seen: number[][] = [[], []];
    const stops = [
      db.live.allDocs().subscribe(({ rows }) => void seen[0]!.push(rows.length)),
      db.live.find({ selector: { n: { $gt: 0 } } }).subscribe(({ docs }) => void seen[1]!.push(docs.length)),
    ];
    const last = (): unknown => seen.map((each) => each.at(-1));
    await vi.waitFor(() => expect(last()).toEqual([3, 3]));
    await db.purge('1', rev(0));
    await vi.waitFor(() => expect(last()).toEqual([2, 2]));
    await other.purge('2', rev(1));
    await vi.waitFor(() => expect(last()).toEqual([1, 1]));
    for (const stop of stops) stop();
    await db.purge('3', rev(2));
    await settled();
    expect(last()).toEqual([1, 1]);
  });
});

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

  it('that is live and the same for several pages is one, until the last of them leaves it', async () => {
    const { page } = hostAndPage();
    const pages = [page(), page(), page()];
    const handles = pages.map((Hosted) => new Hosted('one'));
    const feeds: Replication[] = handles.map((db) => db.replicate.to('two', { live: true }));
    const idle = (feed: Replication): Promise<void> =>
      vi.waitFor(() => expect(feed.status().phase).toBe('idle'));
    await Promise.all(feeds.map(idle));
    const starts = new Set(feeds.map((feed) => feed.status().start_time));
    expect(starts.size).toBe(1);
    await handles[0]!.put({ _id: 'a' });
    const other = new pages[1]!('two');
    await vi.waitFor(async () => expect((await other.info()).doc_count).toBe(1));
    const ended = (async () => {
      for await (const _ of feeds[0]!.statuses());
    })();
    feeds[0]!.cancel();
    expect(await feeds[0]).toMatchObject({ status: 'cancelled', ok: true });
    await ended;
    expect(feeds[0]!.status().phase).toBe('cancelled');
    await handles[0]!.put({ _id: 'b' });
    await vi.waitFor(async () => expect((await other.info()).doc_count).toBe(2));
    // A page that comes late hears at once how it stands.
    const late = handles[2]!.replicate.to('two', { live: true });
    await new Promise((resolve) => late.on('paused', resolve));
    for (const feed of [...feeds, late]) feed.cancel();
    await Promise.all(feeds);
    const again = handles[0]!.replicate.to('two', { live: true });
    await idle(again);
    expect(starts.has(again.status().start_time)).toBe(false);
    again.cancel();
    await again;
  });

  it('that is the same for several pages goes on for the others when the page that began it closes its handle, or goes', async () => {
    const { page } = hostAndPage();
    const pages = [page(), page(), page()];
    const handles = pages.map((Hosted) => new Hosted('one'));
    const [first, second, third] = handles.map((db) => db.replicate.to('two', { live: true }));
    await vi.waitFor(() => expect(third!.status().phase).toBe('idle'));
    const { start_time } = third!.status();
    await handles[0]!.close();
    await first;
    pages[1]!.disconnect();
    await Promise.allSettled([second]);
    await handles[2]!.put({ _id: 'a' });
    const other = new pages[2]!('two');
    await vi.waitFor(async () => expect((await other.info()).doc_count).toBe(1));
    // The document may be there before the host says that it is idle again.
    await vi.waitFor(() => expect(third!.status()).toMatchObject({ phase: 'idle', start_time }));
    third!.cancel();
    expect(await third).toMatchObject({ status: 'cancelled' });
  });

  it('that differs in a regular expression of its selector from another is none of it', async () => {
    const { Hosted } = hostAndPage();
    const [one, two] = [new Hosted('one'), new Hosted('two')];
    await one.bulkDocs([
      { _id: 'a', t: 'a' },
      { _id: 'b', t: 'b' },
    ]);
    const begin = ($regex: RegExp): Replication =>
      one.replicate.to('two', { live: true, selector: { t: { $regex } } });
    const feeds = [begin(/^a/), begin(/^b/)];
    await vi.waitFor(async () => expect((await two.info()).doc_count).toBe(2));
    for (const feed of feeds) feed.cancel();
    await Promise.all(feeds);
  });

  it('is one with another only where all that it was asked with can be told', () => {
    const key = (selector: unknown): string | undefined =>
      keyOf(['one', {}], 'replicate.to', [
        'two',
        { live: true, selector, signal: new AbortController().signal },
      ]);
    for (const selector of [{}, { t: { $regex: /^a/i } }, { t: ['a', 1, null, true] }, { t: undefined }])
      expect(key(selector)).toBe(key(structuredClone(selector)));
    const told = [{}, { t: /a/ }, { t: /a/i }, { t: '/a/' }, { t: '"/a/' }, { t: {} }].map(key);
    expect(new Set(told).size).toBe(told.length);
    expect(told).not.toContain(undefined);
    for (const t of [new Map(), new Set(), Number.NaN, 1n, () => 1, new Date(0), new Uint8Array(1)])
      expect(key({ t })).toBe(undefined);
  });

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

  it('keeps nothing of pages that came and left, and tells them nothing', async () => {
    const shared = new SharedFeeds();
    const progress = new StatusBoard();
    let listening = 0;
    const listen = progress.listen.bind(progress);
    progress.listen = (hear) => {
      const leave = listen(hear);
      listening++;
      return () => {
        leave();
        listening--;
      };
    };
    let change = (): void => {};
    const begin = (): FeedLike => {
      const feed = new BasicFeed<unknown, unknown>(
        ({ signal }) => new Promise((end) => onAbort(signal, () => end({}))),
      );
      change = () => {
        progress.status = { ...progress.status };
      };
      return Object.assign(feed, {
        status: () => progress.status,
        statuses: () => watch([progress], () => progress.status),
      }) as FeedLike;
    };
    const stays = shared.follow('key', begin);
    const running = vi.spyOn(BasicFeed.prototype, 'then');
    onTestFinished(() => running.mockRestore());
    const told: HostOp[] = [];
    const pages = 5;
    for (let page = 0; page < pages; page++) {
      const pump = new FeedPump(page, 100, (op) => told.push(op));
      const left = new Promise<void>((resolve) => {
        pump.onEnd = resolve;
      });
      let followed: FeedLike | undefined;
      pump.run(() => {
        followed = shared.follow('key', begin);
        return followed;
      });
      pump.cancel();
      await left;
      // Asked for the end of its own, not of the one that goes on.
      expect(running.mock.contexts.filter((feed) => feed !== followed)).toEqual([]);
      running.mockClear();
    }
    // Before anything changes: it may be days.
    await vi.waitFor(() => expect(listening).toBe(0));
    const count = told.length;
    change();
    await new Promise((resolve) => setTimeout(resolve, 150));
    change();
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(told).toHaveLength(count);
    stays.cancel();
    await stays;
    expect(shared.size).toBe(0);
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
