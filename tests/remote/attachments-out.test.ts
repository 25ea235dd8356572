/** Attachments too large to be held, sent over real HTTP while they are read: exact, or not there at all, and told why. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memory } from '@settledb/adapter-memory';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { createServer } from '../../packages/settledb/src/server';
import { noise, same } from '../conformance/database/attachment-bytes';

type Db = SettleDB<Record<string, unknown>>;
type Server = Awaited<ReturnType<typeof createServer>>;

const SIZE = 3_300_000;
const PIECE = 100_000;
const folder = mkdtempSync(join(tmpdir(), 'settledb-out-'));
const credentials = { username: 'me', password: 'a long password' };
let server: Server;
let count = 0;

beforeAll(async () => {
  server = await createServer({ dir: folder, port: 0, admins: { me: credentials.password } });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const far = (): Db => new SettleDB(`${server.url}/out-${count++}`, { auth: credentials });

/** A document as replication sends it, and how often its data was asked for. */
function outgoing(make: () => AsyncIterable<Uint8Array>, length = SIZE) {
  let opened = 0;
  const data = (): AsyncIterable<Uint8Array> => {
    opened++;
    return make();
  };
  const attachment = { content_type: 'image/png', encoded: true, revpos: 1, length, data };
  const doc = { _id: 'a', _rev: `1-${'a'.repeat(32)}`, _attachments: { f: attachment }, n: 1 };
  return { doc, opened: () => opened };
}

async function* pieces(until = SIZE, fail?: Error): AsyncGenerator<Uint8Array> {
  const bytes = noise(SIZE + PIECE);
  for (let at = 0; at < until; at += PIECE) yield bytes.subarray(at, Math.min(until, at + PIECE));
  if (fail !== undefined) throw fail;
}

const send = (db: Db, doc: object) => db.bulkDocs([doc] as never, { new_edits: false });
const sent = async (db: Db, name = 'f'): Promise<boolean> =>
  same((await db.getAttachment('a', name)) as Uint8Array, noise(SIZE));

it('of a local document is sent in whatever form it is given', async () => {
  const db = far();
  const file = (data: unknown) => ({ content_type: 'x/y', data });
  const bytes = noise(70_000);
  const _attachments = { a: file('aGk='), b: file(Buffer.from('hi')), c: file(new Blob([bytes]).stream()) };
  await db.put({ _id: '_local/files', _attachments } as never);
  const stored = await db.get('_local/files', { attachments: true });
  const data = Buffer.from(bytes).toString('base64');
  expect(stored._attachments).toMatchObject({ a: { data: 'aGk=' }, b: { data: 'aGk=' }, c: { data } });
});

describe('a large attachment', () => {
  it('is replicated exactly, beside others of its document', async () => {
    const near: Db = new SettleDB('near', { adapter: memory() });
    const file = (data: Uint8Array) => ({ content_type: 'image/png', data });
    const _attachments = { 'é "1"': file(noise(SIZE)), small: file(noise(100)), empty: file(noise(0)) };
    await near.bulkDocs([
      { _id: 'a', _attachments },
      { _id: 'b' },
      { _id: 'c', _attachments: { small: file(noise(100)) } },
    ] as never);
    const db = far();
    expect(await near.replicate.to(db)).toMatchObject({ ok: true, docs_written: 3, doc_write_failures: 0 });
    expect(await sent(db, 'é "1"')).toBe(true);
    const whole = { attachments: true } as const;
    for (const id of ['a', 'c']) expect(await db.get(id, whole)).toEqual(await near.get(id, whole));
    expect(await near.replicate.to(db)).toMatchObject({ docs_read: 0 });
  });

  it('is read as it is sent, once, and again when the request must be sent again', async () => {
    const db = far();
    await db.info();
    const first = outgoing(() => pieces());
    expect(await send(db, first.doc)).toEqual([]);
    expect(first.opened()).toBe(1);
    expect(await sent(db)).toBe(true);
    // Refused first, with what was sent of it: the client asks for other credentials and sends it again.
    const authorization = (password: string): string => `Basic ${btoa(`me:${password}`)}`;
    const renewed: Db = new SettleDB(`${server.url}/out-${count++}`, {
      headers: (again) => ({ authorization: authorization(again ? credentials.password : 'wrong') }),
    });
    await renewed.info();
    const second = outgoing(() => pieces());
    expect(await send(renewed, second.doc)).toEqual([]);
    expect(second.opened()).toBe(2);
    expect(await sent(renewed)).toBe(true);
  });

  it('is what its data are, in their order, whatever length the document was read with', async () => {
    const db = far();
    await db.putAttachment('a', 'f', Buffer.from(noise(SIZE - 1)), 'x/y');
    const { _rev, _attachments = {} } = await db.get('a');
    const { stub: _, ...info } = _attachments.f as { stub?: true; length: number };
    const from = pieces(SIZE + 50);
    const next = async (length: number): Promise<Uint8Array[]> => {
      const parts: Uint8Array[] = [];
      for (let left = length; left > 0; left -= parts.at(-1)!.length) parts.push((await from.next()).value!);
      return parts;
    };
    // Both are parts of one stream.
    const data = (length: number) => async (): Promise<ReadableStream> =>
      new Blob((await next(length)) as BlobPart[]).stream();
    const files = { f: { ...info, data: data(SIZE) }, g: { content_type: 'x/y', data: data(50) } };
    await db.put({ _id: 'a', _rev, _attachments: files } as never);
    expect(await sent(db)).toBe(true);
    expect((await db.get('a'))._attachments).toMatchObject({ f: { length: SIZE }, g: { length: 50 } });
  });

  it('that stands still while it is read and sent is refused as closed, at once', async () => {
    const db = far();
    await db.info();
    let stands = (): void => {};
    const reached = new Promise<void>((resolve) => {
      stands = resolve;
    });
    const { doc } = outgoing(async function* () {
      yield noise(PIECE);
      stands();
      await new Promise(() => {});
    });
    const failure = expect(send(db, doc)).rejects.toMatchObject({ status: 412, name: 'closed' });
    await reached;
    // Writes of which all is known are given five seconds: here they never come.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    await db.close();
    await failure;
  });

  it('that fails while it is read fails with that error, and is not there', async () => {
    const db = far();
    await db.info();
    const failure = Object.assign(new Error('no more'), { status: 502 });
    await expect(send(db, outgoing(() => pieces(SIZE / 2, failure)).doc)).rejects.toBe(failure);
    for (const length of [SIZE - 1, SIZE + 1]) {
      const { doc } = outgoing(() => pieces(), length);
      expect(await send(db, doc)).toMatchObject([{ id: 'a', status: 400, name: 'bad_request' }]);
    }
    await expect(db.get('a')).rejects.toMatchObject({ status: 404 });
    expect(await send(db, outgoing(() => pieces()).doc)).toEqual([]);
    expect(await sent(db)).toBe(true);
  });
});
