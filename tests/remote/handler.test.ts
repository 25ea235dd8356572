/** The server as a function from Request to Response: what it refuses, how it errs, who gets in. */
import { DatabaseError } from '@settledb/core';
import { describe, expect, it, vi } from 'vitest';
import { fromFolderName, isDatabaseName, toFolderName } from '../../packages/remote/src/names';
import { MemoryDatabases, ORIGIN, testServer } from './support';

const basic = (name: string, password: string) => ({ authorization: `Basic ${btoa(`${name}:${password}`)}` });

describe('instance_start_time', () => {
  it('is when the database was made, in seconds to the ms, another one for a database made anew', async () => {
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
    expect(first).toMatch(/^\d+\.\d{3}$/);
    expect(Math.abs(Date.now() / 1000 - Number(first))).toBeLessThan(60);
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

describe('who gets in', () => {
  const closed = () => testServer({ anonymous: false, admins: { admin: 'secret', zoë: 'päss:word' } });

  it('answers anyone only at /, /_up, and at /_session, where one logs in', async () => {
    const server = closed();
    expect((await server.ask('GET', '/')).status).toBe(200);
    expect((await server.ask('GET', '/_up')).status).toBe(200);
    expect((await server.ask('GET', '/_session')).body.userCtx).toEqual({ name: null, roles: [] });
    for (const path of ['/_all_dbs', '/db', '/db/a', '/db/_changes', '/_uuids', '/__proto__', '/no%zz']) {
      const { status, body } = await server.ask('GET', path);
      expect([path, status >= 400 && status < 500, body.couchdb]).toEqual([path, true, undefined]);
    }
    expect((await server.ask('PUT', '/db')).status).toBe(401);
    expect(await server.databases.list()).toEqual([]);
  });

  it('takes the right password, also with letters beyond ASCII, and refuses a wrong one even at /', async () => {
    const server = closed();
    expect((await server.ask('PUT', '/db', undefined, basic('admin', 'secret'))).status).toBe(201);
    const utf8 = Buffer.from('zoë:päss:word').toString('base64');
    expect((await server.ask('GET', '/db', undefined, { authorization: `Basic ${utf8}` })).status).toBe(200);
    for (const [name, password] of [
      ['admin', 'secret '],
      ['admin', ''],
      ['', ''],
      ['nobody', 'secret'],
      ['constructor', ''],
    ]) {
      const { status, body } = await server.ask('GET', '/', undefined, basic(name!, password!));
      expect([status, body.error]).toEqual([401, 'unauthorized']);
    }
    expect((await server.ask('GET', '/', undefined, { authorization: 'Basic %%%' })).status).toBe(400);
    expect((await server.ask('GET', '/db', undefined, { authorization: 'Bearer x' })).status).toBe(401);
  });

  it('cannot be made so that nobody could use it', () => {
    expect(() => testServer({ anonymous: false })).toThrow(TypeError);
  });

  it('cannot be made with an administrator who has no password, as of a variable that is not set', () => {
    for (const password of [undefined, null, '', 5])
      expect(() => testServer({ anonymous: false, admins: { admin: password as never } })).toThrow(
        /^The password of the administrator 'admin' must be a text, and not empty/,
      );
    for (const admins of ['admin', [['admin', 'secret']], { '': 'secret' }, { 'a:b': 'secret' }])
      expect(() => testServer({ anonymous: false, admins: admins as never })).toThrow(TypeError);
  });

  it('gives cross-origin headers to listed origins alone, and to nobody by default', async () => {
    const asked = { origin: 'https://app.example', 'access-control-request-method': 'PUT' };
    const none = await testServer().ask('OPTIONS', '/db', undefined, asked);
    expect([none.status, none.headers.get('access-control-allow-origin')]).toEqual([405, null]);
    const server = testServer({ cors: { origins: ['https://app.example'], credentials: true } });
    const listed = await server.ask('OPTIONS', '/db', undefined, asked);
    expect(listed.status).toBe(204);
    expect(listed.headers.get('access-control-allow-origin')).toBe('https://app.example');
    // What an attachment varies by besides stays.
    await server.ask('PUT', '/db');
    const text = { 'content-type': 'text/plain' };
    await server.ask('PUT', '/db/doc/file', 'text', text);
    const file = await server.ask('GET', '/db/doc/file', undefined, { origin: 'https://app.example' });
    expect(file.headers.get('vary')).toBe('accept-encoding, origin');
    const other = await server.ask('GET', '/', undefined, { origin: 'https://evil.example' });
    expect(other.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('writes nothing that a page elsewhere may send without asking (CSRF)', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    for (const path of ['/db', '/db/_bulk_docs', '/db/_compact', '/db/_purge']) {
      const { status } = await server.ask('POST', path, '{"docs":[{"_id":"a"}]}', {
        'content-type': 'text/plain',
      });
      expect(status).toBe(415);
    }
    expect((await server.ask('GET', '/db')).body.doc_count).toBe(0);
  });
});

describe('what makes no sense', () => {
  it('is 4xx with error and reason, never 5xx', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    await server.ask('PUT', '/db/a', {});
    const requests: [string, string, unknown?][] = [
      ['PUT', '/db/b', '{'],
      ['PUT', '/db/b', '[]'],
      ['PUT', '/db/b', 'null'],
      ['PUT', '/db/b', '"x"'],
      ['PUT', '/db/b', ''],
      ['PUT', '/db/b', { _rev: 5 }],
      ['PUT', '/db/b', { _rev: 'x' }],
      ['PUT', '/db/b', { _nope: 1 }],
      ['PUT', '/db/b', { _attachments: { f: null } }],
      ['PUT', '/db/b', { _attachments: { f: 'text' } }],
      ['PUT', '/db/b', { _attachments: 5 }],
      ['PUT', '/db/b', { _attachments: [null] }],
      ['PUT', '/db/b', { _attachments: { f: { data: '%' } } }],
      ['POST', '/db/_bulk_docs', { docs: [{ _id: 'b', _attachments: { f: null } }], new_edits: 5 }],
      ['PUT', '/db/_security', '{'],
      ['PUT', '/db/_revs_limit', 'x'],
      ['POST', '/db/_find', { selector: 5 }],
      ['POST', '/db/_index', { index: 5 }],
      ['POST', '/_session', '{'],
      ['GET', '/db/a/x?rev=y'],
      ['GET', '/db/_all_docs?startkey=%22%ff%22'],
      ['PUT', '/db/b?new_edits=false', {}],
      ['PUT', '/db/b?new_edits=false', { _rev: '1-a', _revisions: 5 }],
      ['PUT', '/db/b?new_edits=false', { _rev: '1-a', _revisions: { start: 2 ** 53 + 1, ids: [] } }],
      ['PUT', '/db/_nope', {}],
      ['POST', '/db', { _id: 5 }],
      ['POST', '/db', { _id: '_x' }],
      ['PUT', '/db/b', { _id: 5 }],
      ...[5, true, null, '', ['b'], { b: 1 }].map((_id): [string, string, unknown] => [
        'POST',
        '/db/_bulk_docs',
        { docs: [{ _id: 'b' }, { _id }] },
      ]),
      ['POST', '/db/_bulk_docs', {}],
      ['POST', '/db/_bulk_docs', { docs: 5 }],
      ['POST', '/db/_bulk_docs', { docs: [5] }],
      ['POST', '/db/_bulk_docs', { docs: [], new_edits: 'no' }],
      ['POST', '/db/_bulk_docs', []],
      ['POST', '/db/_bulk_get', { docs: 5 }],
      ['POST', '/db/_revs_diff', { a: 'x' }],
      ['POST', '/db/_revs_diff', { a: [5] }],
      ['POST', '/db/_purge', { a: [null] }],
      ['POST', '/db/_all_docs', { keys: 5 }],
      ['GET', '/db/_all_docs?limit=x'],
      ['GET', '/db/_all_docs?startkey=5'],
      ['GET', '/db/_all_docs?startkey='],
      ['GET', '/db/_all_docs?descending=x'],
      ['GET', '/db/_changes?since=x'],
      ['GET', '/db/_changes?feed=x'],
      ['GET', '/db/_changes?style=x'],
      ['GET', '/db/_changes?heartbeat=0'],
      ['GET', '/db/_changes?filter=a/b'],
      ['GET', '/db/_changes?limit=-1'],
      ['POST', '/db/_changes?filter=_selector', {}],
      ['POST', '/db/_changes?filter=_selector', { selector: { $x: 1 } }],
      ['POST', '/db/_changes?filter=_doc_ids', { doc_ids: 'a' }],
      ['GET', '/db/a?rev=x'],
      ['GET', '/db/a?open_revs=x'],
      ['GET', '/db/a?open_revs=[5]'],
      ['DELETE', '/db/a?rev=x'],
      ['GET', '/db/%zz'],
      ['PATCH', '/db/a'],
      ['PATCH', '/db'],
      ['POST', '/db/a/b/c'],
      ['GET', '/db/_design'],
      ['GET', '/db/_local/'],
      ['COPY', '/db/a'],
      ['GET', '/db/__proto__'],
      ['PUT', `/db/deep?x`, `${'['.repeat(200_000)}${']'.repeat(200_000)}`],
      ['PUT', `/db/deep?x`, `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`],
    ];
    for (const [method, path, body] of requests) {
      const answer = await server.ask(method, path, body);
      const kind = answer.status >= 400 && answer.status < 500 && typeof answer.body.error === 'string';
      expect([method, path, kind, answer.body.reason !== undefined]).toEqual([method, path, true, true]);
    }
    expect((await server.ask('GET', '/db')).body).toMatchObject({ doc_count: 1, update_seq: '1' });
  });

  it('refuses names that no database may have, and could be a path', async () => {
    const server = testServer();
    const names = [
      'A',
      'Db',
      '1a',
      '_x',
      '%2e%2e%2f',
      '..%2fx',
      'a%00',
      'a.b',
      'a%5cb',
      'x'.repeat(5000),
      '%C3%A9',
      'a b',
    ];
    for (const name of names) {
      expect([name.slice(0, 20), (await server.ask('PUT', `/${name}`)).body.error]).toEqual([
        name.slice(0, 20),
        'illegal_database_name',
      ]);
    }
    expect(await server.databases.list()).toEqual([]);
  });

  it('gives each database name a folder of its own that cannot leave its parent', () => {
    const names = [
      'a',
      'a/b',
      'a+b',
      'con',
      'com1',
      'nul',
      'constructor',
      'a$()_-9',
      'a/../b'.replace('..', '__'),
    ];
    const folders = names.map(toFolderName);
    expect(new Set(folders.map((folder) => folder.toLowerCase())).size).toBe(names.length);
    expect(folders.map(fromFolderName)).toEqual(names);
    for (const folder of folders) expect(folder).toMatch(/^[^/\\.]+$/);
    for (const folder of ['A', '..', '.git', 'a%2Fb', 'a%2e', 'server.json', '%61'])
      expect(fromFolderName(folder)).toBeUndefined();
    expect([isDatabaseName('..'), isDatabaseName('a\n'), isDatabaseName('')]).toEqual([false, false, false]);
  });
});

describe('the body of a request', () => {
  it('is refused with 413 as soon as it is too large, without reading the rest', async () => {
    const server = testServer({ limits: { document: 1000, request: 2000 } });
    await server.ask('PUT', '/db');
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent++;
        controller.enqueue(new Uint8Array(500).fill(32));
      },
    });
    const request = new Request(`${ORIGIN}/db/a`, {
      method: 'PUT',
      body: endless,
      duplex: 'half',
    } as RequestInit);
    const response = await server.handle(request);
    expect([response.status, (await response.json()).error]).toEqual([413, 'too_large']);
    expect(sent).toBeLessThan(10);
    expect((await server.ask('PUT', '/db/a', { a: 'x'.repeat(1000) })).status).toBe(413);
    // One document is bounded by itself, wherever it comes: nothing stored could not be written again.
    const inBulk = await server.ask('POST', '/db/_bulk_docs', { docs: [{ _id: 'b', a: 'x'.repeat(1500) }] });
    expect([inBulk.status, inBulk.body]).toEqual([413, { error: 'document_too_large', reason: 'b' }]);
    expect(
      (await server.ask('POST', '/db/_bulk_docs', { docs: [{ a: 'x'.repeat(900) }, { a: 'x'.repeat(900) }] }))
        .status,
    ).toBe(201);
  });

  it('has no number that is larger than any there is, however it is written', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const ten = (digits: number): string => `1${'0'.repeat(digits)}`;
    const huge = [
      '1e309',
      '-1E+400',
      '1e0400',
      ten(309),
      `-${ten(309)}`,
      `${ten(300)}e10`,
      `${ten(220)}.5e99`,
    ];
    for (const number of huge)
      for (const text of [
        `{"n":${number}}`,
        `{"n":[1, ${number}]}`,
        `{"n":[${number}]}`,
        `{"n":\n${number}}`,
      ])
        expect([text, (await server.ask('PUT', '/db/a', text)).status]).toEqual([text, 400]);
    expect((await server.ask('GET', `/db/_design/d/_view/v?key=${ten(309)}`)).status).toBe(400);
    const large = [
      '1e308',
      ten(308),
      `${ten(209)}e99`,
      '1e-400',
      '"1e999"',
      `"${ten(400)}"`,
      `0.${ten(400)}`,
    ];
    const body = `{"n":[${large.join()}]}`;
    expect((await server.ask('PUT', '/db/a', body)).status).toBe(201);
    expect((await server.ask('GET', '/db/a')).body.n).toEqual(JSON.parse(body).n);
  });

  it('must be UTF-8', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const body = new Uint8Array([123, 34, 97, 34, 58, 34, 0xff, 34, 125]);
    const response = await server.handle(new Request(`${ORIGIN}/db/a`, { method: 'PUT', body }));
    expect(response.status).toBe(400);
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

describe('feeds', () => {
  /** Pieces of a streamed answer as they come. */
  async function opened(server: ReturnType<typeof testServer>, path: string, signal?: AbortSignal) {
    const response = await server.handle(new Request(ORIGIN + path, signal === undefined ? {} : { signal }));
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    return { response, reader, next: async () => (await reader.read()).value };
  }

  it('tell a longpoll of the first write, and a continuous one of each', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const waiting = server.ask('GET', '/db/_changes?feed=longpoll');
    const { next, reader } = await opened(server, '/db/_changes?feed=continuous&heartbeat=60000');
    expect(await next()).toBe('\n');
    await server.ask('PUT', '/db/a', {});
    expect(JSON.parse((await next())!)).toMatchObject({ id: 'a', seq: '1' });
    expect((await waiting).body).toMatchObject({ results: [{ id: 'a' }], last_seq: '1' });
    await server.ask('PUT', '/db/b', {});
    expect(JSON.parse((await next())!)).toMatchObject({ id: 'b', seq: '2' });
    await reader.cancel();
  });

  it('end in good order when the server closes', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    await server.ask('PUT', '/db/a', {});
    const continuous = await opened(server, '/db/_changes?feed=continuous&heartbeat=60000');
    await continuous.next();
    const longpoll = await opened(server, '/db/_changes?feed=longpoll&since=now&heartbeat=60000');
    await longpoll.next();
    const pending = [continuous.next(), longpoll.next()];
    server.close();
    const [last, empty] = await Promise.all(pending);
    expect(JSON.parse(last!)).toMatchObject({ last_seq: '1' });
    expect(empty).toContain('"last_seq":"1"');
    expect(await continuous.next()).toBeUndefined();
  });

  it('are let go when the client goes away', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const database = (await server.databases.open('db'))!;
    const feeds: PromiseLike<unknown>[] = [];
    const { changes } = database;
    let bothLive = (): void => {};
    const live = new Promise<void>((resolve) => {
      bothLive = resolve;
    });
    database.changes = (options) => {
      const feed = changes.call(database, options);
      if (options?.live) feeds.push(feed);
      if (feeds.length === 2) bothLive();
      return feed;
    };
    const aborting = new AbortController();
    const aborted = await opened(server, '/db/_changes?feed=continuous&heartbeat=60000', aborting.signal);
    await aborted.next();
    const cancelled = await opened(server, '/db/_changes?feed=continuous&heartbeat=60000');
    await cancelled.next();
    const reading = [aborted.next().catch(() => undefined), cancelled.next()];
    await live;
    aborting.abort();
    await cancelled.reader.cancel();
    await Promise.all(reading);
    expect(await Promise.all(feeds)).toEqual([{ status: 'cancelled' }, { status: 'cancelled' }]);
  });

  it('write 3,000 changes with documents piece by piece', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const docs = Array.from({ length: 3000 }, (_, i) => ({ _id: `d${i}`, text: 'x'.repeat(100) }));
    await server.ask('POST', '/db/_bulk_docs', { docs });
    const { reader } = await opened(server, '/db/_changes?include_docs=true');
    const pieces: string[] = [];
    for (let read = await reader.read(); !read.done; read = await reader.read()) pieces.push(read.value);
    expect(pieces.length).toBeGreaterThan(4);
    const { results, last_seq, pending } = JSON.parse(pieces.join(''));
    expect([results.length, last_seq, pending]).toEqual([3000, '3000', 0]);
  });

  it('say how much is left when a limit ended them', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    await server.ask('POST', '/db/_bulk_docs', { docs: [{ _id: 'a' }, { _id: 'b' }] });
    const pending = async (query: string) =>
      (await server.ask('GET', `/db/_changes?${query}`)).body.pending as number | undefined;
    expect(await pending('limit=1')).toBe(1);
    expect(await pending('limit=2')).toBe(0);
    expect(await pending('limit=3')).toBe(0);
    // A number without a change is not counted.
    const { body } = await server.ask('GET', '/db/a');
    await server.ask('PUT', '/db/a', body);
    expect(await pending('limit=0')).toBe(2);
    expect(await pending('limit=1')).toBe(1);
    expect(await pending('limit=1&descending=true')).toBe(1);
    expect(await pending('limit=1&since=2')).toBe(0);
    expect(await pending('limit=2')).toBe(0);
    const { reader } = await opened(server, '/db/_changes?feed=continuous&limit=1');
    let text = '';
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
    expect(JSON.parse(text.trim().split('\n').at(-1)!)).toEqual({ last_seq: '2', pending: 1 });
  });
});
