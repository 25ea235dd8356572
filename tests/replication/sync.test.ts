/** Replication both ways at once, between local databases. No timers: awaited events. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Sync, sync } from '../../packages/replication/src/index';
import { type AnyDatabase, contents, fill, openTwo, peer, statusError } from './databases';
import { next } from './live';

function startSync(a: AnyDatabase, b: AnyDatabase, options: object = {}): Sync {
  const both = sync(a, b, { live: true, ...options });
  onTestFinished(() => both.cancel());
  return both;
}

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

  it('goes no faster than the loop that iterates over it, and gives it everything', async () => {
    const [a, b] = await openTwo();
    await fill(a, 40);
    await fill(b, 40, 100);
    const both = sync(a, b, { batch_size: 1 });
    const ids: string[] = [];
    for await (const { change } of both) {
      ids.push(...change.docs.map(({ _id }) => _id));
      for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setTimeout(resolve));
      const { push, pull } = both.status();
      expect(push.docs_written + pull.docs_written - ids.length).toBeLessThan(8);
    }
    expect(new Set(ids).size).toBe(80);
    expect(await both).toMatchObject({ push: { docs_written: 40 }, pull: { docs_written: 40 } });
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
