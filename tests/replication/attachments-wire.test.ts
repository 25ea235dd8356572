/** Attachments between our client and our server: exactly, both ways, small and large, as they are stored. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { memory } from '@settledb/adapter-memory';
import { describe, expect, it } from 'vitest';
import type { Peer } from '../../packages/replication/src/index';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { ORIGIN, testServer } from '../remote/support';
import { peer } from './databases';

type Db = SettleDB<Record<string, unknown>>;
let count = 0;

function pair(): { near: Db; far: Db; log: string[] } {
  const { fetch, log } = testServer();
  const near = new SettleDB<Record<string, unknown>>(`wire-${count++}`, { adapter: memory() });
  return { near, far: new SettleDB(`${ORIGIN}/db-${count}`, { fetch }), log };
}

const bytes = (length: number, seed = 1): Buffer =>
  Buffer.from(new Uint8Array(length).map((_, i) => (Math.imul(i + seed, 2654435761) >>> 13) & 255));

const digestOf = (data: Uint8Array): string => `md5-${createHash('md5').update(data).digest('base64')}`;

async function fill(db: Db): Promise<void> {
  const file = (data: Buffer) => ({ content_type: 'x/y', data: data.toString('base64') });
  await db.bulkDocs([
    { _id: 'small', _attachments: { 'a/b +%é': file(bytes(1000)), empty: file(bytes(0)) } },
    { _id: 'large', _attachments: { big: file(bytes(2_500_000)), little: file(bytes(10)) } },
    { _id: 'none', n: 1 },
  ] as never);
}

async function attachmentsOf(db: Db): Promise<unknown> {
  const { rows } = await db.allDocs({ include_docs: true, attachments: true });
  return rows.map((row) => ('doc' in row ? [row.id, row.value.rev, row.doc?._attachments] : row));
}

describe('attachments over the wire', () => {
  it.each(['push', 'pull'] as const)('are transferred exactly: %s', async (way) => {
    const { near, far } = pair();
    const [source, target] = way === 'push' ? [near, far] : [far, near];
    await fill(source);
    const replicate = (): PromiseLike<unknown> =>
      way === 'push' ? near.replicate.to(far) : near.replicate.from(far);
    expect(await replicate()).toMatchObject({ ok: true, docs_written: 3, doc_write_failures: 0 });
    expect(await attachmentsOf(target)).toEqual(await attachmentsOf(source));
    // An edit that keeps them sends none of them again.
    const { _attachments, ...doc } = await source.get('large');
    await source.put({ ...doc, _attachments, n: 2 } as never);
    expect(await replicate()).toMatchObject({ docs_written: 1 });
    expect(await attachmentsOf(target)).toEqual(await attachmentsOf(source));
    expect(await replicate()).toMatchObject({ docs_read: 0 });
  });

  it('that are stored as gzip arrive decoded with documents that no URL names, and nothing of them is lost', async () => {
    const { near, far } = pair();
    const text = Buffer.from('hello '.repeat(100));
    const [packed, plain] = [gzipSync(text), { content_type: 'text/plain', length: text.length, revpos: 1 }];
    const stored = { ...plain, data: packed, encoded: true, encoding: 'gzip', digest: digestOf(packed) };
    const doc = { _id: '..', _rev: '1-a', _attachments: { stored } };
    expect(await near.bulkDocs([doc as never], { new_edits: false })).toEqual([]);
    expect(await near.replicate.to(far)).toMatchObject({ ok: true, docs_written: 1 });
    const there = { ...plain, digest: digestOf(text), stub: true };
    expect((await far.get('..'))._attachments).toEqual({ stored: there });
    // The digests differ, and edits on either side keep it.
    await near.put({ ...(await near.get('..')), n: 2 });
    expect(await near.replicate.to(far)).toMatchObject({ ok: true, docs_written: 1, doc_write_failures: 0 });
    await far.put({ ...(await far.get('..')), n: 3 });
    expect(await near.replicate.from(far)).toMatchObject({
      ok: true,
      docs_written: 1,
      doc_write_failures: 0,
    });
    for (const db of [near, far]) {
      expect(await db.get('..')).toMatchObject({ n: 3, _attachments: { stored: plain } });
      const data = (await db.getAttachment('..', 'stored')) as Blob | Uint8Array;
      expect(Buffer.from(await new Blob([data as never]).arrayBuffer())).toEqual(text);
    }
  });

  it('between two servers pass through unharmed', async () => {
    const [one, other] = [pair(), pair()];
    await fill(one.far);
    expect(await SettleDB.replicate(one.far, other.far)).toMatchObject({ ok: true, docs_written: 3 });
    expect(await attachmentsOf(other.far)).toEqual(await attachmentsOf(one.far));
  });
});

describe('a document whose URL is too long for the server', () => {
  it.each([414, 431])('is denied, and the others are not held up by it: %s', async (status) => {
    const { fetch } = testServer();
    const refusing: typeof fetch = async (input, init) =>
      String(input).length > 4000 ? new Response(null, { status }) : fetch(input, init);
    const far = new SettleDB<Record<string, unknown>>(`${ORIGIN}/db`, { fetch: refusing });
    const { near } = pair();
    await fill(near);
    const _id = 'long'.repeat(1000);
    await near.put({ _id, _attachments: { big: { content_type: 'x/y', data: bytes(100_000) } } } as never);
    await near.put({ _id: 'last' });
    expect(await near.replicate.to(far)).toMatchObject({
      ok: true,
      docs_written: 4,
      doc_write_failures: 1,
      errors: [{ id: _id, status, name: 'url_too_long' }],
    });
    expect((await far.info()).doc_count).toBe(4);
  });
});

describe('a source that fails while a large attachment is read', () => {
  const FAILURES = {
    'says 401, as when a session ran out': () =>
      Response.json({ error: 'unauthorized', reason: 'Session expired' }, { status: 401 }),
    'says 403': () => Response.json({ error: 'forbidden', reason: 'no' }, { status: 403 }),
    'says 413': () => new Response('too large', { status: 413 }),
    'cannot be reached': () => Promise.reject(new TypeError('fetch failed')),
    'breaks off': (whole: Response) => {
      const reader = whole.body!.getReader();
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          const { value } = await reader.read();
          await reader.cancel();
          controller.enqueue(value!.subarray(0, 10));
          controller.error(new TypeError('terminated'));
        },
      });
      return new Response(body, whole);
    },
  };

  /** @param times how often the attachment's request fails */
  function failing(how: keyof typeof FAILURES, times: number): { near: Db; far: Db; asked: () => number } {
    const { fetch } = testServer();
    let asked = 0;
    const meddling: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      if (init?.method !== 'GET' || !/\/big\?/.test(String(input)) || ++asked > times) return answer;
      return FAILURES[how](answer);
    };
    return {
      near: pair().near,
      far: new SettleDB(`${ORIGIN}/db`, { fetch: meddling }),
      asked: () => asked,
    };
  }

  const large = (db: Db) =>
    db.put({
      _id: 'large',
      _attachments: { big: { content_type: 'x/y', data: Buffer.alloc(1_100_000, 3) } },
    } as never);

  it.each([
    'says 401, as when a session ran out',
    'says 403',
    'says 413',
    'cannot be reached',
  ] as const)('is no target that refuses: it %s, and the next run brings the document', async (how) => {
    const { near, far } = failing(how, 1);
    await large(far);
    const failure = await near.replicate.from(far).catch((error: unknown) => error);
    expect(failure).toMatchObject({ result: { ok: false, last_seq: 0, errors: [] } });
    expect(await near.get('large').catch(({ status }) => status)).toBe(404);
    expect(await near.replicate.from(far)).toMatchObject({ ok: true, docs_written: 1 });
    expect(await attachmentsOf(near)).toEqual(await attachmentsOf(far));
  });

  // More often than a document may fail. Of what breaks off the rest is asked for, 8 times each time.
  it.each([
    ['cannot be reached', 15],
    ['breaks off', 110],
  ] as const)('is waited for, however often it %s', async (how, times) => {
    const { near, far, asked } = failing(how, times);
    await large(far);
    const options = { retry: true, back_off_function: () => 0 };
    expect(await SettleDB.replicate(far, near, options)).toMatchObject({
      ok: true,
      docs_written: 1,
      errors: [],
    });
    expect(asked()).toBeGreaterThan(times);
    expect(await attachmentsOf(near)).toEqual(await attachmentsOf(far));
  });

  it('is no target that refuses where the target is a server, either', async () => {
    const { far, asked } = failing('says 413', 1);
    const other = pair().far;
    await large(far);
    await expect(SettleDB.replicate(far, other)).rejects.toMatchObject({
      result: { last_seq: 0, errors: [] },
    });
    expect(asked()).toBe(1);
    expect(await SettleDB.replicate(far, other)).toMatchObject({ docs_written: 1 });
    expect(await attachmentsOf(other)).toEqual(await attachmentsOf(far));
  });
});

