/** How a client logs in, and renews that; the headers that it sends; and that nobody is told its secrets. */
import { remote } from '@settledb/remote';
import { describe, expect, it, vi } from 'vitest';
import { Session } from '../../packages/remote/src/client-session';
import { auth, closed, failureOf, ORIGIN, testServer } from './support';

type Fetch = typeof globalThis.fetch;

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
