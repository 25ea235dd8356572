/** `_replicate` of a server, between its own databases: what runs, what is asked for twice, what is cancelled. */
import { expect, it, vi } from 'vitest';
import { serverReplicator } from '../../packages/settledb/src/server-replicator';
import { ORIGIN, type TestServer, testServer } from './support';

async function setUp(): Promise<TestServer> {
  const server = testServer({ replicator: serverReplicator(['couch.example']) });
  for (const name of ['source', 'target']) await server.ask('PUT', `/${name}`);
  await server.ask('POST', '/source/_bulk_docs', { docs: [{ _id: 'a' }, { _id: 'b' }] });
  return server;
}

const between = { source: 'source', target: 'target' };
const tasks = async (server: TestServer) =>
  (await server.ask('GET', '/_active_tasks')).body as { replication_id: string; doc_ids: string[] | null }[];

it('copies once, and then finds nothing to do', async () => {
  const server = await setUp();
  const once = await server.ask('POST', '/_replicate', between);
  expect([once.status, once.body.ok, once.body.history[0].docs_written]).toEqual([200, true, 2]);
  expect((await server.ask('POST', '/_replicate', between)).body.no_changes).toBe(true);
});

it('leaves what does not win behind, where that is asked for', async () => {
  const server = await setUp();
  const docs = ['1-a', '1-b'].map((_rev) => ({ _id: 'tangled', _rev }));
  await server.ask('POST', '/source/_bulk_docs', { docs, new_edits: false });
  const written = async (more: object): Promise<number> =>
    (await server.ask('POST', '/_replicate', { ...between, ...more })).body.history[0].docs_written;
  expect(await written({ winning_revs_only: true })).toBe(3);
  expect((await server.ask('GET', '/target/tangled?conflicts=true')).body).toEqual({
    _id: 'tangled',
    _rev: '1-b',
  });
  expect(await written({})).toBe(1);
});

const SOURCE = { source: 'http://one.example/db', target: 'target' };
/** Hosts that never answer. */
const silent: typeof globalThis.fetch = (_, init) =>
  new Promise((_resolve, reject) => {
    init?.signal?.addEventListener('abort', () => reject(init.signal!.reason));
  });
const ofSilent = async (): Promise<TestServer> => {
  const server = testServer({ replicator: serverReplicator(['one.example'], silent) });
  await server.ask('PUT', '/target');
  return server;
};

it.each(['cancelled', 'ended by the server, which closes'])('is no success when it was %s', async (how) => {
  const end = async (server: TestServer): Promise<unknown> => {
    if (how !== 'cancelled') return server.close();
    const { replication_id } = (await tasks(server))[0]!;
    return server.ask('POST', '/_replicate', { replication_id, cancel: true });
  };
  const amid = await setUp();
  const target = (await amid.databases.open('target'))!;
  const bulkDocs = target.bulkDocs.bind(target) as (...given: unknown[]) => Promise<never>;
  target.bulkDocs = async (...given: unknown[]) => bulkDocs(...given).finally(() => end(amid));
  expect(await amid.ask('POST', '/_replicate', between)).toMatchObject({
    status: 503,
    body: { error: 'service_unavailable' },
  });
  // Also before it has reached its source.
  const early = await ofSilent();
  const waiting = early.ask('POST', '/_replicate', SOURCE);
  await expect.poll(() => tasks(early)).toHaveLength(1);
  await end(early);
  expect((await waiting).status).toBe(503);
  await expect.poll(() => tasks(early)).toEqual([]);
});

it('is not begun for a client that has left', async () => {
  const replicator = vi.fn(async () => ({}));
  const server = testServer({ replicator });
  const request = new Request(`${ORIGIN}/_replicate`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(SOURCE),
  });
  await server.handle(Object.defineProperty(request, 'signal', { value: AbortSignal.abort() }));
  expect(replicator).not.toHaveBeenCalled();
});

it('is under way no more when its replicator has thrown, also at once', async () => {
  const replicator = () => {
    throw new Error('no');
  };
  const server = testServer({ replicator, logger: {} });
  expect((await server.ask('POST', '/_replicate', between)).status).toBe(500);
  expect(await tasks(server)).toEqual([]);
});

it('does not begin once the server closes: nobody would end it', async () => {
  const server = await setUp();
  server.close();
  for (const continuous of [true, false]) {
    const { status, body } = await server.ask('POST', '/_replicate', { ...between, continuous });
    expect([status, body.error]).toEqual([503, 'service_unavailable']);
  }
  expect(await tasks(server)).toEqual([]);
});

