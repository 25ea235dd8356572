/** Live replication between local databases: its events, what it has written down, how it ends. No timers: awaited events. */
import { describe, expect, it, vi } from 'vitest';
import type { ChangesOptions } from '../../packages/core/src/index';
import { type Replication, type ReplicationChange, replicate } from '../../packages/replication/src/index';
import { contents, fill, openTwo, peer } from './databases';
import { flaky, next, record, start, telling } from './live';

describe('a live replication', () => {
  it('from an empty source pauses, and then is active and pauses in turn', async () => {
    const [a, b] = await openTwo();
    const replication = start(a, b);
    const events = record(replication);
    await next(replication, 'paused');
    for (let i = 0; i < 3; i++) {
      await fill(a, 2, i * 2);
      await next(replication, 'paused');
    }
    expect(events.filter((event) => event !== 'change')).toEqual([
      'paused',
      ...Array(3).fill(['active', 'paused']).flat(),
    ]);
    replication.cancel();
    expect(await replication).toMatchObject({ ok: true, status: 'cancelled', docs_written: 6 });
    expect(events.at(-1)).toBe('complete');
    expect(await contents(b)).toEqual(await contents(a));
  });

  it('from a source with documents is active first', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    const replication = start(a, b, { batch_size: 2 });
    const events = record(replication);
    await next(replication, 'paused');
    expect(events).toEqual(['active', 'change', 'change', 'change', 'paused']);
  });

  it('has written down what it transferred when it is cancelled', async () => {
    const [a, b] = await openTwo();
    await fill(a, 25);
    const replication = start(a, b, { batch_size: 10 });
    await next(replication, 'paused');
    await fill(a, 5, 25);
    await next(replication, 'paused');
    replication.cancel();
    await replication;
    expect(await replicate(a, b)).toMatchObject({ docs_read: 0, docs_written: 0, last_seq: 30 });
  });

  it('brings again what the target purged, when it is listed again', async () => {
    const [a, b] = await openTwo();
    const put = (_rev: string) => a.bulkDocs([{ _id: 'x', _rev }], { new_edits: false });
    await put('1-a');
    const replication = start(a, b);
    await next(replication, 'paused');
    expect(await b.get('x')).toMatchObject({ _rev: '1-a' });
    await b.purge('x', '1-a');
    await put('1-b');
    await next(replication, 'paused');
    expect(await b.get('x', { conflicts: true })).toMatchObject({ _rev: '1-b', _conflicts: ['1-a'] });
  });

  it('from "now" has written down nothing: what was there before counts as not replicated', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    const replication = start(a, b, { since: 'now' });
    await next(replication, 'paused');
    await fill(a, 2, 5);
    await next(replication, 'paused');
    replication.cancel();
    expect(await replication).toMatchObject({ docs_written: 2, last_seq: 7 });
    expect(await replicate(a, b)).toMatchObject({ docs_read: 5, docs_written: 5, last_seq: 7 });
  });

  it('from "now" has what was written before its target could be reached', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    let isThere = false;
    const target = flaky(b, () => !isThere);
    const replication = start(a, target, { since: 'now', retry: true, back_off_function: () => 0 });
    await next(replication, 'paused');
    await fill(a, 2, 5);
    isThere = true;
    await vi.waitFor(() => expect(replication.status().phase).toBe('idle'));
    replication.cancel();
    expect(await replication).toMatchObject({ docs_written: 2, last_seq: 7 });
  });

  it('has written down where a single change led', async () => {
    const [a, b] = await openTwo();
    const replication = start(a, b);
    await next(replication, 'paused');
    await fill(a, 1);
    await next(replication, 'paused');
    replication.cancel();
    expect(await replication).toMatchObject({ docs_written: 1, last_seq: 1 });
    expect(await replicate(a, b)).toMatchObject({ docs_read: 0, last_seq: 1 });
  });

  it('cancelled in the middle has written down what was acknowledged, and tells of no further change', async () => {
    const [a, b] = await openTwo();
    await fill(a, 100);
    const replication = start(a, b, { batch_size: 10 });
    const changes: ReplicationChange[] = [];
    replication.on('change', (change) => {
      changes.push(change);
      if (changes.length === 3) replication.cancel();
    });
    const result = await replication;
    expect(changes).toHaveLength(3);
    expect(result.status).toBe('cancelled');
    expect((await b.info()).doc_count).toBe(result.docs_written);
    const rest = await replicate(a, b);
    expect(rest.docs_read).toBe(100 - result.docs_written);
  });

  it('cancelled before it begins asks nobody', async () => {
    const [a, b] = await openTwo();
    const asked: string[] = [];
    const source = flaky(a, (method) => asked.push(method) < 0);
    const replication = start(source, b);
    replication.cancel();
    expect(await replication).toMatchObject({ ok: true, status: 'cancelled', docs_read: 0 });
    expect(asked).toEqual([]);
  });

  it('ends promptly when cancelled, also by its signal, while a peer does not answer', async () => {
    const [a, b] = await openTwo();
    await fill(a, 1);
    for (const method of ['id', 'info', 'get', 'changes', 'revsDiff', 'bulkGet']) {
      const abort = new AbortController();
      let asked: () => void = () => undefined;
      const reached = new Promise<void>((resolve) => {
        asked = resolve;
      });
      const silent = { [method]: () => new Promise(() => asked()) };
      const replication = start(
        peer(a, method === 'revsDiff' ? {} : silent),
        peer(b, method === 'revsDiff' ? silent : {}),
        {
          signal: abort.signal,
        },
      );
      const ended = replication.then((result) => result.status);
      await reached;
      abort.abort();
      expect(await ended).toBe('cancelled');
    }
  });

  it('ends when cancelled at any moment between its last batch and its feed, also where that hears of no signal', async () => {
    const [a, b] = await openTwo();
    const deaf = { on: () => undefined, cancel: () => undefined, then: () => undefined };
    for (let ticks = 0; ticks < 40; ticks++) {
      let left = ticks;
      const cancel = (): void => (left-- > 0 ? queueMicrotask(cancel) : replication.cancel());
      const source = peer(a, {
        changes: (options: { live?: boolean }) => {
          if (options.live) return deaf;
          const answer = a.changes(options as never);
          answer.then(cancel);
          return answer;
        },
      });
      const replication = start(source, b);
      expect(await replication, `after ${ticks} ticks`).toMatchObject({ status: 'cancelled' });
    }
  });

  it('lets a write under way come to its end, and acknowledges it', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    let replication: Replication | undefined;
    const target = peer(b, {
      bulkDocs: async (docs: never, options: object) => {
        replication!.cancel();
        const { signal: _, ...rest } = options as { signal: AbortSignal };
        return b.bulkDocs(docs, rest);
      },
    });
    replication = start(a, target);
    expect(await replication).toMatchObject({ status: 'cancelled', docs_written: 5, last_seq: 5 });
    expect(await replicate(a, b)).toMatchObject({ docs_read: 0 });
  });

  it('without retry ends with the first failure', async () => {
    const [a, b] = await openTwo();
    let down = false;
    const replication = start(
      flaky(a, () => down),
      b,
    );
    await next(replication, 'paused');
    const events = record(replication);
    down = true;
    await fill(a, 1);
    await expect(replication).rejects.toMatchObject({ status: 500, result: { ok: false } });
    expect(events).toEqual(['error']);
  });

  it('reads no further ahead of a slow target than a few batches', async () => {
    const [a, b] = await openTwo();
    let read = 0;
    const source = peer(a, {
      changes: (options: ChangesOptions) => {
        const feed = a.changes(options as never);
        if (!options.live) return feed;
        const counted = async function* () {
          for await (const row of feed as unknown as AsyncIterable<unknown>) {
            read++;
            yield row;
          }
        };
        return { [Symbol.asyncIterator]: counted, cancel: () => feed.cancel(), then: feed.then.bind(feed) };
      },
    });
    let isSlow = true;
    const target = peer(b, {
      bulkDocs: async (...args: Parameters<typeof b.bulkDocs>) => {
        await vi.waitFor(() => expect(isSlow).toBe(false), 10_000);
        return b.bulkDocs(...args);
      },
    });
    const replication = start(source, target, { batch_size: 10 });
    await next(replication, 'paused');
    await fill(a, 500);
    await vi.waitFor(() => expect(read).toBeGreaterThan(20));
    // What is read without waiting for room has arrived by then.
    for (let turn = 0; turn < 50; turn++) await new Promise((done) => setTimeout(done));
    expect(read).toBeLessThanOrEqual(60);
    isSlow = false;
    await vi.waitFor(async () => expect((await b.info()).doc_count).toBe(500));
  });

  it('follows a source whose feed only has events', async () => {
    const [a, b] = await openTwo();
    let cancelled = 0;
    const source = peer(a, {
      changes: ({ signal: _, ...options }: ChangesOptions) => {
        const feed = a.changes(options);
        return {
          on: (event: 'change', listener: never) => feed.on(event, listener),
          cancel: () => {
            cancelled += options.live ? 1 : 0;
            feed.cancel();
          },
          then: (done: never, failed: never) => feed.then(done, failed),
        };
      },
    });
    const replication = start(source, b);
    await next(replication, 'paused');
    await fill(a, 10);
    while ((await b.info()).doc_count < 10) await next(replication, 'change');
    expect(await contents(b)).toEqual(await contents(a));
    replication.cancel();
    await replication;
    expect(cancelled).toBe(1);
  });

  it('is as far as the last change that tells where', async () => {
    const [a, b] = await openTwo();
    const source = peer(a, {
      changes: (options: ChangesOptions) => {
        const feed = a.changes(options);
        if (!options.live) return feed;
        const untold = (listener: (row: unknown) => void) => (row: { id: string }) =>
          listener(row.id === 'doc2' ? { ...row, seq: null } : row);
        return {
          on: (event: 'change', listener: never) =>
            feed.on(event, event === 'change' ? (untold(listener) as never) : listener),
          cancel: () => feed.cancel(),
          then: (done: never, failed: never) => feed.then(done, failed),
        };
      },
    });
    const replication = start(source, b);
    await next(replication, 'paused');
    await fill(a, 3);
    await vi.waitFor(async () => expect(await b.info()).toMatchObject({ doc_count: 3 }));
    replication.cancel();
    expect(await replication).toMatchObject({ docs_written: 3, last_seq: 2 });
  });

  it('does not pass a change that makes no sense, whatever else came at once', async () => {
    const [a, b] = await openTwo();
    const { source, isHeard, tell } = telling(a);
    const failed = start(source, b).then(
      () => undefined,
      (failure: object) => failure,
    );
    await expect.poll(isHeard).toBe(true);
    await fill(a, 3);
    const { results } = (await a.changes()) as { readonly results: readonly object[] };
    tell(results[0]!);
    tell({ ...results[1], changes: [] });
    tell(results[2]!);
    expect(await failed).toMatchObject({
      name: 'unexpected_answer',
      result: { docs_written: 1, last_seq: 1 },
    });
    expect(await replicate(a, b)).toMatchObject({ docs_written: 2 });
  });

  it('ends as closed when its source is, also with retry', async () => {
    for (const retry of [false, true]) {
      const [a, b] = await openTwo();
      const replication = start(a, b, { retry });
      await next(replication, 'paused');
      await a.close();
      await expect(replication).rejects.toMatchObject({ status: 412, name: 'closed' });
    }
  });

  it('does not fetch again what is on its way when a document changes during the transfer', async () => {
    const [a, b] = await openTwo();
    const leaves = ['1-a', '1-b', '1-c'].map((_rev) => ({ _id: 'x', _rev }));
    await a.bulkDocs(leaves, { new_edits: false });
    const asked: string[][] = [];
    let compared = (): void => {};
    const isCompared = new Promise<void>((resolve) => (compared = resolve));
    const replication = start(
      a,
      peer(b, {
        revsDiff: (revs: Record<string, string[]>, options: never) => {
          if (asked.push(Object.values(revs).flat()) > 1) compared();
          return b.revsDiff(revs, options);
        },
        bulkDocs: async (docs: never, options: never) => {
          const { _rev } = await a.get('x');
          if (_rev === '1-c') {
            await a.put({ _id: 'x', _rev, v: 2 });
            await isCompared;
          }
          return b.bulkDocs(docs, options);
        },
      }),
    );
    await vi.waitFor(async () => expect((await b.get('x'))._rev).toMatch(/^2-/));
    replication.cancel();
    expect(asked).toEqual([['1-c', '1-b', '1-a'], [(await a.get('x'))._rev]]);
    expect((await replication).docs_written).toBe(4);
    expect(await contents(b)).toEqual(await contents(a));
  });
});
