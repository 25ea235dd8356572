/** How a client logs in, renews, follows and compresses; and that nobody is told its secrets. */
import { remote } from '@settledb/remote';
import { describe, expect, it, vi } from 'vitest';
import { Session } from '../../packages/remote/src/client-session';
import { failureOf, ORIGIN, testServer } from './support';

type Fetch = typeof globalThis.fetch;
const closed = (options: object = {}) =>
  testServer({ anonymous: false, admins: { admin: 'secret' }, ...options });
const auth = { username: 'admin', password: 'secret', type: 'cookie' } as const;

describe('options', () => {
  it('that are misspelt are refused before anything is sent', async () => {
    const server = closed();
    const ask = (options: object) =>
      failureOf(remote(`${ORIGIN}/db`, { fetch: server.fetch, ...options }).info());
    for (const options of [
      { auth: 'admin:secret' },
      { auth: { name: 'admin', password: 'secret' } },
      { auth: { ...auth, type: 'session' } },
      { auth, feed: 'eventsource' },
      { auth, credentials: true },
      { auth, fetch: 'fetch' },
      { headers: 'authorization: Basic x' },
      { headers: new Headers({ authorization: 'Basic x' }) },
    ])
      expect(await ask(options)).toMatchObject({ status: 400, name: 'bad_request' });
    expect(server.log).toEqual([]);
    expect(await ask({ auth: null })).toMatchObject({ status: 401 });
  });
});

describe('a session', () => {
  it('is opened once, used by all requests, and never sends the password again', async () => {
    const server = closed();
    const seen: Headers[] = [];
    const fetch: Fetch = (input, init) => {
      seen.push(new Headers(init?.headers));
      return server.fetch(input, init);
    };
    const db = remote(`${ORIGIN}/db`, { fetch, auth });
    await Promise.all([db.put({ _id: 'a' }), db.put({ _id: 'b' }), db.info()]);
    expect(server.log.filter((line) => line === 'POST /_session')).toHaveLength(1);
    expect(seen.filter((headers) => headers.has('authorization'))).toEqual([]);
    expect(seen.filter((headers) => headers.get('cookie')?.startsWith('AuthSession='))).toHaveLength(
      seen.length - 1,
    );
  });

  it('that the server takes no more is opened again, and the request sent once more', async () => {
    const { databases } = closed();
    let server = closed({ databases });
    const db = remote(`${ORIGIN}/db`, { fetch: (...given) => server.fetch(...given), auth });
    await db.put({ _id: 'a' });
    server = closed({ databases, cookies: { timeout: 60 } }); // the old cookie is of too long a time for it
    await db.put({ _id: 'b' });
    expect(server.log).toEqual(['PUT /db/b', 'POST /_session', 'PUT /db/b']);
    expect((await db.info()).doc_count).toBe(2);
  });

  it('is renewed before it ends', async () => {
    const server = closed({ cookies: { timeout: 0.2 } });
    const db = remote(`${ORIGIN}/db`, { fetch: server.fetch, auth, skip_setup: true });
    await failureOf(db.get('a'));
    await new Promise((resolve) => setTimeout(resolve, 250));
    await failureOf(db.get('a'));
    expect(server.log.filter((line) => line === 'POST /_session').length).toBeGreaterThan(1);
  });

  it.each([
    ['AuthSession=x; Version=1; Max-Age=50; Path=/', 50],
    ['AuthSession=x; Version=1; max-age=5000; Path=/', 5_000],
    ['AuthSession=x; Version=1; Path=/', 600],
    // A browser shows none.
    [undefined, 600],
  ])('is opened anew when four fifths of its time are over: %s', async (cookie, seconds) => {
    let now = 7_000;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
    try {
      const fetch = vi.fn(
        async () => new Response('{}', cookie ? { headers: { 'set-cookie': cookie } } : {}),
      );
      const session = new Session(() => `${ORIGIN}/`, auth, fetch);
      expect(await session.headers()).toEqual(cookie ? { cookie: 'AuthSession=x' } : {});
      now += seconds * 799;
      await session.headers();
      expect(fetch).toHaveBeenCalledTimes(1);
      now += seconds * 2;
      await session.headers();
      expect(fetch).toHaveBeenCalledTimes(2);
    } finally {
      clock.mockRestore();
    }
  });

  it('is opened anew also when its time was slept through, in which no page goes on counting', async () => {
    let now = Date.now();
    const standing = vi.spyOn(performance, 'now').mockReturnValue(7_000);
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now);
    try {
      const headers = { 'set-cookie': 'AuthSession=x; Max-Age=600' };
      const fetch = vi.fn(async () => new Response('{}', { headers }));
      const session = new Session(() => `${ORIGIN}/`, auth, fetch);
      for (const ms of [0, 479_000, 2_000]) {
        now += ms;
        await session.headers();
      }
      expect(fetch).toHaveBeenCalledTimes(2);
    } finally {
      standing.mockRestore();
      clock.mockRestore();
    }
  });

  it.each([
    [401, 'unauthorized'],
    [403, 'forbidden'],
    [500, 'login_failed'],
  ])('that is not given is an error: %i', async (status, name) => {
    const session = new Session(
      () => `${ORIGIN}/`,
      auth,
      async () => new Response('{}', { status }),
    );
    await expect(session.headers()).rejects.toMatchObject({ status, name });
  });

  it('refused by the server is an error at once: a stale password must not lock the account', async () => {
    const server = closed({ address: 'x' });
    const db = remote(`${ORIGIN}/db`, { fetch: server.fetch, auth: { ...auth, password: 'hunter2' } });
    const error = await failureOf(db.info());
    expect([error.status, JSON.stringify(error), error.stack].join()).not.toContain('hunter2');
    expect(error).toMatchObject({ status: 401, name: 'unauthorized' });
    expect(server.log).toEqual(['POST /_session']);
  });
});

