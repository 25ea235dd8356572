/** Live replication and sync between local databases: events, retry, cancelling. No timers: back-off 0, and awaited events. */
import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ChangesOptions } from '../../packages/core/src/index';
import {
  type ReplicateOptions,
  type Replication,
  type ReplicationChange,
  replicate,
  type Sync,
  sync,
} from '../../packages/replication/src/index';
import { type AnyDatabase, contents, fill, openTwo, peer, statusError } from './databases';

const running: { cancel(): void }[] = [];
afterEach(() => {
  for (const one of running.splice(0)) one.cancel();
});

function start(
  source: Parameters<typeof replicate>[0],
  target: Parameters<typeof replicate>[1],
  options: ReplicateOptions = {},
): Replication {
  const replication = replicate(source, target, { live: true, ...options });
  running.push(replication);
  return replication;
}

function startSync(a: AnyDatabase, b: AnyDatabase, options: object = {}): Sync {
  const both = sync(a, b, { live: true, ...options });
  running.push(both);
  return both;
}

const next = <T = unknown>(
  feed: { once(event: never, listener: (value: never) => void): unknown },
  event: string,
) => new Promise<T>((resolve) => void feed.once(event as never, resolve));

/** Every event from now on, by name; of `paused`, whether it came with an error. */
function record(feed: Pick<Replication, 'on'>): string[] {
  const events: string[] = [];
  for (const event of ['active', 'change', 'denied', 'complete', 'error'] as const)
    feed.on(event, () => events.push(event));
  feed.on('paused', (error) => events.push(error === undefined ? 'paused' : 'paused with error'));
  return events;
}

/** Fails calls of all methods as `fails` says. */
function flaky(
  db: AnyDatabase,
  fails: (method: string) => boolean,
  signals?: Set<AbortSignal>,
): ReturnType<typeof peer> {
  const whole = peer(db) as unknown as Record<string, (...args: unknown[]) => unknown>;
  const made: Record<string, unknown> = {};
  for (const [method, call] of Object.entries(whole)) {
    made[method] = (...args: unknown[]) => {
      const { signal } = (args.at(-1) ?? {}) as { signal?: AbortSignal };
      if (signal !== undefined) signals?.add(signal);
      return fails(method) ? Promise.reject(statusError(500, `${method} flunked`)) : call(...args);
    };
  }
  return made as unknown as ReturnType<typeof peer>;
}

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

