/** The client and its database: when that is made, what it is called, who is let in, and how it ends. */
import { runInNewContext } from 'node:vm';
import { remote } from '@settledb/remote';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { failureOf, meddled, ORIGIN, testServer, URL_OF_DB } from './support';

type Fetch = typeof globalThis.fetch;

describe('the database behind a URL', () => {
  it('is made on first use, once for many calls, and not with skip_setup', async () => {
    const server = testServer();
    const db = remote(URL_OF_DB, { fetch: server.fetch });
    await Promise.all([db.info(), db.put({ _id: 'a' }), db.allDocs()]);
    expect(server.log.filter((line) => line === 'PUT /db')).toHaveLength(1);
    const other = remote(`${ORIGIN}/other`, { fetch: server.fetch, skip_setup: true });
    expect(await failureOf(other.put({ _id: 'a' }))).toMatchObject({ status: 404, name: 'not_found' });
    const truthy = remote(`${ORIGIN}/other`, { fetch: server.fetch, skip_setup: 1 as never });
    expect(await failureOf(truthy.put({ _id: 'a' }))).toMatchObject({ status: 404, name: 'not_found' });
    expect(await server.databases.list()).toEqual(['db']);
  });

  it("asks by the platform's fetch where that of the options is null", async () => {
    const { fetch } = testServer();
    vi.stubGlobal('fetch', fetch);
    onTestFinished(() => void vi.unstubAllGlobals());
    expect(await remote(URL_OF_DB, { fetch: null as never }).put({ _id: 'a' })).toMatchObject({ ok: true });
  });

  it('is looked for again after a failure, and may be made by another meanwhile', async () => {
    let fails = 2;
    const { fetch } = meddled({
      'GET /db': () => {
        if (fails-- > 0) throw new TypeError('fetch failed');
        return Response.json({ error: 'not_found', reason: 'Database does not exist.' }, { status: 404 });
      },
      'PUT /db': () => Response.json({ error: 'file_exists', reason: 'exists' }, { status: 412 }),
      'GET /db/a': () => Response.json({ _id: 'a', _rev: '1-a' }),
    });
    const db = remote(URL_OF_DB, { fetch });
    expect(await failureOf(db.get('a'))).toMatchObject({ status: 503, name: 'unreachable' });
    expect(await failureOf(db.get('a'))).toMatchObject({ status: 503 });
    expect(await db.get('a')).toEqual({ _id: 'a', _rev: '1-a' });
  });

  it("says why it cannot be reached where the platform's errors are of another realm, as in Jest", async () => {
    const failing = `Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) })`;
    for (const [thrown, told] of [
      [runInNewContext(failing), `${URL_OF_DB} could not be reached (ECONNREFUSED)`],
      [runInNewContext(`new TypeError('Failed to fetch')`), `${URL_OF_DB} could not be reached`],
      [runInNewContext(`new RangeError('secret')`), `${URL_OF_DB} could not be reached (RangeError)`],
      ['secret', `${URL_OF_DB} could not be reached (string)`],
      [null, `${URL_OF_DB} could not be reached (object)`],
    ]) {
      const db = remote(URL_OF_DB, { fetch: async () => Promise.reject(thrown) });
      expect(await failureOf(db.info())).toMatchObject({ status: 503, name: 'unreachable', reason: told });
    }
  });

  it('says of a fetch without a Response that it gives none, not that the server cannot be reached', async () => {
    const { fetch } = testServer();
    const read = async (...asked: Parameters<Fetch>): Promise<Response> => {
      const response = await fetch(...asked);
      await response.text();
      return response;
    };
    // The first asks and forgets to return the answer.
    const odd = [(...asked: Parameters<Fetch>) => void fetch(...asked), read, () => 1, async () => 'text'];
    for (const given of odd) {
      const db = remote(URL_OF_DB, { fetch: given as never });
      for (const call of [db.get('a'), db.put({ _id: 'a' }), db.changes()])
        expect(await failureOf(call)).toMatchObject({
          status: 400,
          name: 'bad_request',
          reason: 'fetch must give a Response that nobody has read',
        });
    }
  });

  it('says of what is no JSON that it is none, not that the server cannot be reached', async () => {
    const { fetch, log } = testServer();
    const db = remote(URL_OF_DB, { fetch });
    await db.info();
    const sent = log.length;
    const odd = { n: 10n };
    for (const call of [
      db.put({ _id: 'a', ...odd } as never),
      db.bulkDocs([{ _id: 'a', ...odd }] as never),
      db.changes({ selector: odd }),
      db.bulkGet(undefined as never),
      db.bulkGet(null as never),
    ])
      expect(await failureOf(call)).toMatchObject({ status: 400, name: 'bad_request' });
    expect(log).toHaveLength(sent);
  });

  it('has the URL as its name, and an id that is the same for whoever asks', async () => {
    const { fetch } = testServer({ admins: { user: 'secret', x: 'y' } });
    const db = remote('http://user:secret@127.0.0.1:5984/db', { fetch });
    expect(db.name).toBe(URL_OF_DB);
    expect(await db.id()).toBe(`${'0'.repeat(32)}/db`);
    expect(await remote(`${URL_OF_DB}/`, { fetch, auth: { username: 'x', password: 'y' } }).id()).toBe(
      await db.id(),
    );
  });

  it('has the URL as its id where the root is a page of an app, but not where all that comes is a page', async () => {
    const page = (): Response =>
      new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } });
    const { fetch, databases } = testServer();
    await databases.create('db');
    const behind =
      (isPage: (path: string) => boolean): Fetch =>
      (input, init) =>
        isPage(new URL(new Request(input, init).url).pathname) ? Promise.resolve(page()) : fetch(input, init);
    const ofApp = behind((path) => path === '/');
    expect(await remote(URL_OF_DB, { fetch: ofApp }).id()).toBe(URL_OF_DB);
    expect(await remote(`${ORIGIN}/other`, { fetch: ofApp }).id()).toBe(`${ORIGIN}/other`);
    const nothingElse = remote(URL_OF_DB, { fetch: behind(() => true) });
    expect(await failureOf(nothingElse.id())).toMatchObject({ name: 'bad_response' });
  });

  it('takes a welcome that was cut off for no answer, and asks again for the id', async () => {
    const { fetch, databases } = testServer();
    await databases.create('db');
    let cut = 1;
    const cutting: Fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (new URL(new Request(input, init).url).pathname !== '/' || cut === 0) return response;
      return new Response((await response.text()).slice(0, cut), { headers: response.headers });
    };
    const db = remote(URL_OF_DB, { fetch: cutting });
    for (cut of [1, 20])
      expect(await failureOf(db.id())).toMatchObject({ status: 502, name: 'bad_response' });
    cut = 0;
    expect(await db.id()).toBe(`${'0'.repeat(32)}/db`);
  });

  it('rejects every call when the URL is none', async () => {
    for (const url of [
      'http:///',
      'http://',
      'nonsense',
      'ftp://user:secret@host/db',
      'http://host/',
      'http://user:secret@:99999/db',
      'http://user:secret/1@host/db',
      'http://user:secret?1@host/db',
      'http://user:1#secret@host/db',
      'user:secret@host/db',
      'user:1/secret@host/db',
      'htp://user:secret@host/db',
    ]) {
      const db = remote(url);
      for (const call of [db.info(), db.get('a'), db.changes(), db.destroy(), db.id()]) {
        const error = await failureOf(call);
        expect([url, error.status]).toEqual([url, 400]);
        expect(JSON.stringify(error) + error.stack + db.name).not.toContain('secret');
      }
    }
  });

  it('refuses everything after close and destroy, calls under way included', async () => {
    let reached = (): void => {};
    const waiting = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const { fetch } = meddled({
      'GET /db/slow': () => {
        reached();
        return new Promise<Response>(() => {});
      },
    });
    const deaf = remote(URL_OF_DB, { fetch: (input, init) => fetch(input, { ...init, signal: null }) });
    const feed = deaf.changes({ live: true });
    const slow = deaf.get('slow');
    await waiting;
    await deaf.close();
    expect((await failureOf(slow)).name).toBe('closed');
    expect(await feed).toEqual({ status: 'cancelled' });
    expect((await failureOf(deaf.get('a'))).name).toBe('closed');
    const gone = remote(URL_OF_DB, { fetch });
    await gone.put({ _id: 'a' });
    expect(await gone.destroy()).toEqual({ ok: true });
    expect((await failureOf(gone.info())).name).toBe('closed');
    expect(await remote(`${ORIGIN}/never`, { fetch }).destroy()).toEqual({ ok: true });
  });

  it('does not take the 404 of a proxy without its server for a database that is destroyed', async () => {
    const { fetch } = meddled({ 'DELETE /db': () => new Response('404 page not found', { status: 404 }) });
    const db = remote(URL_OF_DB, { fetch });
    await db.put({ _id: 'a' });
    expect(await failureOf(db.destroy())).toMatchObject({ status: 404, name: 'not_found' });
    expect(await remote(URL_OF_DB, { fetch }).info()).toMatchObject({ doc_count: 1 });
  });
});

