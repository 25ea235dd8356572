/** What a replication shows of itself while it goes on: phase, pending, documents and bytes. */
import { describe, expect, it } from 'vitest';
import {
  type ReplicationStatus,
  replicate,
  type SyncStatus,
  sync,
} from '../../packages/replication/src/index';
import { bytes, make, put, watched } from './attached';
import { fill, open, openTwo, peer, statusError } from './databases';

async function all<T>(statuses: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const status of statuses) list.push(status);
  return list;
}

function gate(): { readonly opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe('the statuses of a replication', () => {
  it('go from connecting to complete, with documents and bytes that only grow', async () => {
    const [a, b] = await openTwo();
    await fill(a, 50);
    const replication = replicate(a, b, { batch_size: 10 });
    const list = await all(replication.statuses());
    expect(list[0]).toMatchObject({ phase: 'connecting', docs_read: 0, pending: undefined });
    expect(list.at(-1)).toMatchObject({ phase: 'complete', docs_read: 50, docs_written: 50, pending: 0 });
    expect(list.at(-1)!.bytes_read).toBeGreaterThan(50 * 20);
    expect(list.at(-1)!.bytes_written).toBe(list.at(-1)!.bytes_read);
    expect(list.some(({ phase }) => phase === 'transferring')).toBe(true);
    for (const field of ['docs_read', 'docs_written', 'bytes_read', 'bytes_written'] as const) {
      const values = list.map((status) => status[field]);
      expect(values).toEqual([...values].sort((x, y) => x - y));
    }
    expect(await all(replication.statuses())).toHaveLength(1);
  });

  it('count what has come of a large attachment, while the rest is on its way', async () => {
    const [source, target] = [make(), make()];
    const [some, all] = [bytes(500_000), bytes(1_500_000)];
    await put(source, 'a', { photo: all });
    const [came, rest] = [gate(), gate()];
    const openAttachment = async (id: string, name: string, options: object) => {
      const opened = await source.openAttachment(id, name, options);
      await opened.stream.cancel();
      const pull = async (controller: ReadableStreamDefaultController): Promise<void> => {
        came.open();
        await rest.opened;
        controller.enqueue(all.subarray(some.length));
        controller.close();
      };
      const start = (controller: ReadableStreamDefaultController): void => controller.enqueue(some);
      return { ...opened, stream: new ReadableStream({ start, pull }, { highWaterMark: 0 }) };
    };
    const replication = replicate(watched(source, undefined, { openAttachment }).source, target as never);
    await came.opened;
    const { bytes_read, bytes_written, docs_read } = replication.status();
    expect([bytes_read >= some.length, bytes_read < all.length]).toEqual([true, true]);
    expect([bytes_written, docs_read]).toEqual([0, 0]);
    rest.open();
    expect(await replication).toMatchObject({ docs_written: 1 });
    expect(replication.status().bytes_read).toBeGreaterThanOrEqual(all.length);
  });

  it.each([
    ['large', 1_500_000],
    ['small', 10],
  ])('leave nothing pending in the last change, where documents have %s attachments', async (_, length) => {
    const [source, target] = [make(), make()];
    for (let i = 0; i < 5; i++) await put(source, `d${i}`, { photo: bytes(length, i) });
    const pending: unknown[] = [];
    const replication = replicate(source as never, target as never, { batch_size: 3 });
    replication.on('change', (change) => pending.push(change.pending));
    await replication;
    expect(pending).toContain(2);
    expect(pending.at(-1)).toBe(0);
  });

  it('count down what is pending, also where the source only has numbers', async () => {
    const [a, b] = await openTwo();
    await fill(a, 50);
    const list = await all(replicate(a, b, { batch_size: 10 }).statuses());
    const pending = list.map((status) => status.pending).filter((value) => value !== undefined);
    expect(pending[0]).toBe(50);
    expect(pending.at(-1)).toBe(0);
    expect(pending).toEqual([...pending].sort((x, y) => y - x));
  });

  it('take the source at its word where it counts', async () => {
    const [a, b] = await openTwo();
    await fill(a, 4);
    const source = peer(a, {
      changes: async (options: never) => {
        const { results, last_seq } = (await a.changes(options)) as { results: unknown[]; last_seq: number };
        return { results, last_seq: `${last_seq}-opaque`, pending: 7 - last_seq };
      },
    });
    const statuses: ReplicationStatus[] = [];
    const replication = replicate(source, b, { batch_size: 4 });
    for await (const status of replication.statuses()) {
      statuses.push(status);
      if (status.pending === 3) replication.cancel();
    }
    expect(statuses.map(({ pending }) => pending)).toContain(7);
    expect(statuses.at(-1)).toMatchObject({ phase: 'cancelled' });
  });

  it('say why it waits, and why it failed', async () => {
    const [a, b] = await openTwo();
    let fails = 1;
    const source = peer(a, {
      info: () => (fails-- > 0 ? Promise.reject(statusError(503, 'down')) : a.info()),
    });
    const list = await all(replicate(source, b, { retry: true, back_off_function: () => 0 }).statuses());
    expect(list.map(({ phase }) => phase)).toContain('waiting');
    expect(list.find(({ phase }) => phase === 'waiting')).toMatchObject({ error: { name: 'down' } });
    expect(list.at(-1)).toMatchObject({ phase: 'complete', attempts: 2, error: undefined });
    const failing = peer(a, { info: () => Promise.reject(statusError(401, 'unauthorized')) });
    const replication = replicate(failing, b);
    replication.catch(() => undefined);
    expect((await all(replication.statuses())).at(-1)).toMatchObject({
      phase: 'failed',
      error: { status: 401 },
    });
  });

  it('can be left alone: the replication goes on, and nobody listens any more', async () => {
    const [a, b] = await openTwo();
    await fill(a, 20);
    const replication = replicate(a, b, { batch_size: 5 });
    for await (const _ of replication.statuses()) break;
    expect(await replication).toMatchObject({ docs_written: 20 });
  });

  it('can be left while they wait, and nobody listens any more', async () => {
    const [a, b] = await openTwo();
    const replication = replicate(a, b, { live: true });
    const statuses = replication.statuses();
    for await (const { phase } of { [Symbol.asyncIterator]: () => ({ next: () => statuses.next() }) })
      if (phase === 'idle') break;
    const next = statuses.next();
    expect(await statuses.return?.()).toEqual({ value: undefined, done: true });
    expect(await next).toEqual({ value: undefined, done: true });
    expect(replication.status()).toMatchObject({ phase: 'idle' });
    replication.cancel();
    await replication;
  });

  it('of a live one tell of documents that are on their way, before any has arrived', async () => {
    const [a, b] = await openTwo();
    const answer = gate();
    const source = peer(a, {
      bulkGet: async (request: never) => {
        await answer.opened;
        return a.bulkGet(request);
      },
    });
    const replication = replicate(source, b, { live: true });
    const phases: string[] = [];
    for await (const { phase, docs_read } of replication.statuses()) {
      phases.push(phase);
      if (phase === 'idle' && docs_read === 0) await fill(a, 1);
      if (phase === 'transferring') answer.open();
      if (phase === 'idle' && docs_read === 1) replication.cancel();
    }
    expect(phases.filter((phase, i) => phase !== phases[i - 1])).toEqual([
      ...['connecting', 'idle', 'transferring', 'idle', 'cancelled'],
    ]);
  });

  it('of a live one are not idle while the next documents are on their way', async () => {
    const [a, b] = await openTwo();
    await fill(a, 1);
    const [second, answer] = [gate(), gate()];
    let fetches = 0;
    const source = peer(a, {
      bulkGet: async (request: never) => {
        if (++fetches === 2) {
          second.open();
          await answer.opened;
        }
        return a.bulkGet(request);
      },
    });
    // The first document is written when the second is being fetched.
    const target = peer(b, {
      bulkDocs: async (docs: never, options: never) => {
        await fill(a, 1, 1);
        await second.opened;
        return b.bulkDocs(docs, options);
      },
    });
    const replication = replicate(source, target, { live: true });
    const phases: string[] = [];
    replication.on('paused', () => {
      phases.push(replication.status().phase);
      if (phases.length === 2) replication.cancel();
      answer.open();
    });
    expect(await replication).toMatchObject({ docs_written: 2 });
    expect(phases).toEqual(['transferring', 'idle']);
  });

  it('say that it waits, whenever the target answered what it lacked of the next documents', async () => {
    for (let steps = 0; steps < 20; steps++) {
      const [a, b] = await openTwo();
      await fill(a, 2);
      const [isAsked, isWriting, fail, answer] = [gate(), gate(), gate(), gate()];
      let comparisons = 0;
      const target = peer(b, {
        revsDiff: async (revs: never) => {
          const missing = await b.revsDiff(revs);
          if (++comparisons === 1) return missing;
          isAsked.open();
          return answer.opened.then(() => missing);
        },
        bulkDocs: async () => {
          isWriting.open();
          await fail.opened;
          throw statusError(500, 'failed');
        },
      });
      const options = { retry: true, back_off_function: () => 60_000, batch_size: 1 };
      const replication = replicate(a, target, options);
      await Promise.all([isAsked.opened, isWriting.opened]);
      fail.open();
      for (let step = 0; step < steps; step++) await undefined;
      answer.open();
      await new Promise((resolve) => setTimeout(resolve));
      expect(replication.status().phase).toBe('waiting');
      replication.cancel();
      await replication;
    }
  });

  it('of a live one end when it is cancelled, and are idle before', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    const replication = replicate(a, b, { live: true });
    const phases: string[] = [];
    for await (const { phase } of replication.statuses()) {
      phases.push(phase);
      if (phase === 'idle') replication.cancel();
    }
    expect(phases.at(-2)).toBe('idle');
    expect(phases.at(-1)).toBe('cancelled');
  });
});

