/** A database that is found elsewhere: who is asked from then on, and who gets the credentials. */
import { remote } from '@settledb/remote';
import { describe, expect, it } from 'vitest';
import { auth, closed, failureOf, ORIGIN, testServer } from './support';

type Fetch = typeof globalThis.fetch;

/** As `fetch` follows redirects: a POST becomes a GET. */
function moved(server: { fetch: Fetch }, from: string, at = ORIGIN): Fetch {
  return async (input, init) => {
    const url = String(input);
    if (!url.startsWith(from)) return server.fetch(url.replace(at, ORIGIN), init);
    const to = at + url.slice(from.length);
    if (init?.redirect === 'manual') return new Response(null, { status: 301, headers: { location: to } });
    const method = init?.method === 'POST' ? 'GET' : init?.method;
    const { body: _, ...rest } = init ?? {};
    const response = await server.fetch(ORIGIN + url.slice(from.length), {
      ...(init?.method === 'POST' ? rest : init),
      ...(method && { method }),
    });
    Object.defineProperties(response, { redirected: { value: true }, url: { value: to } });
    return response;
  };
}

describe('a database that has moved', () => {
  it('is asked where it is from then on', async () => {
    const server = testServer();
    const fetch = moved(server, `${ORIGIN}/old`);
    const db = remote(`${ORIGIN}/old/db`, { fetch });
    await db.put({ _id: 'a' });
    const fresh = remote(`${ORIGIN}/old/db`, { fetch, skip_setup: true });
    // A POST is the first to find out: its answer, that of a GET of all documents, is not believed.
    expect((await fresh.allDocs({ keys: ['b'] })).rows).toEqual([{ key: 'b', error: 'not_found' }]);
    expect(await fresh.bulkDocs([{ _id: 'b' }])).toMatchObject([{ ok: true }]);
    expect((await db.info()).doc_count).toBe(2);
  });

  it.each([
    ['on its own server', `${ORIGIN}/login`, {}],
    ['of a network', 'http://portal.test/', {}],
    ['of a network, though there are credentials', 'http://portal.test/', { headers: { 'x-token': 'a' } }],
  ])('is not a login page %s, to which requests are led for a while', async (_where, page, options) => {
    const server = testServer();
    let isLoggedIn = true;
    const fetch: Fetch = async (input, init) => {
      if (isLoggedIn) return server.fetch(input, init);
      const response = new Response('<html>Log in', { headers: { 'content-type': 'text/html' } });
      return Object.defineProperties(response, { redirected: { value: true }, url: { value: page } });
    };
    const db = remote(`${ORIGIN}/db`, { fetch, ...options });
    await db.put({ _id: 'a' });
    isLoggedIn = false;
    expect(await failureOf(db.info())).toMatchObject({ status: 502, name: 'bad_response' });
    isLoggedIn = true;
    server.log.length = 0;
    expect((await db.info()).doc_count).toBe(1);
    expect(server.log).toEqual(['GET /db']);
  });

  it.each([
    'http://elsewhere.test',
    ORIGIN.replace('5984', '5985'),
    ORIGIN.replace('http:', 'https:'),
  ])('to another server than %s gets no credentials: its host, port and scheme are those given', async (origin) => {
    const fetch = moved(testServer(), origin);
    const db = remote(`${origin}/db`, { fetch, auth: { username: 'a', password: 'pw' } });
    expect(await failureOf(db.info())).toMatchObject({ status: 400, name: 'redirected' });
  });

  it.each(['basic', 'cookie'] as const)('from http to https gets them (%s)', async (type) => {
    const server = closed();
    const at = 'https://couch.test';
    const seen: string[] = [];
    const isKnown = (headers: Headers) => headers.has('authorization') || headers.has('cookie');
    const followed = moved(server, 'http://couch.test', at);
    const fetch: Fetch = async (input, init) => {
      const headers = new Headers(init?.headers);
      // As a platform's, it takes none of them along to another scheme.
      if (!String(input).startsWith(at)) for (const name of ['authorization', 'cookie']) headers.delete(name);
      if (init?.body?.toString().includes(auth.password)) seen.push(`${init.redirect} ${input}`);
      const answer = await followed(input, { ...init, headers });
      if (new URL(String(input)).pathname !== '/' || isKnown(headers)) return answer;
      // As of a CouchDB with `require_valid_user`.
      const refusal = Response.json({ error: 'unauthorized', reason: 'x' }, { status: 401 });
      return Object.defineProperties(refusal, { redirected: { value: true }, url: { value: `${at}/` } });
    };
    const options = { fetch, auth: { ...auth, type } };
    expect(await remote('http://couch.test/db', options).id()).toBe(`${'0'.repeat(32)}/db`);
    const fresh = remote('http://couch.test/db', { ...options, skip_setup: true });
    const both = await Promise.all([failureOf(fresh.get('x')), failureOf(fresh.get('y'))]);
    expect(both.map(({ status }) => status)).toEqual([404, 404]);
    seen.length = 0;
    const db = remote('http://couch.test/db', options);
    expect(await db.put({ _id: 'a' })).toMatchObject({ ok: true });
    expect((await db.info()).doc_count).toBe(1);
    const logins = ['manual http://couch.test/_session', `manual ${at}/_session`];
    expect(seen).toEqual(type === 'basic' ? [] : logins);
  });

  it('to another server does not take the password of a session along', async () => {
    const elsewhere = 'http://elsewhere.test';
    const bodies: unknown[] = [];
    const fetch: Fetch = async (input, init) => {
      const to = elsewhere + String(input).slice(ORIGIN.length);
      if (init?.redirect === 'manual') return new Response(null, { status: 307, headers: { location: to } });
      bodies.push(init?.body);
      const answer = new Response('{}', { headers: { 'content-type': 'application/json' } });
      return Object.defineProperties(answer, { redirected: { value: true }, url: { value: to } });
    };
    const db = remote(`${ORIGIN}/db`, { fetch, auth });
    expect(await failureOf(db.info())).toMatchObject({ status: 400, name: 'redirected' });
    expect(bodies).toEqual([undefined]);
  });

  it.each([
    [404, 'text/html'],
    [200, 'text/html'],
    [503, 'text/plain'],
  ])('is not where a page answers %i %s, as that of a login or a network that wants to be paid', async (status, type) => {
    const server = testServer();
    let isBarred = false;
    const fetch: Fetch = async (input, init) => {
      if (!isBarred) return server.fetch(input, init);
      const page = new Response('<html>', { status, headers: { 'content-type': type } });
      Object.defineProperties(page, { redirected: { value: true }, url: { value: `${ORIGIN}/login` } });
      return page;
    };
    const db = remote(`${ORIGIN}/db`, { fetch });
    await db.put({ _id: 'a' });
    isBarred = true;
    await failureOf(db.info());
    await failureOf(db.allDocs({ keys: ['a'] }));
    isBarred = false;
    expect((await db.info()).doc_count).toBe(1);
  });

  it.each([
    ['nobody', () => Promise.reject(new TypeError('fetch failed'))],
    ['something else', async () => new Response('<html>', { status: 404 })],
  ] as const)('is asked for where it was, if %s answers where it went', async (_, answer) => {
    const server = testServer();
    const away = moved(server, `${ORIGIN}/old`);
    let isBack = false;
    const fetch: Fetch = (input, init) => {
      const isOld = String(input).startsWith(`${ORIGIN}/old`);
      if (!isBack) return away(input, init);
      return isOld ? server.fetch(String(input).replace('/old', ''), init) : answer();
    };
    const db = remote(`${ORIGIN}/old/db`, { fetch });
    await db.put({ _id: 'a' });
    isBack = true;
    await failureOf(db.info());
    expect((await db.info()).doc_count).toBe(1);
  });
});
