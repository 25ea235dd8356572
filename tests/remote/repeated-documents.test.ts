/** One document named many times in one request: it is read as its reader takes it, so a few KB of request never hold GBs of answer. */
import { describe, expect, it, vi } from 'vitest';
import { errorResponse, toResponse } from '../../packages/remote/src/server-answer';
import { ORIGIN, type TestServer, testServer } from './support';

const TEXT = 'x'.repeat(100_000);
const TIMES = 3_000;
/** Of 3,000. One batch of 32 may be ahead of what was sent, after the first million characters. */
const READ_AT_MOST = 100;

async function serverWith(): Promise<{ server: TestServer; rev: string; read: () => number }> {
  const server = testServer();
  await server.ask('PUT', '/db');
  const { rev } = (await server.ask('PUT', '/db/big', { text: TEXT })).body;
  await server.ask('PUT', '/db/_local/big', { text: TEXT });
  const database = (await server.databases.open('db'))!;
  const source = database as typeof database & { bulkGetJson: typeof database.bulkGet };
  const lists = vi.spyOn(database, 'allDocs');
  const gets = vi.spyOn(database, 'get');
  const bulks = [vi.spyOn(database, 'bulkGet'), vi.spyOn(source, 'bulkGetJson')];
  const read = () =>
    lists.mock.calls.reduce((sum, [options]) => sum + (options?.keys?.length ?? 0), 0) +
    bulks.flatMap(({ mock }) => mock.calls).reduce((sum, [{ docs }]) => sum + docs.length, 0) +
    gets.mock.calls.length;
  return { server, rev, read };
}

const post = (server: TestServer, path: string, body: unknown, accept = 'application/json') =>
  server.fetch(ORIGIN + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept },
    body: JSON.stringify(body),
  });

const times = <T>(count: number, value: T): T[] => Array<T>(count).fill(value);

describe('a document that is named many times', () => {
  it.each([
    ['_all_docs', '/db/_all_docs?include_docs=true', () => ({ keys: times(TIMES, 'big') })],
    [
      'queries',
      '/db/_all_docs/queries?include_docs=true',
      () => ({ queries: [{ keys: times(TIMES, 'big') }] }),
    ],
    ['_local_docs', '/db/_local_docs?include_docs=true', () => ({ keys: times(1_000, '_local/big') })],
    ['_bulk_get', '/db/_bulk_get', () => ({ docs: times(TIMES, { id: 'big' }) })],
    ['revisions', '/db/_bulk_get', (rev: string) => ({ docs: times(TIMES, { id: 'big', rev }) })],
    [
      'attachments',
      '/db/_bulk_get?attachments=true',
      (rev: string) => ({ docs: times(TIMES, { id: 'big', rev }) }),
    ],
  ])('is read as it is taken: %s', async (_what, path, body) => {
    const { server, rev, read } = await serverWith();
    const answer = await post(server, path, body(rev));
    expect(answer.status).toBe(200);
    const reader = answer.body!.getReader();
    await reader.read();
    expect(read()).toBeLessThan(READ_AT_MOST);
    await reader.cancel();
    expect(read()).toBeLessThan(READ_AT_MOST);
  });

  it('is read as it is taken, as multipart too', async () => {
    const { server, rev, read } = await serverWith();
    const docs = times(TIMES, { id: 'big', rev });
    const answer = await post(server, '/db/_bulk_get', { docs }, 'multipart/mixed');
    expect(answer.headers.get('content-type')).toMatch(/^multipart\/mixed/);
    const reader = answer.body!.getReader();
    await reader.read();
    expect(read()).toBeLessThan(READ_AT_MOST);
    await reader.cancel();
  });

  it('is in the answer as often, in the order of the request', async () => {
    const { server, rev } = await serverWith();
    const keys = [...times(40, 'big'), 'none', 7, ...times(40, 'big')];
    const rows = (await server.ask('POST', '/db/_all_docs?include_docs=true', { keys })).body.rows;
    expect(rows.map(({ key, doc }: { key: unknown; doc?: { text: string } }) => [key, doc?.text])).toEqual(
      keys.map((key) => [key, key === 'big' ? TEXT : undefined]),
    );
    const part = { keys, skip: 39, limit: 4, descending: true };
    expect((await server.ask('POST', '/db/_all_docs', part)).body.rows).toEqual(
      [...keys]
        .reverse()
        .slice(39, 43)
        .map((key) => expect.objectContaining({ key })),
    );
    expect((await server.ask('POST', '/db/_all_docs', { keys: [] })).body).toEqual({
      total_rows: 1,
      offset: null,
      rows: [],
    });
    const docs = [...times(40, { id: 'big' }), { id: 'none', rev }, ...times(40, { id: 'big', rev })];
    for (const query of ['', '?attachments=true']) {
      const { results } = (await server.ask('POST', `/db/_bulk_get${query}`, { docs })).body;
      expect(
        results.map(({ id, docs }: { id: string; docs: object[] }) => [id, Object.keys(docs[0]!)]),
      ).toEqual(docs.map(({ id }) => [id, [id === 'big' ? 'ok' : 'error']]));
    }
    const revs = encodeURIComponent(JSON.stringify(times(50, rev)));
    const leaves = await server.ask('GET', `/db/big?open_revs=${revs}`, undefined, {
      accept: 'application/json',
    });
    expect(leaves.body).toHaveLength(1);
  });
});

describe('an answer that is too long for one text', () => {
  it('is refused, and is no failure of the server', () => {
    const tooLong = (): unknown => {
      try {
        return 'x'.padEnd(2 ** 30);
      } catch (error) {
        return error;
      }
    };
    expect(toResponse(errorResponse(tooLong())).status).toBe(413);
  });
});

describe('entries that are refused', () => {
  it.each([
    '/db/_bulk_get',
    '/db/_bulk_get?attachments=true',
  ])('let others have their turn: %s', async (path) => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const docs = times(5_000, 0);
    let turns = 0;
    const count = (): void => {
      turns++;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    const { body } = await server.ask('POST', path, { docs });
    clearImmediate(counting);
    const error = { rev: null, reason: 'document must be a JSON object', id: null, error: 'bad_request' };
    expect(body.results).toEqual(times(5_000, { id: null, docs: [{ error }] }));
    expect(turns).toBeGreaterThan(100);
  });
});

describe('a list of local documents', () => {
  it('reads no document that is not asked for, and the others as they are taken', async () => {
    const { server, read } = await serverWith();
    const database = (await server.databases.open('db'))!;
    const ids = Array.from({ length: 40 }, (_, i) => `_local/${i + 10}`);
    await database.bulkDocs(ids.map((_id) => ({ _id, text: TEXT })));
    const whole = vi.spyOn(
      database as unknown as { localDocs(options: object): Promise<object[]> },
      'localDocs',
    );
    const { body } = await server.ask('GET', '/db/_local_docs');
    expect(body.rows.map(({ id }: { id: string }) => id)).toEqual([...ids, '_local/big']);
    const row = { id: '_local/10', key: '_local/10', value: { rev: '0-1' } };
    expect(body.rows[0]).toEqual(row);
    const before = read();
    const answer = await server.fetch(`${ORIGIN}/db/_local_docs?include_docs=true`);
    expect(read() - before).toBeLessThan(20);
    const { rows } = JSON.parse(await answer.text());
    expect(rows[0]).toEqual({ ...row, doc: { _id: '_local/10', _rev: '0-1', text: TEXT } });
    expect(rows).toHaveLength(41);
    for (const { value } of whole.mock.results)
      for (const doc of await value) expect(Object.keys(doc)).toEqual(['_id', '_rev']);
  });
});
