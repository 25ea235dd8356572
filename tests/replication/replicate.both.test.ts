/** One-shot replication between local databases: what is carried over, and what is counted. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { replicate } from '../../packages/replication/src/index';
import { contents, fetchingPeer, fill, open, openTwo, peer } from './databases';

describe('a one-shot replication', () => {
  it('carries documents over and counts them, and the next one has nothing to do', async () => {
    const [a, b] = await openTwo();
    await fill(a, 12);
    const result = await replicate(a, b);
    expect(result).toMatchObject({
      ok: true,
      status: 'complete',
      docs_read: 12,
      docs_written: 12,
      doc_write_failures: 0,
      errors: [],
      last_seq: 12,
    });
    expect([typeof result.start_time, typeof result.end_time]).toEqual(['string', 'string']);
    expect(await contents(b)).toEqual(await contents(a));
    expect(await replicate(a, b)).toMatchObject({ ok: true, docs_read: 0, docs_written: 0, last_seq: 12 });
  });

  it('works between hand-made objects that have the eight methods', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    expect(await replicate(peer(a), peer(b))).toMatchObject({ docs_written: 3 });
    expect(await contents(b)).toEqual(await contents(a));
  });

  it('carries over every leaf with its ancestry, tombstones and odd ids, and counts revisions', async () => {
    const [a, b] = await openTwo();
    const ids = ['toString', 'constructor', 'a/b', 'ü', '\u0000', '_design/d', 'x y?&+%2F'];
    for (const _id of ids) await a.put({ _id, v: 1 });
    const put = await a.put({ _id: 'edited', v: 1 });
    await a.put({ _id: 'edited', _rev: put.rev, v: 2 });
    const gone = await a.put({ _id: 'gone', v: 1 });
    await a.put({ _id: 'gone', _rev: gone.rev, _deleted: true, why: 'kept' });
    const leaves = ['3-a', '3-b', '2-c'].map((_rev) => ({ _id: 'split', _rev, v: _rev }));
    await a.bulkDocs(leaves, { new_edits: false });
    const result = await replicate(a, b);
    expect(result.docs_written).toBe(ids.length + 1 + 1 + 3);
    expect(await contents(b)).toEqual(await contents(a));
    expect(await b.get('constructor')).toMatchObject({ v: 1 });
  });

  it('sends only what the target lacks', async () => {
    const [a, b] = await openTwo();
    await fill(a, 10);
    await fill(b, 4);
    expect(await replicate(a, b)).toMatchObject({ docs_read: 6, docs_written: 6 });
  });

  it('gives both sides the same winner, conflicts and ancestry after both directions', async () => {
    const [a, b] = await openTwo();
    await a.put({ _id: 'x', v: 0 });
    await replicate(a, b);
    const { _rev } = await a.get('x');
    await a.put({ _id: 'x', _rev, v: 'a' });
    const second = await b.put({ _id: 'x', _rev, v: 'b' });
    await b.put({ _id: 'x', _rev: second.rev, v: 'bb' });
    await replicate(a, b);
    await replicate(b, a);
    expect(await contents(a)).toEqual(await contents(b));
    const doc = await a.get('x', { conflicts: true });
    expect(doc).toMatchObject({ v: 'bb' });
    expect(doc._conflicts).toHaveLength(1);
  });

  it('looks at each of many leaves of a document a bounded number of times', async () => {
    const [a, b] = await openTwo();
    const revs = Array.from({ length: 1_000 }, (_, i) => `1-${i}`);
    await a.bulkDocs(
      revs.map((_rev) => ({ _id: 'x', _rev })),
      { new_edits: false },
    );
    let looks = 0;
    const counted = (doc: { _revisions?: object }): object =>
      new Proxy(doc, {
        get: (target, name) => {
          if (name === '_revisions') looks++;
          return Reflect.get(target, name);
        },
      });
    const source = fetchingPeer(a, () => undefined, {
      bulkGet: async (request: never) => {
        const { results } = await a.bulkGet(request);
        const ok = (row: object) => ('ok' in row ? { ok: counted(row.ok as object) } : row);
        return { results: results.map(({ id, docs }) => ({ id, docs: docs.map(ok) })) };
      },
    });
    const includes = vi.spyOn(Array.prototype, 'includes');
    onTestFinished(() => includes.mockRestore());
    await replicate(source, peer(b), { batch_size: 100 });
    const long = includes.mock.contexts.filter((list) => (list as unknown[]).length >= revs.length);
    includes.mockRestore();
    expect(long).toEqual([]);
    expect(looks).toBeLessThan(revs.length * 10);
    expect(await b.get('x', { open_revs: 'all' })).toHaveLength(revs.length);
  });

  it('carries over 200 root conflicts, in small batches too', async () => {
    const [a, b] = await openTwo();
    const hash = (i: number): string => i.toString(16).padStart(32, '0');
    const docs = Array.from({ length: 200 }, (_, i) => ({ _id: 'x', _rev: `1-${hash(i)}`, i }));
    await a.bulkDocs(docs, { new_edits: false });
    expect(await replicate(a, b, { batch_size: 7 })).toMatchObject({ docs_read: 200, docs_written: 200 });
    expect(await contents(b)).toEqual(await contents(a));
  });

  it('goes through many batches, one change event for each, with running counters and pending', async () => {
    const [a, b] = await openTwo();
    await fill(a, 512);
    const replication = replicate(a, b, { batch_size: 20, batches_limit: 10 });
    const seen: { written: number; docs: number; pending: number | undefined; seq: unknown }[] = [];
    replication.on('change', (change) => {
      const { docs_written, docs, pending, last_seq } = change;
      seen.push({ written: docs_written, docs: docs.length, pending, seq: last_seq });
    });
    const result = await replication;
    expect(result).toMatchObject({ docs_read: 512, docs_written: 512, last_seq: 512 });
    expect(seen).toHaveLength(26);
    let written = 0;
    for (const [i, one] of seen.entries()) {
      written += one.docs;
      expect(one.written).toBe(written);
      expect(one.seq).toBe(Math.min((i + 1) * 20, 512));
      if (one.pending !== undefined) expect(one.pending + written).toBe(512);
    }
    expect(replication.status()).toMatchObject({ phase: 'complete', docs_written: 512, attempts: 1 });
  });

  it('reads and fetches the next batch while the last one is written', async () => {
    const [a, b] = await openTwo();
    await fill(a, 20);
    let fetches = 0;
    let fetchedAgain: () => void = () => undefined;
    const second = new Promise<void>((resolve) => {
      fetchedAgain = resolve;
    });
    const source = peer(a, {
      bulkGet: (request: never) => {
        if (++fetches === 2) fetchedAgain();
        return a.bulkGet(request);
      },
    });
    const target = peer(b, {
      // Hangs for good if nothing is fetched meanwhile.
      bulkDocs: async (docs: never, options: never) => {
        await second;
        return b.bulkDocs(docs, options);
      },
    });
    expect(await replicate(source, target, { batch_size: 10 })).toMatchObject({ docs_written: 20 });
  });

  it('can be iterated, at the pace of who iterates', async () => {
    const [a, b] = await openTwo();
    await fill(a, 50);
    const ids: string[] = [];
    for await (const { docs } of replicate(a, b, { batch_size: 10 })) ids.push(...docs.map(({ _id }) => _id));
    expect(new Set(ids).size).toBe(50);
  });

  it('ends with nothing read, and nothing written down, when the source is empty', async () => {
    const [a, b] = await openTwo();
    const puts: unknown[] = [];
    const target = peer(b, {
      put: (doc: never) => {
        puts.push(doc);
        return b.put(doc);
      },
    });
    expect(await replicate(a, target)).toMatchObject({ ok: true, docs_read: 0, last_seq: 0 });
    expect(puts).toEqual([]);
  });

  it('names each event once and in order', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    const replication = replicate(a, b);
    const events: string[] = [];
    for (const event of ['active', 'paused', 'change', 'denied', 'complete', 'error'] as const) {
      replication.on(event, () => events.push(event));
    }
    await replication;
    expect(events).toEqual(['active', 'change', 'paused', 'complete']);
  });
});

describe('filters', () => {
  const filters: [string, object, string[]][] = [
    ['a function', { filter: (doc: { n?: number }) => (doc.n ?? 0) % 2 === 1 }, ['doc1', 'doc3']],
    ['doc_ids', { doc_ids: ['doc3', 'doc0', 'nothing'] }, ['doc0', 'doc3']],
    ['a selector', { selector: { n: { $gt: 2 } } }, ['doc3', 'doc4']],
    ['a ddoc filter with parameters', { filter: 'd/below', query_params: { n: 2 } }, ['doc0', 'doc1']],
    ['a view', { view: 'd/two' }, ['doc2']],
  ];
  it.each(filters)('are decided at the source: %s', async (_name, options, ids) => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    await a.put({
      _id: '_design/d',
      filters: { below: 'function (doc, req) { return doc.n < req.query.n; }' },
      views: { two: { map: 'function (doc) { if (doc.n === 2) emit(doc._id); }' } },
    });
    const result = await replicate(a, b, { ...options, batch_size: 1 });
    const { rows } = await b.allDocs();
    expect(rows.map(({ key }) => key)).toEqual(ids);
    expect(result).toMatchObject({ docs_written: ids.length, last_seq: 6 });
    expect(await replicate(a, b, options)).toMatchObject({ docs_read: 0, docs_written: 0 });
  });

  it('keep checkpoints apart', async () => {
    const [a, b] = await openTwo();
    await fill(a, 5);
    await replicate(a, b, { doc_ids: ['doc0'] });
    expect(await replicate(a, b, { doc_ids: ['doc0', 'doc1'] })).toMatchObject({ docs_written: 1 });
    expect(await replicate(a, b)).toMatchObject({ docs_written: 3 });
  });

  it('winners only, on request', async () => {
    const [a, b] = await openTwo();
    const leaves = ['1-a', '1-b'].map((_rev) => ({ _id: 'x', _rev }));
    await a.bulkDocs(leaves, { new_edits: false });
    expect(await replicate(a, b, { winning_revs_only: true })).toMatchObject({ docs_written: 1 });
    expect(await replicate(a, b)).toMatchObject({ docs_written: 1 });
  });
});

describe('wrong use', () => {
  it.each([
    [
      { doc_ids: 'foo' },
      { status: 400, name: 'bad_request', reason: '`doc_ids` filter parameter is not a list.' },
    ],
    [
      { selector: {}, filter: () => true },
      { status: 400, message: 'selector invalid for filter "function"' },
    ],
    [
      { selector: {}, filter: 'a/b' },
      { status: 400, message: 'selector invalid for filter "a/b"' },
    ],
    [{ filter: 5 }, { status: 400, message: '`filter` must be a function or a name' }],
    [{ batch_size: 0 }, { name: 'TypeError' }],
    [{ batch_size: Number.NaN }, { name: 'TypeError' }],
    [{ checkpoint: 'both' }, { name: 'TypeError' }],
    [{ style: 'none' }, { status: 400 }],
  ])('is told before anything is asked, also with retry: %o', async (options, expected) => {
    const [a, b] = await openTwo();
    const events: string[] = [];
    const replication = replicate(a, b, { live: true, retry: true, ...options } as object);
    for (const event of ['active', 'paused', 'change', 'complete', 'error'] as const) {
      replication.on(event, () => events.push(event));
    }
    await expect(replication).rejects.toMatchObject(expected);
    await expect(replication).rejects.toHaveProperty('result.ok', false);
    expect(events).toEqual(['error']);
  });

  it('is told of something that is no database', async () => {
    const a = await open();
    await expect(replicate(a, {} as never)).rejects.toThrow(/target.*id/);
    await expect(replicate(undefined as never, a)).rejects.toThrow(/source/);
  });

  it('is told of a filter that is not there', async () => {
    const [a, b] = await openTwo();
    await expect(replicate(a, b, { filter: 'no/thing', retry: true })).rejects.toMatchObject({ status: 404 });
  });
});
