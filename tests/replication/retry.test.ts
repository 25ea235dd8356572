/** What a replication with `retry` rides out, and what it gives up on. No timers: back-off 0, and awaited events. */
import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { replicate } from '../../packages/replication/src/index';
import { contents, failureOf, fill, openTwo, peer, statusError } from './databases';
import { flaky, next, record, start } from './live';

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

  it.each([
    true,
    false,
  ])('waits longer while all is compared again, as no checkpoint can be written; live: %s', async (live) => {
    const [a, b] = await openTwo();
    await fill(a, 30);
    const delays: number[] = [];
    const full = (): Promise<never> => Promise.reject(statusError(507, 'quota_exceeded'));
    const source = peer(a, { put: (doc: never) => (delays.length < 4 ? full() : a.put(doc)) });
    const back_off_function = (delay: number): number => delays.push(delay);
    const replication = replicate(source, b, { live, retry: true, batch_size: 10, back_off_function });
    while (delays.length < 4 || replication.status().phase === 'waiting') await next(replication, 'paused');
    expect(delays).toEqual([0, 1, 2, 3]);
    replication.cancel();
    expect(await replication).toMatchObject({ docs_written: 30, doc_write_failures: 0 });
  });

  it('waits as at first after each attempt that got further, by as little as a batch that the target had', async () => {
    const [a, b] = await openTwo();
    await fill(a, 50);
    await replicate(a, b, { checkpoint: false });
    const delays: number[] = [];
    let asked = 0;
    const cut = (): Promise<never> => Promise.reject(statusError(503, 'unavailable'));
    const target = peer(b, { revsDiff: (revs: never) => (++asked % 2 === 0 ? cut() : b.revsDiff(revs)) });
    const back_off_function = (delay: number): number => delays.push(delay) * 0 + 1;
    await replicate(a, target, { retry: true, batch_size: 10, back_off_function });
    expect(delays).toEqual([0, 0, 0, 0]);
  });

  it('waits longer while its feed fails as soon as it has begun, as that of a server with too many', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    const delays: number[] = [];
    const back_off_function = (delay: number): number => delays.push(delay);
    const full = (): never => {
      throw statusError(503, 'service_unavailable');
    };
    const source = peer(a, {
      changes: (options: { live?: boolean }) => (options.live ? full() : a.changes(options as never)),
    });
    const replication = start(source, b, { retry: true, back_off_function });
    while (delays.length < 5) await next(replication, 'paused');
    // With the first attempt something was transferred.
    expect(delays).toEqual([0, 1, 2, 3, 4]);
    // What comes is transferred all the same, and is a success.
    await fill(a, 1, 5);
    while (delays.length < 7) await next(replication, 'paused');
    expect(delays.slice(5).filter((delay) => delay === 0)).toHaveLength(1);
    expect((await b.info()).doc_count).toBe(6);
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

  it.each([
    false,
    true,
  ])('brings over all that is behind a document before it gives up on it (live: %s)', async (live) => {
    const [a, b] = await openTwo();
    await fill(a, 20);
    const row = { id: 'doc7', error: true, status: 500, name: 'oops', reason: 'oops', message: '' };
    let failed = 0;
    let behind = 0;
    const target = peer(b, {
      bulkDocs: async (request: { docs: { _id: string }[] }, options: never) => {
        const docs = request.docs.filter(({ _id }) => _id !== 'doc7');
        if (docs.some(({ _id }) => _id === 'doc12')) behind++;
        const rows = await b.bulkDocs({ docs } as never, options);
        if (docs.length === request.docs.length) return rows;
        failed++;
        return [...rows, row];
      },
    });
    const options = { live, retry: true, batch_size: 5, back_off_function: () => 0 };
    const error = await failureOf(start(a, target, options));
    expect(error).toMatchObject({ status: 500, docId: 'doc7', result: { docs_written: 19, last_seq: 5 } });
    expect((await b.info()).doc_count).toBe(19);
    expect([failed, behind]).toEqual([10, 1]);
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
