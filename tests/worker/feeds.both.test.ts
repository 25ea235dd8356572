/** Feeds and live results whose work is done at the host: their pace, their going on, and what they tell. */
import { memory } from '@settledb/adapter-memory';
import { BasicFeed, type Change, type ChangesResult, DatabaseError } from '@settledb/core';
import { describe, expect, it, vi } from 'vitest';
import { contextOf } from '../../packages/settledb/src/hosting';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { PATIENCE } from './hosts';
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
      const all = asked.splice(0);
      expect(all.slice(0, 3), connected).toEqual(['put a', 'changes', 'put b']);
      // What was cancelled before there was a host is never begun at one.
      if (connected === 'connecting') expect(all).toHaveLength(3);
    }
  });

  it('takes its options as they are when it is asked for, also where the work is of the page', async () => {
    const { Hosted } = hostAndPage({}, {}, contextOf(SettleDB.defaults({ adapter: memory() })));
    const db = new Hosted('notes');
    await db.bulkDocs([{ _id: 'a' }, { _id: 'b' }]);
    const ids = ({ rows }: { rows: readonly { id: string }[] }) => rows.map(({ id }) => id);
    const given = (): { doc_ids: string[] } => ({ doc_ids: ['a'] });
    const options = [given(), given(), given()] as const;
    const there = new Hosted('copy');
    const here = new SettleDB('copy', { adapter: memory() });
    const asked = [
      db.changes(options[0]),
      db.replicate.to(there, options[1]),
      db.replicate.to(here, options[2]),
    ] as const;
    for (const { doc_ids } of options) doc_ids[0] = 'b';
    const [changes] = await Promise.all(asked);
    expect(ids({ rows: (changes as ChangesResult).results })).toEqual(['a']);
    expect(ids(await there.allDocs())).toEqual(['a']);
    expect(ids(await here.allDocs())).toEqual(['a']);
    await here.close();
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

  it('says that it was cancelled when its database ended it, and not when it gave all that it was asked for', async () => {
    const { Hosted } = hostAndPage();
    const [db, other] = [new Hosted('ended'), new Hosted('ended')];
    await Promise.all([db.put({ _id: 'a' }), other.info()]);
    const [live, limited] = [db.changes({ live: true }), db.changes({ live: true, limit: 1 })];
    expect(await limited).toEqual({ status: 'cancelled' });
    await other.destroy();
    expect(await live).toEqual({ status: 'cancelled' });
    expect([live.canceled, limited.canceled]).toEqual([true, false]);
    await db.close();
  });

  it.each([
    'close',
    'destroy',
  ] as const)('gives a slow loop nothing more after %s of its handle, as in the page', async (end) => {
    const { Hosted } = hostAndPage();
    const db = new Hosted('slow');
    await db.bulkDocs([{ _id: 'a' }, { _id: 'b' }, { _id: 'c' }]);
    const feed = db.changes({ live: true });
    const complete = vi.fn();
    feed.on('complete', complete);
    const taken: string[] = [];
    let goOn!: () => void;
    const busy = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const loop = (async () => {
      for await (const { id } of feed) {
        taken.push(id);
        await busy;
      }
    })();
    await vi.waitFor(() => expect(taken).toEqual(['a']), PATIENCE);
    await db[end]();
    await settled();
    expect(complete).toHaveBeenCalledExactlyOnceWith({ status: 'cancelled' });
    goOn();
    await loop;
    expect(taken).toEqual(['a']);
  });

  it('that gave all that it was asked for is whole, although its database ended just then', async () => {
    const changes = (): BasicFeed<unknown, unknown> =>
      new BasicFeed(async (controller) => {
        for (const seq of [1, 2]) await controller.push({ id: `${seq}`, seq, changes: [] });
        return { status: 'cancelled' };
      });
    const open = () => ({ on: () => {}, close: async () => {}, changes });
    const db = new (hostAndPage({}, {}, open as never).Hosted)('notes');
    expect(await db.changes({ limit: 2 })).toMatchObject({ results: [{ seq: 1 }, { seq: 2 }], last_seq: 2 });
    expect(await db.changes({ limit: 3 })).toEqual({ status: 'cancelled' });
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

  it('of one handle share one feed', async () => {
    const { Hosted } = hostAndPage();
    const db = new Hosted('notes');
    const changes = vi.spyOn(db, 'changes');
    const found = db.live.find({ selector: {} });
    const listed = [db.live.allDocs(), db.live.allDocs()];
    const leave = [found, ...listed].map((live) => live.subscribe(() => {}));
    const counts = () => [found.current?.docs.length, ...listed.map(({ current }) => current?.rows.length)];
    await vi.waitFor(() => expect(counts()).toEqual([0, 0, 0]));
    await db.put({ _id: 'a' });
    await vi.waitFor(() => expect(counts()).toEqual([1, 1, 1]));
    expect(changes).toHaveBeenCalledTimes(1);
    for (const each of leave) each();
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

  it('that there are go on when the feed that they follow was lost for a while', async () => {
    const lost = new DatabaseError({ status: 503, name: 'worker_terminated', reason: 'no answer' });
    let losses = 0;
    const feeds: { cancel(): void }[] = [];
    class Losing extends SettleDB<Record<string, unknown>> {
      override changes(...args: unknown[]): never {
        if (losses-- > 0) return new BasicFeed(() => Promise.reject(lost)) as never;
        const feed = Reflect.apply(super.changes, this, args) as { cancel(): void };
        const failing = new BasicFeed(async (controller) => {
          for await (const change of feed as unknown as AsyncIterable<unknown>) controller.push(change);
          if (!controller.cancelled) throw lost;
        });
        feeds.push(feed);
        return failing as never;
      }
    }
    const { Hosted } = hostAndPage({}, {}, contextOf(Losing.defaults({ adapter: memory() })));
    const db = new Hosted('notes');
    const told: unknown[] = [];
    db.live.allDocs().subscribe({
      next: ({ rows }) => told.push(rows.length),
      error: (error) => told.push((error as Error).name),
    });
    await vi.waitFor(() => expect(told).toEqual([0]));
    losses = Number.POSITIVE_INFINITY;
    feeds[0]!.cancel();
    await settled();
    await db.put({ _id: 'a' });
    losses = 0;
    // The next feed is opened after a second; what was written meanwhile is found.
    await vi.waitFor(() => expect(told).toEqual([0, 1]), PATIENCE);
    await db.put({ _id: 'b' });
    await vi.waitFor(() => expect(told).toEqual([0, 1, 2]), PATIENCE);
    Hosted.disconnect();
    await vi.waitFor(() => expect(told).toEqual([0, 1, 2, 'worker_terminated']), PATIENCE);
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
