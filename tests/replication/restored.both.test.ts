/** Databases that are not what they were: made anew under the same name, or restored from a backup. Nothing may be skipped. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Peer, type ReplicateOptions, replicate, sync } from '../../packages/replication/src/index';
import { replicationId } from '../../packages/replication/src/replication-id';
import {
  type AnyDatabase,
  checkpointsOf,
  contents,
  copyOf,
  fill,
  open,
  openTwo,
  peer,
  statusError,
} from './databases';
import { telling } from './live';

/** Names itself as a database of CouchDB does: by a place, where another may come to lie, made at some time. */
const at = (db: AnyDatabase, created: string | undefined, more: Parameters<typeof peer>[1] = {}) =>
  peer(db, {
    id: async () => 'place',
    info: async () => ({
      ...(await db.info()),
      ...(created === undefined ? {} : { instance_start_time: created }),
    }),
    ...more,
  });

describe('a source made anew in the same place', () => {
  const modes: ReplicateOptions[] = [
    {},
    { checkpoint: 'target' },
    { checkpoint: 'source' },
    { checkpoint: false },
  ];
  it.each(
    modes,
  )('is carried over whole, also when it has more changes than the old one: %o', async (mode) => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    await replicate(at(a, '1'), b, mode);
    const again = await open('again');
    await fill(again, 9, 100);
    expect(await replicate(at(again, '2'), b, mode)).toMatchObject({ docs_written: 9 });
    expect(await replicate(at(again, '2'), b, mode)).toMatchObject({ docs_written: 0 });
  });

  it('is the same where the server says its time in ms, and said it in seconds with decimals before', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    const begins: unknown[] = [];
    const changes = (options: { since?: unknown }) => {
      begins.push(options.since);
      return a.changes(options as never);
    };
    for (const created of ['1795204497.123', '1795204497123', '1795204497123'])
      await replicate(at(a, created, { changes }), b, { checkpoint: 'target' });
    const end = (await a.info()).update_seq;
    expect(begins.filter((since) => since === 0)).toHaveLength(1);
    expect(begins.at(-1)).toBe(end);
  });

  it.each(modes)('while a replication is live is carried over whole: %o', async (mode) => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    let current: [AnyDatabase, string] = [a, '1'];
    let down = false;
    let cut: () => void = () => undefined;
    const source = peer(a, {
      id: async () => 'place',
      info: async () => {
        if (down) throw statusError(503, 'down');
        return { ...(await current[0].info()), instance_start_time: current[1] };
      },
      get: (id: string) => current[0].get(id),
      put: (doc: never) => current[0].put(doc),
      bulkGet: (request: never) => current[0].bulkGet(request),
      changes: (options: { live?: boolean }) => {
        if (!options.live) return current[0].changes(options as never);
        const failing = new Promise((_, reject) => {
          cut = () => reject(statusError(0, 'cut'));
        });
        return { on: () => undefined, cancel: () => undefined, then: failing.then.bind(failing) };
      },
    });
    const replication = replicate(source, b, {
      ...mode,
      live: true,
      retry: true,
      back_off_function: () => 0,
    });
    await new Promise((resolve) => void replication.once('paused', resolve));
    down = true;
    const again = await open('again');
    await fill(again, 9, 100);
    current = [again, '2'];
    cut();
    down = false;
    while ((await b.info()).doc_count < 14)
      await new Promise((resolve) => void replication.once('change', resolve));
    replication.cancel();
    await replication;
  });
});

