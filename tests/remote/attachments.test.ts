/** Attachments between our client and our server: every way in and out, bytes exact. */
import { gzipSync } from 'node:zlib';
import { memory } from '@settledb/adapter-memory';
import { remote } from '@settledb/remote';
import { describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { noise } from '../conformance/database/attachment-bytes';
import { large, md5, setUp, sumOf } from './attachment-support';
import { failureOf, meddled, ORIGIN, testServer } from './support';

const JSON_ONLY = { accept: 'application/json' };
const small = Uint8Array.of(0, 13, 10, 45, 45, 255);

describe('attachments over HTTP', () => {
  it('go small ones as base64, large ones as multipart, and come back byte for byte', async () => {
    const { server, db } = setUp();
    const stream = () =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          for (let at = 0; at < large.length; at += 30_000) controller.enqueue(large.slice(at, at + 30_000));
          controller.close();
        },
      });
    const forms: Record<string, unknown> = {
      base64: Buffer.from(small).toString('base64'),
      blob: new Blob([large], { type: 'image/png' }),
      bytes: large,
      buffer: large.buffer,
      stream: stream(),
      function: stream,
      'a/b ü"\\.png': new Blob([small]),
      10: small,
      9: large,
    };
    const _attachments = Object.fromEntries(
      Object.entries(forms).map(([name, data]) => [name, { content_type: 'x/y', data }]),
    );
    const { rev } = await db.put({ _id: 'x/y z', n: 1, _attachments } as never);
    expect(server.log.filter((line) => line.startsWith('PUT /db/'))).toHaveLength(1);
    const doc = await db.get('x/y z');
    for (const [name] of Object.entries(forms)) {
      const expected = /base64|ü|^10$/.test(name) ? small : large;
      const stub = doc._attachments![name]!;
      expect([name, stub]).toEqual([
        name,
        { content_type: 'x/y', digest: md5(expected), length: expected.length, revpos: 1, stub: true },
      ]);
      expect([name, await sumOf(await db.getAttachment('x/y z', name))]).toEqual([name, md5(expected)]);
      const opened = await db.openAttachment('x/y z', name, { rev });
      expect([opened.size, opened.length, opened.digest]).toEqual([
        expected.length,
        expected.length,
        md5(expected),
      ]);
      expect(await sumOf(await new Response(opened.stream).blob())).toEqual(md5(expected));
    }
    const whole = await db.get('x/y z', { attachments: true });
    expect((whole._attachments!.blob as { data: string }).data).toBe(Buffer.from(large).toString('base64'));
    const binary = await db.get('x/y z', { attachments: true, binary: true });
    expect(await sumOf((binary._attachments!.stream as { data: Blob }).data)).toEqual(md5(large));
    const listed = await db.allDocs({ include_docs: true, attachments: true, binary: true });
    const [row] = listed.rows as unknown as { doc: { _attachments: Record<string, { data: Blob }> } }[];
    expect(await sumOf(row!.doc._attachments[9]!.data)).toEqual(md5(large));
    const fed = await db.changes({ include_docs: true, attachments: true });
    expect((fed as unknown as { results: object[] }).results).toHaveLength(1);
  });

  it('come by bulkGet as parts, base64 or Blobs, with and without what is known already', async () => {
    const { server, db } = setUp();
    const one = await db.put({
      _id: 'a',
      _attachments: { f: { content_type: 'x/y', data: small as never } },
    } as never);
    const two = await db.put({
      _id: 'a',
      _rev: one.rev,
      _attachments: { f: { stub: true }, g: { content_type: 'x/y', data: large as never } },
    } as never);
    await db.put({ _id: 'plain', n: 1 });
    const docs = [
      { id: 'a', rev: two.rev },
      { id: 'plain' },
      { id: 'none' },
      { id: 'a', rev: one.rev, atts_since: [one.rev] },
      { id: 'a', rev: two.rev, atts_since: [one.rev] },
    ];
    const { results } = await db.bulkGet({ docs, attachments: true, revs: true });
    expect(results.map(({ id }) => id)).toEqual(['a', 'plain', 'none', 'a', 'a']);
    const ok = (i: number) => (results[i]!.docs[0] as unknown as { ok: Record<string, never> }).ok;
    expect(ok(0)).toMatchObject({
      _rev: two.rev,
      _revisions: { start: 2 },
      _attachments: {
        f: { data: Buffer.from(small).toString('base64'), digest: md5(small), revpos: 1 },
        g: { data: Buffer.from(large).toString('base64'), digest: md5(large), revpos: 2 },
      },
    });
    expect(ok(1)).toMatchObject({ _id: 'plain', n: 1 });
    expect(results[2]!.docs).toMatchObject([{ error: { id: 'none', error: 'not_found' } }]);
    expect(server.log.filter((line) => line.includes('_bulk_get'))).toHaveLength(1);
    const json = await server.ask('POST', '/db/_bulk_get?attachments=true', {
      docs: [{ id: 'a', rev: two.rev, atts_since: [one.rev] }],
    });
    expect(json.body.results[0].docs[0].ok._attachments).toMatchObject({
      f: { stub: true, length: small.length },
      g: { data: Buffer.from(large).toString('base64') },
    });
    expect((await db.bulkGet({ docs: [], attachments: true })).results).toEqual([]);
    // From a server without _bulk_get too.
    const missing = () => new Response('{"error":"not_found","reason":"missing"}', { status: 404 });
    const without = meddled({ 'POST /db/_bulk_get': missing });
    const old = remote(`${ORIGIN}/db`, { fetch: without.fetch });
    const written = await old.put({ _id: 'a', _attachments: { f: { data: large as never } } } as never);
    const single = await old.bulkGet({
      docs: [{ id: 'a', rev: written.rev }],
      attachments: true,
      binary: true,
    });
    const { data } = (
      single.results[0]!.docs[0] as unknown as { ok: { _attachments: Record<string, { data: Blob }> } }
    ).ok._attachments.f!;
    expect(await sumOf(data)).toEqual(md5(large));
  });

  it('that are compressed need no more said of them than how', async () => {
    const { db } = setUp();
    const text = Buffer.from('hello '.repeat(500));
    const packed = gzipSync(text);
    const t = { content_type: 'text/plain', data: packed, encoded: true, encoding: 'gzip' } as const;
    await db.put({ _id: 'z', _attachments: { t } });
    const { _attachments } = await db.get('z', { att_encoding_info: true });
    expect(_attachments!.t).toMatchObject({
      encoding: 'gzip',
      digest: md5(packed),
      length: text.length,
      encoded_length: packed.length,
    });
    const broken = { ...t, data: packed.subarray(0, 20) };
    await expect(db.put({ _id: 'y', _attachments: { t: broken } })).rejects.toMatchObject({ status: 400 });
  });

  it('are replicated as they are stored, compressed ones too', async () => {
    const { server, db } = setUp();
    const text = Buffer.from('hello '.repeat(500));
    const packed = gzipSync(text);
    const doc = {
      _id: 'z',
      _rev: '1-a',
      _attachments: {
        t: {
          content_type: 'text/plain',
          data: packed,
          encoded: true,
          encoding: 'gzip',
          digest: md5(packed),
          length: text.length,
          revpos: 1,
        },
      },
    };
    expect(await db.bulkDocs([doc as never], { new_edits: false })).toEqual([]);
    const got = await db.get('z', { att_encoding_info: true });
    expect(got._attachments!.t).toMatchObject({
      encoding: 'gzip',
      digest: md5(packed),
      length: text.length,
      encoded_length: packed.length,
    });
    expect(await sumOf(await db.getAttachment('z', 't'))).toEqual(md5(new Uint8Array(text)));
    const back = await db.bulkGet({ docs: [{ id: 'z', rev: '1-a' }], attachments: true });
    // All leaves of a document, which is what a server gives where no revision is named.
    const leaves = await db.bulkGet({ docs: [{ id: 'z' }], attachments: true });
    expect(leaves).toEqual(back);
    const { t } = (
      back.results[0]!.docs[0] as unknown as { ok: { _attachments: Record<string, { data: string }> } }
    ).ok._attachments;
    expect(Buffer.from(t!.data, 'base64')).toEqual(text);
    const raw = await server.fetch(`${ORIGIN}/db/z/t`, { headers: { 'accept-encoding': 'gzip' } });
    expect([raw.headers.get('content-encoding'), raw.headers.get('accept-ranges')]).toEqual(['gzip', 'none']);
    expect(Buffer.from(await raw.arrayBuffer())).toEqual(packed);
    const encodingFor = async (accepted: string) =>
      (await server.fetch(`${ORIGIN}/db/z/t`, { headers: { 'accept-encoding': accepted } })).headers.get(
        'content-encoding',
      );
    for (const accepted of ['br, GZIP;q=0.5', '*', 'br;q=0,*', 'gzip, *; q=0'])
      expect([accepted, await encodingFor(accepted)]).toEqual([accepted, 'gzip']);
    for (const refused of ['', 'identity', '*;q=0', 'gzip; q=0.00', 'gzip;q=0, *', '*, gzip;q=0'])
      expect([refused, await encodingFor(refused)]).toEqual([refused, null]);
    const bulkGet = async (query: string) => {
      const docs = [{ id: 'z', rev: '1-a' }];
      const { body } = await server.ask('POST', `/db/_bulk_get?${query}`, { docs });
      return body.results[0].docs[0].ok._attachments.t;
    };
    const plain = { content_type: 'text/plain', revpos: 1, digest: md5(packed) };
    const stub = { ...plain, length: text.length, stub: true };
    const whole = { ...plain, data: text.toString('base64') };
    const info = { encoding: 'gzip', encoded_length: packed.length };
    expect(await bulkGet('')).toEqual(stub);
    expect(await bulkGet('att_encoding_info=true')).toEqual({ ...stub, ...info });
    expect(await bulkGet('attachments=true')).toEqual(whole);
    expect(await bulkGet('attachments=true&att_encoding_info=true')).toEqual({ ...whole, ...info });
    const told = (await server.ask('GET', '/db/z?open_revs=all&att_encoding_info=true', undefined, JSON_ONLY))
      .body;
    expect(told[0].ok._attachments.t).toEqual({ ...stub, ...info });
    const without: typeof fetch = async (input, init) =>
      String(input).includes('_bulk_get') ? new Response('', { status: 405 }) : server.fetch(input, init);
    for (const fetch of [server.fetch, without]) {
      const near = new SettleDB(`near-${Math.random()}`, { adapter: memory() });
      expect(await near.replicate.from(new SettleDB(`${ORIGIN}/db`, { fetch }))).toMatchObject({ ok: true });
      const { _attachments } = await near.get('z', { att_encoding_info: true });
      expect(_attachments!.t).toEqual({ ...stub, ...info });
    }
    const wrong = { ...doc, _rev: '1-b', _attachments: { t: { ...doc._attachments.t, digest: md5(text) } } };
    expect(await db.bulkDocs([wrong as never], { new_edits: false })).toMatchObject([
      { id: 'z', status: 400 },
    ]);
  });

  it('of names that no URL can carry are read with their documents, and replicated', async () => {
    const { server, db } = setUp();
    await db.info();
    const huge = noise(2_500_000);
    const packed = gzipSync(huge);
    const plain = (data: Uint8Array) => ({ content_type: 'image/png', data, revpos: 1 });
    const told = { encoded: true, encoding: 'gzip', digest: md5(packed), length: huge.length, revpos: 1 };
    const revision = { _rev: '1-a', _revisions: { start: 1, ids: ['a'] } };
    const docs = [
      { _id: '..', _attachments: { huge: plain(huge), small: plain(small) }, ...revision },
      { _id: 'n', _attachments: { '..': plain(huge), '.': plain(small) }, ...revision },
      {
        _id: '.',
        _attachments: { packed: { content_type: 'text/plain', data: packed, ...told } },
        ...revision,
      },
    ];
    const near = (await server.databases.open('db'))!;
    expect(await near.bulkDocs(docs as never, { new_edits: false })).toEqual([]);
    for (const { _id, _attachments } of docs)
      for (const name of Object.keys(_attachments)) {
        const expected = md5(/small|^\.$/.test(name) ? small : huge);
        const got = await db.getAttachment(_id, name);
        expect([_id, name, got.type, await sumOf(got)]).toEqual([
          _id,
          name,
          name === 'packed' ? 'text/plain' : 'image/png',
          expected,
        ]);
        const { stream, ...about } = await db.openAttachment(_id, name, { rev: '1-a', start: 2, end: 5 });
        const part = (/small|^\.$/.test(name) ? small : huge).slice(2, 5);
        expect(about).toMatchObject({ size: 3, revpos: 1 });
        expect(new Uint8Array(await new Response(stream).arrayBuffer())).toEqual(part);
      }
    const target = new SettleDB('target', { adapter: memory() });
    expect(await target.replicate.from(db)).toMatchObject({ docs_written: 3, doc_write_failures: 0 });
    const whole = { attachments: true, att_encoding_info: true } as const;
    for (const { _id } of docs) expect(await target.get(_id, whole)).toEqual(await near.get(_id, whole));
    const back = remote(`${ORIGIN}/back`, { fetch: server.fetch });
    expect(await target.replicate.to(back)).toMatchObject({ docs_written: 3, doc_write_failures: 0 });
    for (const [id, name] of [
      ['..', 'huge'],
      ['n', '..'],
      ['.', 'packed'],
    ] as const)
      expect([id, await sumOf(await back.getAttachment(id, name))]).toEqual([id, md5(huge)]);
    const broken = {
      _id: '.',
      ...revision,
      _attachments: { f: { ...told, content_type: 'x/y', data: small } },
    };
    const failure = await failureOf(back.bulkDocs([broken] as never, { new_edits: false }));
    expect(failure).toMatchObject({ status: 400, name: 'bad_request' });
    expect(await failureOf(db.getAttachment('n', '..', { rev: '9-x' }))).toMatchObject({ status: 404 });
    expect(await failureOf(db.getAttachment('..', 'nope'))).toMatchObject({ status: 404 });
    expect(await failureOf(db.openAttachment('..', 'small', { start: 9 }))).toMatchObject({ status: 416 });
    expect(await failureOf(db.putAttachment('..', 'f', null, small, 'x/y'))).toMatchObject({ status: 400 });
    expect(await failureOf(db.removeAttachment('n', '..', '1-a'))).toMatchObject({ status: 400 });
  });

  it('are put, read in part, and taken away one by one', async () => {
    const { server, db } = setUp();
    const made = await db.putAttachment('d', 'f', new Blob([large], { type: 'image/png' }), 'image/png');
    expect(await db.getAttachment('d', 'f')).toMatchObject({ type: 'image/png' });
    const part = async (start?: number, end?: number) => {
      const { stream, size } = await db.openAttachment('d', 'f', { start, end });
      const blob = await new Response(stream).blob();
      expect(blob.size).toBe(size);
      return sumOf(blob);
    };
    expect(await part(5, 9)).toEqual(md5(large.slice(5, 9)));
    expect(await part(199_990)).toEqual(md5(large.slice(199_990)));
    expect(await part(0, 999_999)).toEqual(md5(large));
    expect(await failureOf(db.openAttachment('d', 'f', { start: 200_000 }))).toMatchObject({ status: 416 });
    expect(await failureOf(db.putAttachment('d', 'f', small as never, 'x/y'))).toMatchObject({ status: 409 });
    expect(await failureOf(db.putAttachment('d', 'f', null, '%%%', 'x/y'))).toMatchObject({ name: 'badarg' });
    expect(await failureOf(db.putAttachment('d', '_f', null, small, 'x/y'))).toMatchObject({ status: 400 });
    for (const type of ['a/b\r\nX: y', 'text/日本', 'a\0b']) {
      const failure = await failureOf(db.putAttachment('d', 'f', null, small, type));
      expect(failure).toMatchObject({ status: 400, name: 'bad_request' });
    }
    expect(await failureOf(db.getAttachment('d', 'nope'))).toMatchObject({ status: 404 });
    expect(await failureOf(db.getAttachment('nope', 'f'))).toMatchObject({ status: 404 });
    const next = await db.putAttachment('d', 'g', made.rev, small, 'x/y');
    const rest = await db.removeAttachment('d', 'f', next.rev);
    expect(Object.keys((await db.get('d'))._attachments!)).toEqual(['g']);
    expect((await db.removeAttachment('d', 'g', rest.rev)).rev).toMatch(/^4-/);
    expect((await db.get('d'))._attachments).toBeUndefined();
    const headers = (await server.ask('GET', `/db/d/g?rev=${next.rev}`)).headers;
    expect(headers.get('content-security-policy')).toBe('sandbox');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('of names that look like numbers keep their own bytes, in whatever order they come', async () => {
    const { server, db } = setUp();
    await db.info();
    const doc =
      '{"_attachments":{"b":{"follows":true,"length":1},"2":{"follows":true,"length":1},"1":{"follows":true,"length":1}}}';
    const parts = ['B', '2', '1'].map((text) => `\r\n--b\r\n\r\n${text}`).join('');
    const text = `--b\r\nContent-Type: application/json\r\n\r\n${doc}${parts}\r\n--b--`;
    const { status } = await server.ask('PUT', '/db/a', text, {
      'content-type': 'multipart/related; boundary=b',
    });
    expect(status).toBe(201);
    for (const [name, expected] of [
      ['b', 'B'],
      ['2', '2'],
      ['1', '1'],
    ] as const)
      expect([name, await (await server.fetch(`${ORIGIN}/db/a/${name}`)).text()]).toEqual([name, expected]);
    const found = await db.bulkGet({ docs: [{ id: 'a' }], attachments: true });
    const { _attachments } = (
      found.results[0]!.docs[0] as unknown as { ok: { _attachments: Record<string, { data: string }> } }
    ).ok;
    expect(
      Object.entries(_attachments)
        .map(([name, { data }]) => [name, atob(data)])
        .sort(),
    ).toEqual([
      ['1', '1'],
      ['2', '2'],
      ['b', 'B'],
    ]);
  });
});

