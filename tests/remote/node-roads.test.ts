/**
 * Small plain requests are answered on a short road, all others over the bridge (node-request.ts). Here each request is sent, byte for
 * byte, to a server that takes the short road where it can and to one that never does, because it has a hook: the answers are the same.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { memory } from '@settledb/adapter-memory';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createServer, type RunningServer, type ServerOptions } from '../../packages/settledb/src/server';

const cleanUp: (() => unknown)[] = [];
afterAll(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo();
});

async function start(options: Partial<ServerOptions> = {}): Promise<RunningServer> {
  const dir = await mkdtemp(join(tmpdir(), 'settledb-roads-'));
  cleanUp.push(() => rm(dir, { recursive: true, force: true }));
  const server = await createServer({ dir, port: 0, anonymous: true, adapter: memory(), ...options });
  cleanUp.push(() => server.close());
  return server;
}

/** What is answered to these bytes until the server ends the connection. @param pieces each written by itself */
function ask({ port }: RunningServer, ...pieces: readonly (string | Uint8Array)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const answered: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, async () => {
      for (const piece of pieces) {
        socket.write(piece);
        // Long enough to be another read of the server's mostly; the answer is the same if not.
        if (pieces.length > 1) await new Promise((next) => setTimeout(next, 10));
      }
    });
    socket.on('data', (data) => answered.push(data as Buffer));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(answered).toString('latin1')));
  });
}

/** Without what is another one each time. */
function comparable(answer: string, { port }: RunningServer): string {
  return answer
    .replaceAll(String(port), 'PORT')
    .replace(/^date: .*\r\n/gim, '')
    .replace(/AuthSession=[\w-]+; Version=1; Expires=[^;]+/g, 'AuthSession=SOME')
    .replace(/"(instance_start_time|uuid)":"[0-9a-f]+"/g, '"$1":"SOME"')
    .replace(/"sizes":\{[^}]*\}/g, '"sizes":{}');
}

/** Headers in any order: the head is compared as a set of lines. */
function parsed(answer: string): unknown {
  const [head = '', ...body] = answer.split('\r\n\r\n');
  const [status, ...headers] = head.split('\r\n');
  return {
    status,
    headers: headers.map((line) => line.replace(/^[^:]+/, (name) => name.toLowerCase())).sort(),
    body,
  };
}

interface Raw {
  readonly method?: string;
  readonly headers?: readonly string[];
  readonly host?: string;
  readonly body?: string | Uint8Array;
  readonly version?: string;
}

function raw(
  target: string,
  { method = 'GET', headers = [], host = 'localhost', body, version = '1.1' }: Raw = {},
) {
  const lines = [
    `${method} ${target} HTTP/${version}`,
    ...(host === '' ? [] : [`Host: ${host}`]),
    ...headers,
  ];
  const length = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body as string)}`];
  const head = `${[...lines, ...length, 'Connection: close'].join('\r\n')}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from((body ?? '') as string)]);
}

const JSON_TYPE = 'Content-Type: application/json';
const put = (target: string, body: string | Uint8Array, ...headers: readonly string[]) =>
  raw(target, { method: 'PUT', body, headers });
const post = (target: string, body: string | Uint8Array, ...headers: readonly string[]) =>
  raw(target, { method: 'POST', body, headers: headers.length > 0 ? headers : [JSON_TYPE] });
const REV = '1-967a00dff5e02add41819138abb3284d';

const KNOWN = 'If-None-Match: "1-7e802c914c6f35919c2155377f641432"\r\n';

