/** Documents with attachments are transferred exactly, or not at all; what the target has is not sent again. */
import { beforeEach, describe, expect, it } from 'vitest';
import { replicate } from '../../packages/replication/src/index';
import { attachmentsOf, base64, bytes, type Db, make, put, watched } from './attached';
import { peer, statusError } from './databases';

let a: Db;
let b: Db;
beforeEach(() => {
  a = make();
  b = make();
});

async function gzip(data: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([data as Uint8Array<ArrayBuffer>])
    .stream()
    .pipeThrough(new CompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

describe('attachments', () => {
  it('arrive as they were, small and large, empty, oddly named, many on one document', async () => {
    await put(a, 'small', { 'a/b +%é': bytes(1000), empty: bytes(0), constructor: bytes(3) });
    await put(a, 'large', { big: bytes(3_000_000), little: bytes(10) });
    await a.put({ _id: 'none', n: 1 });
    expect(await replicate(a, b)).toMatchObject({ ok: true, docs_read: 3, docs_written: 3 });
    for (const id of ['small', 'large', 'none'])
      expect(await attachmentsOf(b, id)).toEqual(await attachmentsOf(a, id));
    expect(await replicate(a, b)).toMatchObject({ docs_read: 0 });
  });

  it('of every leaf and of tombstones arrive too', async () => {
    const stub = (text: string) => ({ f: { content_type: 't', data: btoa(text), revpos: 1 } });
    await a.bulkDocs(
      [
        { _id: 'x', _rev: '1-a', _attachments: stub('one') },
        { _id: 'x', _rev: '1-b', _attachments: stub('two') },
        { _id: 'gone', _rev: '1-c', _deleted: true, _attachments: stub('three') },
      ] as never,
      { new_edits: false },
    );
    expect(await replicate(a, b)).toMatchObject({ docs_written: 3 });
    for (const [id, rev, text] of [
      ['x', '1-a', 'one'],
      ['x', '1-b', 'two'],
      ['gone', '1-c', 'three'],
    ] as const) {
      const { _attachments } = await b.get(id, { rev, attachments: true });
      expect(_attachments).toMatchObject({ f: { data: btoa(text) } });
    }
  });

  it('that could not be written are not passed over by the next run', async () => {
    await a.put({ _id: 'none', n: 1 });
    await put(a, 'small', { f: bytes(1000) });
    await put(a, 'large', { f: bytes(3_000_000) });
    // The large one is sent first, by itself.
    for (const refused of ['large', 'small']) {
      const breaking = peer(b as never, {
        openAttachment: b.openAttachment.bind(b),
        bulkDocs: async (request: { docs: { _id: string }[] }, options: never) => {
          if (request.docs.some(({ _id }) => _id === refused)) throw statusError(503, 'unavailable');
          return b.bulkDocs(request as never, options);
        },
      });
      await expect(Promise.resolve(replicate(a, breaking))).rejects.toMatchObject({ status: 503 });
    }
    await replicate(a, b);
    for (const id of ['none', 'small', 'large'])
      expect(await attachmentsOf(b, id)).toEqual(await attachmentsOf(a, id));
  });

  it('that are large are streamed, and fetched with no document', async () => {
    await put(a, 'large', { one: bytes(800_000), two: bytes(900_000, 7) });
    const { source, requests, opened } = watched(a);
    await replicate(source, b);
    expect(opened).toEqual(['one', 'two']);
    expect(requests.some(({ attachments }) => attachments)).toBe(false);
    expect(await attachmentsOf(b, 'large')).toEqual(await attachmentsOf(a, 'large'));
  });

  it('that are streamed are told of as stubs, which any message can carry', async () => {
    await put(a, 'large', { big: bytes(1_500_000) });
    await a.put({ ...(await a.get('large')), n: 2 } as never);
    const docs: unknown[] = [];
    for await (const change of replicate(a, b)) docs.push(...structuredClone(change.docs));
    const { _rev, _attachments } = await a.get('large');
    expect(docs).toMatchObject([{ _id: 'large', _rev, n: 2 }]);
    expect(_attachments).toMatchObject({ big: { stub: true, length: 1_500_000 } });
    expect(docs).toHaveProperty('0._attachments', _attachments);
  });

  it('come with the document from a source that opens none', async () => {
    await put(a, 'large', { one: bytes(1_500_000) });
    const { source, opened } = watched(a, undefined, { openAttachment: undefined });
    await replicate(source, b);
    expect(opened).toEqual([]);
    expect(await attachmentsOf(b, 'large')).toEqual(await attachmentsOf(a, 'large'));
  });

  it('come with the document to a target that takes no streams, such as a PouchDB', async () => {
    await put(a, 'large', { one: bytes(1_500_000) });
    const target = peer(b as never, {
      bulkDocs: (request: never, options: never) => b.bulkDocs(JSON.parse(JSON.stringify(request)), options),
    });
    expect(await replicate(a, target)).toMatchObject({ docs_written: 1 });
    expect(await attachmentsOf(b, 'large')).toEqual(await attachmentsOf(a, 'large'));
  });

  it.each([
    undefined,
    null,
  ])('without a type (%s), as a PouchDB gives them, get the default', async (content_type) => {
    await put(a, 'untyped', { f: bytes(100), empty: bytes(0) });
    type Files = Record<string, object>;
    const { source } = watched(a, (doc) => {
      const { f, empty } = (doc as unknown as { _attachments: Files })._attachments;
      return { ...doc, _attachments: { f: { ...f, content_type }, empty: { ...empty, content_type } } };
    });
    const plain = { ...source, openAttachment: undefined };
    expect(await replicate(plain as never, b)).toMatchObject({ docs_written: 1, doc_write_failures: 0 });
    const about = { content_type: 'application/octet-stream' };
    expect(await b.get('untyped', { attachments: true })).toMatchObject({
      _attachments: { f: { ...about, data: base64(bytes(100)) }, empty: { ...about, data: '' } },
    });
  });

  it('that are stored encoded stay so, with the digest of the encoded bytes', async () => {
    const plain = new TextEncoder().encode('settled '.repeat(500));
    const data = await gzip(plain);
    const attachment = { content_type: 'text/plain', data, encoding: 'gzip', encoded: true, revpos: 1 };
    await a.bulkDocs([{ _id: 'x', _rev: '1-a', _attachments: { f: attachment } }] as never, {
      new_edits: false,
    });
    expect(await attachmentsOf(a, 'x')).toMatchObject({
      f: { encoding: 'gzip', encoded_length: data.length },
    });
    await replicate(a, b);
    expect(await attachmentsOf(b, 'x')).toEqual(await attachmentsOf(a, 'x'));
    // Where only the decoded bytes are to be had, the length is what there is to go by.
    const c = make();
    await replicate(watched(a, undefined, { openAttachment: undefined }).source, c);
    expect(await attachmentsOf(c, 'x')).toMatchObject({ f: { data: base64(plain) } });
  });
});

describe('what the target has', () => {
  it('is not sent again: unchanged attachments of an edited document stay stubs', async () => {
    await put(a, 'x', { one: bytes(1000), two: bytes(2000, 3) });
    await replicate(a, b);
    const doc = await a.get('x');
    await a.put({ ...doc, n: 2 } as never);
    const { source, requests } = watched(a);
    expect(await replicate(source, b)).toMatchObject({ docs_written: 1 });
    expect(requests).toHaveLength(1);
    const next = await a.get('x');
    const attachments = { ...next._attachments, two: { content_type: 'x/y', data: base64(bytes(50, 9)) } };
    await a.put({ ...next, _attachments: attachments } as never);
    const sent: string[] = [];
    const changed = watched(a, (read) => {
      const files = (read as { _attachments?: Record<string, { data?: string }> })._attachments ?? {};
      for (const [name, { data }] of Object.entries(files)) if (data !== undefined) sent.push(name);
      return read;
    });
    expect(await replicate(changed.source, b)).toMatchObject({ docs_written: 1 });
    expect(sent).toEqual(['two']);
    expect(await attachmentsOf(b, 'x')).toEqual(await attachmentsOf(a, 'x'));
  });

  it('and then has not (412) is sent after all', async () => {
    await put(a, 'x', { one: bytes(1000) });
    await put(a, 'y', { one: bytes(1000, 5) });
    await replicate(a, b);
    for (const id of ['x', 'y']) await a.put({ ...(await a.get(id)), n: 2 } as never);
    // Says that it has the ancestors, but has lost what they held.
    const c = make();
    const target = peer(c as never, {
      revsDiff: (revs: never) => b.revsDiff(revs),
    });
    const written: { _attachments: Record<string, { data?: string }> }[][] = [];
    const bulkDocs = target.bulkDocs.bind(target);
    Object.assign(target, {
      bulkDocs: (request: { docs: never[] }, options: never) => {
        written.push(request.docs);
        return bulkDocs(request as never, options);
      },
    });
    const result = await replicate(a, target, { checkpoint: false });
    expect(result).toMatchObject({ ok: true, docs_written: 2, doc_write_failures: 0 });
    expect(written.length).toBeGreaterThan(1);
    for (const id of ['x', 'y']) expect(await attachmentsOf(c, id)).toEqual(await attachmentsOf(a, id));
  });

  it.each([
    'is not read then',
    'comes with another that fails',
  ])('and then has not (412), and %s: the replication does not go past it', async (how) => {
    await put(a, 'x', { one: bytes(1000) });
    await put(a, 'y', { one: bytes(1000, 5) });
    await replicate(a, b);
    for (const id of ['x', 'y']) await a.put({ ...(await a.get(id)), n: 2 } as never);
    const c = make();
    const failure = { error: 'internal', status: 500, name: 'internal', reason: 'not now' };
    const isUnread = how.startsWith('is');
    const source = peer(a as never, {
      bulkGet: async (request: { latest?: boolean }) => {
        const { results } = await a.bulkGet(request as never);
        if (request.latest || !isUnread) return { results };
        return { results: results.map(({ id }) => ({ id, docs: [{ error: failure }] })) };
      },
    });
    const target = peer(c as never, {
      revsDiff: (revs: never) => b.revsDiff(revs),
      bulkDocs: async ({ docs }: { docs: { _id: string }[] }, options: never) => {
        const refused = isUnread ? [] : docs.filter(({ _id }) => _id === 'y');
        const taken = docs.filter((doc) => !refused.includes(doc));
        const rows = taken.length === 0 ? [] : await c.bulkDocs({ docs: taken } as never, options);
        return [...rows, ...refused.map(({ _id }) => ({ ...failure, id: _id, error: true }))];
      },
    });
    const result = { ok: false, last_seq: 0, docs_written: isUnread ? 0 : 1 };
    await expect(replicate(source, target, { checkpoint: false })).rejects.toMatchObject({ result });
  });

  const losses: [string, (db: Db, doc: { _id: string; _rev: string }) => Promise<unknown>][] = [
    ['edited and compacted', (db, doc) => db.put({ ...doc, n: 3 } as never).then(() => db.compact())],
    ['purged', (db, { _id, _rev }) => db.purge(_id, _rev)],
    ['deleted and compacted', (db, doc) => db.remove(doc).then(() => db.compact())],
  ];
  for (const length of [1000, 1_100_000])
    it.each(
      losses,
    )(`and then (412) is gone from the source, ${length} bytes, is passed for what followed: %s`, async (_, lose) => {
      await put(a, 'x', { one: bytes(length) });
      await put(a, 'y', { one: bytes(length, 5) });
      await replicate(a, b);
      for (const id of ['x', 'y']) await a.put({ ...(await a.get(id)), n: 2 } as never);
      const c = make();
      let writes = 0;
      const target = peer(c as never, {
        openAttachment: c.openAttachment.bind(c),
        revsDiff: (revs: never) => b.revsDiff(revs),
        bulkDocs: async (request: never, options: never) => {
          const rows = await c.bulkDocs(request, options);
          if (writes++ === 0) await lose(a, (await a.get('x')) as never);
          return rows;
        },
      });
      const result = await replicate(a, target, { batch_size: 10 });
      expect(result).toMatchObject({ ok: true, doc_write_failures: 0 });
      expect(result.last_seq).toBe((await a.info()).update_seq);
      expect(await attachmentsOf(c, 'y')).toEqual(await attachmentsOf(a, 'y'));
      expect(await c.allDocs({ include_docs: true })).toEqual(await a.allDocs({ include_docs: true }));
    });

  it.each([
    1, 40,
  ])('and says so for the whole request, as CouchDB does, is sent after all: of %d', async (count) => {
    const ids = Array.from({ length: count }, (_, i) => `x${i}`);
    for (const id of ids) await put(a, id, { one: bytes(1000, ids.indexOf(id)) });
    await replicate(a, b);
    for (const id of ids) await a.put({ ...(await a.get(id)), n: 2 } as never);
    await a.put({ _id: 'other' });
    const c = make();
    const target = peer(c as never, {
      revsDiff: (revs: never) => b.revsDiff(revs),
      bulkDocs: (request: { docs: { _attachments?: Record<string, { stub?: true }> }[] }, options: never) => {
        const stubs = request.docs.some(({ _attachments = {} }) =>
          Object.values(_attachments).some(({ stub }) => stub),
        );
        if (stubs) throw Object.assign(new Error('missing'), { status: 412, name: 'missing_stub' });
        return c.bulkDocs(request as never, options);
      },
    });
    expect(await replicate(a, target)).toMatchObject({ ok: true, docs_written: count + 1 });
    for (const id of ids) expect(await attachmentsOf(c, id)).toEqual(await attachmentsOf(a, id));
  });
});

describe('memory', () => {
  it('is bounded: many attachments travel in portions', async () => {
    for (let i = 0; i < 12; i++) await put(a, `d${i}`, { f: bytes(900_000, i) });
    const sizes: number[] = [];
    const target = peer(b as never, {
      bulkDocs: (request: { docs: unknown[] }, options: never) => {
        sizes.push(JSON.stringify(request.docs).length);
        return b.bulkDocs(request as never, options);
      },
    });
    expect(await replicate(a, target)).toMatchObject({ docs_written: 12 });
    expect(Math.max(...sizes)).toBeLessThan(6_000_000);
  });
});