describe('credentials', () => {
  it('of the URL go into the header, and nowhere else', async () => {
    const seen: { url: string; authorization: string | null }[] = [];
    const fetch: Fetch = async (input, init) => {
      const request = new Request(input, init);
      seen.push({ url: request.url, authorization: request.headers.get('authorization') });
      throw new Error(`cannot reach ${request.headers.get('authorization')} p%40ss:wörd`);
    };
    const db = remote('http://us%40er:p%40ss%3Aw%C3%B6rd@127.0.0.1:5984/db', { fetch });
    const error = await failureOf(db.info());
    const expected = `Basic ${Buffer.from('us@er:p@ss:wörd').toString('base64')}`;
    expect(seen).toEqual([{ url: URL_OF_DB, authorization: expected }]);
    const told = `${JSON.stringify(error)} ${error.stack} ${error.message} ${String(error.cause)} ${db.name}`;
    for (const secret of ['p%40ss', 'p@ss', 'wörd', expected.slice(6)]) expect(told).not.toContain(secret);
  });

  it.each([
    ' http://us:secret@host/db',
    '\nhttp://us:secret@host/db',
    'http:us:secret@host/db',
    'http:/us:secret@host/db',
    'http:\\\\us:secret@host\\db',
    'HTTP:///us:secret@host/db',
    'http://us:a@secret@host/db',
    'http://us:secret@host/@scope/db',
  ])('are in no name and no error, however the URL is written: %j', async (url) => {
    const authorized: (string | null)[] = [];
    const fetch: Fetch = async (input, init) => {
      authorized.push(new Request(input, init).headers.get('authorization'));
      throw new TypeError('fetch failed');
    };
    const db = remote(url, { fetch });
    const error = await failureOf(db.info());
    expect(authorized).toEqual([expect.stringMatching(/^Basic /)]);
    expect(`${JSON.stringify(error)} ${error.stack} ${db.name}`).not.toContain('secret');
    expect(db.name).toMatch(/host[\\/](@scope\/)?db$/);
  });

  it('may come as headers, also from a function that is asked each time', async () => {
    const server = testServer({ anonymous: false, admins: { admin: 'secret' } });
    const authorization = `Basic ${btoa('admin:secret')}`;
    let asked = 0;
    const headers = async () => {
      asked++;
      return { authorization };
    };
    const db = remote(URL_OF_DB, { fetch: server.fetch, headers });
    await db.put({ _id: 'a' });
    expect(asked).toBe(3);
    await remote(URL_OF_DB, { fetch: server.fetch, headers: { authorization } }).get('a');
    expect(await failureOf(remote(URL_OF_DB, { fetch: server.fetch }).get('a'))).toMatchObject({
      status: 401,
      name: 'unauthorized',
    });
    const wrong = remote(URL_OF_DB, { fetch: server.fetch, auth: { username: 'admin', password: 'wrong' } });
    for (const call of [wrong.get('a'), wrong.changes({ live: true }), wrong.bulkDocs([{}])]) {
      expect(await failureOf(call)).toMatchObject({ status: 401, name: 'unauthorized' });
    }
  });
});

describe('signals', () => {
  it('end a call, the looking for the database included, with their own reason', async () => {
    const fetch: Fetch = () => new Promise(() => {});
    const db = remote(URL_OF_DB, { fetch });
    const controller = new AbortController();
    const calls = [
      db.get('a', { signal: controller.signal }),
      db.id({ signal: controller.signal }),
      db.destroy({ signal: controller.signal }),
    ];
    controller.abort(new Error('enough'));
    for (const error of await Promise.all(calls.map(failureOf))) expect(error.message).toBe('enough');
    expect((await failureOf(db.get('a', { signal: controller.signal }))).message).toBe('enough');
  });
});