describe('a target that is replaced while it is written to', () => {
  /** A peer that another database may take the place of; like CouchDB, it may overwrite local documents whatever revision is named. */
  const place = (first: AnyDatabase, { blind, created }: { blind: boolean; created?: string }) => {
    let current = first;
    let made = created ?? '0';
    const overwrite = async (doc: { _id: string }): Promise<unknown> => {
      const there = await current.get(doc._id).catch(() => undefined);
      return current.put({ ...doc, _rev: there?._rev } as never);
    };
    const side = peer(first, {
      id: async () => 'place',
      info: async () => ({ ...(await current.info()), instance_start_time: made }),
      get: (id: string) => current.get(id),
      put: (doc: never) => (blind ? overwrite(doc) : current.put(doc)),
      revsDiff: (revs: never) => current.revsDiff(revs),
      bulkGet: (request: never) => current.bulkGet(request),
      bulkDocs: (docs: never, options: never) => current.bulkDocs(docs, options),
      changes: (options: never) => current.changes(options),
    });
    const replace = (by: AnyDatabase, at = made): void => {
      current = by;
      made = at;
    };
    return { side, replace };
  };

  /** The clock of checkpoints, which do not look again within a second. */
  const later = (): void => {
    const now = Date.now() + 60_000;
    const clock = vi.spyOn(Date, 'now').mockReturnValue(now);
    onTestFinished(() => clock.mockRestore());
  };
  const live = { live: true, retry: true, back_off_function: () => 0 };
  const idle = (replication: ReturnType<typeof replicate>): Promise<void> =>
    new Promise((resolve) => void replication.once('paused', () => resolve()));

  it.each([
    ['made anew', false, true],
    ['made anew', true, true],
    ['made anew', true, 'target'],
    ['restored', false, true],
    ['restored', true, true],
    ['restored', false, 'target'],
  ] as const)('is sent everything again: %s, blind: %s, checkpoint: %s', async (what, blind, checkpoint) => {
    const a = await open('a');
    const old = await open('old');
    const { side, replace } = place(old, { blind });
    await fill(a, 3);
    const replication = replicate(a, side, { ...live, checkpoint });
    await idle(replication);
    const other = what === 'restored' ? await copyOf(old) : await open('anew');
    const caughtUp = idle(replication);
    await fill(a, 3, 10);
    await caughtUp;
    replace(other);
    later();
    await a.put({ _id: 'late' });
    while ((await other.info()).doc_count < 7)
      await new Promise((resolve) => void replication.once('change', resolve));
    replication.cancel();
    await replication;
    expect(await contents(other)).toEqual(await contents(a));
    expect(await replicate(a, side, { checkpoint })).toMatchObject({ docs_written: 0 });
  });

  const refuses = async (): Promise<never> => {
    throw statusError(403, 'forbidden');
  };
  it.each<[ReplicateOptions, Partial<Peer>?]>([
    [{}],
    [{ since: 0 }],
    [{ since: 2 }],
    [{ checkpoint: 'target' }],
    [{ since: 0, checkpoint: 'target' }],
    [{}, { get: refuses, put: refuses }],
  ])('by an older state of it, while its source cannot be reached, is sent what that lacks: %o %o', async (options, readOnly) => {
    const a = await open('a');
    const old = await open('old');
    const { side, replace } = place(old, { blind: false });
    const cuts: (() => void)[] = [];
    const source = peer(a, {
      changes: (options: { live?: boolean }) => {
        if (!options.live) return a.changes(options as never);
        const failing = new Promise((_, reject) => cuts.push(() => reject(statusError(0, 'cut'))));
        return { on: () => undefined, cancel: () => undefined, then: failing.then.bind(failing) };
      },
      ...readOnly,
    });
    // Then all is written down, too.
    const following = (times: number) => expect.poll(() => cuts.length).toBe(times);
    await fill(a, 3);
    const replication = replicate(source, side, { ...live, ...options });
    await following(1);
    const restored = await copyOf(old);
    await fill(a, 3, 10);
    cuts.at(-1)!();
    await following(2);
    replace(restored);
    cuts.at(-1)!();
    await following(3);
    replication.cancel();
    await replication;
    if (options.since !== 2) expect(await contents(restored)).toEqual(await contents(a));
    else expect((await restored.info()).doc_count).toBe(4);
  });

  it('by itself without its last writes, when it had not answered, is sent these again', async () => {
    const a = await open('a');
    const b = await open('old');
    const { side, replace } = place(b, { blind: false });
    await fill(a, 40);
    // From now on the clock stands still: only the first batch is written down while the transfer goes on.
    later();
    const id = replicationId(await a.id(), 'place', { style: 'all_docs' });
    let writes = 0;
    let left: AnyDatabase | undefined;
    const bulkDocs: typeof side.bulkDocs = async (docs, options) => {
      if (++writes === 2) {
        await expect.poll(() => checkpointsOf(b, id)).toMatchObject({ last_seq: 10 });
        left = await copyOf(b);
      }
      if (writes < 3) return side.bulkDocs(docs, options);
      replace(left!);
      throw statusError(0, 'reset');
    };
    const run = replicate(a, { ...side, bulkDocs }, { batch_size: 10 });
    await expect(run).rejects.toMatchObject({ result: { last_seq: 20 } });
    expect(await replicate(a, side)).toMatchObject({ docs_written: 30 });
  });

  it('is sent everything also before the first checkpoint, if it says when it was made', async () => {
    const a = await open('a');
    const { side, replace } = place(await open('old'), { blind: true, created: '1' });
    const anew = await open('anew');
    await fill(a, 3);
    const bulkDocs: typeof side.bulkDocs = async (docs, options) => {
      const rows = await side.bulkDocs(docs, options);
      replace(anew, '2');
      return rows;
    };
    await expect(replicate(a, { ...side, bulkDocs })).rejects.toMatchObject({ name: 'unexpected_answer' });
    expect(await replicate(a, side)).toMatchObject({ docs_written: 3 });
  });

  it('is sent everything also when the first checkpoint met that of another replication, in the former one', async () => {
    const a = await open('a');
    const { side, replace } = place(await open('old'), { blind: false, created: '1' });
    const anew = await open('anew');
    await fill(a, 3);
    let puts = 0;
    const put: typeof side.put = async (doc, options) => {
      if (puts++ > 0) return side.put(doc, options);
      replace(anew, '2');
      throw statusError(409, 'conflict');
    };
    await expect(replicate(a, { ...side, put })).rejects.toMatchObject({ name: 'unexpected_answer' });
    expect(await replicate(a, side)).toMatchObject({ docs_written: 3 });
  });

  it('is sent everything since "now", which is the same moment for the new one', async () => {
    const a = await open('a');
    await fill(a, 3);
    const { side, replace } = place(await open('old'), { blind: false, created: '1' });
    const anew = await open('anew');
    let isDown = false;
    const bulkDocs: typeof side.bulkDocs = (docs, options) => {
      if (!isDown) return side.bulkDocs(docs, options);
      isDown = false;
      replace(anew, '2');
      throw statusError(503, 'restarted');
    };
    const replication = replicate(a, { ...side, bulkDocs }, { ...live, since: 'now' });
    await idle(replication);
    await fill(a, 2, 10);
    await vi.waitFor(() => expect(replication.status()).toMatchObject({ docs_written: 2, phase: 'idle' }));
    isDown = true;
    await a.put({ _id: 'late' });
    await vi.waitFor(() => expect(replication.status()).toMatchObject({ attempts: 2, phase: 'idle' }));
    replication.cancel();
    await replication;
    const { rows } = await anew.allDocs();
    expect(rows).toMatchObject([{ id: 'doc10' }, { id: 'doc11' }, { id: 'late' }]);
  });
});

