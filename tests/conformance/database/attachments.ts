/**
 * Attachments (contract §8): in every form they are written and read in, their stubs, and what becomes of their content.
 */
import { describe, expect } from 'vitest';
import {
  ascii,
  base64,
  base64Text,
  bytesOf,
  gzipped,
  noise,
  same,
  streamed,
  streamOf,
  TEXT,
} from './attachment-bytes';
import type { Context } from './context';
import {
  changesOf,
  edit,
  getDoc,
  Listening,
  numbered,
  openRevs,
  refused,
  rejection,
  store,
  unchanged,
} from './expectations';
import type { TestDatabase, TestDoc, TestStub } from './types';

const HELLO = 'md5-XUFAKrxLKna5cZ2REBfFkg==';
const hello = { content_type: TEXT, data: base64Text('hello') };
const helloStub = { content_type: TEXT, digest: HELLO, length: 5, revpos: 1, stub: true };
const NO_STUB = { status: 412, name: 'missing_stub' };
const NOT_BASE64 = { status: 500, name: 'badarg', message: 'Some query argument is invalid' };

const attachmentsOf = (doc: TestDoc): Record<string, TestStub> => doc._attachments ?? {};

export function attachmentsConformance(context: Context): void {
  describe('written', () => written(context));
  describe('read', () => read(context));
  describe('one by one', () => oneByOne(context));
  describe('as streams', () => streams(context));
  describe('stubs', () => stubs(context));
  describe('replicated', () => replicated(context));
  describe('over time', () => overTime(context));
  describe('of _local documents', () => ofLocal(context));
}

