/** Documents that a one-shot replication cannot fetch, or does not take as they come. */
import { describe, expect, it } from 'vitest';
import { replicate } from '../../packages/replication/src/index';
import { contents, failureOf, fetchingPeer, fill, openTwo, peer, statusError } from './databases';

describe('a document that cannot be fetched', () => {
  const answers: [string, Record<string, unknown>[]][] = [
    ['an error row', [{ error: { id: 'doc3', rev: '1-x', error: 'internal_error', reason: 'broken' } }]],
    ['an error', [{ error: statusError(500, 'corrupt') }]],
    [
      'a 404 although the feed lists it still',
      [{ error: { id: 'doc3', error: 'not_found', reason: 'missing' } }],
    ],
    ['a missing one, as PouchDB says it, although the feed lists it still', [{ missing: '1-x' }]],
    ['no row at all', []],
    ['another document', [{ ok: { _id: 'doc4', _rev: '1-a', _revisions: { start: 1, ids: ['a'] } } }]],
    ['another revision', [{ ok: { _id: 'doc3', _rev: '1-a', _revisions: { start: 1, ids: ['a'] } } }]],
    ['no ancestry', [{ ok: { _id: 'doc3', _rev: '1-a' } }]],
    ['a wrong ancestry', [{ ok: { _id: 'doc3', _rev: '2-a', _revisions: { start: 2, ids: ['b', 'a'] } } }]],
    [
      'an impossible generation',
      [{ ok: { _id: 'doc3', _rev: '1-a', _revisions: { start: 2 ** 53, ids: ['a'] } } }],
    ],
    ['an empty ancestry', [{ ok: { _id: 'doc3', _rev: '1-a', _revisions: { start: 1, ids: [] } } }]],
    [
      'an ancestry that is no list',
      [{ ok: { _id: 'doc3', _rev: '1-a', _revisions: { start: 1, ids: 'a' } } }],
    ],
    ['a malformed revision', [{ ok: { _id: 'doc3', _rev: {}, _revisions: { start: 1, ids: ['a'] } } }]],
  ];
  it.each(
    answers,
  )('fails the run, but not its neighbours, and is had the next time: %s', async (_name, docs) => {
    const [a, b] = await openTwo();
    await fill(a, 10);
    const source = fetchingPeer(a, (id) => (id === 'doc3' ? docs : undefined));
    const changes: number[] = [];
    const replication = replicate(source, b);
    replication.on('change', (change) => changes.push(change.docs.length));
    const error = await failureOf(replication);
    expect(error).toBeInstanceOf(Error);
    expect(error.result).toMatchObject({ ok: false, docs_read: 9, docs_written: 9, last_seq: 0 });
    expect(changes).toEqual([9]);
    expect((await b.info()).doc_count).toBe(9);
    expect(await replicate(a, b)).toMatchObject({ ok: true, docs_read: 1, docs_written: 1 });
    expect(await contents(b)).toEqual(await contents(a));
  });

  const changed: [string, (doc: { _rev: string; _revisions: object }) => object][] = [
    ['another id', () => ({ _id: 'doc4' })],
    ['no ancestry', () => ({ _revisions: undefined })],
    ['the ancestry of another', ({ _revisions }) => ({ _revisions: { ..._revisions, ids: ['b'] } })],
    ['attachments that are none', () => ({ _attachments: { f: 7 } })],
  ];
  it.each(changed)('is not taken with the revision that was asked for, and %s', async (_name, change) => {
    const [a, b] = await openTwo();
    await fill(a, 10);
    const source = fetchingPeer(a, (id, docs) => {
      const { ok } = docs[0] as { ok: { _rev: string; _revisions: object } };
      return id === 'doc3' ? [{ ok: { ...ok, ...change(ok) } }] : undefined;
    });
    const error = await failureOf(replicate(source, b));
    expect(error).toMatchObject({ name: 'malformed_document', result: { docs_written: 9 } });
    await expect(b.get('doc3')).rejects.toMatchObject({ status: 404 });
  });

  it.each([
    25, 200,
  ])('keeps none of its neighbours back, though many make each request fail: of %d', async (count) => {
    const [a, b] = await openTwo();
    await fill(a, count);
    const isBad = (id: string): boolean => Number(id.slice(3)) % 4 === 1;
    let requests = 0;
    const source = peer(a, {
      bulkGet: (request: { docs: { id: string }[] }) => {
        requests++;
        if (request.docs.some(({ id }) => isBad(id))) throw statusError(500, 'internal_server_error');
        return a.bulkGet(request);
      },
    });
    const error = await failureOf(replicate(source, b, { batch_size: count }));
    expect(error).toMatchObject({ status: 500, docId: 'doc1', result: { last_seq: 0 } });
    expect((await b.info()).doc_count).toBe(Math.ceil((count * 3) / 4));
    expect(requests).toBeLessThan(2 * count);
  });

  it('fails alone where the source answers all revisions of a document together', async () => {
    const [a, b] = await openTwo();
    const revs = ['1-a', '1-b'].map((_rev) => ({ _id: 'x', _rev }));
    await a.bulkDocs(revs, { new_edits: false });
    const docs = [
      { ok: { _id: 'x', _rev: '1-a', _revisions: { start: 1, ids: ['a'] } } },
      { error: { id: 'x', rev: '1-b', error: 'oops', reason: 'broken' } },
    ];
    const error = await failureOf(
      replicate(peer(a, { bulkGet: async () => ({ results: [{ id: 'x', docs }] }) }), b),
    );
    expect(error.message).toContain('Document x, revision 1-b, could not be read: broken');
    expect(error.result).toMatchObject({ docs_written: 1, doc_write_failures: 0 });
    expect((await b.get('x'))._rev).toBe('1-a');
  });

  it('was edited so often meanwhile that its newer revision does not tell of it: that is taken', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    const newer = { _id: 'doc1', _rev: '9-i', _revisions: { start: 9, ids: ['i', 'h'] } };
    const source = fetchingPeer(a, (id) => (id === 'doc1' ? [{ ok: newer }] : undefined));
    expect(await replicate(source, b)).toMatchObject({ ok: true, docs_written: 3 });
    expect((await b.get('doc1'))._rev).toBe('9-i');
  });

  it('fails the run, but not its neighbours, when it makes the whole request fail', async () => {
    const [a, b] = await openTwo();
    await fill(a, 100);
    let requests = 0;
    const source = peer(a, {
      bulkGet: async (request: { docs: { id: string }[] }) => {
        requests++;
        if (request.docs.some(({ id }) => id === 'doc57')) throw statusError(500, 'corrupt');
        return a.bulkGet(request);
      },
    });
    const error = await failureOf(replicate(source, b));
    expect(error.result).toMatchObject({ ok: false, docs_read: 99, docs_written: 99 });
    expect(error.message).toContain('doc57');
    expect(requests).toBeLessThan(30);
  });

  it('keeps the batches before it acknowledged', async () => {
    const [a, b] = await openTwo();
    await fill(a, 30);
    const error = await failureOf(
      replicate(
        fetchingPeer(a, (id) => (id === 'doc25' ? [{ error: { error: 'oops' } }] : undefined)),
        b,
        { batch_size: 10 },
      ),
    );
    expect(error.result).toMatchObject({ docs_written: 29, last_seq: 20 });
    const since: unknown[] = [];
    const source = peer(a, {
      changes: (options: { since: unknown }) => {
        since.push(options.since);
        return a.changes(options as never);
      },
    });
    expect(await replicate(source, b)).toMatchObject({ docs_written: 1 });
    expect(since[0]).toBe(20);
  });

  it('gives up on a request that fails whatever is asked', async () => {
    const [a, b] = await openTwo();
    await fill(a, 100);
    let requests = 0;
    const source = peer(a, {
      bulkGet: () => {
        requests++;
        throw statusError(500, 'down');
      },
    });
    expect((await failureOf(replicate(source, b))).result).toMatchObject({ docs_written: 0, last_seq: 0 });
    expect(requests).toBeLessThanOrEqual(12);
  });

  it.each([
    500, 413,
  ])('is waited for, though it is alone, while requests for any fail (%i)', async (status) => {
    const [a, b] = await openTwo();
    await fill(a, 1);
    let failing = 50;
    const source = peer(a, {
      bulkGet: (request: never) => {
        if (failing-- > 0) throw statusError(status, 'out of time');
        return a.bulkGet(request);
      },
    });
    const options = { retry: true, back_off_function: () => 0 };
    expect(await replicate(source, b, options)).toMatchObject({ ok: true, docs_read: 1, docs_written: 1 });
    expect(failing).toBe(-1);
  });

  it.each([
    ['no longer answers', Object.assign(new Error('cut'), { name: 'unreachable' })],
    ['has nobody left who could', statusError(503, 'service_unavailable')],
  ])('is waited for where the server %s when it is asked about another', async (_, next) => {
    const [a, b] = await openTwo();
    await fill(a, 1);
    let asked = 0;
    const source = peer(a, {
      bulkGet: (request: never) => {
        if (++asked > 50) return a.bulkGet(request);
        throw asked % 2 === 1 ? statusError(500, 'going down') : next;
      },
    });
    const options = { retry: true, back_off_function: () => 0 };
    expect(await replicate(source, b, options)).toMatchObject({ ok: true, docs_read: 1, docs_written: 1 });
  });
});
