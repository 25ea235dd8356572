/** Checkpoints of replications between local databases: where they are kept, when they count, and what they do not outlive. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { replicate } from '../../packages/replication/src/index';
import { replicationId } from '../../packages/replication/src/replication-id';
import { checkpointsOf, contents, fill, open, openTwo, peer } from './databases';

describe('checkpoints', () => {
  const query = { style: 'all_docs' } as const;

  it('are kept on both sides under one id, in the form of CouchDB', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    await replicate(a, b);
    const id = replicationId(await a.id(), await b.id(), query);
    const [atSource, atTarget] = [await checkpointsOf(a, id), await checkpointsOf(b, id)];
    expect(atSource).toMatchObject({ last_seq: 3, version: 1, replicator: 'settledb' });
    expect(atSource!.history).toMatchObject([{ session_id: atSource!.session_id, last_seq: 3 }]);
    expect({ ...atTarget, _rev: '' }).toEqual({ ...atSource, _rev: '' });
  });

  it('are kept where the option says, and nowhere else', async () => {
    for (const checkpoint of ['source', 'target', false] as const) {
      const [a, b] = await openTwo();
      await fill(a, 3);
      const id = replicationId(await a.id(), await b.id(), query);
      await replicate(a, b, { checkpoint });
      const there = [await checkpointsOf(a, id), await checkpointsOf(b, id)].map((doc) => doc !== undefined);
      expect(there).toEqual([checkpoint === 'source', checkpoint === 'target']);
      let since: unknown;
      const source = peer(a, {
        changes: (options: { since: unknown }) => {
          since ??= options.since;
          return a.changes(options as never);
        },
      });
      expect(await replicate(source, b, { checkpoint })).toMatchObject({ docs_read: 0, docs_written: 0 });
      expect(since).toBe(checkpoint === false ? 0 : 3);
    }
  });

  it('do not outlive either side: everything is carried over again to a target made anew', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    await replicate(a, b);
    const again = await open('b');
    // Even under the id it had before, as a server may give it.
    const target = peer(again, { id: () => b.id() });
    expect(await replicate(a, target)).toMatchObject({ docs_written: 5 });
  });

  it('do not outlive a source made anew, whose numbers begin again', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    await replicate(a, b);
    const again = await open('a');
    await fill(again, 7, 100);
    const source = peer(again, { id: () => a.id() });
    expect(await replicate(source, b)).toMatchObject({ docs_written: 7 });
  });

  it('that are beyond the source’s last number are not believed', async () => {
    const [a, b] = await openTwo();
    await fill(a, 9);
    await replicate(a, b, { checkpoint: 'target' });
    const again = await open('a');
    await fill(again, 4, 100);
    const source = peer(again, { id: () => a.id() });
    expect(await replicate(source, b, { checkpoint: 'target' })).toMatchObject({ docs_written: 4 });
  });

  it('go back to what a restored target still has', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    await replicate(a, b);
    const backup = await open('backup');
    await replicate(b, backup);
    const id = replicationId(await a.id(), await b.id(), query);
    const { _rev, ...checkpoint } = (await b.get(id)) as Record<string, unknown> & { _rev: string };
    await backup.put({ ...checkpoint, _id: id });
    await fill(a, 5, 5);
    await replicate(a, b);
    const restored = peer(backup, { id: () => b.id() });
    expect(await replicate(a, restored)).toMatchObject({ docs_read: 5, docs_written: 5 });
    expect(await contents(backup)).toEqual(await contents(a));
  });

  it('are not kept for filters that nothing tells apart: bound functions, and those behind a proxy', async () => {
    const filter = (remainder: number, { n }: Record<string, unknown>): boolean =>
      Number(n) % 3 === remainder;
    const [a, b] = await openTwo();
    await fill(a, 9);
    expect(await replicate(a, b, { filter: filter.bind(undefined, 0) })).toMatchObject({ docs_written: 3 });
    expect(await replicate(a, b, { filter: filter.bind(undefined, 1) })).toMatchObject({ docs_written: 3 });
    const proxied = new Proxy(filter.bind(undefined, 2), {});
    expect(await replicate(a, b, { filter: proxied })).toMatchObject({ docs_written: 3 });
    expect(await replicate(a, b, { filter: proxied })).toMatchObject({ docs_read: 0, last_seq: 9 });
  });

  it('are not written again when nothing changed', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    await replicate(a, b);
    const puts: unknown[] = [];
    const count = (db: typeof a) =>
      peer(db, {
        put: (doc: never) => {
          puts.push(doc);
          return db.put(doc);
        },
      });
    await replicate(count(a), count(b));
    expect(puts).toEqual([]);
  });

  it.each(['source', 'target'] as const)('that the %s forbids (401, 403) do not fail it', async (side) => {
    for (const status of [401, 403]) {
      const [a, b] = await openTwo();
      await fill(a, 5);
      const refuse = (): never => {
        throw Object.assign(new Error('no'), { status, name: status === 401 ? 'unauthorized' : 'forbidden' });
      };
      const readable = { put: refuse };
      for (const replaced of [readable, { ...readable, get: refuse }]) {
        const since: unknown[] = [];
        const watched = {
          changes: (options: { since: unknown }) => {
            since.push(options.since);
            return a.changes(options as never);
          },
        };
        const source = peer(a, side === 'source' ? { ...watched, ...replaced } : watched);
        const target = peer(b, side === 'target' ? replaced : {});
        await replicate(source, target);
        expect(await contents(b)).toEqual(await contents(a));
        since.length = 0;
        expect(await replicate(source, target)).toMatchObject({ docs_read: 0 });
        // A source that only lets itself be read is resumed by the target's word alone.
        expect(since[0]).toBe(side === 'source' ? 5 : 0);
      }
    }
  });

  it('survive several replications of one pair at once', async () => {
    const [a, b] = await openTwo();
    await fill(a, 60);
    const results = await Promise.all(Array.from({ length: 8 }, () => replicate(a, b, { batch_size: 10 })));
    expect(results.map(({ ok }) => ok)).toEqual(Array(8).fill(true));
    expect(await contents(b)).toEqual(await contents(a));
    expect(await replicate(a, b)).toMatchObject({ docs_read: 0, last_seq: 60 });
  });

  // As in CouchDB, which does not compare the revisions of `_local` documents.
  it.each([
    ['another replication', 0],
    ['another replication that began earlier', 1],
  ])('that %s of the pair writes over without a conflict fail nothing', async (_which, known) => {
    const [a, b] = await openTwo();
    await fill(a, 60);
    const id = replicationId(await a.id(), await b.id(), query);
    const overwrite = async (doc: object): Promise<{ rev: string }> => {
      const there = await b.get(id).catch(() => ({ _rev: undefined }));
      return b.put({ ...doc, _id: id, _rev: there._rev } as never);
    };
    const other = (last_seq: number, count: number): object => {
      const session = { session_id: 'other', last_seq, recorded: count };
      return { ...session, history: [session], version: 1 };
    };
    if (known > 0) {
      await a.put({ _id: id, ...other(5, known) });
      await overwrite(other(5, known));
    }
    // The clock of checkpoints, which are written, and looked at again, once a second.
    let now = Date.now();
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    let [batches, written] = [0, 0];
    const target = peer(b, {
      put: async (doc: { last_seq: number }) => {
        const answer = await overwrite(doc);
        written = doc.last_seq;
        return answer;
      },
      bulkDocs: async (docs: never, options: never) => {
        now += 60_000;
        if (++batches === 4) {
          await vi.waitFor(() => expect(written).toBeGreaterThan(20));
          await overwrite(other(20, known + 1));
        }
        return b.bulkDocs(docs, options);
      },
    });
    const replication = replicate(a, target, { batch_size: 10 });
    const paused: unknown[] = [];
    replication.on('paused', (error) => paused.push(error));
    expect(await replication).toMatchObject({ ok: true, docs_written: 60 - known * 5, last_seq: 60 });
    expect([paused, replication.status().attempts]).toEqual([[undefined], 2]);
    expect(await replicate(a, target)).toMatchObject({ docs_read: 0, last_seq: 60 });
  });

  it('are written also for a target that passes documents on, and never says that it has one', async () => {
    const [a, b] = await openTwo();
    await fill(a, 60);
    let now = Date.now();
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    const target = peer(b, {
      revsDiff: async (asked: Record<string, string[]>) =>
        Object.fromEntries(Object.entries(asked).map(([id, missing]) => [id, { missing }])),
      bulkDocs: async (docs: never, options: never) => {
        now += 60_000;
        return b.bulkDocs(docs, options);
      },
    });
    expect(await replicate(a, target, { batch_size: 1 })).toMatchObject({ ok: true, last_seq: 60 });
    expect(await contents(b)).toEqual(await contents(a));
    expect(await replicate(a, target)).toMatchObject({ docs_read: 0 });
  });

  it('that are written over without end are an error at last', async () => {
    const [a, b] = await openTwo();
    await fill(a, 10);
    let now = Date.now();
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    let others = 0;
    const target = peer(b, {
      get: async (id: string) => {
        const session = { session_id: `other${others++}`, last_seq: 0 };
        return { ...(await b.get(id)), ...session, history: [session] };
      },
      revsDiff: async (revs: never) => {
        now += 60_000;
        return b.revsDiff(revs);
      },
      put: async (doc: { _id: string; _rev?: string }) => {
        const there = await b.get(doc._id).catch(() => undefined);
        return b.put({ ...doc, _rev: there?._rev });
      },
    });
    const run = replicate(a, target, { batch_size: 1 });
    await expect(run).rejects.toMatchObject({ status: 409, result: { docs_written: 10 } });
    expect(run.status().attempts).toBe(21);
  });

  it('in the old form are honoured and renewed', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    const id = replicationId(await a.id(), await b.id(), query);
    await a.put({ _id: id, last_seq: 3 });
    await b.put({ _id: id, last_seq: 3 });
    expect(await replicate(a, b)).toMatchObject({ docs_written: 2 });
    expect(await checkpointsOf(a, id)).toMatchObject({ last_seq: 5, version: 1 });
  });

  it('are overridden by since, which never makes what lies before it count as replicated', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    expect(await replicate(a, b, { since: 3 })).toMatchObject({ docs_written: 2, last_seq: 5 });
    expect(await replicate(a, b)).toMatchObject({ docs_written: 3 });
    expect(await replicate(a, b, { since: 0 })).toMatchObject({ docs_written: 0, last_seq: 5 });
    expect(await replicate(a, b, { since: 'now' })).toMatchObject({ docs_read: 0, last_seq: 5 });
  });
});
