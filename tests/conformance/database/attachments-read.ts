/** Attachments in every form they are read in, one by one and as streams. */
import { expect } from 'vitest';
import {
  ascii,
  base64,
  base64Text,
  bytesOf,
  noise,
  same,
  streamed,
  streamOf,
  TEXT,
} from './attachment-bytes';
import { attachmentsOf, HELLO, hello, helloStub, READS } from './attachment-docs';
import type { Context } from './context';
import { changesOf, getDoc, refused, rejection, unchanged } from './expectations';
import type { TestDatabase, TestDoc } from './types';

export function read(context: Context): void {
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

  when('however many a document has, all of them are filled in', async () => {
    const db = context.fresh();
    const names = Array.from({ length: 250 }, (_, n) => `f${n}`);
    // Contents of their own: equal ones would be one.
    const given = names.map((name) => [name, { content_type: 'x/y', data: base64Text(name) }]);
    await db.put({ _id: 'many', _attachments: Object.fromEntries(given) });
    const found = attachmentsOf(await getDoc(db, 'many', { attachments: true }));
    expect(names.map((name) => found[name]!.data)).toEqual(names.map((name) => base64(ascii(name))));
  });

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

  when('atts_since asks for data by itself, of the requests that have it', async () => {
    const db = await setUp();
    const first = (await getDoc(db, 'a'))._rev;
    const { rev } = await db.putAttachment('a', 'new', first, ascii('new'), TEXT);
    const withData = (doc: TestDoc) =>
      Object.entries(attachmentsOf(doc)).flatMap(([name, { data }]) => (data === undefined ? [] : [name]));
    for (const options of [{}, { revs: true }]) {
      const docs = [
        { id: 'a', rev, atts_since: [first] },
        { id: 'a', rev },
        { id: 'a', rev, atts_since: [] },
      ];
      const { results } = await db.bulkGet({ docs, ...options });
      const found = results.map((result) => result.docs[0]!.ok!);
      expect(found.map(withData)).toEqual([['new'], [], []]);
      expect(found.map((doc) => '_revisions' in doc)).toEqual(found.map(() => 'revs' in options));
    }
    const rows = (await db.get('a', { open_revs: 'all', atts_since: [first] })) as { ok: TestDoc }[];
    expect(rows.map(({ ok }) => withData(ok))).toEqual([['new']]);
    const binary = await getDoc(db, 'a', { atts_since: [first], binary: true });
    expect(same(await bytesOf(attachmentsOf(binary).new!.data), ascii('new'))).toBe(true);
  });

  when('bulkGet answers each of several requests of one document', async () => {
    const db = context.fresh();
    const branch = (hash: string, _attachments: object) => ({
      _id: 'c',
      _rev: `2-${hash}`,
      _revisions: { start: 2, ids: [hash, 'aa'] },
      _attachments,
    });
    const f = { content_type: TEXT, data: hello.data };
    await db.bulkDocs([branch('bb', { f }), branch('cc', {})] as never, { new_edits: false });
    const docs = [{ id: 'c' }, { id: 'c', rev: '1-aa' }, { id: 'c', rev: '2-bb' }, { id: 'd' }, { id: 'c' }];
    for (const options of [{}, { attachments: true }, { attachments: true, revs: true }]) {
      const revs = async (latest: boolean) => {
        const { results } = await db.bulkGet({ docs, latest, ...options });
        expect(results.map(({ id }) => id)).toEqual(['c', 'c', 'c', 'd', 'c']);
        for (const { ok } of results.flatMap((result) => result.docs)) {
          if (ok !== undefined) expect('_revisions' in ok).toBe('revs' in options);
        }
        return results.map((result) => result.docs.map(({ ok }) => ok?._rev));
      };
      expect(await revs(false)).toEqual([['2-cc'], [undefined], ['2-bb'], [undefined], ['2-cc']]);
      expect(await revs(true)).toEqual([['2-cc'], ['2-cc', '2-bb'], ['2-bb'], [undefined], ['2-cc']]);
    }
  });
}

export function oneByOne(context: Context): void {
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
    const { rev: tombstone } = await db.remove('a', four.rev);
    await db.putAttachment('a', 'g', tombstone, ascii('back'), TEXT);
    expect(Object.keys(attachmentsOf(await getDoc(db, 'a')))).toEqual(['g']);
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

  when('to remove one that is not there is no edit, but of a past revision a conflict', async () => {
    const db = context.fresh();
    const one = await db.put({ _id: 'a', _attachments: { f: hello } });
    const two = await db.put({ _id: 'a', _rev: one.rev, v: 2 });
    expect((await db.removeAttachment('a', 'f', two.rev)).rev).toBe(two.rev);
    await refused(db.removeAttachment('a', 'none', one.rev), { status: 409, name: 'conflict' });
    const rev = '2-00000000000000000000000000000000';
    await db.bulkDocs(
      [{ _id: 'a', _rev: rev, _revisions: { start: 2, ids: [rev.slice(2), one.rev.slice(2)] } }],
      {
        new_edits: false,
      },
    );
    expect((await db.removeAttachment('a', 'none', rev)).rev).toBe(rev);
    await db.remove('a', rev);
    const { rev: gone } = await db.remove('a', two.rev);
    await refused(db.removeAttachment('a', 'none', gone), { status: 404, name: 'not_found' });
  });

  when('an update that does not name them drops them', async () => {
    const db = context.fresh();
    const { rev } = await db.put({ _id: 'a', _attachments: { f: hello } });
    await db.put({ _id: 'a', _rev: rev, v: 2 });
    expect(await getDoc(db, 'a')).not.toHaveProperty('_attachments');
    expect(same(await bytesOf(await db.getAttachment('a', 'f', { rev })), ascii('hello'))).toBe(true);
  });
}

export function streams(context: Context): void {
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
    for (const range of [{ start: -1 }, { end: -1 }, { start: 0.5 }])
      await refused(db.openAttachment('a', 'f', range), { status: 400, name: 'bad_request' });
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

  when('are ended by the signal of their call, with its reason', async () => {
    const db = context.fresh();
    await db.putAttachment('a', 'f', bytes, 'x/y');
    const controller = new AbortController();
    const { stream } = await db.openAttachment('a', 'f', { signal: controller.signal });
    const reader = stream.getReader();
    await reader.read();
    const reason = new Error('enough');
    controller.abort(reason);
    const rest = async (): Promise<void> => {
      while (!(await reader.read()).done);
    };
    await expect(rest()).rejects.toBe(reason);
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
