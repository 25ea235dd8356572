/**
 * Views and Mango of a remote database: what is sent, what is made of the answers of a real CouchDB 3.5.2 (tests/fixtures/couchdb),
 * and what is no answer. What the options mean is tested by the conformance suites over HTTP.
 */
import { readFileSync } from 'node:fs';
import type { ViewOptions } from '@settledb/core';
import { remote } from '@settledb/remote';
import { describe, expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { serverQueries } from '../../packages/settledb/src/server-queries';
import type { Any } from './recorded';
import { failureOf, meddled, ORIGIN, testServer } from './support';

interface Step {
  readonly request?: { method: string; path: string; body?: Any; headers?: Record<string, string> };
  readonly response?: { status: number; body?: Any };
}

const stepsOf = (file: string): Step[] =>
  JSON.parse(readFileSync(new URL(`../fixtures/couchdb/${file}.json`, import.meta.url), 'utf8')).steps;

/** A database whose server knows one answer. */
function answering({ status, body }: { status: number; body?: Any }) {
  const requests: { method: string; path: string; query: URLSearchParams; body: Any }[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    const text = await request.text();
    const sent = text === '' ? undefined : JSON.parse(text);
    requests.push({ method: request.method, path: url.pathname, query: url.searchParams, body: sent });
    return new Response(typeof body === 'string' ? body : JSON.stringify(body), {
      status,
      headers: { 'content-type': 'application/json' },
    });
  };
  return { db: remote(`${ORIGIN}/db`, { fetch, skip_setup: true }), requests };
}

const OPTIONS =
  /^(key|keys|startkey|endkey|start_key|end_key|startkey_docid|endkey_docid|inclusive_end|descending|limit|skip|reduce|group|group_level|include_docs|conflicts|update|stale|update_seq)$/;
const TEXTS = ['startkey_docid', 'endkey_docid', 'stale'];

/** The options that a recorded request has, unless it has others, or none at all are meant. */
function optionsOf({ path, body }: { path: string; body?: Any }): ViewOptions | undefined {
  const options: Record<string, unknown> = {};
  for (const [name, value] of new URL(path, ORIGIN).searchParams) {
    try {
      options[name] = TEXTS.includes(name) || value === 'lazy' ? value : JSON.parse(value);
    } catch {
      return undefined;
    }
  }
  Object.assign(options, body);
  return Object.keys(options).every((name) => OPTIONS.test(name)) ? options : undefined;
}

describe('what CouchDB answered to', () => {
  it.each([
    'view-builtins',
    'view-collation',
    'view-map',
    'view-map-special',
    'view-post',
    'view-reduce',
    'view-update',
  ])('%s is what the client answers', async (file) => {
    let count = 0;
    for (const { request, response } of stepsOf(file)) {
      if (request === undefined || response === undefined) continue;
      const [, view] = /^\/[^/]+\/_design\/([^/]+\/_view\/[^/?]+)(?=\?|$)/.exec(request.path) ?? [];
      const body = request.body ?? {};
      if (view === undefined || typeof body !== 'object' || Array.isArray(body)) continue;
      const options = optionsOf({ path: request.path, body });
      if (options === undefined || (options.conflicts && !options.include_docs)) continue;
      if (typeof options.reduce === 'string') continue; // Here that is a function's name, and refused.
      if ('queries' in (options as object) || response.body === undefined) continue;
      const { db, requests } = answering(response as never);
      const name = view.replace('/_view/', '/').split('/').map(decodeURIComponent).join('/');
      const asked = db.query(name, options);
      if (response.status === 200) expect(await asked).toEqual(response.body);
      else {
        const error = await failureOf(asked);
        expect(error).toMatchObject({ status: response.status, name: response.body.error });
        expect(error.reason).toBe(response.body.reason);
      }
      const [sent] = requests;
      expect(decodeURIComponent(sent!.path)).toBe(
        `/db/_design/${view}`.replace(/%\w\w/g, decodeURIComponent),
      );
      // All that is not the default is sent, in the query or in the body.
      for (const [key, value] of Object.entries(options)) {
        const given = sent!.query.has(key.replace('start_key', 'startkey').replace('end_key', 'endkey'));
        const isDefault =
          value === false || (key === 'update' && value === true) || (key === 'inclusive_end' && value);
        if (!isDefault) expect([key, given || sent!.body?.[key] !== undefined]).toEqual([key, true]);
      }
      count++;
    }
    expect(count).toBeGreaterThan(5);
    console.info(`${file}: ${count} recorded answers`);
  });

  it.each([
    'find-comparison',
    'find-existence',
    'find-index-admin',
    'find-membership',
    'find-numbers',
    'find-options',
    'find-text',
  ])('%s is what the client answers', async (file) => {
    let count = 0;
    for (const { request, response } of stepsOf(file)) {
      if (request === undefined || response?.body === undefined) continue;
      const { body, method, path } = request;
      const [, what, rest = ''] = /^\/[^/]+\/_(find|explain|index)(\/.*)?$/.exec(path) ?? [];
      if (what === undefined || (body !== undefined && (typeof body !== 'object' || Array.isArray(body))))
        continue;
      const { db, requests } = answering(response as never);
      let asked: Promise<unknown>;
      if (what !== 'index') asked = what === 'find' ? db.find(body) : db.explain(body);
      else if (method === 'GET') asked = db.getIndexes();
      else if (method === 'POST' && rest === '') asked = db.createIndex(body);
      else if (method === 'DELETE') {
        const [ddoc, type, name, more] = decodeURIComponent(rest.slice(1))
          .replace(/^_design\//, '')
          .split('/');
        if (!ddoc || !name || more !== undefined) continue;
        asked = db.deleteIndex({ ddoc, name, type: type! });
      } else continue;
      if (response.status < 300) expect(await asked).toEqual(response.body);
      else
        expect(await failureOf(asked)).toMatchObject({
          status: response.status,
          name: response.body.error,
          reason: response.body.reason,
        });
      const sent = requests[0]!;
      if (what !== 'index') expect(sent.body).toEqual(body);
      else if (method === 'POST' && body?.index?.fields) expect(sent.body.index).toEqual(body.index);
      expect(sent.method).toBe(method);
      count++;
    }
    expect(count).toBeGreaterThan(2);
    console.info(`${file}: ${count} recorded answers`);
  });

  it('several queries at once is what the client answers', async () => {
    const step = stepsOf('view-post').find(({ request }) => request?.body?.queries?.length > 2)!;
    const { db, requests } = answering(step.response as never);
    expect(await db.queries('v/t', step.request!.body.queries)).toEqual(step.response!.body.results);
    expect(requests[0]).toMatchObject({ method: 'POST', path: '/db/_design/v/_view/t/queries' });
    expect(requests[0]!.body).toEqual(step.request!.body);
  });
});

describe('what is sent', () => {
  const rows = { status: 200, body: { total_rows: 0, offset: 0, rows: [] } };

  it('keys and long bounds travel in the body, all else in the query', async () => {
    const { db, requests } = answering(rows);
    const long = 'x'.repeat(3_000);
    await db.query('d/v', { keys: ['a', { b: 1 }], limit: 2, reduce: false });
    await db.query('d/v', { startkey: [long], endkey: null, descending: true });
    await db.query('d/v', { key: undefined, start_key: null, end_key: '', skip: '3', inclusive_end: false });
    expect(requests.map(({ method, query, body }) => [method, query.toString(), body])).toEqual([
      ['POST', 'limit=2&reduce=false', { keys: ['a', { b: 1 }] }],
      ['POST', 'descending=true', { startkey: [long], endkey: null }],
      ['GET', 'inclusive_end=false&skip=3&startkey=null&endkey=%22%22', undefined],
    ]);
  });

  it('names of views are encoded, and those that no URL can carry are refused', async () => {
    const { db, requests } = answering(rows);
    await db.query('a b/c/d?e');
    await db.query('naïve');
    expect(requests.map(({ path }) => path)).toEqual([
      '/db/_design/a%20b/_view/c%2Fd%3Fe',
      '/db/_design/na%C3%AFve/_view/na%C3%AFve',
    ]);
    for (const name of ['..', '.', 'd/..', '../v', '', 'd/'])
      expect(await failureOf(db.query(name))).toMatchObject({ status: 400, name: 'bad_request' });
    expect(requests).toHaveLength(2);
  });

  it('functions are refused, with what to do instead', async () => {
    const { db, requests } = answering(rows);
    const map = (): void => {};
    for (const view of [map, { map }, { map: 'function (doc) { emit(1); }' }]) {
      const error = await failureOf(db.query(view));
      expect(error).toMatchObject({ status: 501, name: 'not_implemented' });
      expect(error.reason).toMatch(/design document.*replicate/);
    }
    for (const reduce of [(): number => 1, '_sum'])
      expect(await failureOf(db.query('d/v', { reduce }))).toMatchObject({
        status: 400,
        name: 'query_parse_error',
      });
    for (const view of [undefined, null, 7, []] as never[])
      expect(await failureOf(db.query(view))).toMatchObject({ status: 400 });
    expect(requests).toEqual([]);
  });

  it('patterns are sent as text, with their flags', async () => {
    const { db, requests } = answering({ status: 200, body: { docs: [] } });
    await db.find({ selector: { $or: [{ a: { $regex: /^x/ } }, { b: { $regex: /y.z/gis } }] } });
    expect(requests[0]!.body.selector).toEqual({
      $or: [{ a: { $regex: '^x' } }, { b: { $regex: '(?is)y.z' } }],
    });
  });

  it('patterns find the same documents here and on our server, with every flag', async () => {
    const { fetch, databases, ask } = testServer();
    const db = remote(`${ORIGIN}/texts`, { fetch });
    const texts = ['abc', 'ABC', 'x\nabc', 'a\nc', 'A\nC', 'none'];
    await db.bulkDocs(texts.map((text, i) => ({ _id: `d${i}`, text })));
    const here = await serverQueries()((await databases.open('texts'))!);
    for (const pattern of [/abc/, /abc/i, /^abc$/m, /^ABC$/im, /a.c/s, /A.C/gis, /abc|none/i]) {
      const selector = { text: { $regex: pattern } };
      const ids = ({ docs }: { docs: readonly { _id: string }[] }) => docs.map(({ _id }) => _id);
      const found = ids(await here!.find({ selector }));
      expect([String(pattern), found.length > 0]).toEqual([String(pattern), true]);
      expect([String(pattern), ids(await db.find({ selector }))]).toEqual([String(pattern), found]);
    }
    // As CouchDB's users write it.
    const { body } = await ask('POST', '/texts/_find', { selector: { text: { $regex: '(?i)^a.*c$' } } });
    expect(body.docs).toHaveLength(2);
  });

  it('indexes in either form, in the one that CouchDB takes', async () => {
    const { db, requests } = answering({
      status: 200,
      body: { result: 'created', id: '_design/d', name: 'n' },
    });
    const index = { fields: ['a'], partial_filter_selector: { b: 1 } };
    await db.createIndex({ ...index, name: 'n', ddoc: 'd' });
    await db.createIndex({ index: { ...index, name: 'n' }, ddoc: 'd', type: 'json' });
    const wanted = { index, name: 'n', ddoc: 'd', type: 'json' };
    expect(requests.map(({ body }) => body)).toEqual([wanted, wanted]);
  });
});

describe('what is no answer', () => {
  it.each<[string, unknown, (db: ReturnType<typeof remote>) => Promise<unknown>]>([
    ['no rows', { total_rows: 1 }, (db) => db.query('d/v')],
    ['rows that are none', { rows: [1] }, (db) => db.query('d/v')],
    ['a list', [], (db) => db.query('d/v')],
    ['half an answer', '{"total_rows":3,"offset":0,"rows":[\r\n{"id":"a","key":1', (db) => db.query('d/v')],
    ['too few results', { results: [] }, (db) => db.queries('d/v', [{}])],
    ['no documents', { warning: 'x' }, (db) => db.find({ selector: {} })],
    ['documents that are none', { docs: [null] }, (db) => db.find({ selector: {} })],
    ['no index', {}, (db) => db.explain({ selector: {} })],
    ['no indexes', { total_rows: 1 }, (db) => db.getIndexes()],
    ['nothing made', { ok: true }, (db) => db.createIndex({ fields: ['a'] })],
    ['not deleted', {}, (db) => db.deleteIndex({ ddoc: 'd', name: 'n' })],
    ['not cleaned', {}, (db) => db.viewCleanup()],
    ['no information', { name: 'd' }, (db) => db.viewInfo('d')],
  ])('%s', async (_, body, ask) => {
    const { db } = answering({ status: 200, body });
    expect(await failureOf(ask(db))).toMatchObject({ status: 502, name: 'bad_response' });
  });
});

describe('over a server', () => {
  interface Note {
    readonly n: number;
    readonly text?: string;
  }
  const VIEW = { map: 'function (doc) { emit(doc.n, doc.text); }' };

  async function notes(options: object = {}) {
    const server = testServer({ runStoredFunctions: true });
    const db = new SettleDB<Note>(`${ORIGIN}/notes`, { fetch: server.fetch, ...options });
    await db.bulkDocs([
      { _id: 'a', n: 1, text: 'one' },
      { _id: 'b', n: 2 },
      { _id: '_design/d', views: { d: VIEW } } as never,
    ]);
    return { db, server };
  }

  it('documents have the type of the handle', async () => {
    const { db } = await notes();
    const { docs } = await db.find({ selector: { n: { $gt: 1 } } });
    const n: number | undefined = docs[0]?.n;
    expect(n).toBe(2);
    const { rows } = await db.query('d', { include_docs: true, key: 1 });
    const text: string | undefined = rows[0]?.doc?.text;
    expect(text).toBe('one');
  });

  it('attachments come as they were asked for', async () => {
    const { db } = await notes();
    await db.putAttachment('a', 'x.txt', (await db.get('a'))._rev, new Blob(['hello']), 'text/plain');
    const asked = { include_docs: true, attachments: true, key: 1 };
    const [text] = (await db.query('d', asked)).rows;
    expect(text!.doc!._attachments!['x.txt']).toMatchObject({ data: 'aGVsbG8=' });
    const [bytes] = (await db.query('d', { ...asked, binary: true })).rows;
    const { data } = bytes!.doc!._attachments!['x.txt'] as unknown as { data: Blob };
    expect(String(data)).toBe('hello');
  });

  it('asks one by one where several at once are not known', async () => {
    const { server, fetch } = meddled({
      'POST /notes/_design/d/_view/d/queries': () =>
        new Response('{"error":"not_found","reason":"missing"}', { status: 404 }),
    });
    const db = remote(`${ORIGIN}/notes`, { fetch });
    // A view that needs no function is one by Mango.
    await db.bulkDocs([
      { _id: 'a', n: 1 },
      { _id: 'b', n: 2 },
    ] as never);
    await db.createIndex({ fields: ['n'], name: 'd', ddoc: 'd' });
    const failure = await failureOf(db.queries('d', [{ limit: 1 }, {}]));
    expect(failure.status).toBeGreaterThanOrEqual(400);
    expect(server.log.filter((line) => line.includes('/_view/'))).toEqual([
      'GET /notes/_design/d/_view/d?limit=1',
    ]);
  });

  it('an abort ends a request, and close all of them', async () => {
    const { db } = await notes();
    const reason = new Error('enough');
    for (const ask of [
      (signal: AbortSignal) => db.query('d', { signal }),
      (signal: AbortSignal) => db.find({ selector: {}, signal }),
      (signal: AbortSignal) => db.explain({ selector: {}, signal }),
      (signal: AbortSignal) => db.createIndex({ fields: ['n'] }, { signal }),
      (signal: AbortSignal) => db.viewInfo('d', { signal }),
    ])
      await expect(ask(AbortSignal.abort(reason))).rejects.toBe(reason);
    await db.close();
    expect(await failureOf(db.query('d'))).toMatchObject({ name: 'closed' });
  });

  it('results stay current, whoever writes', async () => {
    const { db, server } = await notes();
    const other = new SettleDB<Note>(`${ORIGIN}/notes`, { fetch: server.fetch });
    const results = { find: [] as Any[], query: [] as Any[], allDocs: [] as Any[] };
    const stop = [
      db.live.find({ selector: { n: { $gt: 1 } } }).subscribe((result) => results.find.push(result.docs)),
      db.live.query('d').subscribe((result) => results.query.push(result.rows)),
      db.live
        .allDocs({ endkey: 'z', startkey: 'a' })
        .subscribe((result) => results.allDocs.push(result.rows)),
    ];
    await vi.waitFor(() => expect(Object.values(results).map((each) => each.length)).toEqual([1, 1, 1]));
    await other.put({ _id: 'c', n: 3 });
    await vi.waitFor(() => expect(results.find.at(-1)).toHaveLength(2));
    await vi.waitFor(() => expect(results.query.at(-1)).toHaveLength(3));
    await vi.waitFor(() => expect(results.allDocs.at(-1)).toHaveLength(3));
    // What did not change is the same object.
    expect(results.find.at(-1)[0]).toBe(results.find[0][0]);
    expect(results.query.at(-1)[1]).toBe(results.query[0][1]);
    const before = results.find.length;
    await other.put({ ...(await other.get('a')), text: 'uno' });
    await vi.waitFor(() => expect(results.query.at(-1)[0].value).toBe('uno'));
    expect(results.find).toHaveLength(before);
    for (const end of stop) end();
    await db.close();
    await other.close();
  });

  it('a live result ends with the error of a server that is lost', async () => {
    let lost = false;
    const server = testServer({ runStoredFunctions: true });
    const fetch: typeof globalThis.fetch = (input, init) =>
      lost ? Promise.reject(new TypeError('fetch failed')) : server.fetch(input, init);
    const db = new SettleDB<Note>(`${ORIGIN}/lost`, { fetch });
    await db.put({ _id: 'a', n: 1 });
    const heard: unknown[] = [];
    const ended = new Promise((resolve) => {
      db.live.allDocs().subscribe({
        next: () => {
          heard.push('rows');
          lost = true;
          // Wakes the feed that waits; the next request fails.
          void server.ask('PUT', '/lost/b', { n: 2 });
        },
        error: resolve,
      });
    });
    expect(await ended).toMatchObject({ status: 503, name: 'unreachable' });
    expect(heard).toEqual(['rows']);
    await db.close();
  });
});
