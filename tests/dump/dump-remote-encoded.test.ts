/** Content that is stored encoded, in dumps of a server and into one: the same bytes, told in the same words, or an error. */
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { ORIGIN, testServer } from '../remote/support';
import { type Db, make, plain } from './content';

const TEXT = 'encoded '.repeat(500);
const PACKED = gzipSync(TEXT);
const packed = {
  content_type: 'text/plain',
  revpos: 1,
  encoded: true,
  encoding: 'gzip',
  length: TEXT.length,
  data: PACKED,
};
/** Content that happens to be the bytes of the other: its digest is the same. */
const alike = { content_type: 'application/gzip', revpos: 1, data: PACKED };
const TOLD = { length: TEXT.length, encoding: 'gzip', encoded_length: PACKED.length, revpos: 1 };

let count = 0;

/** A database behind a server, and the server. */
function far(): { db: Db; server: ReturnType<typeof testServer>; path: string } {
  const server = testServer();
  const name = `encoded${count++}`;
  return { db: new SettleDB(`${ORIGIN}/${name}`, { fetch: server.fetch }), server, path: `/${name}` };
}

const fill = (db: Db, docs: Record<string, object>) =>
  db.bulkDocs(
    Object.entries(docs).map(([_id, _attachments]) => ({ _id, _rev: '1-a', _attachments })) as never,
    { new_edits: false },
  );

const bytesOf = async (db: Db, id: string, name: string): Promise<Buffer> =>
  Buffer.from(await new Response((await db.getAttachment(id, name)) as Blob).arrayBuffer());

/** What a dump says of content: the stubs of each document, and the bytes. */
async function said(db: Db): Promise<{ stubs: Record<string, unknown>; contents: Buffer[] }> {
  const lines = (await plain(db))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const docs = lines.filter((line) => 'doc' in line);
  const stubs = Object.fromEntries(docs.map(({ doc }) => [doc._id, doc._attachments]));
  const contents: Buffer[] = [];
  const data: Buffer[] = [];
  for (const line of lines) {
    if ('data' in line) data.push(Buffer.from(line.data, 'base64'));
    else if (data.length > 0) contents.push(Buffer.concat(data.splice(0)));
  }
  return { stubs, contents };
}

it('goes from server to server, and over a local database, as it is stored', async () => {
  const [from, to, near] = [far(), far(), make()];
  expect(await fill(from.db, { a: { f: packed }, b: { f: packed, g: alike }, c: { g: alike } })).toEqual([]);
  const { _attachments } = await from.db.get('a', { att_encoding_info: true });
  const { digest } = _attachments!.f as { digest: string };
  for (const [source, target] of [
    [from.db, near],
    [near, to.db],
  ] as const) {
    const { stubs, contents } = await said(source);
    const f = { content_type: 'text/plain', ...TOLD, digest, stub: true };
    const g = { content_type: 'application/gzip', length: PACKED.length, digest, revpos: 1, stub: true };
    expect(stubs).toEqual({ a: { f }, b: { f, g }, c: { g } });
    expect(contents).toEqual([PACKED, PACKED]);
    expect(await target.load(source.dump())).toMatchObject({ ok: true, docs_written: 3 });
    const b = await target.get('b', { att_encoding_info: true });
    expect(b._attachments).toEqual({ f, g });
    const { stream, ...about } = await target.openAttachment('b', 'f', { encoded: true });
    expect(about).toMatchObject({ ...TOLD, digest, size: PACKED.length });
    expect(Buffer.from(await new Response(stream).arrayBuffer())).toEqual(PACKED);
    for (const [id, name, content] of [
      ['a', 'f', TEXT],
      ['c', 'g', PACKED],
    ] as const)
      expect(await bytesOf(target, id, name)).toEqual(Buffer.from(content));
  }
});

it('is loaded for a document that comes after one of which the server knows only the name', async () => {
  const [near, { db }] = [make(), far()];
  expect(await fill(near, { a: { f: packed }, b: { f: packed } })).toEqual([]);
  await fill(db, { a: { f: packed } });
  await db.put({ _id: 'a', _rev: '1-a' });
  await db.compact();
  expect(await db.load(near.dump())).toMatchObject({ ok: true, docs_written: 1, errors: [] });
  const told = { att_encoding_info: true } as const;
  expect((await db.get('b', told))._attachments).toEqual((await near.get('b', told))._attachments);
  expect(await bytesOf(db, 'b', 'f')).toEqual(Buffer.from(TEXT));
});

it('is dumped whole of a document of which a revision is not found any more', async () => {
  const [{ db }, near] = [far(), make()];
  await fill(db, { a: { f: packed } });
  const { bulkGet } = db;
  let asked = 0;
  // As if it had been edited and purged meanwhile: only a request for all its leaves tells what is there.
  db.bulkGet = (async (request: object) => {
    if (asked++ > 0) return bulkGet(request as never);
    const error = { id: 'a', rev: '1-x', error: 'not_found', reason: 'missing' };
    return { results: [{ id: 'a', docs: [{ error }] }] };
  }) as never;
  expect((await said(db)).contents).toEqual([PACKED]);
  asked = 0;
  expect(await near.load(db.dump())).toMatchObject({ ok: true, docs_written: 1 });
  const told = { att_encoding_info: true } as const;
  expect((await near.get('a', told))._attachments).toMatchObject({ f: TOLD });
});

it.each([
  ['other bytes', Buffer.concat([PACKED.subarray(0, 20), Buffer.of(0), PACKED.subarray(21)])],
  ['fewer bytes', PACKED.subarray(1)],
  ['more bytes', Buffer.concat([PACKED, PACKED])],
])('fails the dump when a server sends %s than its document says', async (_, sent) => {
  const { db: from, server, path } = far();
  await fill(from, { a: { f: packed } });
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const answer = await server.fetch(input, init);
    if (
      !String(input).startsWith(`${ORIGIN}${path}/a?`) ||
      !/multipart/.test(answer.headers.get('content-type')!)
    )
      return answer;
    const whole = Buffer.from(await answer.arrayBuffer());
    const at = whole.indexOf(PACKED);
    expect(at).toBeGreaterThan(0);
    const body = [whole.subarray(0, at), sent, whole.subarray(at + PACKED.length)];
    return new Response(Buffer.concat(body), { headers: answer.headers });
  };
  const db: Db = new SettleDB(`${ORIGIN}${path}`, { fetch });
  await expect(plain(db)).rejects.toMatchObject({ name: 'corrupt' });
  const near = make();
  await expect(near.load(db.dump())).rejects.toMatchObject({ name: 'corrupt' });
  expect((await near.info()).doc_count).toBe(0);
});
