/** Revisions that a one-shot replication finds listed, and then no longer there: purged, or edited and compacted, meanwhile. */
import { describe, expect, it } from 'vitest';
import { fetchChunks, OnTheWay } from '../../packages/replication/src/batch';
import type { Fetcher } from '../../packages/replication/src/fetcher';
import { replicate } from '../../packages/replication/src/index';
import type { Progress } from '../../packages/replication/src/progress';
import { type AnyDatabase, contents, fetchingPeer, fill, open, openTwo, peer } from './databases';

/** A promise, and what fulfils it. */
function moment(): [Promise<void>, () => void] {
  let come!: () => void;
  return [
    new Promise<void>((resolve) => {
      come = resolve;
    }),
    come,
  ];
}

describe('a revision that is gone when it is read', () => {
  const X = { _id: 'x', _rev: '1-abc', _revisions: { start: 1, ids: ['abc'] } };
  const writeX = (db: AnyDatabase) => db.bulkDocs([X], { new_edits: false });

  it('and is written again while its batch is under way is carried over by the next batch', async () => {
    const [a, b] = await openTwo();
    await fill(a, 1);
    await writeX(a);
    const [again, isAgain] = moment();
    const [compared, isCompared] = moment();
    let compares = 0;
    const source = peer(a, {
      bulkGet: async (request: { docs: { id: string }[] }) => {
        if (compares === 1) await a.purge('x', X._rev);
        return a.bulkGet(request as never);
      },
      changes: async (options: { doc_ids?: unknown; since: number }) => {
        if (options.since > 0) await again;
        const result = await a.changes(options as never);
        if (options.doc_ids !== undefined) await writeX(a).then(isAgain);
        return result;
      },
    });
    const target = peer(b, {
      revsDiff: async (revs: never) => {
        if (++compares > 1) isCompared();
        return b.revsDiff(revs);
      },
      bulkDocs: async (docs: never, options: never) => {
        // Written only when the next batch was compared; not for ever, for if nothing of it is compared, the test is to fail.
        await Promise.race([compared, new Promise((resolve) => setTimeout(resolve, 200))]);
        return b.bulkDocs(docs, options);
      },
    });
    expect(await replicate(source, target, { batch_size: 2 })).toMatchObject({ ok: true, docs_written: 2 });
    expect(await contents(b)).toEqual(await contents(a));
  });

  it('cannot be passed any more once a later batch relied on it', () => {
    const onTheWay = new OnTheWay();
    onTheWay.begin();
    for (const rev of ['1-a', '1-b']) onTheWay.add('x', rev);
    expect(onTheWay.has('x', '1-b')).toBe(true);
    expect(onTheWay.drop('x', '1-a')).toBe(true);
    expect(onTheWay.has('x', '1-a')).toBe(false);
    expect(onTheWay.drop('x', '1-b')).toBe(false);
  });

  it('is none that the target has, where a later batch lists it again while it is on its way', async () => {
    const onTheWay = new OnTheWay();
    const rows = [{ id: 'x', revs: ['1-abc'], seq: 1, deleted: false }];
    const batches = async function* () {
      for (const seq of [1, 2]) yield { rows, seq, pending: 0, caughtUp: false };
    };
    const fetch = async function* (wanted: readonly unknown[]) {
      if (wanted.length > 0) yield { docs: [X], length: 0, failures: [] };
    };
    const init = { fetcher: { fetch } as unknown as Fetcher, target: peer(await open('b')), onTheWay };
    const { signal } = new AbortController();
    const had: unknown[] = [];
    for await (const { end } of fetchChunks(batches(), { ...init, progress: {} as Progress, signal }))
      if (end !== undefined) had.push(end.had);
    expect(had).toEqual([[], []]);
  });

  it('is looked for once with all others of its request', async () => {
    const [a, b] = await openTwo();
    await fill(a, 20);
    const { rows } = await a.allDocs();
    const asked: number[] = [];
    const source = peer(a, {
      bulkGet: async (request: never) => {
        for (const row of rows.slice(0, 15))
          if ('value' in row) await a.purge(row.id, row.value.rev).catch(() => undefined);
        return a.bulkGet(request);
      },
      changes: (options: { doc_ids?: string[] }) => {
        if (options.doc_ids !== undefined) asked.push(options.doc_ids.length);
        return a.changes(options as never);
      },
    });
    expect(await replicate(source, b)).toMatchObject({ ok: true, docs_written: 5 });
    expect(asked).toEqual([15]);
  });

  it('is passed when it was purged meanwhile', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    const { _rev } = await a.get('doc2');
    const source = peer(a, {
      bulkGet: async (request: never) => {
        await a.purge('doc2', _rev).catch(() => undefined);
        return a.bulkGet(request);
      },
    });
    expect(await replicate(source, b)).toMatchObject({ ok: true, docs_written: 4, last_seq: 6 });
  });

  it('is carried over in its newer revision when it was edited meanwhile', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    let edited = false;
    const source = peer(a, {
      bulkGet: async (request: never) => {
        if (!edited) {
          edited = true;
          const { _rev } = await a.get('doc2');
          await a.put({ _id: 'doc2', _rev, n: 'new' });
          await a.compact();
        }
        return a.bulkGet(request);
      },
    });
    const first = await replicate(source, b);
    expect(first).toMatchObject({ ok: true, docs_written: 5 });
    expect(await replicate(a, b)).toMatchObject({ docs_written: 0 });
    expect(await contents(b)).toEqual(await contents(a));
  });

  it('may be gone from a source that cannot follow it to its newer revision: that is read behind the end', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    let edited = false;
    const source = peer(a, {
      bulkGet: async (request: object) => {
        if (!edited) {
          edited = true;
          const { _rev } = await a.get('doc2');
          await a.put({ _id: 'doc2', _rev, n: 'new' });
          await a.compact();
        }
        return a.bulkGet({ ...request, latest: false } as never);
      },
    });
    expect(await replicate(source, b)).toMatchObject({ ok: true, docs_written: 5, last_seq: 6 });
    expect(await contents(b)).toEqual(await contents(a));
  });

  it('is looked for behind the end a few times, and only while it passes the filter', async () => {
    const [a, b] = [await open('a', { revs_limit: 1 }), await open('b')];
    await fill(a, 5);
    const edit = async (id: string, n: unknown): Promise<void> => {
      const { _rev } = await a.get(id);
      await a.put({ _id: id, _rev, n });
    };
    let reads = 0;
    const source = peer(a, {
      bulkGet: async (request: never) => {
        if (reads++ === 0) await edit('doc1', 'no number');
        // Written whenever it is read: a run must end all the same.
        await edit('doc2', 100 + reads);
        return a.bulkGet(request);
      },
    });
    const selector = { n: { $type: 'number' } };
    expect(await replicate(source, b, { selector })).toMatchObject({ ok: true, docs_written: 3 });
    expect(reads).toBe(4);
    expect(await replicate(a, b, { selector })).toMatchObject({ ok: true, docs_written: 1 });
    expect((await b.allDocs()).rows.map(({ key }) => key)).toEqual(['doc0', 'doc2', 'doc3', 'doc4']);
  });

  it('may be gone from a PouchDB, which calls it missing', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    const { _rev } = await a.get('doc2');
    let edited = false;
    const source = fetchingPeer(a, (id) => (id === 'doc2' && !edited ? [{ missing: _rev }] : undefined));
    const { bulkGet } = source;
    source.bulkGet = async (request) => {
      const answer = await bulkGet(request);
      if (!edited) await a.put({ _id: 'doc2', _rev, n: 'new' });
      edited = true;
      return answer;
    };
    expect(await replicate(source, b)).toMatchObject({ ok: true, docs_written: 5, last_seq: 6 });
    expect(await contents(b)).toEqual(await contents(a));
  });
});