/** All but the changes of a place where now one database lies, and now another. */
const where = (now: () => AnyDatabase) => ({
  id: async () => 'place',
  info: () => now().info(),
  get: (id: string) => now().get(id),
  put: (doc: never) => now().put(doc),
  bulkGet: (request: never) => now().bulkGet(request),
});

describe('a source whose numbers went back', () => {
  it('while it is read is an error, and the next run starts over', async () => {
    const [a, b] = await openTwo();
    await fill(a, 30);
    const older = await open('older');
    await fill(older, 12, 100);
    let current = a;
    const source = peer(a, {
      ...where(() => current),
      changes: (options: { since: number }) => {
        if (options.since >= 20) current = older;
        return current.changes(options as never);
      },
    });
    const error = await replicate(source, b, { batch_size: 10 }).then(
      () => undefined,
      (failure: object) => failure,
    );
    expect(error).toMatchObject({ name: 'unexpected_answer', result: { last_seq: 20 } });
    expect(await replicate(source, b)).toMatchObject({ docs_written: 12 });
  });

  it.each([100, '100-abc'])('or stay where they are, at %j, is an error, not a loop', async (last_seq) => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    const { results } = (await a.changes()) as { readonly results: readonly object[] };
    let asked = 0;
    const changes = async () => {
      if (++asked > 9) throw statusError(500, 'asked without end');
      return { results, last_seq, pending: 50 };
    };
    const run = replicate(peer(a, { changes }), b, { batch_size: 5 });
    await expect(run).rejects.toMatchObject({ name: 'unexpected_answer', result: { docs_written: 5 } });
    expect(asked).toBe(2);
  });

  it('before anything was read since "now" has no more than now', async () => {
    const [a, b] = await openTwo();
    await fill(a, 30);
    const older = await open('older');
    await fill(older, 12, 100);
    let current = a;
    const source = peer(
      a,
      where(() => current),
    );
    source.changes = ((options: object) => current.changes(options)) as typeof source.changes;
    let isThere = false;
    const id = () => (isThere ? b.id() : Promise.reject(statusError(503, 'away')));
    const options = { since: 'now', live: true, retry: true, back_off_function: () => 0 } as const;
    const replication = replicate(source, peer(b, { id }), options);
    await new Promise((resolve) => void replication.once('paused', resolve as never));
    current = older;
    isThere = true;
    await vi.waitFor(() => expect(replication.status().phase).toBe('idle'));
    await older.put({ _id: 'late' });
    await vi.waitFor(async () => expect((await b.info()).doc_count).toBe(1));
    replication.cancel();
    expect(await replication).toMatchObject({ docs_written: 1 });
  });

  it('while it is followed is an error, and the next attempt starts over', async () => {
    const [a, b] = await openTwo();
    await fill(a, 30);
    const older = await open('older');
    await fill(older, 12, 100);
    let current = a;
    const source = peer(a, {
      ...where(() => current),
      changes: (options: { since: number; live?: boolean }) => {
        if (options.live) current = older;
        return current.changes({
          ...options,
          since: options.live ? Math.min(options.since, 11) : options.since,
        } as never);
      },
    });
    const error = await replicate(source, b, { live: true }).then(
      () => undefined,
      (failure: object) => failure,
    );
    expect(error).toMatchObject({ name: 'unexpected_answer', result: { last_seq: 30 } });
    expect(await replicate(source, b)).toMatchObject({ docs_written: 12 });
  });

  it('after more was followed is an error too', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    const { results } = (await a.changes({})) as { results: readonly object[] };
    const { source, isHeard, tell } = telling(a);
    const replication = replicate(source, b, { live: true });
    const error = replication.then(
      () => undefined,
      (failure: object) => failure,
    );
    await expect.poll(isHeard).toBe(true);
    tell({ ...results[0], seq: 9 });
    await expect.poll(() => replication.status().last_seq).toBe(9);
    tell({ ...results[1], seq: 5 });
    expect(await error).toMatchObject({ name: 'unexpected_answer', result: { last_seq: 9 } });
  });

  it.each([
    { since: 25 },
    { since: 25, checkpoint: false },
  ] as ReplicateOptions[])('below where the user says to begin is begun from the start: %o', async (options) => {
    const [a, b] = await openTwo();
    await fill(a, 10);
    expect(await replicate(a, b, options)).toMatchObject({ docs_written: 10 });
    expect(await contents(b)).toEqual(await contents(a));
  });
});

