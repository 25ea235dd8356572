/** The server as a function from Request to Response: databases, documents, and how it errs. */
import { DatabaseError } from '@settledb/core';
import { describe, expect, it, vi } from 'vitest';
import { basic, MemoryDatabases, ORIGIN, testServer } from './support';

describe('instance_start_time', () => {
  it('is when the database was made, a whole number of ms, another one for a database made anew', async () => {
    const server = testServer();
    const created = async () => {
      await server.ask('PUT', '/db');
      const { body } = await server.ask('GET', '/db');
      const json = { 'content-type': 'application/json' };
      const commit = await server.ask('POST', '/db/_ensure_full_commit', {}, json);
      expect(commit.body).toEqual({ ok: true, instance_start_time: body.instance_start_time });
      return body.instance_start_time as string;
    };
    const first = await created();
    expect(first).toMatch(/^\d+$/);
    expect(Math.abs(Date.now() - Number(first))).toBeLessThan(60_000);
    expect(await created()).toBe(first);
    await server.ask('DELETE', '/db');
    const later = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 5000);
    try {
      expect(Number(await created())).toBeGreaterThan(Number(first));
    } finally {
      later.mockRestore();
    }
  });
});

describe('failures', () => {
  it.each([
    ['POST', '/db/_compact', {}, 2],
    ['GET', '/db/a', undefined, 1],
    ['PUT', '/db/b', {}, 1],
    ['GET', '/db/_changes', undefined, 1],
  ] as const)('are 404 where the database is destroyed meanwhile, 503 where it is only closed: %s %s', async (method, path, body, opens) => {
    for (const destroyed of [true, false]) {
      const databases = new MemoryDatabases();
      const server = testServer({ databases });
      await server.ask('PUT', '/db');
      await server.ask('PUT', '/db/a', {});
      const open = databases.open.bind(databases);
      let left: number = opens; // A compaction is a use of its own.
      databases.open = async (name) => {
        const database = await open(name);
        if (--left === 0) await (destroyed ? databases.destroy(name) : database!.close());
        return database;
      };
      const answer = await server.ask(method, path, body);
      const expected = destroyed ? [404, 'not_found'] : [503, 'service_unavailable'];
      expect([answer.status, answer.body.error]).toEqual(expected);
    }
  });

  it('of the server are 500 without details, logged with them; of a database its own; the next request is served', async () => {
    const lines: unknown[] = [];
    const failing = new MemoryDatabases();
    failing.list = async () => {
      throw new Error('secret path /etc');
    };
    const dropped: string[] = [];
    Object.assign(failing, { drop: (name: string) => dropped.push(name) });
    const logger = {
      info: (line: string) => lines.push(line),
      error: (line: string, cause: unknown) => lines.push([line, cause]),
    };
    const server = testServer({ databases: failing, logger });
    const answer = await server.ask('GET', '/_all_dbs');
    expect(answer.status).toBe(500);
    expect(JSON.stringify(answer.body)).not.toContain('secret');
    expect(lines[0]).toEqual([
      'GET /_all_dbs failed',
      expect.objectContaining({ message: 'secret path /etc' }),
    ]);
    expect(lines[1]).toMatch(/^GET \/_all_dbs 500 \d/);
    await server.ask('PUT', '/db');
    const database = (await failing.open('db'))!;
    database.info = async () => {
      throw new DatabaseError({ status: 500, name: 'io', reason: 'The disk is gone' });
    };
    expect((await server.ask('GET', '/db')).body).toEqual({ error: 'io', reason: 'The disk is gone' });
    expect(dropped).toEqual(['db']);
    expect((await server.ask('PUT', '/db/a', {})).status).toBe(201);
  });

  it('are no failures of the server where a body is nested too deeply, which is answered only', async () => {
    const failures: unknown[] = [];
    const server = testServer({ logger: { error: (...failure) => failures.push(failure) } });
    await server.ask('PUT', '/db');
    const answer = await server.ask(
      'PUT',
      '/db/a',
      `{"a":${'['.repeat(100_000)}1e999${']'.repeat(100_000)}}`,
    );
    expect([answer.status, answer.body.reason]).toEqual([400, 'The JSON is nested too deeply']);
    expect(failures).toEqual([]);
  });

  it('are no failures of the server where a design document is wrong, or values cannot be reduced', async () => {
    const failures: unknown[] = [];
    const server = testServer({
      runStoredFunctions: true,
      logger: { error: (...failure) => failures.push(failure) },
    });
    await server.ask('PUT', '/db');
    const map = 'function (doc) { emit(null, "x"); }';
    const views = { sum: { map, reduce: '_sum' }, stats: { map, reduce: '_stats' }, none: { map: 'x(' } };
    await server.ask('PUT', '/db/_design/d', { views });
    await server.ask('PUT', '/db/a', {});
    const names: string[] = [];
    for (const name of Object.keys(views)) {
      const answer = await server.ask('GET', `/db/_design/d/_view/${name}`);
      expect(answer.status).toBe(500);
      names.push(answer.body.error);
    }
    expect(names).toEqual(['builtin_reduce_error', 'invalid_value', 'compilation_error']);
    expect(failures).toEqual([]);
  });

  it('never put a password, or more than one line, into the log', async () => {
    const lines: string[] = [];
    const server = testServer({
      admins: { admin: 'hunter2' },
      anonymous: false,
      logger: { info: (line) => lines.push(line) },
    });
    await server.ask('GET', '/a%0d%0ab?x=%0a', undefined, basic('admin', 'hunter2'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toMatch(/hunter2|\n|aHVudGVyMg/);
  });
});

describe('documents', () => {
  it('are written under ids too long for a header, which is left out', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    for (const length of [10, 8_000, 9_000, 1_000_000]) {
      const _id = 'x'.repeat(length);
      const { status, headers, body } = await server.ask('POST', '/db', { _id });
      expect([status, body.id === _id]).toEqual([201, true]);
      expect(headers.get('location')).toBe(length > 8_000 ? null : `${ORIGIN}/db/${_id}`);
    }
  });

  it('are the same whether the slash of their kind is encoded or not, whatever follows it', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    for (const rest of ['d', '%0A', '%0Ad']) {
      const id = `_design/${decodeURIComponent(rest)}`;
      expect((await server.ask('PUT', `/db/_design/${rest}`, {})).body).toMatchObject({ ok: true, id });
      expect((await server.ask('GET', `/db/_design%2F${rest}`)).body).toMatchObject({ _id: id });
    }
  });

  it('are cached by their revision', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const { rev } = (await server.ask('PUT', '/db/a', {})).body;
    expect((await server.ask('GET', '/db/a')).headers.get('etag')).toBe(`"${rev}"`);
    expect((await server.ask('GET', '/db/a', undefined, { 'if-none-match': `W/"x", "${rev}"` })).status).toBe(
      304,
    );
    expect((await server.ask('HEAD', '/db/a')).headers.get('etag')).toBe(`"${rev}"`);
    expect((await server.ask('GET', '/db/a?local_seq=true')).headers.get('etag')).toBeNull();
  });

  it('have no tag that another local document of the same id has too', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const told: unknown[] = [];
    for (const n of [1, 2]) {
      await server.ask('PUT', '/db/_local/a', { n });
      const headers = { 'if-none-match': '"0-1"' };
      const { status, body } = await server.ask('GET', '/db/_local/a', undefined, headers);
      told.push([status, body.n, body._rev]);
      await server.ask('DELETE', '/db/_local/a');
    }
    expect(told).toEqual([
      [200, 1, '0-1'],
      [200, 2, '0-1'],
    ]);
  });

  it('with revisions no header can carry are answered all the same', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    for (const hash of ['\u{1f600}', 'a\r\nx: y', 'a"b', 'a b']) {
      const id = encodeURIComponent(hash);
      expect((await server.ask('PUT', `/db/${id}?new_edits=false`, { _rev: `1-${hash}` })).status).toBe(201);
      const answer = await server.ask('GET', `/db/${id}`);
      expect([answer.status, answer.body._rev, answer.headers.get('x')]).toEqual([200, `1-${hash}`, null]);
    }
  });

  it('give their revisions as multipart to whoever does not ask for JSON', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    await server.ask('PUT', '/db/a?new_edits=false', { _rev: '1-x', n: 1 });
    const path = '/db/a?open_revs=["1-x","2-y"]';
    const { headers, body } = await server.ask('GET', path, undefined, { accept: 'multipart/mixed' });
    const boundary = /boundary="(.+)"/.exec(headers.get('content-type')!)![1]!;
    const parts = String(body)
      .split(`--${boundary}`)
      .slice(1, -1)
      .map((part) => part.split('\r\n\r\n') as [string, string]);
    expect(parts.map(([, json]) => JSON.parse(json))).toEqual([
      { _id: 'a', _rev: '1-x', n: 1 },
      { missing: '2-y' },
    ]);
    expect(parts.map(([type]) => type.includes('error="true"'))).toEqual([false, true]);
    const json = await server.ask('GET', path, undefined, { accept: 'application/json' });
    expect(json.body).toHaveLength(2);
  });
});