/** In this order, to a server that is new. */
const REQUESTS: readonly (readonly [string, ...(string | Uint8Array)[]])[] = [
  ['welcome', raw('/')],
  ['make a database', raw('/db', { method: 'PUT' })],
  ['make it again', raw('/db', { method: 'PUT' })],
  ['with a slash at the end', raw('/db/')],
  ['with slashes', raw('//db//')],
  ['a name that is none', raw('/DB', { method: 'PUT' })],
  ['put', put('/db/a', '{"n":1}', JSON_TYPE)],
  ['put without a type', put('/db/b', '{"n":1}')],
  ['put with another id', put('/db/c', '{"_id":"d","n":1}', JSON_TYPE)],
  ['put again', put('/db/a', '{"n":2}', JSON_TYPE)],
  ['put in pieces', ...pieces(put('/db/pieces', '{"n":1}', JSON_TYPE))],
  ['put an empty body', put('/db/e', '', JSON_TYPE)],
  ['put without a body', raw('/db/e', { method: 'PUT' })],
  ['put upon a revision', put('/db/a', '{"n":2}', JSON_TYPE, 'If-Match: "1-0"')],
  ['put upon two', put('/db/a?rev=1-a', '{"n":2}', JSON_TYPE, 'If-Match: "1-0"')],
  ['put upon two headers', put('/db/a', '{"n":2}', 'If-Match: "1-0"', 'If-Match: "1-1"')],
  ['put a revision that is none', put('/db/a', '{"_rev":{"toString":1}}', JSON_TYPE)],
  ['put no JSON', put('/db/x', '{', JSON_TYPE)],
  ['put a list', put('/db/x', '[]', JSON_TYPE)],
  ['put infinity', put('/db/x', '{"n":1e999}', JSON_TYPE)],
  ['put with a byte order mark', put('/db/x', '\ufeff{}', JSON_TYPE)],
  ['put what is no UTF-8', put('/db/x', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]), JSON_TYPE)],
  ['put prototypes', put('/db/__proto__', '{"__proto__":1,"constructor":2}', JSON_TYPE)],
  ['put compressed', put('/db/zip', gzipSync('{"n":1}'), JSON_TYPE, 'Content-Encoding: gzip')],
  ['put chunked', ...pieces(chunked('/db/chunked', ['{"n"', ':1}']))],
  ['put what is large', put('/db/large', JSON.stringify({ text: 'x'.repeat(70_000) }), JSON_TYPE)],
  ['put what is too large', put('/db/huge', JSON.stringify({ text: 'x'.repeat(150_000) }), JSON_TYPE)],
  [
    'put numbers that grow too large',
    put('/db/huge', `{"n":[${Array(12_000).fill('1e20').join()}]}`, JSON_TYPE),
  ],
  ['put after a sign', put('/db/expected', '{"n":1}', JSON_TYPE, 'Expect: 100-continue')],
  ['put after another sign', put('/db/expected', '{"n":1}', JSON_TYPE, 'Expect: 200-ok')],
  ['put of a batch', put('/db/batch?batch=ok', '{}', JSON_TYPE)],
  ['put as given', put(`/db/given?new_edits=false`, `{"_rev":"${REV}"}`, JSON_TYPE)],
  ['put an attachment', put('/db/att/f.txt', 'hello', 'Content-Type: text/plain')],
  ['put an attachment of JSON', put('/db/att2/f.json', '{}', JSON_TYPE)],
  ['put an empty attachment', put('/db/att3/f', '', 'Content-Type: text/plain')],
  ['put a design document', put('/db/_design/d', '{"views":{}}', JSON_TYPE)],
  ['put a local document', put('/db/_local/l', '{"n":1}', JSON_TYPE)],
  ['put a reserved id', put('/db/_nope', '{}', JSON_TYPE)],
  ['get', raw('/db/a')],
  ['get a part of it', raw('/db/a?revs=true&revs=false&conflicts=true')],
  ['get with a mark', raw('/db/a?')],
  ['get what is missing', raw('/db/none')],
  ['get what is encoded', raw('/db/%61')],
  ['get what cannot be decoded', raw('/db/%zz')],
  ['get an option that cannot be decoded', raw('/db/a?rev=%ff')],
  ['get with a body', raw('/db/a', { body: 'x' })],
  ['get with a fragment', raw('/db/a#b?rev=5')],
  [
    'get what is known',
    raw('/db/a', { headers: ['If-None-Match: "x", W/"1-7e802c914c6f35919c2155377f641432"'] }),
  ],
  [
    'head of what is known',
    raw('/db/a', { method: 'HEAD', headers: ['If-None-Match: "1-7e802c914c6f35919c2155377f641432"'] }),
  ],
  ['known, on a connection that goes on', Buffer.concat([keep('/db/a', undefined, KNOWN), raw('/db/a')])],
  ['get a local document', raw('/db/_local/l')],
  ['get an attachment', raw('/db/att/f.txt')],
  ['get a part of an attachment', raw('/db/att/f.txt', { headers: ['Range: bytes=1-2'] })],
  ['get with attachments', raw('/db/att?attachments=true', { headers: ['Accept: application/json'] })],
  ['head', raw('/db/a', { method: 'HEAD' })],
  ['head of nothing', raw('/db/none', { method: 'HEAD' })],
  ['head of a feed', raw('/db/_changes', { method: 'HEAD' })],
  ['head of an attachment', raw('/db/att/f.txt', { method: 'HEAD' })],
  ['changes', raw('/db/_changes?limit=3')],
  ['a feed that ends', raw('/db/_changes?feed=continuous&timeout=10')],
  ['changes posted', post('/db/_changes?filter=_doc_ids', '{"doc_ids":["a"]}')],
  ['all', raw('/db/_all_docs?startkey=%22a%22&endkey=%22b%22')],
  ['all, with quotes', raw('/db/_all_docs?startkey="a"&endkey="b"')],
  ['all, by an apostrophe', raw('/db/_all_docs?key="a\'b"')],
  ['post', post('/db', '{"_id":"posted"}')],
  ['post to a slash', post('/db/', '{"_id":"posted2"}')],
  ['post as text', post('/db', '{"_id":"text"}', 'Content-Type: text/plain')],
  ['post as two types', post('/db', '{"_id":"text"}', JSON_TYPE, 'Content-Type: text/plain')],
  ['post with a charset', post('/db', '{"_id":"charset"}', 'content-type: Application/JSON; charset=utf-8')],
  ['post without a type', raw('/db', { method: 'POST', body: '{"_id":"typeless"}' })],
  ['post nothing', raw('/db/_compact', { method: 'POST', headers: [JSON_TYPE] })],
  ['many', post('/db/_bulk_docs', '{"docs":[{"_id":"m1"},{"_id":"a"},{"_id":"_x"}]}')],
  ['many, in pieces', ...pieces(post('/db/_bulk_docs', '{"docs":[{"_id":"m2"}]}'))],
  ['revisions', post('/db/_revs_diff', '{"a":["9-a"]}')],
  ['index', post('/db/_index', '{"index":{"fields":["n"]},"ddoc":"i","name":"n"}')],
  ['find', post('/db/_find', '{"selector":{"n":1},"limit":2}')],
  ['find nonsense', post('/db/_find', '{"selector":5}')],
  ['a view that is none', raw('/db/_design/d/_view/v')],
  ['security', raw('/db/_security')],
  ['delete without a revision', raw('/db/a', { method: 'DELETE' })],
  ['delete with a wrong one', raw('/db/a?rev=1-0', { method: 'DELETE' })],
  ['copy', raw('/db/a', { method: 'COPY', headers: ['Destination: copied'] })],
  ['another method', raw('/db/a', { method: 'PATCH' })],
  ['one more', raw('/db/a', { method: 'TRACE' })],
  ['what may be asked', raw('*', { method: 'OPTIONS' })],
  [
    'a preflight',
    raw('/db/a', {
      method: 'OPTIONS',
      headers: ['Origin: https://app.test', 'Access-Control-Request-Method: PUT'],
    }),
  ],
  ['from a listed origin', raw('/db/a', { headers: ['Origin: https://app.test'] })],
  ['from another one', raw('/db/a', { headers: ['Origin: https://evil.test'] })],
  ['an error for a listed origin', raw('/db/none', { headers: ['Origin: https://app.test'] })],
  ['steps', raw('/db/../db/a')],
  ['a step', raw('/db/./a')],
  ['encoded steps', raw('/db/%2e%2E/db/a')],
  ['a hidden name', raw('/db/.a')],
  ['three dots', raw('/db/...')],
  ['a backslash', raw('/db\\a')],
  ['quotes and brackets', raw('/db/"a"[1]{2}|`^')],
  ['an apostrophe', raw("/db/a'b")],
  ['a space', raw('/db/a b')],
  ['letters beyond ASCII', raw('/db/zo\u00eb')],
  ['a whole URL', raw('http://localhost/db/a')],
  ['a whole URL with a user', raw('http://me:secret@localhost/db/a')],
  ['a whole URL of another server', raw('http://evil.test/db/a')],
  ['another name of the host', raw('/db/a', { host: 'LOCALHOST' })],
  ['a name with the usual port', raw('/db/a', { host: 'localhost:80' })],
  ['a short address', raw('/db/a', { host: '127.1' })],
  ['a long address', raw('/db/a', { host: '[::1]:5984' })],
  ['a host with a user', raw('/db/a', { host: 'me@localhost' })],
  ['a host with a path', raw('/db/a', { host: 'localhost/x' })],
  ['a host with a port too large', raw('/db/a', { host: 'localhost:99999' })],
  ['another host', raw('/db/a', { host: 'evil.test' })],
  ['a host that was allowed before', raw('/db/a', { host: 'demo.test:1234' })],
  ['and the same with another port', raw('/db/a', { host: 'demo.test:99999' })],
  ['a host that is none', raw('/db/a', { host: 'a b' })],
  ['no host', raw('/db/a', { host: '' })],
  ['no host, as of old', raw('/db/a', { host: '', version: '1.0' })],
  ['as of old', raw('/db/a', { version: '1.0' })],
  ['two hosts', raw('/db/a', { headers: ['Host: evil.test'] })],
  ['a password', raw('/_session', { headers: [`Authorization: Basic ${btoa('admin:secret')}`] })],
  ['a wrong one', raw('/_session', { headers: [`Authorization: Basic ${btoa('admin:wrong')}`] })],
  [
    'two passwords',
    raw('/_session', { headers: [`Authorization: Basic ${btoa('admin:secret')}`, 'Authorization: Basic x'] }),
  ],
  ['log in', post('/_session', '{"name":"admin","password":"secret"}')],
  [
    'log in by a form',
    post('/_session', 'name=admin&password=secret', 'Content-Type: application/x-www-form-urlencoded'),
  ],
  ['cookies', raw('/_session', { headers: ['Cookie: a=b', 'Cookie: AuthSession=x'] })],
  ['log out', raw('/_session', { method: 'DELETE' })],
  [
    'several at once',
    Buffer.concat([keep('/db/a'), keep('/db/none'), keep('/db/p', '{"n":1}'), keep('/db/b'), raw('/db/c')]),
  ],
  ['an answer before the body', Buffer.concat([keep('/DB', '{"n":1}'), raw('/db/a')])],
  ['an answer before the body, which comes late', ...pieces(keep('/DB', '{"n":1}')), raw('/db/a')],
  ['no request at all', Buffer.from('hello\r\n\r\n')],
  ['two lengths', raw('/db/x', { method: 'PUT', headers: ['Content-Length: 1', 'Content-Length: 2'] })],
  [
    'a length and chunks',
    raw('/db/x', { method: 'PUT', headers: ['Transfer-Encoding: chunked'], body: '{}' }),
  ],
  ['delete the database', raw('/db', { method: 'DELETE' })],
];

