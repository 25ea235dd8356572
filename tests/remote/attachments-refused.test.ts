/** Attachments between our client and our server that are refused, or break off: told why, and nothing is left behind. */
import { remote } from '@settledb/remote';
import { describe, expect, it, vi } from 'vitest';
import { noise } from '../conformance/database/attachment-bytes';
import { large, md5, setUp, sumOf } from './attachment-support';
import { failureOf, meddled, ORIGIN, testServer } from './support';

describe('attachments over HTTP', () => {
  it('that are not what the server says of them are refused', async () => {
    const { server, fetch } = meddled({});
    const honest = remote(`${ORIGIN}/db`, { fetch });
    const { rev } = await honest.put({
      _id: 'a',
      _attachments: { f: { content_type: 'x/y', data: large as never } },
    } as never);
    const lying = remote(`${ORIGIN}/db`, {
      fetch: async (input, init) => {
        const response = await server.fetch(input, init);
        const bytes = new Uint8Array(await response.arrayBuffer());
        const at = bytes.length - 300;
        if (bytes.length > 100_000) bytes[at] = bytes[at] === 65 ? 66 : 65;
        return new Response(bytes, response);
      },
    });
    const opened = await lying.openAttachment('a', 'f');
    for (const call of [
      () => lying.getAttachment('a', 'f'),
      () => new Response(opened.stream).blob(),
      () => lying.get('a', { attachments: true }),
      () => lying.allDocs({ include_docs: true, attachments: true }),
      () => lying.bulkGet({ docs: [{ id: 'a', rev }], attachments: true }),
    ])
      await expect(call()).rejects.toMatchObject({ name: 'corrupt' });
    const short = remote(`${ORIGIN}/db`, {
      fetch: async (input, init) => {
        const response = await server.fetch(input, init);
        const bytes = new Uint8Array(await response.arrayBuffer());
        return new Response(bytes.length > 100_000 ? bytes.slice(0, -500) : bytes, response);
      },
    });
    for (const call of [
      async () => new Response((await short.openAttachment('a', 'f')).stream).blob(),
      () => short.bulkGet({ docs: [{ id: 'a', rev }], attachments: true }),
      () => short.get('a', { attachments: true }),
    ])
      await expect(call()).rejects.toMatchObject({ name: expect.stringMatching(/corrupt|bad_response/) });
  });

  it.each([
    '',
    '<html>',
  ])('for which something else answers are not read: %j of a network that wants to be paid', async (page) => {
    const { server, db } = setUp();
    await db.putAttachment('a', 'f', large, 'x/y');
    let etag: string | null = null;
    let isBarred = true;
    const barred = remote(`${ORIGIN}/db`, {
      skip_setup: true,
      fetch: async (input, init) => {
        if (isBarred)
          return new Response(page, { headers: { 'content-type': 'text/html', etag: '"1a-2b"' } });
        const response = await server.fetch(input, init);
        const headers = new Headers(response.headers);
        if (etag === null) headers.delete('etag');
        else headers.set('etag', etag + headers.get('etag'));
        return new Response(response.body, { status: response.status, headers });
      },
    });
    expect(await failureOf(barred.getAttachment('a', 'f'))).toMatchObject({
      status: 502,
      name: 'bad_response',
    });
    isBarred = false;
    // A proxy may take away what the server calls them by, or weaken it, as one does that compresses.
    for (etag of [null, 'W/']) {
      const got = await barred.getAttachment('a', 'f');
      expect([await sumOf(got), got]).toMatchObject([md5(large), { type: 'x/y' }]);
    }
    expect(await failureOf(barred.getAttachment('a', 'none'))).toMatchObject({ status: 404 });
  });

  it('that a proxy compresses are whole, though it ends in good order what its server broke off', async () => {
    const { server, db } = setUp();
    await db.putAttachment('a', 'f', large, 'text/plain');
    let breaks = 1;
    // As Caddy does: the digest stays, what depends on the length of the answer goes, and its end looks like any other.
    const behind = remote(`${ORIGIN}/db`, {
      fetch: async (input, init) => {
        const response = await server.fetch(input, init);
        if (!new Request(input, init).url.includes('/a/f')) return response;
        const headers = new Headers(response.headers);
        for (const name of ['accept-ranges', 'content-length']) headers.delete(name);
        const bytes = new Uint8Array(await response.arrayBuffer());
        return new Response(breaks-- > 0 ? bytes.slice(0, 120_000) : bytes, { headers });
      },
    });
    expect(await sumOf(await behind.getAttachment('a', 'f'))).toEqual(md5(large));
    breaks = Number.POSITIVE_INFINITY;
    expect(await failureOf(behind.getAttachment('a', 'f'))).toMatchObject({ name: 'corrupt' });
  });

  it('whose Blob WebKit lost are not sent: it would send no bytes, and say nothing', async () => {
    const { server } = setUp();
    const db = remote(`${ORIGIN}/db`, { fetch: server.fetch });
    const lost = new Blob([]);
    lost.slice = () => lost;
    lost.arrayBuffer = () => Promise.reject(new DOMException('It cannot be found here.', 'NotFoundError'));
    const lack = { name: 'NotFoundError' };
    await expect(db.putAttachment('a', 'f', lost, 'x/y')).rejects.toMatchObject(lack);
    const _attachments = { f: { content_type: 'x/y', data: lost } };
    await expect(db.put({ _id: 'a', _attachments } as never)).rejects.toMatchObject(lack);
    await expect(db.get('a')).rejects.toMatchObject({ status: 404 });
  });

  it('whose download breaks off go on where it broke, a bounded number of times', async () => {
    const { server } = setUp();
    const honest = remote(`${ORIGIN}/db`, { fetch: server.fetch });
    await honest.put({
      _id: 'a',
      _attachments: { f: { content_type: 'x/y', data: large as never } },
    } as never);
    /** Each answer of bytes ends with a broken connection after `length` of them. */
    const breaking = (length: number, ignoresRanges = false) => {
      const ranges: (string | null)[] = [];
      const fetch: typeof globalThis.fetch = async (input, init) => {
        const request = new Request(input, init);
        if (!request.url.includes('/a/f')) return server.fetch(request);
        ranges.push(request.headers.get('range'));
        if (ignoresRanges) request.headers.delete('range');
        const response = await server.fetch(request);
        const bytes = new Uint8Array(await response.arrayBuffer());
        const most = ignoresRanges ? length * ranges.length : length;
        if (bytes.length <= most) return new Response(bytes, response);
        const pieces = [bytes.slice(0, most)];
        const body = new ReadableStream({
          pull(controller) {
            const piece = pieces.pop();
            if (piece === undefined) controller.error(new TypeError('terminated'));
            else controller.enqueue(piece);
          },
        });
        return new Response(body, response);
      };
      return { db: remote(`${ORIGIN}/db`, { fetch }), ranges };
    };
    const readWhole = async (db: typeof honest, range = {}) =>
      sumOf(await new Response((await db.openAttachment('a', 'f', range)).stream).blob());
    const some = breaking(60_000);
    expect(await readWhole(some.db)).toEqual(md5(large));
    const end = large.length - 1;
    expect(some.ranges).toEqual([null, `bytes=60000-${end}`, `bytes=120000-${end}`, `bytes=180000-${end}`]);
    const part = breaking(50_000);
    expect(await readWhole(part.db, { start: 10_000, end: 150_000 })).toEqual(
      md5(large.slice(10_000, 150_000)),
    );
    expect(part.ranges).toEqual(['bytes=10000-149999', 'bytes=60000-149999', 'bytes=110000-149999']);
    // Who knows no ranges sends it all again; what came before is passed over.
    expect(await readWhole(breaking(60_000, true).db)).toEqual(md5(large));
    const often = breaking(5_000);
    await expect(readWhole(often.db)).rejects.toMatchObject({ name: 'unreachable' });
    expect(often.ranges).toHaveLength(9);
    const never = breaking(0);
    await expect(readWhole(never.db)).rejects.toMatchObject({ name: 'unreachable' });
    expect(never.ranges).toHaveLength(1);
  });

  it('larger than the limit are refused wherever they come, before they are read', async () => {
    const { server, db } = setUp({ limits: { attachment: 1_000 } });
    await db.info();
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent++;
        controller.enqueue(new Uint8Array(400));
      },
    });
    const init = {
      method: 'PUT',
      body: endless,
      duplex: 'half',
      headers: { 'content-type': 'x/y' },
    } as RequestInit;
    const response = await server.handle(new Request(`${ORIGIN}/db/a/f`, init));
    expect([response.status, (await response.json()).error]).toEqual([413, 'attachment_too_large']);
    expect(sent).toBeLessThan(10);
    for (const data of [large, noise(2_000)]) {
      const doc = { _id: 'a', _attachments: { f: { data: data as never } } } as never;
      expect(await failureOf(db.put(doc))).toMatchObject({ status: 413 });
    }
    // Base64 counts three bytes at a time.
    for (const limit of [999, 1_000, 1_001]) {
      const tight = testServer({ limits: { attachment: limit } });
      await tight.ask('PUT', '/db');
      for (const more of [0, 1, 2]) {
        const _attachments = { f: { data: btoa('x'.repeat(limit + more)) } };
        const { status } = await tight.ask('PUT', `/db/a${more}`, { _attachments });
        expect([limit, more, status]).toEqual([limit, more, more === 0 ? 201 : 413]);
      }
    }
    expect((await db.info()).doc_count).toBe(0);
    const headers = { 'content-type': 'x/y', 'content-length': '1000' };
    expect((await server.ask('PUT', '/db/a/f', 'x'.repeat(1_000), headers)).status).toBe(201);
  });

  it('come with their digest in the header Content-MD5, and are refused when they have another', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const put = async (name: string, md5: string) => {
      const headers = { 'content-type': 'text/plain', 'content-md5': md5 };
      const url = `${ORIGIN}/db/${name}/f`;
      const answer = await server.handle(new Request(url, { method: 'PUT', headers, body: 'hello' }));
      return [answer.status, ((await answer.json()) as { error?: string }).error];
    };
    expect(await put('a', 'XUFAKrxLKna5cZ2REBfFkg==')).toEqual([201, undefined]);
    expect(await put('b', 'AAAAAAAAAAAAAAAAAAAAAA==')).toEqual([400, 'content_md5_mismatch']);
    expect((await server.ask('GET', '/db')).body.doc_count).toBe(1);
  });

  it('in a body that breaks off, or lies about lengths, leave nothing behind', async () => {
    const { server, db } = setUp();
    await db.info();
    const doc =
      '{"_attachments":{"f":{"follows":true,"content_type":"x/y","length":4},"g":{"follows":true,"length":3}}}';
    const body = `--b\r\nContent-Type: application/json\r\n\r\n${doc}\r\n--b\r\n\r\naaaa\r\n--b\r\n\r\nbbb\r\n--b--`;
    const put = (text: string) =>
      server.ask('PUT', '/db/a', text, { 'content-type': 'multipart/related; boundary="b"' });
    for (let end = 0; end < body.length - 4; end += 7) {
      const { status } = await put(body.slice(0, end));
      expect([end, status >= 400 && status < 500]).toEqual([end, true]);
    }
    for (const bad of [
      body.replace('aaaa', 'aaaaa'),
      body.replace('aaaa', 'aaa'),
      body.replace('\r\n--b\r\n\r\nbbb', ''),
    ])
      expect((await put(bad)).status).toBe(400);
    expect((await db.info()).doc_count).toBe(0);
    expect((await put(body)).status).toBe(201);
    expect(Object.keys((await db.get('a'))._attachments!)).toEqual(['f', 'g']);
  });

  it('in a body that is refused are not read, and all that are held have one limit', async () => {
    const { server, db } = setUp({ limits: { request: 1_000 } });
    await db.info();
    const put = async (text: string, then: () => void) => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
        cancel: then,
      });
      const headers = { 'content-type': 'multipart/related; boundary=b' };
      const init = { method: 'PUT', body, duplex: 'half', headers } as RequestInit;
      return (await server.handle(new Request(`${ORIGIN}/db/a`, init))).status;
    };
    let left = 0;
    expect(await put('--b\r\nContent-Type: text/plain\r\n\r\n', () => left++)).toBe(415);
    // In another order than the object's, they are held.
    const about = '{"follows":true,"content_type":"x/y"}';
    const doc = `--b\r\nContent-Type: application/json\r\n\r\n{"_attachments":{"2":${about},"1":${about}}}`;
    const part = `\r\n--b\r\n\r\n${'x'.repeat(600)}`;
    expect(await put(doc + part + part, () => left++)).toBe(413);
    await vi.waitUntil(() => left === 2);
  });
});
