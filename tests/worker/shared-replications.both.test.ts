/** Live replications that are the same for several pages: one at the host, until the last page leaves it. */
import { BasicFeed, onAbort } from '@settledb/core';
import { type Replication, StatusBoard, watch } from '@settledb/replication';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { FeedPump } from '../../packages/worker/src/feed-pump';
import { keyOf, SharedFeeds } from '../../packages/worker/src/shared-feeds';
import type { FeedLike } from '../../packages/worker/src/verbs';
import type { HostOp } from '../../packages/worker/src/wire';
import { hostAndPage } from './support';

describe('replication', () => {
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
    const { start_time } = feeds[1]!.status();
    expect(await feeds[0]).toEqual({
      ...{ ok: true, status: 'cancelled', start_time, end_time: expect.any(String), last_seq: 1 },
      ...{ docs_read: 1, docs_written: 1, doc_write_failures: 0, errors: [] },
    });
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

  it('that cannot begin leaves no handle open', async () => {
    let open = 0;
    const { Hosted } = hostAndPage({}, {}, () => {
      open++;
      const to = (): void => {
        throw new TypeError('not so');
      };
      return { on: () => {}, close: async () => void open--, replicate: { to } };
    });
    const db = new Hosted('one');
    await expect(db.replicate.to('two', { live: true })).rejects.toThrow('not so');
    expect(open).toBe(1);
  });

  it('that was left is not taken for the one that others began since', async () => {
    const shared = new SharedFeeds();
    let begun = 0;
    const follow = (): FeedLike =>
      shared.follow('key', () => {
        begun++;
        return new BasicFeed<unknown, unknown>(
          ({ signal }) => new Promise((end) => onAbort(signal, () => end({}))),
        ) as unknown as FeedLike;
      });
    const left = follow();
    await undefined;
    left.cancel();
    const next = follow();
    await left;
    const other = follow();
    expect(begun).toBe(2);
    for (const feed of [next, other]) feed.cancel();
    await Promise.all([next, other]);
  });

  it('ends for a page, too, that asks for it just when it ends', async () => {
    const over = new BasicFeed<unknown, unknown>(async () => ({ ok: true }));
    await over;
    expect(await new SharedFeeds().follow('key', () => over as unknown as FeedLike)).toEqual({ ok: true });
  });

  it('goes as fast as the fastest page, and keeps little for one that is slower, or stands still', async () => {
    const COUNT = 1_000;
    let pushed = 0;
    const shared = new SharedFeeds();
    const follow = (): AsyncIterator<unknown> =>
      shared
        .follow('same', () => {
          const feed = new BasicFeed<unknown, unknown>(async (controller) => {
            for (; pushed < COUNT && !controller.cancelled; pushed++) {
              const wait = controller.push({ docs_read: pushed + 1, docs: ['a document'] });
              if (wait !== undefined) await wait;
            }
            return { docs_read: pushed };
          });
          return feed as unknown as FeedLike;
        })
        [Symbol.asyncIterator]();
    const [slow, fast] = [follow(), follow()];
    const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
    await Promise.all([slow.next(), fast.next()]);
    await turn();
    expect(pushed).toBeLessThan(10);
    let last: unknown;
    for (let next = await fast.next(); !next.done; next = await fast.next()) last = next.value;
    expect(last).toEqual({ docs_read: COUNT, docs: ['a document'] });
    const left: { readonly docs_read: number; readonly docs: readonly unknown[] }[] = [];
    for (let next = await slow.next(); !next.done; next = await slow.next()) left.push(next.value as never);
    expect(left.length).toBeLessThan(110);
    expect(left[50]!.docs).toEqual(['a document']);
    expect(left.at(-1)).toEqual({ docs_read: COUNT, docs: [] });
  });

  it('tells a page that stands still no more than it has room for, and how it stands when it goes on, or at the end', async () => {
    const shared = new SharedFeeds();
    let tell!: (n: number) => void;
    let last = 0;
    const begin = (): FeedLike => {
      const feed = new BasicFeed<unknown, unknown>(({ emit, push, signal }) => {
        tell = (n) => {
          emit('active');
          void push({ n });
          last = n;
          emit('paused');
        };
        return new Promise((end) => onAbort(signal, () => end({})));
      });
      return Object.assign(feed, { status: () => ({ last_seq: last }) }) as unknown as FeedLike;
    };
    const told: HostOp[][] = [[], []];
    const [still, quick] = told.map((ops, id) => {
      const pump: FeedPump = new FeedPump(id, 10, (op) => {
        ops.push(op);
        if (id === 1 && op[0] === 'items') pump.more(op[2].length);
      });
      void pump.run(() => shared.follow('key', begin));
      return pump;
    });
    const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
    await turn();
    const goOn = async (from: number, to: number): Promise<void> => {
      for (let n = from; n <= to; n++) {
        tell(n);
        await turn();
      }
    };
    await goOn(1, 20);
    const most = told[0]!.length;
    await goOn(21, 200);
    expect(told[0]).toHaveLength(most);
    expect(told[1]!.filter(([kind]) => kind === 'event')).toHaveLength(400);
    told[0]!.length = 0;
    still!.more(1_000);
    await turn();
    expect(told[0]!.slice(0, 3)).toEqual([
      ['event', 0, 'active', undefined],
      ['at', 0, { last_seq: 200 }],
      ['event', 0, 'paused', undefined],
    ]);
    for (const pump of [still!, quick!]) pump.cancel();
    await vi.waitFor(() => expect(told.map((ops) => ops.at(-1)![0])).toEqual(['end', 'end']));
    expect(told[0]!.at(-2)).toEqual(['at', 0, { last_seq: 200 }]);
  });

  it('that a page leaves and joins again, since others went on with it, is counted once, and what is begun anew adds to it', () => {
    const board = new StatusBoard();
    const errors = (...ids: string[]) => ids.map((id) => ({ id, rev: '1-a', name: 'forbidden' }) as never);
    const told = (start_time: string, docs_written: number, ...denied: string[]): unknown[] => {
      const given = { docs_written, doc_write_failures: denied.length, errors: errors(...denied) };
      board.status = board.counted({ ...board.status, start_time, ...given, docs_read: 0 });
      const { status } = board;
      return [status.docs_written, status.doc_write_failures, status.errors.map(({ id }) => id)];
    };
    expect(told('1', 10, 'a')).toEqual([10, 1, ['a']]);
    expect(told('1', 12, 'a', 'b')).toEqual([12, 2, ['a', 'b']]);
    expect(told('2', 0)).toEqual([12, 2, ['a', 'b']]);
    expect(told('2', 3, 'c')).toEqual([15, 3, ['a', 'b', 'c']]);
    expect(told('2', 4, 'c')).toEqual([16, 3, ['a', 'b', 'c']]);
    expect(board.ended({ status: 'cancelled' })).toMatchObject({ docs_written: 16, doc_write_failures: 3 });
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
});