function written(context: Context): void {
  const when = context.when.bind(context, 'attachments');

  const forms: Record<string, (bytes: Uint8Array<ArrayBuffer>) => unknown> = {
    base64: (bytes) => base64(bytes),
    'a Blob': (bytes) => new Blob([bytes], { type: 'x/y' }),
    'a Uint8Array': (bytes) => bytes,
    'a view into a larger buffer': (bytes) => {
      const room = new Uint8Array(bytes.length + 20).fill(9);
      room.set(bytes, 7);
      return room.subarray(7, 7 + bytes.length);
    },
    'an ArrayBuffer': (bytes) => bytes.buffer,
    'a stream': (bytes) => streamOf(bytes.slice(0, 10), bytes.slice(10, 11), bytes.slice(11)),
    'an async iterable': async function* (bytes) {
      yield bytes.slice(0, 100);
      yield bytes.slice(100);
    } as (bytes: Uint8Array) => AsyncIterable<Uint8Array>,
    'a function that opens a stream': (bytes) => () => Promise.resolve(streamOf(bytes)),
  };
  for (const [form, make] of Object.entries(forms)) {
    when(`as ${form}, with NUL and 0x80–0xFF as they are`, async () => {
      const db = context.fresh();
      const all = new Uint8Array(512).map((_, i) => i);
      const { rev } = await db.put({
        _id: 'a',
        _attachments: { f: { content_type: 'x/y', data: make(all) } },
      });
      expect(attachmentsOf(await getDoc(db, 'a'))).toEqual({
        f: {
          content_type: 'x/y',
          digest: 'md5-9cjjwxwES64OZVaVYLVDMg==',
          length: 512,
          revpos: 1,
          stub: true,
        },
      });
      expect(same(await bytesOf(await db.getAttachment('a', 'f')), all)).toBe(true);
      // Equal content is an equal edit, whatever form it came in.
      const other = await db.put({
        _id: 'a',
        _rev: rev,
        _attachments: { f: { content_type: 'x/y', data: make(all) } },
      });
      expect(attachmentsOf(await getDoc(db, 'a', { rev: other.rev })).f).toMatchObject({ revpos: 1 });
    });
  }

  when('empty, of one byte, and of many chunks', async () => {
    const db = context.fresh();
    for (const length of [0, 1, 524_287, 524_288, 524_289, 1_600_000]) {
      const bytes = noise(length, length);
      for (const [form, data] of Object.entries({ bytes, text: base64(bytes), stream: streamOf(bytes) })) {
        const id = `${form} ${length}`;
        await db.put({ _id: id, _attachments: { f: { content_type: '', data } } });
        expect(attachmentsOf(await getDoc(db, id)).f).toMatchObject({ length, content_type: '' });
        expect(same(await bytesOf(await db.getAttachment(id, 'f')), bytes)).toBe(true);
        const doc = await getDoc(db, id, { attachments: true });
        expect(attachmentsOf(doc).f!.data === base64(bytes)).toBe(true);
      }
    }
  });

  when('with the digest CouchDB computes, and equal revisions in different databases', async () => {
    const [one, other] = [context.fresh(), context.fresh()];
    const doc = { _id: 'a', v: 1, _attachments: { z: hello, a: { content_type: 'x/y', data: '' } } };
    const backwards = { _id: 'a', v: 1, _attachments: { a: { content_type: 'x/y', data: '' }, z: hello } };
    const { rev } = await one.put(doc);
    expect((await other.put(backwards)).rev).toBe(rev);
    expect((await one.put({ _id: 'b', v: 1 })).rev).not.toBe(
      (await one.put({ _id: 'c', v: 1, _attachments: { z: hello } })).rev,
    );
    expect(attachmentsOf(await getDoc(one, 'a'))).toEqual({
      a: { content_type: 'x/y', digest: 'md5-1B2M2Y8AsgTpgAmY7PhCfg==', length: 0, revpos: 1, stub: true },
      z: helloStub,
    });
  });

  when('without a type: the Blob says it, or it is binary', async () => {
    const db = context.fresh();
    const blob = new Blob(['x'], { type: 'image/png' });
    await db.put({ _id: 'a', _attachments: { none: { data: 'AAAA' }, blob: { data: blob } } });
    const { none, blob: typed } = attachmentsOf(await getDoc(db, 'a'));
    expect(none!.content_type).toBe('application/octet-stream');
    expect(typed!.content_type).toBe('image/png');
  });

  when('keep nothing else that was given', async () => {
    const db = context.fresh();
    const given = {
      ...hello,
      follows: true,
      digest: 'md5-AAAA',
      revpos: 7,
      length: 3,
      encoding: 'gzip',
      foo: 1,
    };
    await db.put({ _id: 'a', _attachments: { f: given } });
    expect(attachmentsOf(await getDoc(db, 'a'))).toEqual({ f: helloStub });
  });

  when('as base64 with line ends, but not without padding nor with other letters', async () => {
    const db = context.fresh();
    await db.put({ _id: 'lines', _attachments: { f: { content_type: TEXT, data: 'aGVs\r\nbG8=\n' } } });
    expect(attachmentsOf(await getDoc(db, 'lines')).f!.digest).toBe(HELLO);
    await unchanged(db, async () => {
      for (const data of ['AA', '-_-_', 'AAA=A', 'tést', 'A===', '=', 'aGVs*G8=']) {
        await refused(db.put({ _id: 'a', _attachments: { f: { content_type: TEXT, data } } }), NOT_BASE64);
        await refused(db.putAttachment('a', 'f', null, data, TEXT), NOT_BASE64);
        await refused(db.bulkDocs([{ _id: 'b' }, { _id: 'a', _attachments: { f: { data } } }]), NOT_BASE64);
      }
    });
  });

  when('refuse what is no attachment', async () => {
    const db = context.fresh();
    await unchanged(db, async () => {
      for (const f of [
        null,
        1,
        'text',
        {},
        { data: null },
        { data: 1 },
        { data: {} },
        { follows: true, length: 3 },
      ]) {
        const error = await rejection(db.put({ _id: 'a', _attachments: { f } }));
        expect(error.status).toBe(400);
      }
      for (const name of ['_f', '_', '__proto__', '\ud800']) {
        const _attachments = JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(hello)}}`) as object;
        expect(await rejection(db.put({ _id: 'a', _attachments }))).toMatchObject({
          status: 400,
          name: 'bad_request',
        });
        expect(await rejection(db.putAttachment('a', name, null, 'AAAA', TEXT))).toMatchObject({
          status: 400,
        });
      }
    });
  });

  when('under any other name and id', async () => {
    const db = context.fresh();
    const names = [
      'a/b/c',
      '?',
      '@',
      'with space',
      'ünï',
      '😀',
      'constructor',
      'toString',
      '1',
      '10',
      '2',
      '%2F',
      '"',
      'a\\b',
    ];
    for (const id of ['a/b?c', 'constructor', '😀', '_design/x']) {
      const _attachments = Object.fromEntries(
        names.map((name, i) => [name, { content_type: TEXT, data: base64Text(`${id} ${name} ${i}`) }]),
      );
      await db.put({ _id: id, _attachments });
      expect(new Set(Object.keys(attachmentsOf(await getDoc(db, id))))).toEqual(new Set(names));
      for (const [i, name] of names.entries()) {
        const bytes = await bytesOf(await db.getAttachment(id, name));
        expect(new TextDecoder().decode(bytes)).toBe(`${id} ${name} ${i}`);
      }
    }
  });

  when('a hundred on one document, and one content on fifty', async () => {
    const db = context.fresh();
    const data = numbered(100).map((i) => noise(50 + i, i + 1));
    const _attachments = Object.fromEntries(
      data.map((bytes, i) => [`f${i}`, { content_type: TEXT, data: base64(bytes) }]),
    );
    await db.bulkDocs([
      { _id: 'many', _attachments },
      ...numbered(50).map((i) => ({ _id: `same${i}`, _attachments: { f: hello, g: hello } })),
    ]);
    const many = attachmentsOf(await getDoc(db, 'many', { attachments: true }));
    for (const [i, bytes] of data.entries()) expect(many[`f${i}`]!.data).toBe(base64(bytes));
    const { rows } = await db.allDocs({ include_docs: true, startkey: 'same' });
    expect(rows.map(({ doc }) => attachmentsOf(doc!))).toEqual(
      numbered(50).map(() => ({ f: helloStub, g: helloStub })),
    );
  });

  when('are not kept by a deletion', async () => {
    const db = context.fresh();
    const { rev } = await db.put({ _id: 'a', _attachments: { f: hello } });
    const gone = await db.put({ _id: 'a', _rev: rev, _deleted: true, why: 'x', _attachments: { f: hello } });
    expect(await getDoc(db, 'a', { rev: gone.rev })).toEqual({
      _id: 'a',
      _rev: gone.rev,
      _deleted: true,
      why: 'x',
    });
  });

  when('of a call whose stream fails leave nothing written', async () => {
    const db = context.fresh();
    const failing = (): ReadableStream<Uint8Array> => {
      let pulls = 0;
      return new ReadableStream({
        pull(controller) {
          if (++pulls > 3) controller.error(new Error('the line was cut'));
          else controller.enqueue(noise(400_000, pulls));
        },
      });
    };
    await unchanged(db, async () => {
      const error = await rejection(db.putAttachment('a', 'f', null, failing(), TEXT));
      expect(error.message).toBe('the line was cut');
      await rejection(db.bulkDocs([{ _id: 'b' }, { _id: 'a', _attachments: { f: { data: failing() } } }]));
    });
    await db.putAttachment('a', 'f', null, noise(10), TEXT);
  });

  when('can be given up by a signal while a stream gives nothing', async () => {
    const db = context.fresh();
    if (!context.features.signals) return;
    await db.info(); // it is open
    const abort = new AbortController();
    let cancelled = false;
    const silent = new ReadableStream({
      pull: () => new Promise<void>(() => {}),
      cancel() {
        cancelled = true;
      },
    });
    const call = db.put({ _id: 'a', _attachments: { f: { data: silent } } }, { signal: abort.signal });
    setTimeout(() => abort.abort(new Error('enough')), 10);
    expect((await rejection(call)).message).toBe('enough');
    await expect.poll(() => cancelled).toBe(true);
    expect((await db.info()).doc_count).toBe(0);
  });
}

/** Every way to read documents with attachments. */
const READS: Record<string, (db: TestDatabase, id: string, options: object) => Promise<TestDoc>> = {
  get: (db, id, options) => getDoc(db, id, options),
  'get of a revision': async (db, id, options) =>
    getDoc(db, id, { rev: (await getDoc(db, id))._rev, ...options }),
  open_revs: async (db, id, options) => (await openRevs(db, id, 'all', options))[0]!.ok!,
  bulkGet: async (db, id, options) =>
    (await db.bulkGet({ docs: [{ id }], ...options })).results[0]!.docs[0]!.ok!,
  allDocs: async (db, id, options) =>
    (await db.allDocs({ key: id, include_docs: true, ...options })).rows[0]!.doc!,
  'allDocs by keys': async (db, id, options) =>
    (await db.allDocs({ keys: ['missing', id], include_docs: true, ...options })).rows[1]!.doc!,
  changes: async (db, id, options) =>
    (await changesOf(db, { doc_ids: [id], include_docs: true, ...options })).results[0]!.doc!,
  'live changes': async (db, id, options) => {
    const listening = new Listening(db.changes({ live: true, include_docs: true, ...options }));
    await listening.heardOf(id);
    listening.feed.cancel();
    return listening.changes.find((change) => change.id === id)!.doc!;
  },
};

function read(context: Context): void {
  const when = context.when.bind(context, 'attachments');
  const bytes = noise(3000);
  const setUp = async (): Promise<TestDatabase> => {
    const db = context.fresh();
    await db.put({ _id: 'plain', v: 1 });
    await db.put({
      _id: 'a',
      v: 1,
      _attachments: {
        f: hello,
        g: { content_type: 'x/y', data: base64(bytes) },
        e: { content_type: '', data: '' },
      },
    });
    return db;
  };

  for (const [verb, reads] of Object.entries(READS)) {
    when(`by ${verb}: stubs, base64, or bytes`, async () => {
      const db = await setUp();
      const stub = { content_type: 'x/y', length: 3000, revpos: 1, stub: true };
      const doc = await reads(db, 'a', {});
      expect(doc).toMatchObject({ v: 1, _attachments: { f: helloStub, g: stub } });
      expect(Object.keys(attachmentsOf(doc)).sort()).toEqual(['e', 'f', 'g']);
      const { digest } = attachmentsOf(doc).g!;
      const whole = attachmentsOf(await reads(db, 'a', { attachments: true }));
      expect(whole.f).toEqual({ content_type: TEXT, digest: HELLO, revpos: 1, data: hello.data });
      expect(whole.g).toEqual({ content_type: 'x/y', digest, revpos: 1, data: base64(bytes) });
      expect(whole.e!.data).toBe('');
      const binary = attachmentsOf(await reads(db, 'a', { attachments: true, binary: true }));
      expect(Object.keys(binary.g!).sort()).toEqual(['content_type', 'data', 'digest', 'revpos']);
      for (const [name, expected] of Object.entries({ f: ascii('hello'), g: bytes, e: new Uint8Array() })) {
        const { data, content_type } = binary[name]! as { data: { type: string }; content_type: string };
        expect(same(await bytesOf(data), expected)).toBe(true);
        expect(data.type).toBe(content_type);
      }
      expect(await reads(db, 'plain', { attachments: true, binary: true })).not.toHaveProperty(
        '_attachments',
      );
    });
  }

  when('not at all where documents are not', async () => {
    const db = await setUp();
    const { rows } = await db.allDocs({ attachments: true, binary: true });
    expect(rows.every((row) => !('doc' in row))).toBe(true);
    const { results } = await changesOf(db, { attachments: true, binary: true });
    expect(results.every((row) => !('doc' in row))).toBe(true);
  });

  when('a document can be written again as it was read, with any options', async () => {
    const db = await setUp();
    for (const options of [
      {},
      { attachments: true },
      { attachments: true, binary: true },
      { att_encoding_info: true },
    ]) {
      const doc = await getDoc(db, 'a', options);
      await db.put({ ...doc, v: 2 });
      const { f, g } = attachmentsOf(await getDoc(db, 'a', { attachments: true }));
      expect(f).toEqual({ content_type: TEXT, digest: HELLO, revpos: 1, data: hello.data });
      expect(g).toMatchObject({ revpos: 1, data: base64(bytes) });
    }
  });

  when('atts_since: data only of what changed after', async () => {
    const db = await setUp();
    const first = (await getDoc(db, 'a'))._rev;
    const { rev } = await db.putAttachment('a', 'new', first, ascii('new'), TEXT);
    const since = (atts_since: string[], options = {}) => getDoc(db, 'a', { atts_since, ...options });
    const withData = (doc: TestDoc) =>
      Object.entries(attachmentsOf(doc)).flatMap(([name, { data }]) => (data === undefined ? [] : [name]));
    expect(withData(await since([first]))).toEqual(['new']);
    expect(withData(await since([first], { attachments: true }))).toEqual(['new']);
    expect(withData(await since([rev]))).toEqual([]);
    expect(withData(await since(['9-99999999999999999999999999999999'])).sort()).toEqual([
      'e',
      'f',
      'g',
      'new',
    ]);
    expect(await since([first])).not.toHaveProperty('_revisions');
    const { results } = await db.bulkGet({
      docs: [
        { id: 'a', rev, atts_since: [first] },
        { id: 'a', rev },
      ],
      attachments: true,
    });
    expect(results.map(({ docs }) => withData(docs[0]!.ok!).sort())).toEqual([
      ['new'],
      ['e', 'f', 'g', 'new'],
    ]);
  });
}

function oneByOne(context: Context): void {
  const when = context.when.bind(context, 'attachments');

  when('put makes the document, and edits it by its revision', async () => {
    const db = context.fresh();
    const one = await db.putAttachment('a', 'f', ascii('hello'), TEXT);
    expect(one).toMatchObject({ ok: true, id: 'a' });
    const two = await db.putAttachment('a', 'g', one.rev, base64Text('other'), 'x/y');
    expect(attachmentsOf(await getDoc(db, 'a'))).toMatchObject({
      f: helloStub,
      g: { revpos: 2, content_type: 'x/y' },
    });
    for (const none of [null, '', undefined]) {
      await db.putAttachment(`b${String(none)}`, 'f', none, ascii('hello'), TEXT);
    }
    // A new body under an old name replaces it.
    const three = await db.putAttachment('a', 'f', two.rev, ascii('again'), 'a/b');
    expect(attachmentsOf(await getDoc(db, 'a')).f).toMatchObject({
      revpos: 3,
      content_type: 'a/b',
      length: 5,
    });
    expect(attachmentsOf(await getDoc(db, 'a')).g).toMatchObject({ revpos: 2 });
    expect(new TextDecoder().decode(await bytesOf(await db.getAttachment('a', 'f', { rev: two.rev })))).toBe(
      'hello',
    );
    await db.remove('a', three.rev);
    const four = await db.putAttachment('a', 'f', ascii('hello'), TEXT);
    expect(four.rev).toMatch(/^5-/);
  });

  when('put keeps the fields of the document', async () => {
    const db = context.fresh();
    const { rev } = await db.put({ _id: 'a', deep: { list: [1, null] } });
    await db.putAttachment('a', 'f', rev, ascii('hello'), TEXT);
    expect(await getDoc(db, 'a')).toMatchObject({ deep: { list: [1, null] } });
  });

  when('put with a wrong revision, or without one, is a conflict', async () => {
    const db = context.fresh();
    const { rev } = await db.put({ _id: 'a' });
    const two = await db.put({ _id: 'a', _rev: rev, v: 2 });
    await unchanged(db, async () => {
      for (const wrong of [
        rev,
        '1-ffffffffffffffffffffffffffffffff',
        '9-ffffffffffffffffffffffffffffffff',
        null,
      ]) {
        await refused(db.putAttachment('a', 'f', wrong, ascii('x'), TEXT), { status: 409, name: 'conflict' });
      }
      await refused(db.putAttachment('new', 'f', rev, ascii('x'), TEXT), { status: 409, name: 'conflict' });
    });
    expect(
      (await rejection(db.putAttachment('a', 'f', 'bogus', ascii('x'), TEXT))).status,
    ).toBeGreaterThanOrEqual(400);
    await db.putAttachment('a', 'f', two.rev, ascii('x'), TEXT);
  });

  when('get has a type, and misses what is not there', async () => {
    const db = context.fresh();
    const { rev } = await db.put({ _id: 'a', v: 1 });
    await db.putAttachment('a', 'f/g h', rev, ascii('hello'), 'x/y; z=1');
    const data = (await db.getAttachment('a', 'f/g h')) as Blob;
    expect(data.type).toBe('x/y; z=1');
    const missing = { status: 404, name: 'not_found' };
    await refused(db.getAttachment('none', 'f'), missing);
    await refused(db.getAttachment('a', 'f'), missing);
    await refused(db.getAttachment('a', 'constructor'), missing);
    await refused(db.getAttachment('a', '__proto__'), missing);
    await refused(db.getAttachment('a', 'f/g h', { rev }), missing);
    await refused(db.getAttachment('a', 'f/g h', { rev: '9-ffffffffffffffffffffffffffffffff' }), missing);
    await db.remove('a', (await getDoc(db, 'a'))._rev);
    await refused(db.getAttachment('a', 'f/g h'), missing);
  });

  when('remove takes one off, and the last one with the field', async () => {
    const db = context.fresh();
    const one = await db.put({ _id: 'a', v: 1, _attachments: { f: hello, g: hello, h: { data: 'AAAA' } } });
    expect(
      (await rejection(db.removeAttachment('a', 'f', '1-ffffffffffffffffffffffffffffffff'))).status,
    ).toBe(409);
    expect((await rejection(db.removeAttachment('a', 'f', 'bogus'))).status).toBe(400);
    expect((await rejection(db.removeAttachment('none', 'f', one.rev))).status).toBe(404);
    const two = await db.removeAttachment('a', 'f', one.rev);
    expect(Object.keys(attachmentsOf(await getDoc(db, 'a'))).sort()).toEqual(['g', 'h']);
    await refused(db.getAttachment('a', 'f'), { status: 404, name: 'not_found' });
    expect(same(await bytesOf(await db.getAttachment('a', 'g')), ascii('hello'))).toBe(true);
    const three = await db.removeAttachment('a', 'g', two.rev);
    await db.removeAttachment('a', 'h', three.rev);
    const doc = await getDoc(db, 'a');
    expect(doc).toMatchObject({ v: 1 });
    expect(doc).not.toHaveProperty('_attachments');
  });

  when('an update that does not name them drops them', async () => {
    const db = context.fresh();
    const { rev } = await db.put({ _id: 'a', _attachments: { f: hello } });
    await db.put({ _id: 'a', _rev: rev, v: 2 });
    expect(await getDoc(db, 'a')).not.toHaveProperty('_attachments');
    expect(same(await bytesOf(await db.getAttachment('a', 'f', { rev })), ascii('hello'))).toBe(true);
  });
}

function streams(context: Context): void {
  const when = context.when.bind(context, 'attachments');
  const bytes = noise(1_700_000);

  when('are read in chunks, whole or in parts', async () => {
    const db = context.fresh();
    await db.putAttachment('a', 'f', bytes, 'x/y');
    const opened = await db.openAttachment('a', 'f');
    const { length, digest } = attachmentsOf(await getDoc(db, 'a')).f!;
    expect(opened).toMatchObject({ content_type: 'x/y', length, digest, revpos: 1, size: 1_700_000 });
    expect(opened).not.toHaveProperty('encoding');
    expect(same(await streamed(opened), bytes)).toBe(true);
    const ranges = [
      [0, 1],
      [524_287, 524_289],
      [524_288, 1_048_576],
      [1, 1_699_999],
      [1_699_999, 1_700_000],
      [5, 9_999_999],
    ];
    for (const [start, end] of ranges) {
      const part = await db.openAttachment('a', 'f', { start, end });
      expect(part.size).toBe(Math.min(end!, bytes.length) - start!);
      expect(same(await streamed(part), bytes.slice(start, end))).toBe(true);
    }
    expect(
      same(await streamed(await db.openAttachment('a', 'f', { start: 1_600_000 })), bytes.slice(1_600_000)),
    ).toBe(true);
    for (const range of [
      { start: 1_700_000 },
      { start: 9_999_999 },
      { start: 5, end: 5 },
      { start: 5, end: 2 },
    ]) {
      await refused(db.openAttachment('a', 'f', range), {
        status: 416,
        name: 'requested_range_not_satisfiable',
      });
    }
    await refused(db.openAttachment('a', 'g'), { status: 404, name: 'not_found' });
    await db.putAttachment('empty', 'f', '', TEXT);
    expect((await streamed(await db.openAttachment('empty', 'f'))).length).toBe(0);
  });

  when('may be left before their end', async () => {
    const db = context.fresh();
    await db.putAttachment('a', 'f', bytes, 'x/y');
    const reader = (await db.openAttachment('a', 'f')).stream.getReader();
    const { value } = await reader.read();
    expect(value!.length).toBeLessThanOrEqual(1_000_000);
    await reader.cancel();
    await (await db.openAttachment('a', 'f')).stream.cancel();
    expect(same(await streamed(await db.openAttachment('a', 'f')), bytes)).toBe(true);
  });

  when('go from database to database, one into the other', async () => {
    const [source, target] = [context.fresh(), context.fresh()];
    await source.putAttachment('a', 'f', bytes, 'x/y');
    await target.putAttachment('b', 'g', null, (await source.openAttachment('a', 'f')).stream, 'x/y');
    expect(same(await bytesOf(await target.getAttachment('b', 'g')), bytes)).toBe(true);
  });

  when('of one call are read one after another, in the order they are given', async () => {
    const db = context.fresh();
    const order: string[] = [];
    const told = (name: string) => (): ReadableStream<Uint8Array> => {
      order.push(name);
      return streamOf(ascii(name), noise(600_000));
    };
    await db.bulkDocs([
      { _id: 'b', _attachments: { z: { data: told('b z') }, a: { data: told('b a') } } },
      { _id: 'a', _attachments: { f: { data: told('a f') } } },
    ]);
    expect(order).toEqual(['b z', 'b a', 'a f']);
  });
}

function stubs(context: Context): void {
  const when = context.when.bind(context, 'attachments');

  when('keep what is there, beside new bodies; others are dropped', async () => {
    const db = context.fresh();
    const one = await db.put({
      _id: 'a',
      _attachments: { f: hello, g: { content_type: 'x/y', data: 'AAAA' }, h: hello },
    });
    const { f } = attachmentsOf(await getDoc(db, 'a'));
    await db.put({
      _id: 'a',
      _rev: one.rev,
      _attachments: { f, g: { stub: true }, n: { content_type: 'x/y', data: 'AAAB' } },
    });
    const after = attachmentsOf(await getDoc(db, 'a'));
    expect(after).toMatchObject({
      f: helloStub,
      g: { revpos: 1, length: 3, content_type: 'x/y' },
      n: { revpos: 2 },
    });
    expect(Object.keys(after).sort()).toEqual(['f', 'g', 'n']);
  });

  when('of nothing are refused, and the whole call with them', async () => {
    const db = context.fresh();
    const { rev } = await db.put({ _id: 'a', _attachments: { f: hello } });
    const bad = { stub: true, digest: 'md5-AAAAAAAAAAAAAAAAAAAAAA==', content_type: TEXT, length: 3 };
    await unchanged(db, async () => {
      for (const _attachments of [
        { x: { stub: true } },
        { x: bad },
        { f: bad },
        { f: { stub: true }, x: bad, g: hello },
      ]) {
        await refused(db.put({ _id: 'a', _rev: rev, _attachments }), NO_STUB);
        await refused(db.put({ _id: 'new', _attachments }), NO_STUB);
        await refused(
          db.bulkDocs([
            { _id: 'ok' },
            { _id: 'good', _attachments: { f: hello } },
            { _id: 'new', _attachments },
          ]),
          NO_STUB,
        );
      }
    });
  });

  when('of a revision that is past are a conflict', async () => {
    const db = context.fresh();
    const one = await db.put({ _id: 'a', _attachments: { f: hello } });
    await db.put({ _id: 'a', _rev: one.rev, v: 2 });
    await refused(db.put({ _id: 'a', _rev: one.rev, _attachments: { f: { stub: true, digest: HELLO } } }), {
      status: 409,
      name: 'conflict',
    });
  });

  context.when('localAttachments', 'may name content of another document, and of the same call', async () => {
    const db = context.fresh();
    await db.put({ _id: 'a', _attachments: { f: hello } });
    await db
      .bulkDocs([
        { _id: 'b', _attachments: { g: { stub: true, digest: HELLO, content_type: 'x/y' } } },
        { _id: 'c', _attachments: { n: { content_type: TEXT, data: base64Text('new') } } },
        {
          _id: 'd',
          _attachments: { n: { content_type: TEXT, stub: true, digest: 'md5-Iq9kXRhZy1ym2gxITx836g==' } },
        },
      ])
      .then((rows) => expect(rows.slice(0, 2).every(({ ok }) => ok)).toBe(true));
    expect(attachmentsOf(await getDoc(db, 'b')).g).toEqual({ ...helloStub, content_type: 'x/y' });
    expect(same(await bytesOf(await db.getAttachment('b', 'g')), ascii('hello'))).toBe(true);
  });
}

function replicated(context: Context): void {
  const when = context.when.bind(context, 'attachments');
  const withData = (revpos?: number) => ({ f: { ...hello, ...(revpos === undefined ? {} : { revpos }) } });

  when('keep the position they come with', async () => {
    const db = context.fresh();
    await store(
      db,
      edit('a', '3-a 2-a 1-a', { _attachments: withData(2) }),
      edit('b', '3-a 2-a 1-a', { _attachments: withData() }),
      edit('c', '1-a', { _attachments: withData(5) }),
    );
    const positions = await Promise.all(
      ['a', 'b', 'c'].map(async (id) => attachmentsOf(await getDoc(db, id)).f!.revpos),
    );
    expect(positions).toEqual([2, 0, 5]);
  });

  when('written again change nothing', async () => {
    const db = context.fresh();
    const doc = edit('a', '2-a 1-a', { _attachments: withData(1) });
    await store(db, doc);
    await unchanged(db, () =>
      store(db, doc, edit('a', '2-a 1-a', { _attachments: { f: { ...hello, data: 'AAAA' } } })),
    );
    expect(attachmentsOf(await getDoc(db, 'a', { attachments: true })).f!.data).toBe(hello.data);
  });

  when('stubs of a revision that is here', async () => {
    const db = context.fresh();
    await store(db, edit('a', '1-a', { _attachments: withData(1) }));
    await store(db, edit('a', '2-a 1-a', { v: 2, _attachments: { f: helloStub } }));
    expect(attachmentsOf(await getDoc(db, 'a'))).toEqual({ f: helloStub });
    await store(db, edit('a', '3-a 2-a 1-a', { _attachments: { f: { stub: true, revpos: 1 } } }));
    expect(attachmentsOf(await getDoc(db, 'a', { attachments: true })).f).toMatchObject({
      data: hello.data,
      revpos: 1,
    });
  });

  when('stubs of nothing fail', async () => {
    const db = context.fresh();
    const bad = edit('a', '2-a 1-a', {
      _attachments: { f: { ...helloStub, digest: 'md5-AAAAAAAAAAAAAAAAAAAAAA==' } },
    });
    const answer = await db
      .bulkDocs([edit('b', '1-b'), bad], { new_edits: false })
      .catch((error: Error) => [error]);
    expect(answer).toEqual([expect.objectContaining(NO_STUB)]);
    await refused(db.get('a'), { status: 404, name: 'not_found' });
  });

  when('on tombstones, and on branches each its own', async () => {
    const db = context.fresh();
    await store(
      db,
      edit('a', '2-a 1-x', { _deleted: true, _attachments: withData(1) }),
      edit('a', '2-b 1-x', { _attachments: { f: { content_type: TEXT, data: base64Text('b'), revpos: 2 } } }),
      edit('a', '2-c 1-x', { _attachments: { f: { content_type: TEXT, data: base64Text('c'), revpos: 2 } } }),
    );
    for (const [rev, text] of [
      ['2-a', 'hello'],
      ['2-b', 'b'],
      ['2-c', 'c'],
    ] as const) {
      expect(new TextDecoder().decode(await bytesOf(await db.getAttachment('a', 'f', { rev })))).toBe(text);
    }
    const { rev } = await db.putAttachment('a', 'g', '2-b', ascii('more'), TEXT);
    expect(rev).toMatch(/^3-/);
    expect(attachmentsOf(await getDoc(db, 'a', { rev })).f).toMatchObject({ revpos: 2, length: 1 });
  });

  context.when(
    'localAttachments',
    'gzip of CouchDB is kept with its digest, and answered decoded',
    async () => {
      const db = context.fresh();
      const text = ascii('hello hello hello hello hello hello\n');
      // The very bytes CouchDB 3.5.2 stores for this text.
      const stored = await bytesOf('H4sIAAAAAAAAA8tIzcnJV8jAR3IBAPOgXcckAAAA');
      const digest = 'md5-QbYfNwPabLUJ7ISO/RnENA==';
      const f = { content_type: TEXT, revpos: 1, digest, length: 36, encoding: 'gzip', encoded: true };
      await store(db, edit('a', '1-a', { _attachments: { f: { ...f, data: streamOf(stored) } } }));
      const stub = { content_type: TEXT, revpos: 1, digest, length: 36, stub: true };
      expect(attachmentsOf(await getDoc(db, 'a'))).toEqual({ f: stub });
      const info = { encoding: 'gzip', encoded_length: 30 };
      for (const reads of Object.values(READS)) {
        expect(attachmentsOf(await reads(db, 'a', { att_encoding_info: true }))).toEqual({
          f: { ...stub, ...info },
        });
        const { f: whole } = attachmentsOf(
          await reads(db, 'a', { attachments: true, att_encoding_info: true }),
        );
        expect(whole).toEqual({ content_type: TEXT, revpos: 1, digest, data: base64(text), ...info });
      }
      expect(same(await bytesOf(await db.getAttachment('a', 'f')), text)).toBe(true);
      const decoded = await db.openAttachment('a', 'f', { start: 6, end: 11 });
      expect(decoded).toMatchObject({ size: 5, length: 36, encoded_length: 30 });
      expect(decoded).not.toHaveProperty('encoding');
      expect(new TextDecoder().decode(await streamed(decoded))).toBe('hello');
      const raw = await db.openAttachment('a', 'f', { encoded: true });
      expect(raw).toMatchObject({ encoding: 'gzip', size: 30 });
      expect(same(await streamed(raw), stored)).toBe(true);
      // The stub stands for the same content, here and under another document; the same bytes can also be content themselves.
      const doc = await getDoc(db, 'a');
      await db.put({ ...doc, v: 2 });
      await db.put({
        _id: 'b',
        _attachments: { g: { stub: true, digest, length: 36, content_type: 'x/y' } },
      });
      await db.put({ _id: 'c', _attachments: { g: { data: stored, content_type: 'application/gzip' } } });
      expect(same(await bytesOf(await db.getAttachment('b', 'g')), text)).toBe(true);
      expect(same(await bytesOf(await db.getAttachment('c', 'g')), stored)).toBe(true);
      await db.compact();
      expect(same(await bytesOf(await db.getAttachment('a', 'f')), text)).toBe(true);
      expect(same(await bytesOf(await db.getAttachment('c', 'g')), stored)).toBe(true);
    },
  );

  context.when('localAttachments', 'bytes that are not what they say fail their document alone', async () => {
    const db = context.fresh();
    const bytes = noise(700_000);
    const gzip = await gzipped(bytes);
    const wrong = [
      { data: bytes, encoded: true, digest: HELLO },
      { data: streamOf(bytes), encoded: true, length: 699_999 },
      { data: gzip, encoded: true, encoding: 'gzip', length: 5 },
      { data: bytes, encoded: true, encoding: 'gzip' },
      { data: gzip.slice(0, -10), encoded: true, encoding: 'gzip' },
      { data: bytes, encoded: true, encoding: 'deflate' },
      { data: 'no*base64' },
    ];
    const rows = await db.bulkDocs(
      [
        ...wrong.map((f, i) => edit(`bad${i}`, '1-a', { _attachments: { f } })),
        edit('good', '1-a', {
          _attachments: { f: { data: gzip, encoded: true, encoding: 'gzip', length: 700_000 } },
        }),
      ],
      { new_edits: false },
    );
    expect(rows.map(({ id }) => id)).toEqual(wrong.map((_, i) => `bad${i}`));
    expect(rows.map(({ name }) => name).slice(0, 2)).toEqual(['content_md5_mismatch', 'bad_request']);
    expect((await db.info()).doc_count).toBe(1);
    expect(same(await bytesOf(await db.getAttachment('good', 'f')), bytes)).toBe(true);
  });
}

function overTime(context: Context): void {
  const when = context.when.bind(context, 'attachments');
  const stubOf = (digest: string) => ({ stub: true, digest, content_type: TEXT });

  when('old revisions keep theirs until compaction, leaves for good', async () => {
    const db = context.fresh();
    const revs: string[] = [];
    for (const i of numbered(4)) {
      const { rev } = await db.putAttachment('a', 'f', revs.at(-1), ascii(`text ${i}`), TEXT);
      revs.push(rev);
    }
    for (const [i, rev] of revs.entries()) {
      expect(new TextDecoder().decode(await bytesOf(await db.getAttachment('a', 'f', { rev })))).toBe(
        `text ${i}`,
      );
    }
    await db.compact();
    for (const rev of revs.slice(0, -1))
      await refused(db.getAttachment('a', 'f', { rev }), { status: 404, name: 'not_found' });
    expect(new TextDecoder().decode(await bytesOf(await db.getAttachment('a', 'f')))).toBe('text 3');
  });

  context.when('localAttachments', 'content whose only holder was compacted away is no more', async () => {
    const db = context.fresh();
    const one = await db.put({ _id: 'a', _attachments: { f: hello } });
    await db.put({ _id: 'b', _attachments: { f: stubOf(HELLO) } });
    await db.put({ _id: 'a', _rev: one.rev, v: 2 });
    await db.compact();
    // Another document holds it still.
    expect(same(await bytesOf(await db.getAttachment('b', 'f')), ascii('hello'))).toBe(true);
    await db.put({ _id: 'c', _attachments: { f: stubOf(HELLO) } });
    for (const id of ['b', 'c']) await db.remove(await getDoc(db, id));
    await db.compact();
    await refused(db.put({ _id: 'd', _attachments: { f: stubOf(HELLO) } }), NO_STUB);
    await db.put({ _id: 'd', _attachments: { f: hello } });
    expect(same(await bytesOf(await db.getAttachment('d', 'f')), ascii('hello'))).toBe(true);
  });

  context.when('purge', "purge takes them along, and nobody else's", async () => {
    if (!context.features.localAttachments) return;
    const db = context.fresh();
    const { rev } = await db.put({ _id: 'a', _attachments: { f: hello, own: { data: 'AAAA' } } });
    await db.put({ _id: 'b', _attachments: { f: hello } });
    const { digest } = attachmentsOf(await getDoc(db, 'a')).own!;
    await db.purge('a', rev);
    await refused(db.put({ _id: 'c', _attachments: { f: stubOf(digest) } }), NO_STUB);
    await db.put({ _id: 'c', _attachments: { f: stubOf(HELLO) } });
    expect(same(await bytesOf(await db.getAttachment('b', 'f')), ascii('hello'))).toBe(true);
  });

  context.when('databaseOptions', 'auto_compaction drops content with the revision that had it', async () => {
    const db = context.fresh({ auto_compaction: true });
    const one = await db.putAttachment('a', 'f', ascii('hello'), TEXT);
    await db.putAttachment('b', 'f', ascii('hello'), TEXT);
    const two = await db.putAttachment('a', 'f', one.rev, ascii('other'), TEXT);
    expect(same(await bytesOf(await db.getAttachment('b', 'f')), ascii('hello'))).toBe(true);
    await db.put({ ...(await getDoc(db, 'b')), _attachments: {} });
    await refused(db.put({ _id: 'c', _attachments: { f: stubOf(HELLO) } }), NO_STUB);
    await db.put({ _id: 'a', _rev: two.rev, v: 1, _attachments: { f: { stub: true } } });
    expect(new TextDecoder().decode(await bytesOf(await db.getAttachment('a', 'f')))).toBe('other');
  });

  when('a hundred documents that share content and go in one call', async () => {
    const db = context.fresh();
    await db.bulkDocs(numbered(100).map((i) => ({ _id: `d${i}`, _attachments: { f: hello } })));
    const { rows } = await db.allDocs({ include_docs: true });
    await db.bulkDocs(
      rows.slice(0, 99).map(({ doc }) => ({ _id: doc!._id, _rev: doc!._rev, _deleted: true })),
    );
    await db.compact();
    const left = (await db.allDocs({ include_docs: true, attachments: true })).rows;
    expect(left.map(({ doc }) => attachmentsOf(doc!).f!.data)).toEqual([hello.data]);
  });

  when('puts go on while it is compacted', async () => {
    const db = context.fresh();
    const put = async (i: number): Promise<void> => {
      const { rev } = await db.putAttachment(`d${i % 5} ${i}`, 'f', ascii(`text ${i}`), TEXT);
      await db.putAttachment(`d${i % 5} ${i}`, 'f', rev, ascii(`text ${i + 1}`), TEXT);
    };
    await Promise.all(numbered(40).flatMap((i) => [put(i), ...(i % 8 === 0 ? [db.compact()] : [])]));
    await db.compact();
    for (const i of numbered(40)) {
      const text = new TextDecoder().decode(await bytesOf(await db.getAttachment(`d${i % 5} ${i}`, 'f')));
      expect(text).toBe(`text ${i + 1}`);
    }
  });

  when('are there after closing and opening again', async () => {
    const name = context.name();
    const db = context.open(name);
    const bytes = noise(1_100_000);
    await db.put({ _id: 'keep' });
    await db.putAttachment('a', 'f', bytes, 'x/y');
    if (db.adapter === 'memory') return; // forgets by its nature
    await db.close();
    const again = context.open(name);
    expect(same(await bytesOf(await again.getAttachment('a', 'f')), bytes)).toBe(true);
  });
}

function ofLocal(context: Context): void {
  const when = context.when.bind(context, 'localAttachments');

  when('are read with the document, and go with it', async () => {
    const db = context.fresh();
    const one = await db.put({ _id: '_local/l', v: 1, _attachments: { f: hello } });
    expect(attachmentsOf(await getDoc(db, '_local/l', { attachments: true })).f).toMatchObject({
      data: hello.data,
      content_type: TEXT,
    });
    await refused(db.getAttachment('_local/l', 'f'), { status: 404, name: 'not_found', message: 'missing' });
    await db.put({ _id: '_local/l', _rev: one.rev, v: 2, _attachments: { f: { stub: true } } });
    await db.compact();
    const doc = await getDoc(db, '_local/l', { attachments: true });
    expect(attachmentsOf(doc).f!.data).toBe(hello.data);
    await db.remove('_local/l', doc._rev);
    await db.compact();
    await refused(db.put({ _id: 'a', _attachments: { f: { stub: true, digest: HELLO } } }), NO_STUB);
  });
}
