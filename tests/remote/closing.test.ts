/** What becomes of the calls of a remote database that is closed or destroyed under them. */
import { remote } from '@settledb/remote';
import { describe, expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { failureOf, meddled, ORIGIN, testServer } from './support';

function setUp() {
  const server = testServer();
  return { server, db: remote<Record<string, unknown>>(`${ORIGIN}/db`, { fetch: server.fetch }) };
}

/** A stream that gives some bytes and then stands still, and when it does. */
function stalled() {
  let stands = (): void => {};
  const reached = new Promise<void>((resolve) => {
    stands = resolve;
  });
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(new Uint8Array(10)),
      pull() {
        stands();
        return new Promise(() => {});
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, reached };
}

describe('a stream that stands still', () => {
  const writes = {
    'put as an attachment': (db, stream) => db.putAttachment('a', 'f', undefined, stream, 'x/y'),
    'given by a function': (db, stream) => db.putAttachment('a', 'f', undefined, () => stream, 'x/y'),
    'within a document': (db, data) =>
      db.put({ _id: 'a', _attachments: { f: { content_type: 'x/y', data } } } as never),
    'within one of many': (db, data) =>
      db.bulkDocs([{ _id: 'a', _attachments: { f: { content_type: 'x/y', data } } }] as never),
  } satisfies Record<
    string,
    (db: ReturnType<typeof setUp>['db'], stream: ReadableStream<Uint8Array>) => Promise<unknown>
  >;
  for (const [how, write] of Object.entries(writes))
    for (const end of ['close', 'destroy'] as const)
      it(`${how} is left, and its write refused as closed, by ${end}`, async () => {
        const { db, server } = setUp();
        const { stream, reached } = stalled();
        const failure = failureOf(write(db, stream));
        await reached;
        await db[end]();
        expect(await failure).toMatchObject({ status: 412, name: 'closed' });
        expect(server.log.filter((line) => /^(PUT|POST) \/db\//.test(line))).toEqual([]);
      });
});

describe('writes that were asked for before', () => {
  const handles = { remote, SettleDB: (url: string, options: object) => new SettleDB(url, options) };
  for (const [name, make] of Object.entries(handles))
    it(`are served when their database closes, also before it was looked for (${name})`, async () => {
      const server = testServer();
      const open = () => make(`${ORIGIN}/db`, { fetch: server.fetch });
      const f = { content_type: 'x/y', data: new Uint8Array(100_000) };
      const other = open();
      const [kept, gone] = await Promise.all(
        ['kept', 'gone'].map((_id) => other.put({ _id, _attachments: { f } } as never)),
      );
      const db = open();
      const writes = Promise.all([
        db.put({ _id: 'a' }),
        db.put({ _id: '_local/l' }),
        db.put({ _id: 'large', _attachments: { f } } as never),
        db.bulkDocs([{ _id: 'b' }, { _id: 'c' }]),
        db.putAttachment('d', 'f', undefined, new Blob(['x']), 'x/y'),
        db.removeAttachment('kept', 'f', kept!.rev),
        db.purge('gone', gone!.rev),
      ]);
      await db.close();
      expect((await writes)[6]).toMatchObject({ documentWasRemovedCompletely: true });
      const { rows } = await other.allDocs();
      expect(rows.map(({ key }) => key)).toEqual(['a', 'b', 'c', 'd', 'kept', 'large']);
      expect(await other.get('_local/l')).toMatchObject({ _id: '_local/l' });
      expect((await other.get('kept'))._attachments).toBeUndefined();
    });

  /** A database that is asked to write `/a`, and does when it is let. */
  async function asked() {
    let [reach, answer] = [(): void => {}, (): void => {}];
    const reached = new Promise<void>((resolve) => {
      reach = resolve;
    });
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const { server, fetch } = meddled({
      'GET /db/slow': () => new Promise<Response>(() => {}),
      'PUT /db/a': async (request) => {
        reach();
        await answered;
        return server.fetch(request);
      },
    });
    const db = remote(`${ORIGIN}/db`, { fetch });
    await db.info();
    const reads = [failureOf(db.get('slow')), db.changes({ live: true })] as const;
    const write = db.put({ _id: 'a' });
    await reached;
    return { db, reads, write, answer };
  }

  it('are waited for, while reads and feeds end at once', async () => {
    const { db, reads, write, answer } = await asked();
    const closing = db.close();
    expect(await Promise.all(reads)).toMatchObject([{ name: 'closed' }, { status: 'cancelled' }]);
    expect(await failureOf(db.put({ _id: 'b' }))).toMatchObject({ name: 'closed' });
    answer();
    expect(await write).toMatchObject({ ok: true, id: 'a' });
    await closing;
  });

  it('are not waited for by destroy', async () => {
    const { db, write } = await asked();
    const failure = failureOf(write);
    await db.destroy();
    expect(await failure).toMatchObject({ name: 'closed' });
  });

  it('are refused when nobody answers them for some seconds', async () => {
    vi.useFakeTimers();
    try {
      const db = remote(`${ORIGIN}/db`, { fetch: () => new Promise(() => {}) });
      const failure = failureOf(db.put({ _id: 'a' }));
      const closing = db.close();
      await vi.advanceTimersByTimeAsync(5_000);
      expect(await failure).toMatchObject({ name: 'closed' });
      await closing;
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