it('goes on as one, however often it is asked for, until it is cancelled by what it does or by its id', async () => {
  const server = await setUp();
  const request = { ...between, continuous: true };
  const { status, body } = await server.ask('POST', '/_replicate', request);
  expect([status, body.ok]).toEqual([202, true]);
  expect((await server.ask('POST', '/_replicate', request)).body).toEqual(body);
  expect((await tasks(server)).map(({ replication_id }) => replication_id)).toEqual([body._local_id]);

  const some = await server.ask('POST', '/_replicate', { ...request, doc_ids: ['a'] });
  expect(some.body._local_id).not.toBe(body._local_id);
  expect(await tasks(server)).toHaveLength(2);
  const cancelled = await server.ask('POST', '/_replicate', { ...request, doc_ids: ['a'], cancel: true });
  expect([cancelled.status, cancelled.body.ok]).toEqual([200, true]);
  const byId = { replication_id: body._local_id, cancel: true };
  expect((await server.ask('POST', '/_replicate', byId)).status).toBe(200);
  for (const again of [byId, { ...request, cancel: true }, { replication_id: 'none', cancel: true }])
    expect((await server.ask('POST', '/_replicate', again)).status).toBe(404);
  await expect.poll(() => tasks(server)).toEqual([]);
  expect((await server.ask('POST', '/_replicate', request)).body).toEqual(body);
  server.close();
});

it('runs a hundred at a time, and no more', async () => {
  const server = await ofSilent();
  const begin = async (n: number): Promise<number> => {
    const source = `http://one.example/${n}`;
    return (await server.ask('POST', '/_replicate', { source, target: 'target', continuous: true })).status;
  };
  const begun = await Promise.all(Array.from({ length: 100 }, (_, n) => begin(n)));
  expect(new Set(begun)).toEqual(new Set([202]));
  expect(await begin(100)).toBe(503);
  server.close();
});

it('refuses what is neither a name nor a URL, and hosts it was not told of', async () => {
  const server = await setUp();
  const auth = { basic: { username: 'me', password: 'secret' } };
  for (const source of ['', 5, 'http://', 'http:source', { url: 'https://[' }, { url: 'source', auth }, {}]) {
    const { status, body } = await server.ask('POST', '/_replicate', { ...between, source });
    expect([source, status, body.error]).toEqual([source, 400, 'bad_request']);
  }
  const elsewhere = await server.ask('POST', '/_replicate', { ...between, source: 'http://localhost:1/a' });
  expect(elsewhere.status).toBe(403);
});

it('follows redirects to hosts it was told of, and no others, without credentials between hosts', async () => {
  const far = testServer();
  await far.ask('PUT', '/source');
  await far.ask('PUT', '/source/a', {});
  const asked: string[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const { host, pathname, search } = new URL(request.url);
    const authorization = request.headers.get('authorization');
    asked.push(host);
    if (host === 'other.example') expect(authorization).toBeNull();
    if (host === 'one.example' || host === 'mean.example') {
      expect(request.redirect).toBe('manual');
      const to = host === 'one.example' ? 'other.example' : '169.254.169.254';
      return new Response(null, { status: 307, headers: { location: `http://${to}${pathname}${search}` } });
    }
    return far.fetch(ORIGIN + pathname + search, init);
  };
  const hosts = ['one.example', 'other.example', 'mean.example'];
  const server = testServer({ replicator: serverReplicator(hosts, fetch) });
  await server.ask('PUT', '/target');
  const from = (host: string) =>
    server.ask('POST', '/_replicate', { source: `http://me:secret@${host}/source`, target: 'target' });
  const mean = await from('mean.example');
  expect([mean.status, mean.body.error]).toEqual([403, 'forbidden']);
  expect(new Set(asked)).toEqual(new Set(['mean.example']));
  expect(
    (await from('one.example')).body.docs_written ?? (await server.ask('GET', '/target')).body.doc_count,
  ).toBe(1);
  expect(asked).toContain('other.example');
});

it('takes credentials along from http to https of one host, and not back', async () => {
  const asked: string[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const { protocol, pathname } = new URL(String(input));
    const authorization = new Headers(init?.headers).get('authorization');
    asked.push(`${protocol} ${authorization === null ? 'without' : 'with'}`);
    const to = protocol === 'http:' ? 'https:' : 'http:';
    if (asked.length > 1) return Response.json({ error: 'not_found', reason: 'missing' }, { status: 404 });
    return new Response(null, { status: 307, headers: { location: `${to}//one.example${pathname}` } });
  };
  const server = testServer({ replicator: serverReplicator(['one.example'], fetch) });
  await server.ask('PUT', '/target');
  for (const scheme of ['http', 'https']) {
    asked.length = 0;
    const source = `${scheme}://me:secret@one.example/source`;
    expect((await server.ask('POST', '/_replicate', { source, target: 'target' })).status).toBe(404);
    expect(asked.slice(0, 2)).toEqual(
      scheme === 'http' ? ['http: with', 'https: with'] : ['https: with', 'http: without'],
    );
  }
});

it('that goes on and fails is told to the logger: no request waits for it', async () => {
  const error = vi.fn();
  const server = testServer({ replicator: serverReplicator([]), logger: { error } });
  const request = { source: 'none', target: 'none', continuous: true };
  const id = (await server.ask('POST', '/_replicate', request)).body._local_id;
  await expect
    .poll(() => error)
    .toHaveBeenCalledExactlyOnceWith(
      `The continuous replication ${id} ended`,
      expect.objectContaining({ status: 404 }),
    );
});