describe('a large attachment that is replaced, and compacted away, faster than it is carried over', () => {
  let seed = 0;
  async function replace(db: Db): Promise<void> {
    const _rev = await db.get('camera').then(
      (doc) => doc._rev,
      () => undefined,
    );
    const image = { content_type: 'x/y', data: bytes(1_100_000, ++seed).toString('base64') };
    await db.put({ _id: 'camera', ...(_rev && { _rev }), _attachments: { image } } as never);
    await db.compact();
  }

  /** Replaces it, the first `times` that it is read. */
  function racing(db: Db, when: 'before it is opened' | 'while it is read', times: number): Peer {
    let opens = 0;
    const openAttachment: Db['openAttachment'] = async (...asked) => {
      const last = ++opens > times;
      if (!last && when === 'before it is opened') await replace(db);
      const opened = await db.openAttachment(...asked);
      if (!last && when === 'while it is read') await replace(db);
      return opened;
    };
    return { ...peer(db as never), openAttachment };
  }

  const ROADS = ['push', 'pull', 'here'] as const;
  const MOMENTS = ['before it is opened', 'while it is read'] as const;
  const ways = ROADS.flatMap((road) => MOMENTS.map((moment) => [road, moment] as const));
  async function ends(road: (typeof ROADS)[number]): Promise<{ from: Db; to: Db }> {
    const { near, far } = pair();
    const from = road === 'pull' ? far : near;
    await replace(from);
    await from.put({ _id: 'other' });
    return { from, to: road === 'push' ? far : road === 'pull' ? near : pair().near };
  }

  // More often than a document may fail.
  it.each(ways)('is no failure, and its last content arrives: %s, %s', async (road, moment) => {
    const { from, to } = await ends(road);
    const failures: unknown[] = [];
    const options = { live: true, retry: true, back_off_function: () => 0 };
    const replication = SettleDB.replicate(racing(from, moment, 12), to, options);
    replication.on('paused', (error) => error && failures.push(error));
    const { _rev } = await new Promise<{ _rev: string }>((resolve, reject) => {
      replication.on('change', ({ docs }) => {
        const camera = docs.find(({ _id }) => _id === 'camera');
        if (camera !== undefined) resolve(camera);
      });
      replication.then(reject, reject);
    });
    expect(_rev).toMatch(/^13-/);
    replication.cancel();
    expect(await replication).toMatchObject({ docs_read: 2, docs_written: 2, doc_write_failures: 0 });
    expect(failures).toEqual([]);
    expect(await attachmentsOf(to)).toEqual(await attachmentsOf(from));
  });

  it.each(ways)('comes with the same run: %s, %s', async (road, moment) => {
    const { from, to } = await ends(road);
    const { update_seq } = await from.info();
    const result = await SettleDB.replicate(racing(from, moment, 1), to);
    const last_seq = (update_seq as number) + 1;
    expect(result).toMatchObject({ ok: true, docs_read: 2, docs_written: 2, last_seq });
    expect(await attachmentsOf(to)).toEqual(await attachmentsOf(from));
  });

  it('fails the run when its revision is listed still: then it is lost', async () => {
    const { from, to } = await ends('here');
    const openAttachment: Db['openAttachment'] = (id) => from.openAttachment(id, 'another name');
    const run = SettleDB.replicate({ ...peer(from as never), openAttachment }, to);
    await expect(run).rejects.toMatchObject({
      status: 404,
      result: { ok: false, last_seq: 0, docs_written: 1, doc_write_failures: 1 },
    });
  });
});