/** The same in pieces: within the head, before the body, within it. */
function pieces(request: Buffer): Buffer[] {
  const body = request.indexOf('\r\n\r\n') + 4;
  return [
    request.subarray(0, 9),
    request.subarray(9, body),
    request.subarray(body, body + 3),
    request.subarray(body + 3),
  ];
}

function chunked(target: string, parts: readonly string[]): Buffer {
  const body = [...parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`), '0\r\n\r\n'].join('');
  const head = `PUT ${target} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`;
  return Buffer.from(head + body);
}

/** After which the connection stays. */
function keep(target: string, body?: string, header = ''): Buffer {
  const head = `${body === undefined ? 'GET' : 'PUT'} ${target} HTTP/1.1\r\nHost: localhost\r\n${header}`;
  return Buffer.from(
    body === undefined ? `${head}\r\n` : `${head}Content-Length: ${body.length}\r\n\r\n${body}`,
  );
}

describe('what is answered on the short road and over the bridge is the same:', () => {
  const options: Partial<ServerOptions> = {
    hosts: ['demo.test'],
    admins: { admin: 'secret' },
    cors: { origins: ['https://app.test'], credentials: true },
    limits: { document: 100_000, request: 120_000 },
  };
  let short: RunningServer;
  let long: RunningServer;
  beforeAll(async () => {
    short = await start(options);
    long = await start({ ...options, static: () => undefined });
  });

  for (const [name, ...request] of REQUESTS)
    it(name, async () => {
      const [one, other] = await Promise.all([ask(short, ...request), ask(long, ...request)]);
      expect(one).not.toBe('');
      expect(parsed(comparable(one, short))).toEqual(parsed(comparable(other, long)));
    });
});

describe('on the short road', () => {
  const json = { 'content-type': 'application/json' };
  const putJson = (url: string, body: object) =>
    fetch(url, { method: 'PUT', headers: json, body: JSON.stringify(body) });

  it('writes that arrive together are each answered for themselves', async () => {
    const { url } = await start();
    await fetch(`${url}/db`, { method: 'PUT' });
    const same = await Promise.all(Array.from({ length: 12 }, (_, n) => putJson(`${url}/db/same`, { n })));
    expect(same.map(({ status }) => status).sort()).toEqual([201, ...Array(11).fill(409)]);
    const mixed = await Promise.all([
      ...Array.from({ length: 6 }, (_, n) => putJson(`${url}/db/d${n}`, { n })),
      putJson(`${url}/db/bad`, { _nope: 1 }),
      putJson(`${url}/none/d`, {}),
      fetch(`${url}/db`, { method: 'POST', headers: json, body: '{"_id":"posted"}' }),
      fetch(`${url}/db/same?rev=1-0`, { method: 'DELETE' }),
    ]);
    expect(mixed.map(({ status }) => status)).toEqual([...Array(6).fill(201), 400, 404, 201, 409]);
    const rows = (await Promise.all(mixed.slice(0, 6).map((each) => each.json()))) as { id: string }[];
    expect(rows.map(({ id }) => id)).toEqual(['d0', 'd1', 'd2', 'd3', 'd4', 'd5']);
    expect(await (await fetch(`${url}/db`)).json()).toMatchObject({ doc_count: 8, update_seq: '8' });
  });

  it('writes of one connection that come at once are begun in their order, whoever asks besides', async () => {
    const server = await start();
    await fetch(`${server.url}/db`, { method: 'PUT' });
    for (let round = 0; round < 10; round++) {
      const texts = Array.from({ length: 8 }, (_, n) => `{"n":${n}}`);
      const path = `/db/d${round}`;
      const all = Buffer.concat([...texts.map((text) => keep(path, text)), raw('/db/none')]);
      const others = Array.from({ length: 4 }, (_, n) => putJson(`${server.url}/db/o${round}-${n}`, {}));
      const statuses = [...(await ask(server, all)).matchAll(/HTTP\/1\.1 (\d+) /g)].map(
        ([, status]) => status,
      );
      expect(statuses).toEqual(['201', ...Array(7).fill('409'), '404']);
      expect(await (await fetch(server.url + path)).json()).toMatchObject({ n: 0 });
      expect((await Promise.all(others)).map(({ status }) => status)).toEqual(Array(4).fill(201));
    }
  });

  it('what is asked without waiting for the answer before is answered as if it had been waited for', async () => {
    const server = await start();
    await fetch(`${server.url}/db`, { method: 'PUT' });
    const waits = '/db/_changes?feed=longpoll&since=now&timeout=1';
    for (let round = 0; round < 10; round++) {
      const path = `/db/d${round}`;
      const inChunks = `PUT ${path}x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`;
      const written = [keep(path, '{"n":1}'), keep(path), Buffer.from(inChunks), keep(`${path}x`)];
      const answers = await ask(server, Buffer.concat([...written, keep(waits), raw(`${path}y`)]));
      const statuses = [...answers.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
      expect(statuses).toEqual(['201', '200', '201', '200', '200', '404']);
    }
  });

  it('a request of HTTP/1.0 needs no host: it is the address that was called', async () => {
    const server = await start({ anonymous: false, admins: { admin: 'secret' } });
    const headers = [`Authorization: Basic ${btoa('admin:secret')}`];
    const old = { host: '', version: '1.0', headers };
    expect(await ask(server, raw('/_up', { host: '', version: '1.0' }))).toMatch(/^HTTP\/1\.1 200 /);
    await ask(server, raw('/db', { ...old, method: 'PUT' }));
    const made = await ask(server, raw('/db/a', { ...old, method: 'PUT', body: '{}' }));
    expect(made).toContain(`location: http://127.0.0.1:${server.port}/db/a\r\n`);
    expect(await ask(server, raw('/_up', { host: '' }))).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('a written document is read by whoever asks after its answer, on another connection too', async () => {
    const server = await start();
    await fetch(`${server.url}/db`, { method: 'PUT' });
    for (let n = 0; n < 20; n++) {
      expect((await putJson(`${server.url}/db/d${n}`, { n })).status).toBe(201);
      expect(await ask(server, raw(`/db/d${n}`))).toMatch(/^HTTP\/1\.1 200 /);
    }
  });

  it('a failure of the program about it is 500, and the server goes on', async () => {
    const { url } = await start({});
    const now = performance.now.bind(performance);
    // The clock stands for whatever may fail outside of what makes an answer: a logger that does takes none with it.
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
      if (new Error().stack?.includes('/remote/src/server.ts')) throw new Error('no clock today');
      return now();
    });
    onTestFinished(() => clock.mockRestore());
    const failed = await fetch(`${url}/_up`);
    expect([failed.status, await failed.text()]).toEqual([500, expect.not.stringContaining('today')]);
    clock.mockRestore();
    expect((await fetch(`${url}/_up`)).status).toBe(200);
  });

  it('what waits is let go when its client goes', async () => {
    const begun: AbortSignal[] = [];
    const queries = () => ({
      find: ({ signal }: { signal?: AbortSignal }) =>
        new Promise((_, reject) => {
          begun.push(signal!);
          signal!.addEventListener('abort', () => reject(signal!.reason));
        }),
      query: () => Promise.reject(new Error('not asked')),
    });
    const errors: unknown[] = [];
    const logger = { error: (line: string) => errors.push(line) };
    const server = await start({ queries: queries as never, logger });
    await fetch(`${server.url}/db`, { method: 'PUT' });
    const gone = new AbortController();
    const init = { method: 'POST', headers: json, body: '{"selector":{}}', signal: gone.signal };
    const finding = fetch(`${server.url}/db/_find`, init);
    while (begun.length === 0) await new Promise((next) => setTimeout(next, 5));
    expect(begun[0]!.aborted).toBe(false);
    const aborted = new Promise((resolve) => begun[0]!.addEventListener('abort', resolve));
    gone.abort();
    await expect(finding).rejects.toThrow();
    await aborted;
    expect((await fetch(`${server.url}/db`)).status).toBe(200);
    expect(errors).toEqual([]);
  });

  it('is none where a hook is given the request: it is a Request, whose body can be read', async () => {
    const seen: [boolean, string][] = [];
    const { url } = await start({
      anonymous: false,
      static: async (request) => {
        if (new URL(request.url).pathname !== '/form') return undefined;
        return new Response(`thanks, ${await request.text()}`);
      },
      authenticate: (request) => {
        seen.push([request instanceof Request, request.headers.get('x-token') ?? '']);
        return { name: 'jan', roles: ['_admin'] };
      },
    });
    expect(await (await fetch(`${url}/form`, { method: 'POST', body: 'a=b' })).text()).toBe('thanks, a=b');
    await fetch(`${url}/db`, { method: 'PUT', headers: { 'x-token': 't' } });
    expect(seen).toEqual([[true, 't']]);
  });
});