describe('two copies with one identity', () => {
  it('miss nothing of each other, in whatever order their numbers rise', async () => {
    const a = await open();
    await fill(a, 2);
    const b = await copyOf(a);
    expect(await b.id()).toBe(await a.id());
    const settled = async (): Promise<void> => {
      await sync(a, b);
      expect(await contents(b)).toEqual(await contents(a));
    };
    await a.put({ _id: 'of a' });
    for (let i = 0; i < 60; i++) await b.put({ ...(await b.get('doc0')), i });
    await settled();
    await fill(a, 80, 100);
    await b.put({ _id: 'of b' });
    await settled();
    await settled();
  });

  it('go on where they were while a live sync lasts', async () => {
    const a = await open();
    await fill(a, 2);
    const b = await copyOf(a);
    const both = sync(a, b, { live: true, retry: true });
    await new Promise((resolve) => void both.once('paused', resolve));
    await fill(a, 3, 10);
    await fill(b, 3, 20);
    while ((await a.info()).doc_count + (await b.info()).doc_count < 16)
      await new Promise((resolve) => void both.once('change', resolve));
    both.cancel();
    await both;
    expect(await contents(b)).toEqual(await contents(a));
  });
});

/** @param since told where each reading of changes begins */
const reading = (db: AnyDatabase, since: unknown[]): Peer =>
  peer(db, {
    changes: (options: { since: unknown }) => {
      since.push(options.since);
      return db.changes(options as never);
    },
  });