describe('retry', () => {
  it('rides out failures of any method, loses and repeats nothing, and its listeners do not grow', async () => {
    for (const method of ['id', 'info', 'changes', 'revsDiff', 'bulkGet', 'bulkDocs', 'get', 'put']) {
      const [a, b] = await openTwo();
      const signals = new Set<AbortSignal>();
      const delays: number[] = [];
      let failures = 0;
      const flunk = (asked: string): boolean => asked === method && failures < 20 && ++failures > 0;
      await fill(a, 30);
      const replication = start(flaky(a, flunk, signals), flaky(b, flunk, signals), {
        retry: true,
        batch_size: 10,
        back_off_function: (delay) => delays.push(delay) * 0,
      });
      const written: string[] = [];
      replication.on('change', (change) =>
        written.push(...change.docs.map(({ _id }: { _id: string }) => _id)),
      );
      const events = record(replication);
      while (replication.status().phase !== 'idle') await next(replication, 'paused');
      expect(failures).toBe(20);
      expect(await contents(b)).toEqual(await contents(a));
      expect(new Set(written).size).toBe(written.length);
      expect(delays.length).toBeGreaterThan(0);
      const turns = events.filter((event) => event !== 'change');
      for (const [i, event] of turns.entries()) {
        if (i > 0) expect(event === 'active').toBe(turns[i - 1] !== 'active');
      }
      expect(turns).toContain('paused with error');
      expect(turns.at(-1)).toBe('paused');
      replication.cancel();
      await replication;
      // One signal for each attempt; a peer may hold on to any of them.
      expect(signals.size).toBeGreaterThan(1);
      for (const signal of signals) expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    }
  });

  it.each([400, 404, 405, 410, 501])('rides out a %s too, once something has worked', async (status) => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    let left = 0;
    const target = peer(b, {
      revsDiff: (revs: never) =>
        left-- > 0 ? Promise.reject(statusError(status, 'a page of a proxy')) : b.revsDiff(revs),
    });
    const backOff = vi.fn(() => 0);
    const replication = start(a, target, { retry: true, back_off_function: backOff });
    await next(replication, 'paused');
    left = 3;
    const written = next(replication, 'change');
    await fill(a, 3, 10);
    await written;
    expect(backOff).toHaveBeenCalledTimes(3);
    replication.cancel();
    expect(await replication).toMatchObject({ ok: true });
  });

  it.each([
    'info',
    'changes',
    'revsDiff',
  ])('ends with a 404 in %s where nothing has worked yet', async (method) => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    const missing = { [method]: () => Promise.reject(statusError(404, 'not_found')) };
    const backOff = vi.fn(() => 0);
    const options = { retry: true, back_off_function: backOff };
    const replication = start(peer(a, missing), peer(b, missing), options);
    await expect(replication).rejects.toMatchObject({ status: 404 });
    expect(backOff).not.toHaveBeenCalled();
  });

  it('does not ask for a delay while nothing fails', async () => {
    const [a, b] = await openTwo();
    const backOff = vi.fn(() => 0);
    const replication = start(a, b, { retry: true, back_off_function: backOff });
    await next(replication, 'paused');
    await fill(a, 5);
    await next(replication, 'paused');
    expect(backOff).not.toHaveBeenCalled();
  });

  it('hears of a connection lost while idle as of any pause, with the error', async () => {
    const [a, b] = await openTwo();
    let down = false;
    let live: { fail(): void } | undefined;
    const source = peer(a, {
      info: () => (down ? Promise.reject(statusError(503, 'down')) : a.info()),
      changes: (options: { live?: boolean }) => {
        if (!options.live) return a.changes(options as never);
        return {
          on: () => undefined,
          cancel: () => undefined,
          then: (_done: never, failed: (error: unknown) => void) => {
            live = { fail: () => failed(statusError(503, 'cut')) };
          },
        };
      },
    });
    let wakes: () => void = () => undefined;
    const replication = start(source, b, {
      retry: true,
      back_off_function: () => {
        wakes();
        return 0;
      },
    });
    const events = record(replication);
    await next(replication, 'paused');
    down = true;
    live!.fail();
    expect(await next<Error>(replication, 'paused')).toMatchObject({ name: 'cut' });
    expect(replication.status()).toMatchObject({ phase: 'waiting', error: { name: 'cut' } });
    await new Promise<void>((resolve) => {
      wakes = resolve;
    });
    down = false;
    await next(replication, 'paused');
    expect(events).toEqual(['paused', 'active', 'paused with error', 'active', 'paused']);
    expect(replication.status()).toMatchObject({ phase: 'idle', error: undefined });
  });

  it('also serves a one-shot replication', async () => {
    const [a, b] = await openTwo();
    await fill(a, 20);
    let left = 5;
    const result = await replicate(
      flaky(a, () => left-- > 0),
      b,
      { retry: true, back_off_function: () => 0 },
    );
    expect(result).toMatchObject({ ok: true, status: 'complete', docs_written: 20 });
  });

  it('goes on after "now" where it was, not at the present', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    let down = false;
    const replication = start(
      flaky(a, (method) => down && method !== 'put'),
      b,
      {
        retry: true,
        since: 'now',
        back_off_function: () => {
          down = false;
          return 0;
        },
      },
    );
    await next(replication, 'paused');
    down = true;
    await fill(a, 3, 10);
    while ((await b.info()).doc_count < 3) await next(replication, 'change');
    expect((await b.allDocs()).rows.map(({ key }) => key)).toEqual(['doc10', 'doc11', 'doc12']);
  });

  it('gives up on a document that is never taken, and tells which', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    const target = peer(b, {
      bulkDocs: async () => [
        { id: 'doc1', error: true, status: 500, name: 'oops', reason: 'oops', message: '' },
      ],
    });
    const replication = start(a, target, { retry: true, back_off_function: () => 0 });
    await expect(replication).rejects.toMatchObject({ docId: 'doc1', result: { ok: false, last_seq: 0 } });
  });

  it('gives up on a document that is never taken, though another fails that is edited between attempts', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    let attempts = 0;
    const target = peer(b, {
      bulkDocs: async () => {
        const { _rev } = await a.get('doc2');
        await a.put({ _id: 'doc2', _rev, attempts: ++attempts });
        const row = {
          error: true,
          status: attempts > 50 ? 403 : 500,
          name: 'oops',
          reason: 'oops',
          message: '',
        };
        return ['doc1', 'doc2'].map((id) => ({ id, ...row }));
      },
    });
    const result = replicate(a, target, { retry: true, back_off_function: () => 0 });
    await expect(result).rejects.toMatchObject({ status: 500, docId: 'doc1', result: { ok: false } });
  });

  it.each([
    [
      { status: 418, name: 'teapot', reason: 'short' },
      { status: 418, name: 'teapot', reason: 'short' },
    ],
    [
      { error: 'teapot', message: 'stout' },
      { status: 500, name: 'teapot', reason: 'stout' },
    ],
    ['steam', { status: 500, name: 'replication_failed', reason: 'steam' }],
  ])('fails with an error also where what it failed with is none: %o', async (failure, expected) => {
    const [a, b] = await openTwo();
    const error = await replicate(peer(a, { changes: () => Promise.reject(failure) }), b).catch((e) => e);
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ ...expected, result: { ok: false } });
  });

  it('does not give up on a document that is edited between attempts', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    let refusals = 15; // More than a revision may have.
    const target = peer(b, {
      bulkDocs: async (request: { docs: { _id: string }[] }, options: never) => {
        if (refusals === 0) return b.bulkDocs(request as never, options);
        refusals--;
        const { _rev } = await a.get('doc1');
        await a.put({ _id: 'doc1', _rev, refusals });
        return [{ id: 'doc1', error: true, status: 500, name: 'oops', reason: 'oops', message: '' }];
      },
    });
    const result = await replicate(a, target, { retry: true, back_off_function: () => 0 });
    expect(result).toMatchObject({ ok: true, doc_write_failures: 0 });
    expect(await contents(b)).toEqual(await contents(a));
  });

  it('does not give up on a revision while it gets on with others between attempts', async () => {
    const [a, b] = await openTwo();
    await fill(a, 2);
    let attempts = 0;
    let moved = -1;
    const target = peer(b, {
      bulkDocs: async (request: { docs: { _id: string }[] }, options: never) => {
        // More often than a revision may fail.
        if (attempts >= 15 || !request.docs.some(({ _id }) => _id === 'doc1'))
          return b.bulkDocs(request as never, options);
        if (moved < attempts) {
          moved = attempts;
          await fill(a, 1, 10 + attempts);
          // Another branch lists the document, and that revision of it, behind what was filled in.
          const _rev = `1-${String(attempts).padStart(32, '0')}`;
          await a.bulkDocs({ docs: [{ _id: 'doc1', _rev }] }, { new_edits: false });
        }
        return [{ id: 'doc1', error: true, status: 500, name: 'oops', reason: 'oops', message: '' }];
      },
    });
    const again = (): number => {
      attempts++;
      return 0;
    };
    const result = await replicate(a, target, { batch_size: 1, retry: true, back_off_function: again });
    expect(result).toMatchObject({ ok: true, doc_write_failures: 0 });
    expect(await contents(b)).toEqual(await contents(a));
  });

  it('counts a denied document once, however often its batch is repeated', async () => {
    const [a, b] = await openTwo();
    await fill(a, 4);
    let cuts = 3;
    const target = peer(b, {
      bulkDocs: async (request: { docs: { _id: string }[] }, options: never) => {
        const docs = request.docs.filter(({ _id }) => _id !== 'doc1');
        await b.bulkDocs({ ...request, docs } as never, options);
        return docs.length === request.docs.length
          ? []
          : [{ id: 'doc1', error: true, status: 403, name: 'forbidden', reason: 'no', message: 'no' }];
      },
    });
    const source = peer(a, {
      bulkGet: async (request: never) => {
        const { results } = await a.bulkGet(request);
        return {
          results: results.map((one) => (one.id === 'doc2' && cuts-- > 0 ? { ...one, docs: [] } : one)),
        };
      },
    });
    const result = await replicate(source, target, { retry: true, back_off_function: () => 0 });
    expect(result).toMatchObject({ docs_written: 3, doc_write_failures: 1, errors: [{ id: 'doc1' }] });
  });
});

