/** What becomes of the calls of a remote database that is closed or destroyed under them. */
import { remote } from '@settledb/remote';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { attachmentsCode, historyCode } from '../../packages/core/src/database/code';
import { upkeepCode } from '../../packages/core/src/database/upkeep-code';
import { queryCode } from '../../packages/settledb/src/code';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { serverQueries } from '../../packages/settledb/src/server-queries';
import { failureOf, meddled, ORIGIN, testServer } from './support';

/** The server in this process loads code when it first needs it: on a busy machine that may take longer than closing waits for a write. */
beforeAll(async () => {
  for (const code of [attachmentsCode, historyCode, upkeepCode, queryCode]) await code.load();
});

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

  it('are those of indexes too, and the destruction of the database', async () => {
    const server = testServer({ queries: serverQueries() });
    const open = () => new SettleDB(`${ORIGIN}/db`, { fetch: server.fetch });
    const [one, two, last] = [open(), open(), open()];
    const made = one.createIndex({ fields: ['a'], ddoc: 'a', name: 'a' });
    await one.close();
    expect(await made).toMatchObject({ result: 'created' });
    const gone = two.deleteIndex({ ddoc: 'a', name: 'a' });
    await two.close();
    expect(await gone).toEqual({ ok: true });
    const told = vi.fn();
    last.on('destroyed', told);
    const destroyed = last.destroy();
    await last.close();
    expect(await destroyed).toEqual({ ok: true });
    expect(told).toHaveBeenCalledTimes(1);
    expect(await server.databases.list()).toEqual([]);
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

describe('destroyed by another handle of this page', () => {
  const open = (server: ReturnType<typeof testServer>, url: string) =>
    new SettleDB(url, { fetch: server.fetch });

  it('a handle of that URL, however it is written, is told once, and its feeds end', async () => {
    const server = testServer();
    const [one, same, other, closed] = [
      `${ORIGIN}/a%2Bb`,
      'HTTP://127.0.0.1:5984/a+b/',
      `${ORIGIN}/other`,
      `${ORIGIN}/a+b`,
    ].map((url) => open(server, url)) as [SettleDB, SettleDB, SettleDB, SettleDB];
    const told: string[] = [];
    for (const [name, db] of Object.entries({ one, same, other, closed })) {
      db.on('destroyed', () => told.push(name));
      await db.info();
    }
    await closed.close();
    const feeds = [one, same, other].map((db) => db.changes({ live: true }));
    await one.destroy();
    expect(await feeds[0]).toEqual({ status: 'cancelled' });
    expect(await feeds[1]).toEqual({ status: 'cancelled' });
    expect(told.sort()).toEqual(['one', 'same']);
    const going = await Promise.race([
      feeds[2],
      new Promise((resolve) => setTimeout(resolve, 50, 'goes on')),
    ]);
    expect(going).toBe('goes on');
    feeds[2]!.cancel();
  });

  it.each([
    200, 403,
  ])('feeds that find it missing before the deletion is answered wait for that: %i', async (status) => {
    const server = testServer();
    let missing = 0;
    const fetch: typeof server.fetch = async (input, init) => {
      const answer = await server.fetch(input, init);
      if (answer.status === 404 && `${input}`.includes('_changes')) missing++;
      if (init?.method !== 'DELETE') return answer;
      await vi.waitUntil(() => missing === 2, 5_000);
      // Some turns more, in which a feed that does not wait has ended.
      await new Promise((resolve) => setTimeout(resolve, 20));
      return status === 200 ? answer : Response.json({ error: 'forbidden', reason: 'no' }, { status });
    };
    const [one, two] = [0, 1].map(() => new SettleDB(`${ORIGIN}/db`, { fetch })) as [SettleDB, SettleDB];
    await one.info();
    const ends = [one, two].map((db) => db.changes({ live: true }).catch((error) => error));
    // They wait for a change, which is where the deletion finds them.
    await new Promise((resolve) => setTimeout(resolve, 20));
    const destroyed = one.destroy().catch((error) => error);
    const [end, result] =
      status === 200 ? [{ status: 'cancelled' }, { ok: true }] : [{ status: 404 }, { status }];
    for (const each of ends) expect(await each).toMatchObject(end);
    expect(await destroyed).toMatchObject(result);
  });

  it('a handle asks the server as before: missing, until somebody makes it anew', async () => {
    const server = testServer();
    const [one, two] = [open(server, `${ORIGIN}/db`), open(server, `${ORIGIN}/db`)];
    await one.put({ _id: 'a' });
    await two.get('a');
    const told = new Promise((resolve) => two.on('destroyed', () => resolve('told')));
    await one.destroy();
    expect(await told).toBe('told');
    expect(await failureOf(two.put({ _id: 'b' }))).toMatchObject({ status: 404 });
    const three = open(server, `${ORIGIN}/db`);
    await three.info();
    await two.info();
    await three.destroy();
    // Not the end of a feed that was there before.
    expect(await failureOf(two.changes())).toMatchObject({ status: 404 });
    await open(server, `${ORIGIN}/db`).put({ _id: 'c' });
    expect((await two.allDocs()).rows.map(({ id }) => id)).toEqual(['c']);
    const feed = two.changes({ live: true });
    for await (const { id } of feed) {
      expect(id).toBe('c');
      break;
    }
  });

  it('a destruction that failed tells nobody, and is heard of when it is done', async () => {
    let refuses = true;
    const server = testServer();
    const fetch: typeof server.fetch = async (input, init) =>
      refuses && init?.method === 'DELETE'
        ? Response.json({ error: 'forbidden', reason: 'no' }, { status: 403 })
        : server.fetch(input, init);
    const [one, two] = [0, 1].map(() => new SettleDB(`${ORIGIN}/db`, { fetch })) as [SettleDB, SettleDB];
    const told: string[] = [];
    one.on('destroyed', () => told.push('one'));
    two.on('destroyed', () => told.push('two'));
    await two.put({ _id: 'a' });
    const feed = two.changes({ live: true });
    expect(await failureOf(one.destroy())).toMatchObject({ status: 403 });
    expect(told).toEqual([]);
    refuses = false;
    await Promise.all([one.destroy(), two.destroy()]);
    expect(await feed).toEqual({ status: 'cancelled' });
    expect(told.sort()).toEqual(['one', 'two']);
  });

  it('a replication of a handle ends, and does not make the database again', async () => {
    const server = testServer();
    const [one, two] = [open(server, `${ORIGIN}/db`), open(server, `${ORIGIN}/db`)];
    const here = new SettleDB(`closing-${Math.random()}`, { adapter: 'memory' });
    await here.put({ _id: 'a' });
    const replication = two.replicate.from(here, { live: true, retry: true });
    await new Promise((resolve) => replication.on('paused', resolve));
    await one.destroy();
    expect(await replication).toMatchObject({ status: 'cancelled', docs_written: 1 });
    expect(await server.databases.list()).toEqual([]);
    await here.close();
  });
});
