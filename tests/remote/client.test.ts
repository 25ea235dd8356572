/** The client: what it sends, what it believes, and what it keeps to itself. */
import { LocalDatabase, schema } from '@settledb/core';
import { remote } from '@settledb/remote';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { naiveStore } from '../support/naive-store';
import { failureOf, meddled, ORIGIN, testServer } from './support';

const URL_OF_DB = `${ORIGIN}/db`;
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

  it('rejects every call when the URL is none', async () => {
    for (const url of [
      'http:///',
      'http://',
      'nonsense',
      'ftp://user:secret@host/db',
      'http://host/',
      'http://user:secret@:99999/db',
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

describe('ids', () => {
  it('of any kind reach their document and no other', async () => {
    const server = testServer();
    const db = remote<{ n?: number }>(URL_OF_DB, { fetch: server.fetch });
    const ids = [
      '.',
      '..',
      '_design/..',
      '_design/a/b?c#d',
      '_local/x/y',
      'a/b',
      'a%2Fb',
      'a+b c',
      '?',
      '#',
      '%',
      '\u{1f600}',
      'a\u0000',
      '...',
      '%2e%2e',
    ];
    for (const [n, id] of ids.entries()) expect(await db.put({ _id: id, n })).toMatchObject({ ok: true, id });
    for (const [n, id] of ids.entries()) {
      const { _rev } = await db.get(id);
      expect(await db.get(id)).toMatchObject({ _id: id, n });
      if (id.startsWith('_local/')) continue;
      expect((await db.get(id, { revs: true, rev: _rev }))._revisions).toMatchObject({ start: 1 });
      expect(await db.get(id, { open_revs: [_rev] })).toMatchObject([{ ok: { _id: id } }]);
    }
    const { rows } = await db.allDocs();
    expect(rows.map(({ key }) => key)).toEqual(ids.filter((id) => !id.startsWith('_local/')).sort());
    for (const id of ['.', '..', '_design/..']) {
      const { _rev } = await db.get(id);
      expect((await db.put({ _id: id, _rev, _deleted: true } as object)).ok).toBe(true);
      expect(await failureOf(db.get(id))).toMatchObject({ status: 404, reason: 'deleted' });
    }
    expect(await failureOf(db.put({ _id: '_local/..' }))).toMatchObject({ status: 400 });
    expect(await server.databases.list()).toEqual(['db']);
  });

  it('that no URL can carry are read with every option as others are, or refused', async () => {
    const db = remote(URL_OF_DB, { fetch: testServer().fetch });
    const data = (name: string) => ({ [name]: { content_type: 'x/y', data: btoa(name) } });
    const write = (_id: string) =>
      db.bulkDocs(
        [
          { _id, _rev: '2-b', _revisions: { start: 2, ids: ['b', 'a'] }, _attachments: data('f') },
          { _id, _rev: '1-c', _attachments: data('g') },
          { _id, _rev: '3-d', _deleted: true },
        ] as never,
        { new_edits: false },
      );
    await Promise.all(['..', 'x'].map(write));
    const both = async (options: object) => {
      const [dots, other] = await Promise.all(['..', 'x'].map((id) => db.get(id, options)));
      expect([options, dots]).toEqual([options, JSON.parse(JSON.stringify(other).replaceAll('"x"', '".."'))]);
    };
    const revs = [{}, { rev: '1-c' }, { rev: '1-c', latest: true }, { open_revs: 'all' }] as const;
    const more = [{ revs: true }, { attachments: true }, { atts_since: [] }, { atts_since: ['2-b'] }];
    for (const which of [...revs, { open_revs: ['2-b', '9-x'] }])
      for (const option of [{}, { conflicts: true }, ...more])
        if (!('open_revs' in which && 'conflicts' in option)) await both({ ...which, ...option });
    await both({ conflicts: true, revs: true, attachments: true });
    const { _attachments } = await db.get('..', { attachments: true, binary: true });
    expect(await (_attachments!.f as unknown as { data: Blob }).data.text()).toBe('f');
    for (const option of ['revs_info', 'local_seq', 'deleted_conflicts'])
      expect(await failureOf(db.get('..', { [option]: true }))).toMatchObject({
        status: 501,
        name: 'not_implemented',
      });
    expect(await failureOf(db.get('.', { open_revs: 'all' }))).toMatchObject({ status: 404, docId: '.' });
    expect(await failureOf(db.get('.', { rev: '1-c', conflicts: true }))).toMatchObject({ status: 404 });
    const { rev } = await db.put({ _id: '.' });
    expect(await db.purge('.', rev)).toMatchObject({ documentWasRemovedCompletely: true });
    expect(await db.purge('..', '2-b')).toMatchObject({ documentWasRemovedCompletely: false });
  });

  it('that are names of the protocol are documents nobody has', async () => {
    const db = remote(URL_OF_DB, { fetch: testServer().fetch });
    for (const id of ['_all_docs', '_changes', '', '_local/', '__proto__']) {
      expect(await failureOf(db.get(id))).toMatchObject({ status: 404, docId: id });
    }
    expect(await failureOf(db.get('\ud800'))).toMatchObject({ status: 400 });
  });

  it('stand in bodies where there are many, and are escaped in queries', async () => {
    const server = testServer();
    const db = remote(URL_OF_DB, { fetch: server.fetch });
    const keys = Array.from({ length: 75 }, (_, i) => `[key] ${i} ${'x'.repeat(200)}`);
    await db.bulkDocs(keys.map((_id) => ({ _id })));
    expect((await db.allDocs({ keys })).rows.map(({ key }) => key)).toEqual(keys);
    expect(
      (await db.allDocs({ startkey: keys[0]!, endkey: `${keys[0]}${'y'.repeat(3000)}` })).rows,
    ).toHaveLength(1);
    expect((await db.changes({ doc_ids: keys.slice(0, 5) })) as object).toMatchObject({
      results: { length: 5 },
    });
    for (const line of server.log) expect(line.length).toBeLessThan(2000);
    expect(server.log.join()).not.toMatch(/[[\]]/);
  });
});

describe('bulkGet', () => {
  const docs = [{ id: 'a', rev: '2-b' }, { id: 'b' }, { id: 'none', rev: '1-x' }];
  const write = [
    { _id: 'a', _rev: '2-b', _revisions: { start: 2, ids: ['b', 'a'] } },
    { _id: 'b', _rev: '1-b' },
  ];

  for (const status of [404, 405, 501]) {
    it(`asks one by one where the server answers ${status} to it, and remembers`, async () => {
      let refused = 0;
      const { fetch } = meddled({
        'POST /db/_bulk_get': () => {
          refused++;
          return Response.json({ error: 'x', reason: 'y' }, { status });
        },
      });
      const db = remote(URL_OF_DB, { fetch });
      await db.bulkDocs(write, { new_edits: false });
      const { results } = await db.bulkGet({ docs, revs: true, latest: true });
      expect(results.map(({ id }) => id)).toEqual(['a', 'b', 'none']);
      expect(results[0]!.docs).toEqual([
        { ok: { _id: 'a', _rev: '2-b', _revisions: { start: 2, ids: ['b', 'a'] } } },
      ]);
      expect(results[2]!.docs).toMatchObject([{ error: { id: 'none', rev: '1-x', error: 'not_found' } }]);
      await db.bulkGet({ docs });
      expect(refused).toBe(1);
    });
  }

  it('answers a malformed revision by its row, as a local database does', async () => {
    const asked = { docs: [{ id: 'a', rev: 'nope' }, { id: 'a' }] };
    for (const refuses of [false, true]) {
      const { fetch } = meddled(
        refuses ? { 'POST /db/_bulk_get': () => new Response('', { status: 405 }) } : {},
      );
      const db = remote(URL_OF_DB, { fetch });
      await db.put({ _id: 'a' });
      const { results } = await db.bulkGet(asked);
      expect(results[0]!.docs).toMatchObject([{ error: { id: 'a', rev: 'nope', error: 'bad_request' } }]);
      expect(results[1]!.docs).toMatchObject([{ ok: { _id: 'a' } }]);
    }
  });

  it('does not take a missing database for missing documents', async () => {
    const server = testServer();
    const db = remote(URL_OF_DB, { fetch: server.fetch });
    await db.info();
    await server.databases.destroy('db');
    expect(await failureOf(db.bulkGet({ docs }))).toMatchObject({
      status: 404,
      reason: 'Database does not exist.',
    });
  });

  it('leaves no failure of one revision for a document that is missing', async () => {
    const { fetch } = meddled({
      'POST /db/_bulk_get': () => new Response('', { status: 405 }),
      'GET /db/b': () => new Response('', { status: 500 }),
    });
    const db = remote(URL_OF_DB, { fetch });
    await db.bulkDocs(write, { new_edits: false });
    expect((await failureOf(db.bulkGet({ docs }))).status).toBe(500);
  });
});

describe('changes', () => {
  const numbered = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ _id: `d${String(i).padStart(3, '0')}` }));

  it('are one request for one feed, unless pages are asked for', async () => {
    const server = testServer();
    const db = remote(URL_OF_DB, { fetch: server.fetch });
    await db.bulkDocs(numbered(100));
    server.log.length = 0;
    expect(await db.changes()).toMatchObject({ results: { length: 100 }, last_seq: 100 });
    expect(server.log).toEqual([expect.stringMatching(/^GET \/db\/_changes\?feed=normal&since=0$/)]);
    expect(await db.changes({ batch_size: 30 })).toMatchObject({ results: { length: 100 }, last_seq: 100 });
    expect(await db.changes({ batch_size: 30, limit: 45 })).toMatchObject({
      results: { length: 45 },
      last_seq: 45,
    });
    expect(await db.changes({ batch_size: 30, since: 95 })).toMatchObject({
      results: { length: 5 },
      last_seq: 100,
    });
  });

  it('are filtered on this side by functions, page by page, with last_seq where the limit ended it', async () => {
    const db = remote<{ n: number }>(URL_OF_DB, { fetch: testServer().fetch });
    await db.bulkDocs(numbered(50).map((doc, n) => ({ ...doc, n })));
    const filter = (doc: object) => (doc as { n: number }).n % 7 === 0;
    const all = await db.changes({ filter, batch_size: 8 });
    expect(all).toMatchObject({ results: { length: 8 }, last_seq: 50 });
    const some = await db.changes({ filter, batch_size: 8, limit: 3 });
    expect(some).toMatchObject({ results: [{ seq: 1 }, { seq: 8 }, { seq: 15 }], last_seq: 15 });
    if ('results' in all) expect(all.results[0]).not.toHaveProperty('doc');
    const throwing = () => {
      throw new Error('no');
    };
    expect(await failureOf(db.changes({ filter: throwing }))).toMatchObject({ status: 400 });
  });

  it('take sequences as they are', async () => {
    const since: (string | null)[] = [];
    const pages = [
      { results: [{ id: 'a', seq: null, changes: [{ rev: '1-a' }] }], last_seq: '9-g1AAA[&=', pending: 4 },
      { results: [], last_seq: '3-back', pending: 0 },
    ];
    const { fetch } = meddled({
      'GET /db/_changes': ({ url }) => {
        since.push(new URL(url).searchParams.get('since'));
        return Response.json(pages.shift());
      },
    });
    const db = remote(URL_OF_DB, { fetch });
    expect(await db.changes({ batch_size: 1, seq_interval: 10 })).toMatchObject({
      last_seq: '3-back',
      results: [{ seq: null }],
    });
    expect(since).toEqual(['0', '9-g1AAA[&=']);
  });

  it('that give rows but never get on are an error, not a loop', async () => {
    const page = {
      results: [{ id: 'a', seq: '5-x', changes: [{ rev: '1-a' }] }],
      last_seq: '5-x',
      pending: 9,
    };
    const { fetch } = meddled({ 'GET /db/_changes': () => Response.json(page) });
    const db = remote(URL_OF_DB, { fetch });
    expect(await failureOf(db.changes({ batch_size: 1 }))).toMatchObject({ name: 'bad_response' });
  });

  it('go on by longpoll with a heartbeat, and let go of it when cancelled', async () => {
    const server = testServer();
    let aborted = (): void => {};
    const ended = new Promise<void>((resolve) => {
      aborted = resolve;
    });
    let poll = (): void => {};
    const polled = new Promise<void>((resolve) => {
      poll = resolve;
    });
    const fetch: Fetch = async (input, init) => {
      if (String(input).includes('since=3') && String(input).includes('longpoll')) {
        init?.signal?.addEventListener('abort', () => aborted());
        poll();
      }
      return server.fetch(input, init);
    };
    const db = remote(URL_OF_DB, { fetch });
    await db.bulkDocs(numbered(2));
    const ids: string[] = [];
    const feed = db.changes({ live: true, heartbeat: 5000, timeout: 7000 });
    for await (const { id } of feed) {
      ids.push(id);
      if (ids.length === 2) await db.put({ _id: 'later' });
      if (ids.length === 3) break;
    }
    expect(ids).toEqual(['d000', 'd001', 'later']);
    expect(server.log.find((line) => line.includes('longpoll'))).toMatch(
      /heartbeat=5000&timeout=7000&since=2/,
    );
    expect(await feed).toEqual({ status: 'cancelled' });
    const waiting = db.changes({ live: true, since: 'now' });
    await polled;
    const started = db.changes({ live: true, since: 'now' }).on('change', () => {});
    started.cancel();
    waiting.cancel();
    expect(await Promise.all([waiting, started])).toEqual([{ status: 'cancelled' }, { status: 'cancelled' }]);
    await ended;
  });

  it('keep to doc_ids and to a stored filter or a view at once, up to their limit', async () => {
    const server = testServer({ runStoredFunctions: true });
    const db = remote<{ n?: number }>(URL_OF_DB, { fetch: server.fetch });
    await db.bulkDocs(numbered(10).map((doc, n) => ({ ...doc, n })));
    const odd = 'function (doc) { return doc.n % 2 === 1; }';
    const views = { odd: { map: 'function (doc) { if (doc.n % 2 === 1) emit(doc.n); }' } };
    await db.put({ _id: '_design/d', filters: { odd }, views } as object & { _id: string });
    const doc_ids = ['d001', 'd002', 'd005', 'd007', 'none'];
    for (const filter of [
      { filter: 'd/odd' },
      { view: 'd/odd' },
      { filter: '_view', view: 'd/odd' },
    ] as const) {
      const ids = async (options: object) => {
        const answer = await db.changes({ ...filter, doc_ids, ...options });
        return 'results' in answer && answer.results.map(({ id }) => id);
      };
      expect(await ids({})).toEqual(['d001', 'd005', 'd007']);
      expect(await ids({ limit: 2 })).toEqual(['d001', 'd005']);
      expect(await ids({ limit: 1, batch_size: 1, since: 2, seq_interval: 5 })).toEqual(['d005']);
    }
    expect(await db.changes({ filter: '_design', doc_ids })).toMatchObject({ results: [] });
  });

  for (const feed of ['longpoll', 'continuous'] as const)
    it(`tell each change once, oldest first, when they are live and descending (${feed})`, async () => {
      const server = testServer();
      const db = remote(URL_OF_DB, { fetch: server.fetch, feed });
      await db.bulkDocs(numbered(3));
      const ids: string[] = [];
      for await (const { id } of db.changes({ live: true, descending: true })) {
        ids.push(id);
        if (ids.length === 3) await db.put({ _id: 'later' });
        if (id === 'later') break;
      }
      expect(ids).toEqual(['d000', 'd001', 'd002', 'later']);
    });

  it('send the parameters of a stored filter, which cannot pass for options', async () => {
    const { fetch, server } = meddled({});
    const db = remote(URL_OF_DB, { fetch });
    const params = { q: 'a&b', since: 'x', n: { deep: [1] } };
    await failureOf(db.changes({ filter: 'ddoc', query_params: params }));
    expect(server.log.at(-1)).toBe(
      'GET /db/_changes?q=a%26b&since=0&n=%7B%22deep%22%3A%5B1%5D%7D&filter=ddoc%2Fddoc&feed=normal',
    );
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

describe('writes', () => {
  it('are checked before anything is sent', async () => {
    const server = testServer();
    const db = remote(URL_OF_DB, { fetch: server.fetch });
    // What no typed program would pass.
    const wrong = [
      null,
      [],
      'x',
      { _id: 5 },
      { _id: '_x' },
      { _id: 'a', _rev: 'x' },
      { _id: 'a', _x: 1 },
      {},
    ] as never[];
    const local = await LocalDatabase.open(naiveStore(schema), { name: 'x', adapter: 'naive' });
    for (const doc of wrong) {
      const [here, there] = await Promise.all([failureOf(db.put(doc)), failureOf(local.put(doc))]);
      expect(here.toJSON()).toEqual(there.toJSON());
    }
    expect(server.log).toEqual([]);
  });

  it('with force make a branch of their own', async () => {
    const db = remote<{ n: number }>(URL_OF_DB, { fetch: testServer().fetch });
    const first = await db.put({ _id: 'a', n: 1 });
    await db.put({ _id: 'a', _rev: first.rev, n: 2 });
    const forced = await db.put({ _id: 'a', _rev: first.rev, n: 3 }, { force: true });
    expect(forced.rev).toMatch(/^2-[0-9a-f]{32}$/);
    expect(await db.get('a', { open_revs: 'all' })).toHaveLength(2);
  });

  it('with force give what is attached the generation that it came with', async () => {
    const db = remote(URL_OF_DB, { fetch: testServer().fetch });
    const local = await LocalDatabase.open(naiveStore(schema), { name: 'x', adapter: 'naive' });
    const file = (length: number) => ({ content_type: 'x/y', data: new Uint8Array(length) });
    const write = async (into: Pick<LocalDatabase, 'put' | 'get'>) => {
      const first = await into.put({ _id: 'a', _attachments: { kept: file(1), other: file(2) } });
      await into.put({ _id: 'a', _rev: first.rev });
      const { _attachments, ...doc } = await into.get('a', { rev: first.rev });
      const now = { ..._attachments, other: file(3), small: file(4), large: file(100_000) };
      const { rev } = await into.put({ ...doc, _attachments: now } as never, { force: true });
      return (await into.get('a', { rev }))._attachments;
    };
    const [there, here] = [await write(db), await write(local)];
    expect(there).toEqual(here);
    expect(there).toMatchObject({ kept: { revpos: 1 }, other: { revpos: 2 }, large: { revpos: 2 } });
  });
});