describe('sync', () => {
  it('brings two databases together, with a result for each direction', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    await fill(b, 4, 10);
    const both = sync(a, b);
    const changes: string[] = [];
    both.on('change', ({ direction, change }) => changes.push(`${direction} ${change.docs.length}`));
    const result = await both;
    expect(result).toMatchObject({
      push: { ok: true, docs_written: 3, status: 'complete' },
      pull: { ok: true, docs_written: 4, status: 'complete' },
    });
    expect(changes.sort()).toEqual(['pull 4', 'push 3']);
    expect(await contents(a)).toEqual(await contents(b));
  });

  it('does not report what came from the other side, live', async () => {
    const [a, b] = await openTwo();
    const both = startSync(a, b);
    const changes: string[] = [];
    both.on('change', ({ direction, change }) => {
      for (const { _id } of change.docs) changes.push(`${direction} ${_id}`);
    });
    await next(both, 'paused');
    await a.put({ _id: 'from-a' });
    while (!changes.includes('push from-a')) await next(both, 'change');
    await b.put({ _id: 'from-b' });
    while (!changes.includes('pull from-b')) await next(both, 'change');
    expect(changes).toEqual(['push from-a', 'pull from-b']);
    both.cancel();
    expect(await both).toMatchObject({ push: { status: 'cancelled' }, pull: { status: 'cancelled' } });
    expect(await sync(a, b)).toMatchObject({ push: { docs_read: 0 }, pull: { docs_read: 0 } });
  });

  it('ends both halves when one is cancelled', async () => {
    for (const half of ['push', 'pull'] as const) {
      const [a, b] = await openTwo();
      const both = startSync(a, b);
      await next(both, 'paused');
      both[half].cancel();
      expect(await both).toMatchObject({ push: { status: 'cancelled' }, pull: { status: 'cancelled' } });
    }
  });

  it('fails with the half that fails, once, and ends the other', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    const target = peer(b, { bulkDocs: () => Promise.reject(statusError(401, 'unauthorized')) });
    const both = sync(a, target, { live: true, retry: true });
    const errors: unknown[] = [];
    both.on('error', (error) => errors.push(error));
    await expect(both).rejects.toMatchObject({ status: 401 });
    expect(errors).toHaveLength(1);
    expect(both.status().pull.phase).toBe('cancelled');
  });

  it('takes options for either direction, and tells denied documents with theirs', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    await fill(b, 3, 10);
    const target = peer(b, {
      bulkDocs: async () => [
        { id: 'doc1', error: true, status: 403, name: 'forbidden', reason: 'no', message: '' },
      ],
    });
    const both = sync(a, target, { push: { doc_ids: ['doc1'] }, pull: { doc_ids: ['doc10', 'doc11'] } });
    const denied: unknown[] = [];
    both.on('denied', (one) => denied.push(one));
    expect(await both).toMatchObject({
      push: { docs_read: 1, docs_written: 0, doc_write_failures: 1 },
      pull: { docs_written: 2 },
    });
    expect(denied).toMatchObject([{ direction: 'push', doc: { id: 'doc1', name: 'forbidden' } }]);
  });

  it('is cancelled by its signal, before and during', async () => {
    const [a, b] = await openTwo();
    const cancelled = { push: { status: 'cancelled' }, pull: { status: 'cancelled' } };
    expect(await sync(a, b, { live: true, signal: AbortSignal.abort() })).toMatchObject(cancelled);
    const abort = new AbortController();
    const both = startSync(a, b, { signal: abort.signal });
    await next(both, 'paused');
    abort.abort();
    expect(await both).toMatchObject(cancelled);
  });

  it('pauses when both halves do, and is active when either is', async () => {
    const [a, b] = await openTwo();
    const both = startSync(a, b);
    const events: string[] = [];
    both.on('paused', () => events.push('paused'));
    both.on('active', ({ direction }) => events.push(`active ${direction}`));
    await next(both, 'paused');
    await fill(b, 1);
    await next(both, 'paused');
    expect(events).toEqual(['paused', 'active pull', 'paused']);
  });
});
