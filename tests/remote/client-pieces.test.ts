/** Bodies that `fetch` would put into the buffer of a connection whole, and keep other requests waiting: Node 26, HTTP/2. */
import { portableBytes } from '@settledb/core';
import { type RemoteOptions, remote } from '@settledb/remote';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { nodeBytes } from '../../packages/settledb/src/bytes.node';
import { testServer } from './support';

const bytes = { ...nodeBytes, buffersOut: true };
const random = (size: number): Uint8Array<ArrayBuffer> => crypto.getRandomValues(new Uint8Array(size));
const LARGE = 60_000; // of getRandomValues at most 65,536
const attached = new Blob(Array.from({ length: 5 }, () => random(LARGE)));
const docs = Array.from({ length: 10 }, (_, i) => ({ _id: `d${i}`, text: bytes.toBase64([random(LARGE)]) }));

const contentOf = async (blob: Blob): Promise<Buffer> => Buffer.from(await blob.arrayBuffer());

/** What was sent: the length announced, and the lengths of its pieces; of a body that is given whole, none. */
interface Sent {
  readonly length: string | null;
  readonly pieces?: readonly number[];
}

/** Writes something large and something small. @returns what the platform's fetch was given for it */
async function sentTo(url: string, options: RemoteOptions): Promise<Sent[]> {
  const server = testServer();
  const sent: Sent[] = [];
  vi.stubGlobal('fetch', async (to: string, init: RequestInit) => {
    const { body } = init;
    const length = new Headers(init.headers).get('content-length');
    if (!(body instanceof ReadableStream)) {
      if (body != null) sent.push({ length });
      return server.fetch(to.replace('https:', 'http:'), init);
    }
    expect(init).toMatchObject({ duplex: 'half', redirect: 'manual' });
    const pieces: Uint8Array[] = [];
    for await (const piece of body as unknown as AsyncIterable<Uint8Array>) pieces.push(piece);
    sent.push({ length, pieces: pieces.map((piece) => piece.length) });
    return server.fetch(to.replace('https:', 'http:'), { ...init, body: new Blob(pieces as BlobPart[]) });
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  const db = remote<{ text?: string }>(url, options);
  await db.bulkDocs(docs);
  await db.putAttachment('a', 'file', attached, 'x/y');
  await db.put({ _id: 'small' });
  expect(await db.get('d9')).toMatchObject(docs[9]!);
  const data = new Blob([(await db.getAttachment('a', 'file')) as BlobPart]);
  expect((await contentOf(data)).equals(await contentOf(attached))).toBe(true);
  await db.close();
  return sent;
}

it.each([false, true])('are sent in pieces over TLS, compressed %s', async (compress) => {
  const sent = await sentTo('https://127.0.0.1:5984/db', { bytes, compress });
  expect(sent).toHaveLength(3);
  for (const { length, pieces } of sent.slice(0, 2)) {
    expect(pieces!.length).toBeGreaterThan(4);
    expect(Math.max(...pieces!)).toBe(64 * 1024);
    expect(pieces!.reduce((sum, size) => sum + size, 0)).toBe(Number(length));
  }
  expect(sent[2]).not.toHaveProperty('pieces');
});

it.each([
  ['without TLS', 'http://127.0.0.1:5984/db', bytes],
  ['by a platform that buffers none', 'https://127.0.0.1:5984/db', { ...bytes, buffersOut: false }],
  ['by browsers', 'https://127.0.0.1:5984/db', portableBytes],
])('are sent whole %s', async (_, url, bytes) => {
  for (const each of await sentTo(url, { bytes })) expect(each).not.toHaveProperty('pieces');
});

describe('are redirected', () => {
  /** A server that redirects what comes in pieces. @returns lengths announced for pieces, and bodies that were given whole */
  function redirecting(status: number): { pieces: (string | null)[]; whole: unknown[] } {
    const server = testServer();
    const given = { pieces: [] as (string | null)[], whole: [] as unknown[] };
    vi.stubGlobal('fetch', async (to: string, init: RequestInit) => {
      if (init.body instanceof ReadableStream) {
        given.pieces.push(new Headers(init.headers).get('content-length'));
        await init.body.cancel();
        return new Response(null, { status, headers: { location: to } });
      }
      if (init.body != null) given.whole.push(init.body);
      return server.fetch(to.replace('https:', 'http:'), init);
    });
    onTestFinished(() => void vi.unstubAllGlobals());
    return given;
  }

  it.each([301, 302, 307, 308])('and given whole to fetch, which sends them on: %i', async (status) => {
    const { pieces, whole } = redirecting(status);
    const db = remote('https://127.0.0.1:5984/db', { bytes });
    await db.putAttachment('a', 'file', attached, 'x/y');
    expect(pieces).toEqual([String(attached.size)]);
    expect(whole).toEqual([attached]);
    const data = new Blob([(await db.getAttachment('a', 'file')) as BlobPart]);
    expect((await contentOf(data)).equals(await contentOf(attached))).toBe(true);
    await db.close();
  });

  it('and not sent again if they were taken: 303', async () => {
    const { whole } = redirecting(303);
    const db = remote('https://127.0.0.1:5984/db', { bytes });
    await expect(db.putAttachment('a', 'file', attached, 'x/y')).rejects.toMatchObject({ status: 303 });
    expect(whole).toEqual([]);
    await db.close();
  });
});

it('are known to be buffered by Node 26', () => {
  expect(nodeBytes.buffersOut).toBe(Number(process.versions.node.split('.')[0]) >= 26);
});
