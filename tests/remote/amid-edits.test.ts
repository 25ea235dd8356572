/** Answers with attachments while their documents are edited, compacted away and purged: what is there arrives, whole. */
import { describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { noise } from '../conformance/database/attachment-bytes';
import { ORIGIN, testServer } from './support';

type Fetch = typeof globalThis.fetch;
type Entry = { readonly id: string; readonly rev?: string };

/** More than one piece, as it is stored. */
const SIZE = 600_000;
const file = (seed: number) => ({ content_type: 'x/y', data: noise(SIZE, seed) });

async function setUp() {
  const server = testServer();
  await server.databases.create('db');
  const database = (await server.databases.open('db'))!;
  const revs: Record<string, string> = {};
  let seed = 0;
  const put = async (id: string): Promise<void> => {
    const doc = { _id: id, ...(revs[id] && { _rev: revs[id] }), _attachments: { f: file(++seed) } };
    revs[id] = (await database.put(doc as never)).rev;
  };
  for (const id of ['a', 'b', 'c', 'd']) await put(id);
  return {
    ...server,
    database,
    revs,
    async replace(id: string): Promise<void> {
      await put(id);
      await database.compact();
    },
    async purge(id: string): Promise<void> {
      await database.purge(id, revs[id]!);
      await database.compact();
    },
  };
}

/** Whoever gets its answers so has had their first piece when `edit` is done, and nothing more was read. */
function amid({ fetch }: { fetch: Fetch }, edit: () => Promise<void>, accept?: string): Fetch {
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    if (accept !== undefined) headers.set('accept', accept);
    const answer = await fetch(input, { ...init, headers });
    if (!/attachments=true|open_revs/.test(String(input))) return answer;
    const reader = answer.body!.getReader();
    const first = await reader.read();
    await edit();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(first.value!),
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    });
    return new Response(body, answer);
  };
}

const JSON_ONLY = 'application/json';
const forms: [string, string | undefined][] = [
  ['in parts', undefined],
  ['as JSON', JSON_ONLY],
];

describe.each(forms)('an answer of _bulk_get, %s', (_form, accept) => {
  async function rows(ask: (revs: Record<string, string>) => Entry[], latest = false): Promise<unknown> {
    const server = await setUp();
    const docs = ask({ ...server.revs });
    const edit = async (): Promise<void> => {
      await server.replace('a');
      await server.replace('b');
      await server.purge('c');
    };
    const far = new SettleDB(`${ORIGIN}/db`, { fetch: amid(server, edit, accept) });
    const { results } = await far.bulkGet({ docs, latest, attachments: true, binary: true });
    return Promise.all(
      results.map(async ({ id, docs: [row] }) => {
        if (row === undefined || 'error' in row) return [id, row?.error.error];
        const { f } = row.ok._attachments as unknown as Record<string, { data: Uint8Array }>;
        return [id, row.ok._rev.slice(0, 2), f!.data.length];
      }),
    );
  }

  const withRev = (revs: Record<string, string>): Entry[] =>
    ['a', 'b', 'c', 'd'].map((id) => ({ id, rev: revs[id]! }));

  it('says which revisions are gone, and brings the others; what was begun arrives whole', async () => {
    expect(await rows(withRev)).toEqual([
      ['a', '1-', SIZE],
      ['b', 'not_found'],
      ['c', 'not_found'],
      ['d', '1-', SIZE],
    ]);
  });

  it.each([
    ['with latest', withRev, true],
    ['where no revision was asked for', () => ['a', 'b', 'c', 'd'].map((id) => ({ id })), false],
  ] as const)('brings what is there now: %s', async (_how, ask, latest) => {
    expect(await rows(ask, latest)).toEqual([
      ['a', '1-', SIZE],
      ['b', '2-', SIZE],
      ['c', 'not_found'],
      ['d', '1-', SIZE],
    ]);
  });
});

describe('an answer with the attachments of one document', () => {
  const ROADS: [string, string][] = [
    ['/db/a?attachments=true', JSON_ONLY],
    ['/db/a?attachments=true', 'multipart/related'],
    ['/db/a?open_revs=all', 'multipart/mixed'],
  ];
  // One character for each byte.
  const textOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer()).toString('latin1');
  const revIn = (text: string): string => /"_rev":"(\d+-)/.exec(text)![1]!;
  const isWhole = (text: string): boolean => text.length > SIZE && /(--|\}\n?)$/.test(text);

  it.each(ROADS)('once begun, arrives whole: %s, %s', async (path, accept) => {
    const server = await setUp();
    const fetch = amid(server, () => server.replace('a'), accept);
    const text = await textOf(await fetch(ORIGIN + path));
    expect([revIn(text), isWhole(text)]).toEqual(['1-', true]);
  });

  it.each(ROADS)('is of what is there when its attachments are opened: %s, %s', async (path, accept) => {
    const server = await setUp();
    const { database } = server;
    const open = database.openAttachment.bind(database);
    let first = true;
    database.openAttachment = async (...asked) => {
      if (first) await server.replace('a');
      first = false;
      return open(...asked);
    };
    const answer = await server.fetch(ORIGIN + path, { headers: { accept } });
    const text = await textOf(answer);
    expect([answer.status, revIn(text), isWhole(text)]).toEqual([200, '2-', true]);
  });
});

describe('ranges of an attachment', () => {
  const get = ({ fetch }: { fetch: Fetch }, range: string) =>
    fetch(`${ORIGIN}/db/a/f`, { headers: { range } });
  const ofFirst = (from: number, to: number): string =>
    Buffer.from(noise(SIZE, 1)).subarray(from, to).toString('latin1');
  const textOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer()).toString('latin1');

  /** Replaces the attachment before it is opened for the `n`th time. */
  function editAt(
    n: number,
    { database }: Awaited<ReturnType<typeof setUp>>,
    edit: () => Promise<void>,
  ): void {
    const open = database.openAttachment.bind(database);
    let times = 0;
    database.openAttachment = async (...asked) => {
      if (++times === n) await edit();
      return open(...asked);
    };
  }

  it.each(['bytes=5-9', 'bytes=5-9,20-29'])('are of the content that the answer names: %s', async (range) => {
    const server = await setUp();
    const tag = (await get(server, 'bytes=0-0')).headers.get('etag');
    editAt(2, server, async () => {
      await server.database.put({ _id: 'a', _rev: server.revs.a!, _attachments: { f: file(99) } } as never);
    });
    const answer = await get(server, range);
    expect([answer.status, answer.headers.get('etag')]).toEqual([206, tag]);
    const text = await textOf(answer);
    expect(text).toContain(ofFirst(5, 10));
    if (range.includes(',')) expect(text).toContain(ofFirst(20, 30));
  });

  it('are of what is there now, if that was compacted away before the first byte', async () => {
    const server = await setUp();
    const tag = (await get(server, 'bytes=0-0')).headers.get('etag');
    editAt(2, server, () => server.replace('a'));
    const answer = await get(server, 'bytes=5-9');
    expect([answer.status, answer.headers.get('etag') === tag]).toEqual([206, false]);
    expect(await textOf(answer)).not.toBe(ofFirst(5, 10));
  });

  it('are broken off, if that was compacted away amid several', async () => {
    const server = await setUp();
    editAt(3, server, () => server.replace('a'));
    const answer = await get(server, 'bytes=5-9,20-29');
    expect(answer.status).toBe(206);
    await expect(answer.arrayBuffer()).rejects.toMatchObject({ name: 'not_found' });
  });
});
