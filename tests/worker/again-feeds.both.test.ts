/** Feeds whose host is lost: how live ones, those with a limit and replications go on at the next one, or end. */
import type { Replication } from '@settledb/replication';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.browser';
import { memory } from '../../packages/settledb/src/memory';
import { begun, Hosts, PATIENCE } from './hosts';
import { rejection } from './support';

describe('a live feed', () => {
  /** No other time passes, by the clock: how soon a feed was lost again is not for the machine to say. */
  async function lose(times: number, apartMs: number) {
    let now = performance.now();
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    const { hosts, db } = await begun();
    const feed = db.changes({ live: true });
    const outcome = feed.then(
      () => 'over',
      (error) => error.name,
    );
    for (let time = 1; time <= times; time++) {
      await vi.waitFor(() => expect(hosts.feeds).toBe(time), PATIENCE);
      now += apartMs;
      hosts.now.leave();
    }
    return { hosts, feed, outcome };
  }

  it('since now that its host did not take begins at the next one before what was written after it', async () => {
    const { hosts, db } = await begun();
    const feed = db.changes({ live: true, since: 'now' });
    const put = db.put({ _id: 'a' });
    await undefined;
    await undefined;
    hosts.now.leave();
    expect(await put).toMatchObject({ host: 1 });
    expect(hosts.done).toEqual([[], ['changes', 'put a']]);
    feed.cancel();
    await feed;
  });

  it('that is quiet goes on in the next host, however many it has lost in the time it was', async () => {
    const { hosts, feed, outcome } = await lose(12, 60_000);
    await vi.waitFor(() => expect(hosts.feeds).toBe(13), PATIENCE);
    feed.cancel();
    expect(await outcome).toBe('over');
  });

  it('that was begun waits for a host where there is none for a while; one that was not begun says why', async () => {
    const { hosts, db } = await begun();
    const feed = db.changes({ live: true });
    await vi.waitFor(() => expect(hosts.feeds).toBe(1), PATIENCE);
    hosts.refusals = 2;
    hosts.now.leave();
    await vi.waitFor(() => expect(hosts.feeds).toBe(2), PATIENCE);
    feed.cancel();
    await feed;
    const others = new Hosts();
    others.refusals = 1;
    const other = new (others.connect())('notes');
    await expect(Promise.resolve(other.changes({ live: true }))).rejects.toThrow('not now');
  });

  it('that cannot cross, and is cancelled before anybody hears so, is a cancelled one', async () => {
    const { db } = await begun();
    const feed = db.changes({ live: true, filter: () => true });
    feed.cancel();
    expect(await feed).toMatchObject({ status: 'cancelled' });
  });

  it('that hosts without end lose as soon as they have it fails at last', async () => {
    const { outcome } = await lose(6, 0);
    expect(await outcome).toBe('worker_terminated');
  });
});

describe('a feed with a limit', () => {
  const ends: [string, object, object][] = [
    ['with its results', {}, { results: [{ seq: 5 }, { seq: 7 }], last_seq: 7 }],
    ['with no results where it keeps none', { return_docs: false }, { results: [], last_seq: 7 }],
    [
      'with its results, descending',
      { descending: true },
      { results: [{ seq: 5 }, { seq: 7 }], last_seq: 7 },
    ],
    ['as a live one does', { live: true }, { status: 'cancelled' }],
  ];
  it.each(ends)('whose host is lost after the last change ends %s', async (_how, options, result) => {
    const { hosts, db } = await begun();
    hosts.onFeed = (_emit, push) => {
      for (const seq of [5, 7]) push({ seq });
    };
    const feed = db.changes({ limit: 2, ...options });
    const heard: unknown[] = [];
    feed.on('change', ({ seq }) => heard.push(seq));
    await vi.waitFor(() => expect(heard).toEqual([5, 7]), PATIENCE);
    hosts.now.leave();
    expect(await feed).toEqual(result);
    expect(hosts.feeds).toBe(1);
  });

  it('whose host is lost before the last change goes on with what is left of it', async () => {
    const { hosts, db } = await begun();
    hosts.onFeed = (_emit, push) => void push({ seq: hosts.feeds });
    const feed = db.changes({ limit: 2 });
    const heard: unknown[] = [];
    feed.on('change', ({ seq }) => heard.push(seq));
    for (const seq of [1, 2]) {
      await vi.waitFor(() => expect(heard).toHaveLength(seq), PATIENCE);
      hosts.now.leave();
    }
    expect(await feed).toMatchObject({ results: [{ seq: 1 }, { seq: 2 }], last_seq: 2 });
  });
});