describe('a database that judges documents', () => {
  it('is shown what is known of their attachments, and takes them in parts too', async () => {
    const server = testServer({ runStoredFunctions: true });
    await server.ask('PUT', '/db');
    const validate_doc_update = `function (doc) {
      for (var name in doc._attachments) {
        var given = doc._attachments[name];
        if ('data' in given || given.stub !== true) throw { forbidden: 'data of ' + name };
        if (given.length > 5) throw { forbidden: name + ' has ' + given.length };
      }
    }`;
    await server.ask('PUT', '/db/_design/v', { validate_doc_update });
    const put = async (id: string, text: string) => {
      const about = { t: { follows: true, content_type: 'text/plain', length: text.length } };
      const parts = [
        `content-type: application/json\r\n\r\n${JSON.stringify({ _attachments: about })}`,
        `\r\n${text}`,
      ];
      const body = `--b\r\n${parts.join('\r\n--b\r\n')}\r\n--b--`;
      return server.ask('PUT', `/db/${id}`, body, { 'content-type': 'multipart/related; boundary=b' });
    };
    expect(await put('a', 'hello')).toMatchObject({ status: 201 });
    expect((await server.ask('GET', '/db/a/t')).body).toBe('hello');
    expect(await put('b', 'hello!')).toMatchObject({ status: 403, body: { reason: 't has 6' } });
    const inline = (data: string) => ({ _attachments: { t: { content_type: 'text/plain', data } } });
    expect(await server.ask('PUT', '/db/c', inline('aGVsbG8='))).toMatchObject({ status: 201 });
    expect(await server.ask('PUT', '/db/d', inline('aGVsbG8h'))).toMatchObject({
      status: 403,
      body: { reason: 't has 6' },
    });
  });
});
