/** Documents of a remote database: their ids in URLs and bodies, many at once, and writes. */
import { LocalDatabase, schema } from '@settledb/core';
import { remote } from '@settledb/remote';
import { describe, expect, it } from 'vitest';
import { naiveStore } from '../support/naive-store';
import { failureOf, meddled, testServer, URL_OF_DB } from './support';

it('a design document that is refused has the same status by itself and among others', async () => {
  const db = remote<{ views?: unknown }>(URL_OF_DB, { fetch: testServer().fetch });
  const doc = { _id: '_design/d', views: { v: { map: 5 } } };
  const refused = { status: 400, name: 'invalid_design_doc' };
  expect(await failureOf(db.put(doc))).toMatchObject(refused);
  expect(await db.bulkDocs([doc, { _id: 'a' }])).toMatchObject([refused, { ok: true }]);
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
      for (const option of [{}, { conflicts: true }, ...more]) await both({ ...which, ...option });
    const ofOne = { deleted_conflicts: true, revs_info: true, revs: true };
    expect(await db.get('x', { rev: '1-a', latest: true, ...ofOne })).toMatchObject({
      _rev: '2-b',
      _deleted_conflicts: ['3-d'],
      _revs_info: [{ rev: '2-b' }, { rev: '1-a', status: 'missing' }],
    });
    await both({ open_revs: 'all', revs_info: true, deleted_conflicts: true, local_seq: true });
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

  it('asks one by one, and does not remember, where a proxy answers while the server behind it is replaced', async () => {
    let asked = 0;
    const { server, fetch } = meddled({
      'POST /db/_bulk_get': (request) =>
        asked++ === 0 ? new Response('404 page not found', { status: 404 }) : server.fetch(request),
    });
    const db = remote(URL_OF_DB, { fetch });
    await db.bulkDocs(write, { new_edits: false });
    expect(await db.bulkGet({ docs: docs.slice(0, 2) })).toEqual(
      await db.bulkGet({ docs: docs.slice(0, 2) }),
    );
    expect(asked).toBe(2);
  });

  it('fails, and calls no document missing, where a proxy answers in the place of the server', async () => {
    const gone = () => new Response('404 page not found', { status: 404 });
    const { fetch } = meddled({ 'POST /db/_bulk_get': gone, 'GET /db/b': gone });
    const db = remote(URL_OF_DB, { fetch });
    await db.bulkDocs(write, { new_edits: false });
    expect((await db.bulkGet({ docs: [docs[0]!, docs[2]!] })).results[1]!.docs).toMatchObject([
      { error: { error: 'not_found' } },
    ]);
    expect(await failureOf(db.bulkGet({ docs }))).toMatchObject({
      status: 404,
      reason: expect.stringContaining('not as CouchDB does'),
    });
  });

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