describe('a replication', () => {
  const COUNTERS = { docs_read: 0, docs_written: 0, doc_write_failures: 0, errors: [], last_seq: 0 };
  const lastOf = async (feed: Replication): Promise<string | undefined> => {
    let last: string | undefined;
    for await (const { phase } of feed.statuses()) last = phase;
    return last;
  };

  it('of one shot that loses its host fails with its counters, and its statuses end', async () => {
    const { hosts, db } = await begun();
    const feeds = [db.replicate.to('other'), db.replicate.from('other')];
    const ends = feeds.map((feed) => [rejection(feed), lastOf(feed)] as const);
    await vi.waitFor(() => expect(hosts.feeds).toBe(2), PATIENCE);
    hosts.now.leave();
    for (const [error, last] of ends) {
      expect(await error).toMatchObject({ name: 'worker_terminated', result: { ok: false, ...COUNTERS } });
      expect(await last).toBe('failed');
    }
    expect((await ends[0]![0]).result).not.toBe((await ends[1]![0]).result);
    expect(feeds[0]!.status()).toMatchObject({ phase: 'failed', error: { name: 'worker_terminated' } });
  });

  it('that is cancelled while its host is lost is a cancelled one, and its statuses end', async () => {
    const { hosts, db } = await begun();
    const feed = db.replicate.to('other', { live: true, retry: true });
    const last = lastOf(feed);
    await vi.waitFor(() => expect(hosts.feeds).toBe(1), PATIENCE);
    hosts.refusals = 1;
    hosts.now.leave();
    feed.cancel();
    expect(await feed).toMatchObject({ ok: true, status: 'cancelled', ...COUNTERS });
    expect(await last).toBe('cancelled');
  });

  it('is active and paused in turn, whatever the next host begins with', async () => {
    const { hosts, db } = await begun();
    const offline = { name: 'unreachable' };
    const told = [
      [['active'], ['paused']],
      [['paused'], ['active']],
      [['active'], ['paused', offline]],
      [['paused', offline], ['paused']],
    ];
    hosts.onFeed = (emit) => {
      for (const [event, value] of told[hosts.feeds - 1]!) emit(event as string, value);
    };
    const feed = db.replicate.to('other', { live: true, retry: true });
    const heard: unknown[] = [];
    for (const event of ['active', 'paused'] as const)
      feed.on(event, (value: unknown) => heard.push(value === undefined ? event : [event, value]));
    for (const [at, count] of [2, 3, 4, 6].entries()) {
      await vi.waitFor(() => expect(heard).toHaveLength(count), PATIENCE);
      if (at < told.length - 1) hosts.now.leave();
    }
    expect(heard).toEqual(['active', 'paused', 'active', ['paused', offline], 'active', 'paused']);
    feed.cancel();
    await feed;
  });

  it.each([
    0, 2,
  ])('since now goes on in the next host after what it was told in the last one: %i', async (before) => {
    const Databases = SettleDB.defaults({ adapter: memory() });
    const hosts = new Hosts();
    hosts.open = (name, options) => new Databases(name, options) as never;
    const source = new Databases('source');
    onTestFinished(() => source.close());
    for (let n = 0; n < before; n++) await source.put({ _id: `before ${n}` });
    const db = new (hosts.connect())('notes');
    const feed = db.replicate.from('source', { live: true, since: 'now' });
    await vi.waitFor(() => expect(feed.status().phase).toBe('idle'), PATIENCE);
    let begin!: () => void;
    hosts.begin = () =>
      new Promise((resolve) => {
        begin = resolve;
      });
    hosts.now.leave();
    await source.put({ _id: 'between' });
    await vi.waitFor(() => expect(begin).toBeDefined(), PATIENCE);
    begin();
    await vi.waitFor(() => expect(hosts.feeds).toBe(2), PATIENCE);
    await vi.waitFor(() => expect(feed.status().phase).toBe('idle'), PATIENCE);
    await source.put({ _id: 'after' });
    await vi.waitFor(() => expect(feed.status().last_seq).toBe(before + 2), PATIENCE);
    feed.cancel();
    await feed;
    const { rows } = await db.allDocs();
    expect(rows).toMatchObject([{ id: 'after' }, { id: 'between' }]);
  });

  it('counts what all its hosts have done, and denied documents of each can be transferred once more', async () => {
    const denied = new Set(['a', 'b', 'e']);
    class Databases extends SettleDB.defaults({ adapter: memory() }) {
      override async bulkDocs(input: never, options: never) {
        if (this.name !== 'strict') return super.bulkDocs(input, options);
        const { docs } = input as { docs: { _id: string; _rev: string }[] };
        const taken = docs.filter(({ _id }) => !denied.has(_id));
        const rows = docs
          .filter(({ _id }) => denied.has(_id))
          .map(({ _id, _rev }) => ({ id: _id, rev: _rev }));
        const written = await super.bulkDocs({ docs: taken, new_edits: false } as never, options);
        return [
          ...written,
          ...rows.map((row) => ({ ...row, error: 'forbidden', reason: 'not yet' })),
        ] as never;
      }
    }
    const hosts = new Hosts();
    hosts.open = (name, options) => new Databases(name, options) as never;
    const db = new (hosts.connect())('loose');
    await db.bulkDocs([{ _id: 'a' }, { _id: 'b' }, { _id: 'c' }]);
    const feed = db.replicate.to('strict', { live: true });
    const told: number[] = [];
    feed.on('change', ({ docs_written }) => told.push(docs_written));
    const stands = async (...expected: unknown[]): Promise<void> =>
      vi.waitFor(() => {
        const { docs_written, doc_write_failures, errors, phase } = feed.status();
        expect([docs_written, doc_write_failures, errors.map(({ id }) => id), phase]).toEqual([
          ...expected,
          'idle',
        ]);
      }, PATIENCE);
    await stands(1, 2, ['a', 'b']);
    const next = async (): Promise<void> => {
      const before = hosts.feeds;
      hosts.now.leave();
      await vi.waitFor(() => expect(hosts.feeds).toBe(before + 1), PATIENCE);
    };
    await next();
    await stands(1, 2, ['a', 'b']);
    await db.bulkDocs([{ _id: 'd' }, { _id: 'e' }]);
    await stands(2, 3, ['a', 'b', 'e']);
    denied.delete('b');
    expect(await feed.retryDenied()).toMatchObject({ docs_written: 1, doc_write_failures: 2 });
    await stands(3, 2, ['a', 'e']);
    await next();
    await db.put({ _id: 'f' });
    await stands(4, 2, ['a', 'e']);
    denied.clear();
    await feed.retryDenied();
    await stands(6, 0, []);
    expect(told).toEqual([1, 2, 4]);
    feed.cancel();
    expect(await feed).toMatchObject({ docs_written: 6, doc_write_failures: 0, errors: [] });
  });

  it('since now whose target cannot be reached has the same moment in the next host', async () => {
    let isDown = true;
    class Databases extends SettleDB.defaults({ adapter: memory() }) {
      override info() {
        if (isDown && this.name === 'away') throw new Error('away');
        return super.info();
      }
    }
    const hosts = new Hosts();
    hosts.open = (name, options) => new Databases(name, options) as never;
    const db = new (hosts.connect())('notes');
    await db.put({ _id: 'before' });
    const feed = db.replicate.to('away', { live: true, retry: true, since: 'now' });
    await vi.waitFor(() => expect(feed.status()).toMatchObject({ phase: 'waiting', last_seq: 1 }), PATIENCE);
    await db.put({ _id: 'between' });
    hosts.now.leave();
    await vi.waitFor(() => expect(hosts.feeds).toBe(2), PATIENCE);
    isDown = false;
    await vi.waitFor(() => expect(feed.status()).toMatchObject({ phase: 'idle', last_seq: 2 }), PATIENCE);
    feed.cancel();
    expect(await feed).toMatchObject({ docs_written: 1 });
  });
});