describe('the statuses of a sync', () => {
  it('show both directions', async () => {
    const [a, b] = await openTwo();
    await fill(a, 12);
    await fill(b, 7, 100);
    const both = sync(a, b, { batch_size: 5 });
    const list: SyncStatus[] = await all(both.statuses());
    expect(list.at(-1)).toMatchObject({
      push: { phase: 'complete', docs_written: 12, pending: 0 },
      pull: { phase: 'complete', docs_written: 7, pending: 0 },
    });
    expect(list.some(({ push }) => (push.pending ?? 0) > 0)).toBe(true);
    expect(list.some(({ pull }) => (pull.pending ?? 0) > 0)).toBe(true);
  });

  it('do not pile up listeners while only one half has something to tell', async () => {
    const [a, b] = await openTwo();
    const both = sync(a, b, { live: true });
    let seen = 0;
    for await (const { push } of both.statuses()) {
      if (push.docs_written >= 20) break;
      if (push.phase === 'idle') await a.put({ _id: `d${seen++}` });
    }
    both.cancel();
    await both;
    expect(seen).toBeGreaterThan(1);
  });
});

describe('a database opened alone', () => {
  it('has statuses of a replication into itself', async () => {
    const a = await open();
    await fill(a, 3);
    expect((await all(replicate(a, a).statuses())).at(-1)).toMatchObject({ phase: 'complete', docs_read: 0 });
  });
});