describe('since', () => {
  it('after a gap has a checkpoint of its own, from which the same call goes on', async () => {
    const [a, b] = await openTwo();
    await fill(a, 10);
    expect(await replicate(a, b, { since: 6 })).toMatchObject({ docs_written: 4, last_seq: 10 });
    await fill(a, 3, 50);
    const since: unknown[] = [];
    const source = reading(a, since);
    expect(await replicate(source, b, { since: 6 })).toMatchObject({ docs_written: 3, last_seq: 13 });
    expect(since[0]).toBe(10);
    // And what lies before it was never counted as replicated.
    expect(await replicate(source, b)).toMatchObject({ docs_written: 6 });
  });

  it('that leaves no gap is written down with everything else', async () => {
    const [a, b] = await openTwo();
    await fill(a, 10);
    await replicate(a, b, { batch_size: 5 });
    await fill(a, 2, 50);
    expect(await replicate(a, b, { since: 4 })).toMatchObject({ docs_read: 2, last_seq: 12 });
    const since: unknown[] = [];
    expect(await replicate(reading(a, since), b)).toMatchObject({ docs_read: 0, last_seq: 12 });
    expect(since[0]).toBe(12);
  });

  it('is heeded without checkpoints, every time', async () => {
    const [a, b] = await openTwo();
    await fill(a, 10);
    for (const written of [4, 0])
      expect(await replicate(a, b, { since: 6, checkpoint: false })).toMatchObject({ docs_written: written });
    expect((await b.info()).doc_count).toBe(4);
  });
});

describe('the history in a checkpoint', () => {
  it('tells of each session when it was and what it did', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    const puts: Record<string, unknown>[] = [];
    const target = peer(b, {
      put: (doc: Record<string, unknown>, options: never) => {
        puts.push(doc);
        return b.put(doc as never, options);
      },
    });
    await replicate(a, target);
    await fill(a, 2, 3);
    await replicate(a, target);
    const { history } = puts.at(-1) as { history: Record<string, unknown>[] };
    expect(history).toMatchObject([
      { last_seq: 5, docs_read: 2, docs_written: 2, doc_write_failures: 0 },
      { last_seq: 3, docs_read: 3, docs_written: 3 },
    ]);
    for (const { start_time, end_time } of history)
      expect(Date.parse(start_time as string)).toBeLessThanOrEqual(Date.parse(end_time as string));
  });
});