describe('attachments that a server has stored as gzip', () => {
  const text = Buffer.from('settled '.repeat(400));
  const packed = gzipSync(text);
  const file = (data: Uint8Array, plain: Uint8Array) => ({
    content_type: 'text/plain',
    data,
    encoded: true,
    encoding: 'gzip',
    length: plain.length,
    revpos: 1,
  });
  /** Beside plain ones, before and after, and under a name that JavaScript sorts in front. */
  const doc = {
    _id: 'z',
    _rev: '1-a',
    _attachments: {
      a: { content_type: 'x/y', data: bytes(5000), revpos: 1 },
      t: file(packed, text),
      7: file(gzipSync(Buffer.from('seven')), Buffer.from('seven')),
      big: { content_type: 'x/y', data: bytes(300_000), revpos: 1 },
    },
  };

  it('are pulled, and dumped, as they are stored', async () => {
    const { near, far } = pair();
    expect(await far.bulkDocs([doc] as never, { new_edits: false })).toEqual([]);
    const expected = (await far.get('z', { att_encoding_info: true }))._attachments;
    expect(expected).toMatchObject({
      t: { encoding: 'gzip', encoded_length: packed.length, digest: digestOf(packed) },
    });
    expect(await near.replicate.from(far)).toMatchObject({
      ok: true,
      docs_written: 1,
      doc_write_failures: 0,
    });
    const loaded = pair().near;
    expect(await loaded.load(far.dump())).toMatchObject({ ok: true, docs_written: 1 });
    for (const db of [near, loaded]) {
      expect((await db.get('z', { att_encoding_info: true }))._attachments).toEqual(expected);
      expect(await attachmentsOf(db)).toEqual(await attachmentsOf(far));
    }
    const opened = await far.openAttachment('z', 't', { encoded: true });
    expect(opened).toMatchObject({ encoding: 'gzip', size: packed.length, length: text.length });
    expect(Buffer.from(await new Response(opened.stream as never).arrayBuffer())).toEqual(packed);
    // Back again, and nothing is new.
    expect(await near.replicate.to(far)).toMatchObject({ docs_written: 0 });
  });

  it.each([
    [
      'substituted',
      (body: Buffer) => body.fill(1, body.indexOf(packed) + 30, body.indexOf(packed) + 32),
      'corrupt',
    ],
    ['shorter', (body: Buffer) => body.subarray(0, body.indexOf(packed) + 20), 'bad_response'],
    [
      'left out',
      (body: Buffer) => Buffer.from(body.toString('latin1').replace('"t":', '"u":'), 'latin1'),
      'bad_response',
    ],
  ] as const)('are refused where they came %s, and nothing is written', async (_how, meddle, name) => {
    const { fetch } = testServer();
    const meddling = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
      const response = await fetch(input, init);
      if (!response.headers.get('content-type')?.startsWith('multipart/related')) return response;
      const body = Buffer.from(await response.arrayBuffer());
      return new Response(meddle(body) as Uint8Array<ArrayBuffer>, response);
    };
    const [far, near] = [new SettleDB(`${ORIGIN}/db`, { fetch: meddling }), pair().near];
    await far.bulkDocs([doc] as never, { new_edits: false });
    const opened = await far.openAttachment('z', 't', { encoded: true });
    await expect(new Response(opened.stream as never).arrayBuffer()).rejects.toMatchObject({ name });
    await expect(near.replicate.from(far)).rejects.toMatchObject({ status: expect.any(Number) });
    await expect(near.get('z')).rejects.toMatchObject({ status: 404 });
    expect(await near.load(far.dump()).catch((error: Error) => error)).toMatchObject({ name });
    await expect(near.get('z')).rejects.toMatchObject({ status: 404 });
  });
});