describe('the revision that is edited', () => {
  it('may be named in the document, in the query or by If-Match', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    let { rev } = (await server.ask('PUT', '/db/a', {})).body;
    const edit = async (query: string, body: object, headers: Record<string, string>): Promise<void> => {
      const answer = await server.ask('PUT', `/db/a${query}`, body, headers);
      expect(answer.status).toBe(201);
      rev = answer.body.rev;
    };
    await edit('', { _rev: rev }, {});
    await edit(`?rev=${rev}`, {}, {});
    await edit('', {}, { 'if-match': `"${rev}"` });
    expect(rev).toMatch(/^4-/);
    expect((await server.ask('PUT', '/db/a', {})).status).toBe(409);
  });
});

describe('lists', () => {
  it.each([
    '_all_docs',
    '_local_docs',
  ])('of named documents, downwards, begin with the last name: %s', async (list) => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const keys = ['a', 'b', 'c'].map((id) => (list === '_local_docs' ? `_local/${id}` : id));
    for (const id of keys) await server.ask('PUT', `/db/${id}`, {});
    const listed = async (options: object): Promise<number[]> => {
      const { body } = await server.ask('POST', `/db/${list}`, { keys, descending: true, ...options });
      return body.rows.map(({ key }: { key: string }) => keys.indexOf(key));
    };
    expect(await listed({})).toEqual([2, 1, 0]);
    expect(await listed({ limit: 1 })).toEqual([2]);
    expect(await listed({ skip: 1, limit: 5 })).toEqual([1, 0]);
    const { status, body } = await server.ask('POST', `/db/${list}`, { keys: ['_local/none', keys[0]] });
    expect([status, body.rows]).toMatchObject([200, [{ error: 'not_found' }, { id: keys[0] }]]);
  });

  it('of local documents name what can be none', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const { body } = await server.ask('POST', '/db/_local_docs', { keys: [5, 'a'] });
    expect(body.rows).toEqual([5, 'a'].map((key) => ({ key, error: 'not_found' })));
  });
});
