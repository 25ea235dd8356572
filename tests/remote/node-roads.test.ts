/**
 * Small plain requests are answered on a short road, all others over the bridge (node-request.ts). Here each request is sent, byte for
 * byte, to a server that takes the short road where it can and to one that never does, because it has a hook: the answers are the same.
 */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningServer, ServerOptions } from '../../packages/settledb/src/server';
import { ask, keep, raw, startServer } from './raw-requests';

const cleanUp: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo();
});

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
    const after = (undo: () => Promise<void>) => void cleanUp.push(undo);
    short = await startServer(after, options);
    long = await startServer(after, { ...options, static: () => undefined });
  });

  for (const [name, ...request] of REQUESTS)
    it(name, async () => {
      const [one, other] = await Promise.all([ask(short, ...request), ask(long, ...request)]);
      expect(one).not.toBe('');
      expect(parsed(comparable(one, short))).toEqual(parsed(comparable(other, long)));
    });
});