describe('cookies that the page has already', () => {
  it.each([
    [{}, undefined],
    [{ credentials: 'include' }, 'include'],
    [{ credentials: 'omit' }, 'omit'],
    [{ credentials: 'omit', auth }, 'include'], // a session of our own needs them
  ] as const)('go along as %o says', async (given, expected) => {
    const server = testServer({ admins: { admin: 'secret' } });
    const seen = new Set<string | undefined>();
    const fetch: Fetch = (input, init) => {
      seen.add(init?.credentials);
      return server.fetch(input, init);
    };
    const db = remote<{ text: string }>(`${ORIGIN}/db`, { fetch, ...given });
    await db.put({ _id: 'a', text: 'hello '.repeat(20_000) }); // asks for all there is to ask
    await db.changes();
    expect([...seen]).toEqual([expected]);
  });
});

it('headers of the program override our own, however their names are written', async () => {
  const sent: Headers[] = [];
  const fetch: Fetch = async (_input, init) => {
    sent.push(new Headers(init?.headers));
    return new Response('{"ok":true,"id":"a","rev":"1-a"}');
  };
  const auth = { username: 'a', password: 'b' };
  const given = { Authorization: 'Bearer x', ACCEPT: 'text/x', 'Content-Type': 'application/json; a=b' };
  for (const headers of [given, () => given])
    await remote(`${ORIGIN}/db`, { fetch, headers, auth }).put({ _id: 'a' });
  for (const each of sent)
    expect(['authorization', 'accept', 'content-type'].map((name) => each.get(name))).toEqual([
      'Bearer x',
      'text/x',
      'application/json; a=b',
    ]);
});

it.each(['basic', 'cookie'] as const)('a fetch adds to the headers (%s) as for PouchDB', async (type) => {
  const server = closed();
  const got: Request[] = [];
  const fetch: Fetch = (input, init) => {
    (init?.headers as Headers).set('X-Token', 'mine');
    got.push(new Request(input, init));
    return server.fetch(input, init);
  };
  const db = remote(`${ORIGIN}/db`, { fetch, auth: { ...auth, type } });
  await db.put({ _id: 'a' });
  expect(got.map(({ headers }) => [headers.get('x-token'), headers.get('accept')])).toEqual(
    got.map(() => ['mine', 'application/json']),
  );
  expect((await db.info()).doc_count).toBe(1);
});

it('no headers at all may be said by null too, also by a function', async () => {
  const { fetch } = testServer();
  for (const headers of [null, () => null, async () => undefined])
    expect(await remote(`${ORIGIN}/db`, { fetch, headers: headers as never }).info()).toMatchObject({
      doc_count: 0,
    });
});

describe('headers by a function', () => {
  it('are asked for again after a 401, and the request is sent once more, not twice', async () => {
    const asked: boolean[] = [];
    let token = 'old';
    const authenticate = (request: Request) =>
      request.headers.get('authorization') === 'Bearer new' ? { name: 'z', roles: ['_admin'] } : undefined;
    const server = testServer({ anonymous: false, authenticate });
    const headers = async (again: boolean) => {
      asked.push(again);
      if (again) token = 'new';
      // As the types say, either of both.
      const given = { authorization: `Bearer ${token}` };
      return again ? new Headers(given) : given;
    };
    const db = remote(`${ORIGIN}/db`, { fetch: server.fetch, headers });
    await db.put({ _id: 'a' });
    expect(asked.slice(0, 2)).toEqual([false, true]);
    expect((await db.info()).doc_count).toBe(1);
    const never = remote(`${ORIGIN}/db`, {
      fetch: server.fetch,
      headers: () => ({ authorization: 'Bearer x' }),
    });
    server.log.length = 0;
    expect(await failureOf(never.info())).toMatchObject({ status: 401 });
    expect(server.log).toHaveLength(2);
  });

  it('that fails is told as the reason why nothing was asked, with its own error', async () => {
    const server = testServer();
    const own = new Error('no token');
    for (const headers of [
      () => Promise.reject(own),
      () => {
        throw own;
      },
    ]) {
      const db = remote(`${ORIGIN}/db`, { fetch: server.fetch, headers });
      const failure = await failureOf(db.info());
      expect(failure).toMatchObject({ status: 503, name: 'unreachable', cause: own });
      expect(failure.reason).toContain('headers');
    }
    expect(server.log).toEqual([]);
  });
});

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

