/** Answers that bring more than was said, perhaps without end: what is too much is not read, and none of it is kept. */
import { gzipSync } from 'node:zlib';
import { remote } from '@settledb/remote';
import { replicate } from '@settledb/replication';
import { describe, expect, it, vi } from 'vitest';
import { failureOf, MemoryDatabases, meddled, URL_OF_DB } from './support';

const MB = 2 ** 20;
const JSON_TYPE = { 'content-type': 'application/json' };

/** Pieces without end, counted as they are taken; `first` comes before them. */
function endless(first: string | undefined, piece: Uint8Array) {
  const sent = { bytes: 0, isLeft: false };
  let isFirst = first !== undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const next = isFirst ? new TextEncoder().encode(first) : piece;
        isFirst = false;
        sent.bytes += next.length;
        // So that a reader that goes on fails the test, not the machine.
        if (sent.bytes > 4096 * MB) controller.error(new Error('nobody stops'));
        else controller.enqueue(next);
      },
      cancel() {
        sent.isLeft = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { sent, body };
}

const DOC = { _id: 'a', _rev: '1-a', _revisions: { start: 1, ids: ['a'] } };
const STUB = { content_type: 'text/plain', revpos: 1, digest: 'md5-x', length: 10 };
const doc = (about: object) => Response.json({ ...DOC, _attachments: { f: { ...STUB, ...about } } });

/** A multipart answer with one document, up to the data of its attachment. */
const related = (about: object): string => {
  const json = JSON.stringify({ ...DOC, _attachments: { f: { ...STUB, ...about, follows: true } } });
  return `--o\r\ncontent-type: multipart/related; boundary=i\r\n\r\n--i\r\n\r\n${json}\r\n--i\r\n\r\n`;
};
const MIXED = { 'content-type': 'multipart/mixed; boundary=o' };
const ASKED = { docs: [{ id: 'a', rev: '1-a' }], attachments: true };

describe('an attachment that is longer than it is said to be', () => {
  it('is left as a stream, as it is stored, and in a document', async () => {
    const zeros = new Uint8Array(65_536);
    let last = endless(undefined, zeros);
    const plain = (): Response => {
      last = endless(undefined, zeros);
      return new Response(last.body);
    };
    const inParts = (about: object): Response => {
      last = endless(related(about), zeros);
      return new Response(last.body, { headers: MIXED });
    };
    const alone = (): Response => {
      const text = related(about);
      last = endless(text.slice(text.indexOf('--i')), zeros);
      return new Response(last.body, { headers: { 'content-type': 'multipart/related; boundary=i' } });
    };
    const gzip = { encoding: 'gzip', encoded_length: 20 };
    let about: object = { stub: true };
    const { fetch } = meddled({
      'GET /db/a': ({ url }) => (url.includes('attachments=true') ? alone() : doc({ stub: true, ...about })),
      'GET /db/a/f': plain,
      'POST /db/_bulk_get': () => inParts(about),
    });
    const db = remote(URL_OF_DB, { fetch });
    const read = async (encoded: boolean): Promise<void> => {
      const { stream } = await db.openAttachment('a', 'f', { encoded });
      for await (const _ of stream as unknown as AsyncIterable<Uint8Array>);
    };
    const calls: [object, () => Promise<unknown>][] = [
      [{}, () => read(false)],
      [gzip, () => read(true)],
      [{}, () => db.bulkGet(ASKED)],
      [gzip, () => db.bulkGet(ASKED)],
    ];
    for (const [said, call] of calls) {
      about = said;
      expect(await failureOf(call())).toMatchObject({ name: 'corrupt' });
      expect(last.sent.bytes).toBeLessThan(MB);
      await vi.waitFor(() => expect(last.sent.isLeft).toBe(true));
    }
  });

  it('is not stored, also by a source of another make', async () => {
    const last = endless(undefined, new Uint8Array(65_536));
    const source = {
      id: async () => 'source',
      info: async () => ({ update_seq: 1 }),
      get: async () => Promise.reject(Object.assign(new Error('missing'), { status: 404 })),
      put: async () => ({ ok: true, id: 'x', rev: '0-1' }),
      changes: async ({ since }: { since?: unknown }) => ({
        results: since === 1 ? [] : [{ id: 'a', seq: 1, changes: [{ rev: '1-a' }] }],
        last_seq: 1,
        pending: 0,
      }),
      revsDiff: async () => ({}),
      bulkDocs: async () => [],
      bulkGet: async () => ({
        results: [
          {
            id: 'a',
            docs: [{ ok: { ...DOC, _attachments: { f: { ...STUB, length: 9 * MB, stub: true } } } }],
          },
        ],
      }),
      openAttachment: async () => ({ ...STUB, length: 9 * MB, size: 9 * MB, stream: last.body }),
    };
    const databases = new MemoryDatabases();
    await databases.create('target');
    const target = (await databases.open('target'))!;
    const failure = await failureOf(replicate(source as never, target as never));
    expect(failure).toMatchObject({ name: 'content_md5_mismatch' });
    expect(last.sent.bytes).toBeLessThan(12 * MB);
    expect(last.sent.isLeft).toBe(true);
    expect((await target.info()).doc_count).toBe(0);
  });
});

describe('data that unfold to more than was said', () => {
  it('are not unfolded to their end', async () => {
    const bomb = gzipSync(new Uint8Array(64 * MB));
    const body = Buffer.concat([
      Buffer.from(related({ digest: undefined, encoding: 'gzip', encoded_length: bomb.length })),
      bomb,
      Buffer.from('\r\n--i--\r\n--o--'),
    ]);
    const { fetch } = meddled({ 'POST /db/_bulk_get': () => new Response(body, { headers: MIXED }) });
    const held = vi.spyOn(Response.prototype, 'arrayBuffer');
    expect(await failureOf(remote(URL_OF_DB, { fetch }).bulkGet(ASKED))).toMatchObject({ name: 'corrupt' });
    expect(held).not.toHaveBeenCalled();
    held.mockRestore();
  });
});

describe('a continuous feed', () => {
  it('has lines of any number of pieces, which are not read again with each', async () => {
    const text = 'x'.repeat(10_000);
    const row = JSON.stringify({ id: 'a', seq: 1, changes: [{ rev: '1-a' }], doc: { ...DOC, text } });
    const splits = vi.spyOn(String.prototype, 'split');
    const pieces = [...row].map((char) => new TextEncoder().encode(char));
    const { fetch } = meddled({
      'GET /db/_changes': ({ url }) => {
        if (!url.includes('feed=continuous'))
          return Response.json({ results: [], last_seq: 0 }, { headers: JSON_TYPE });
        const rest = [...pieces, new TextEncoder().encode('\n')];
        return new Response(
          new ReadableStream({
            pull(controller) {
              const next = rest.shift();
              if (next !== undefined) controller.enqueue(next);
            },
          }),
        );
      },
    });
    const feed = remote(URL_OF_DB, { fetch, feed: 'continuous' }).changes({ live: true, include_docs: true });
    for await (const { doc: found } of feed) {
      expect(found).toMatchObject({ text });
      break;
    }
    expect(splits.mock.contexts.filter((each) => String(each).length > 5_000)).toHaveLength(1);
    splits.mockRestore();
  });
});