describe('large bodies', () => {
  const text = 'hello '.repeat(20_000);
  const recorded = (server: { fetch: Fetch }) => {
    const encodings: (string | null)[] = [];
    const fetch: Fetch = (input, init) => {
      encodings.push(new Headers(init?.headers).get('content-encoding'));
      return server.fetch(String(input).replace('http://couch.test', ORIGIN), init);
    };
    return { encodings, fetch };
  };

  it('go compressed though nobody answered when it was asked for the first time whether they may', async () => {
    const { encodings, fetch } = recorded(testServer());
    let asked = 0;
    const flaky: Fetch = async (input, init) => {
      if (String(input) === 'http://couch.test/' && asked++ === 0) throw new TypeError('fetch failed');
      return fetch(input, init);
    };
    const db = remote<{ text: string }>('http://couch.test/db', { fetch: flaky });
    await db.put({ _id: 'a', text });
    await db.put({ _id: 'b', text });
    await db.put({ _id: 'c', text });
    expect([asked, encodings]).toEqual([2, [null, null, null, null, 'gzip', 'gzip']]);
  });

  it('go compressed to CouchDB elsewhere, plain to this machine and to others', async () => {
    const { encodings, fetch } = recorded(testServer());
    const db = remote<{ text: string }>('http://couch.test/db', { fetch });
    await db.put({ _id: 'a', text });
    expect(encodings).toEqual([null, null, null, 'gzip']); // looked for, made, who is it, written
    expect((await db.get('a')).text).toBe(text);
    const near = recorded(testServer());
    await remote<{ text: string }>(`${ORIGIN}/db`, { fetch: near.fetch }).put({ _id: 'a', text });
    const off = recorded(testServer());
    await remote<{ text: string }>('http://couch.test/db', { fetch: off.fetch, compress: false }).put({
      _id: 'a',
      text,
    });
    expect([...near.encodings, ...off.encodings].filter((encoding) => encoding !== null)).toEqual([]);
  });

  it('are sent plain after all to who refuses them', async () => {
    const server = testServer();
    const { encodings, fetch } = recorded({
      fetch: async (input, init) =>
        new Headers(init?.headers).has('content-encoding')
          ? new Response('{"error":"bad_content_type","reason":"x"}', { status: 415 })
          : server.fetch(input, init),
    });
    const db = remote<{ text: string }>('http://couch.test/db', { fetch, compress: true });
    await db.put({ _id: 'a', text });
    await db.put({ _id: 'b', text });
    expect(encodings.filter((encoding) => encoding !== null)).toHaveLength(1);
    expect((await db.info()).doc_count).toBe(2);
  });

  it('that unfold to more than the limit are refused, however small they come', async () => {
    const server = testServer({ limits: { request: 100_000 } });
    await server.ask('PUT', '/db');
    const bomb = new Blob([`"${'0'.repeat(5_000_000)}"`]).stream().pipeThrough(new CompressionStream('gzip'));
    const body = await new Response(bomb).arrayBuffer();
    expect(body.byteLength).toBeLessThan(10_000);
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const send = (bytes: BodyInit) =>
      server
        .fetch(`${ORIGIN}/db/_bulk_docs`, { method: 'POST', body: bytes, headers })
        .then(({ status }) => status);
    expect(await send(body)).toBe(413);
    expect(await send('no gzip')).toBe(400);
    expect(await send(body.slice(0, 100))).toBe(400);
  });
});

describe('a continuous feed', () => {
  it('gives every change once, in order, by one request, and goes on when the server ends it', async () => {
    const server = testServer();
    const db = remote<{ n: number }>(`${ORIGIN}/db`, { fetch: server.fetch, feed: 'continuous' });
    await db.info();
    const seen: string[] = [];
    const asked = () => server.log.filter((line) => line.includes('feed=continuous')).length;
    const feed = db.changes({ live: true, heartbeat: false, timeout: 1000 });
    await db.put({ _id: 'd0', n: 0 });
    for await (const { id } of feed) {
      seen.push(id);
      if (seen.length === 12) break;
      if (seen.length === 6) await vi.waitFor(() => expect(asked()).toBeGreaterThan(1)); // the first was ended
      await db.put({ _id: `d${seen.length}`, n: seen.length });
    }
    expect(seen).toEqual(Array.from({ length: 12 }, (_, i) => `d${i}`));
    expect(asked()).toBeLessThan(6);
    expect(server.log.some((line) => line.includes('longpoll'))).toBe(false);
  });
});
