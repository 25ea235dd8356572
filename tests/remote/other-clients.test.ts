/** What client libraries of CouchDB send and read, in languages and ways that neither ours nor PouchDB have: found by running them against the server. */
import { remote } from '@settledb/remote';
import { beforeEach, describe, expect, it } from 'vitest';
import { ORIGIN, type TestServer, testServer } from './support';

let server: TestServer;
beforeEach(async () => {
  server = testServer({ runStoredFunctions: true });
  await server.ask('PUT', '/db');
});

describe('a POST of _changes without a body', () => {
  it('asks for what the query says, also in feeds that wait', async () => {
    await server.ask('PUT', '/db/a', {});
    const headers = { 'content-type': 'application/json' };
    for (const query of ['', '?feed=longpoll', '?feed=continuous&timeout=0']) {
      const answer = await server.ask('POST', `/db/_changes${query}`, undefined, headers);
      expect([query, answer.status]).toEqual([query, 200]);
      expect(JSON.stringify(answer.body)).toContain('last_seq');
    }
    expect((await server.ask('POST', '/db/_changes?filter=_doc_ids', undefined, headers)).status).toBe(400);
    expect((await server.ask('POST', '/db/_changes')).status).toBe(415);
  });
});

describe('sequences', () => {
  it('are texts wherever CouchDB has texts, and are taken back', async () => {
    await server.ask('PUT', '/db/a', {});
    await server.ask('PUT', '/db/_design/d', { views: { v: { map: 'function (doc) { emit(1); }' } } });
    const body = async (path: string, asked?: object) =>
      (await server.ask(asked === undefined ? 'GET' : 'POST', path, asked)).body;
    const info = { update_seq: '2', purge_seq: '0' };
    expect(await body('/db')).toMatchObject(info);
    expect(await body('/_dbs_info', { keys: ['db'] })).toMatchObject([{ info }]);
    const changes = { results: [{ seq: '1' }, { seq: '2' }], last_seq: '2' };
    expect(await body('/db/_changes')).toMatchObject(changes);
    expect(await body('/db/_changes?feed=longpoll')).toMatchObject(changes);
    expect(await body('/db/_changes?since=1')).toMatchObject({ results: [{ seq: '2' }], last_seq: '2' });
    expect(await body('/db/_changes?since="2"')).toEqual({ results: [], last_seq: '2', pending: 0 });
    for (const query of [
      'limit=0',
      'limit=0&since=now',
      'feed=longpoll&since=2&timeout=1',
      'descending=true',
    ])
      expect([query, typeof (await body(`/db/_changes?${query}`)).last_seq]).toEqual([query, 'string']);
    const lines = await body('/db/_changes?feed=continuous&timeout=0');
    expect(lines).toMatch(/^{"id":"a",.*"seq":"1".*\n.*"seq":"2".*\n{"last_seq":"2","pending":0}\n$/);
    expect(await body('/db/_changes?feed=eventsource&timeout=0')).toMatch(
      /^data: {.*"seq":"1".*}\nid: "1"\n\n/,
    );
    const asked = { update_seq: true };
    const lists = ['/db/_all_docs', '/db/_design_docs', '/db/_design/d/_view/v'];
    for (const list of lists) {
      expect([list, await body(`${list}?update_seq=true`)]).toMatchObject([list, { update_seq: '2' }]);
      const { results } = await body(`${list}/queries`, { queries: [asked, {}] });
      expect([list, results]).toMatchObject([list, [{ update_seq: '2' }, {}]]);
      expect(results[1]).not.toHaveProperty('update_seq');
    }
  });

  it('of digits are numbers to our client; others stay as they are', async () => {
    await server.ask('PUT', '/db/a', {});
    const db = remote(`${ORIGIN}/db`, { fetch: server.fetch });
    expect(await db.info()).toMatchObject({ update_seq: 1, purge_seq: 0 });
    expect(await db.changes()).toMatchObject({ results: [{ seq: 1 }], last_seq: 1 });
    expect(await db.allDocs({ update_seq: true })).toMatchObject({ update_seq: 1 });
    const opaque = { results: [{ id: 'a', seq: '1-g1A', changes: [{ rev: '1-a' }] }], last_seq: '1-g1A' };
    const couch = remote(`${ORIGIN}/db`, { fetch: async () => Response.json(opaque) });
    expect(await couch.changes()).toMatchObject(opaque);
  });
});

describe('options that are true or false', () => {
  it('may be written in any case of letters in lists and views, as Python writes them', async () => {
    await server.ask('PUT', '/db/a', { n: 1 });
    await server.ask('PUT', '/db/_design/d', {
      views: { v: { map: 'function (doc) { emit(doc.n); }', reduce: '_count' } },
    });
    const all = await server.ask('GET', '/db/_all_docs?include_docs=True&descending=FALSE&key="a"');
    expect(all.body).toMatchObject({ rows: [{ doc: { n: 1 } }] });
    const view = await server.ask('GET', '/db/_design/d/_view/v?reduce=False&include_docs=True');
    expect(view.body).toMatchObject({ rows: [{ doc: { n: 1 } }] });
    expect((await server.ask('GET', '/db/_design/d/_view/v?reduce=no')).status).toBe(400);
  });
});

describe('the destination of a COPY', () => {
  it('is UTF-8, percent-encoded or not; else Latin-1', async () => {
    await server.ask('PUT', '/db/a', { n: 1 });
    const raw = Buffer.from('größe ✓/1').toString('latin1');
    const copied = await server.ask('COPY', '/db/a', undefined, { destination: raw });
    expect(copied).toMatchObject({ status: 201, body: { id: 'größe ✓/1' } });
    const rev = (copied.body as { rev: string }).rev;
    const again = { destination: `${encodeURIComponent('größe ✓/1')}?rev=${rev}` };
    expect(await server.ask('COPY', '/db/a', undefined, again)).toMatchObject({ body: { id: 'größe ✓/1' } });
    const latin1 = await server.ask('COPY', '/db/a', undefined, { destination: 'gr\xf6\xdfe' });
    expect(latin1).toMatchObject({ status: 201, body: { id: 'größe' } });
    const wrong = await server.ask('COPY', '/db/a', undefined, { destination: 'a%ff' });
    expect(wrong).toMatchObject({ status: 400, body: { reason: 'invalid_url_encoding' } });
  });
});

describe('indexes of a design document', () => {
  it('are compacted as CouchDB says it, by who may', async () => {
    await server.ask('PUT', '/db/_design/d', { views: {} });
    expect(await server.ask('POST', '/db/_compact/d', {})).toMatchObject({ status: 202, body: { ok: true } });
    expect((await server.ask('POST', '/db/_compact/none', {})).status).toBe(404);
    expect((await server.ask('GET', '/db/_compact/d')).status).toBe(405);
  });

  it('are told of with all the members that CouchDB gives', async () => {
    await server.ask('PUT', '/db/_design/d', { views: { v: { map: 'function () {}' } } });
    const { body } = await server.ask('GET', '/db/_design/d/_info');
    expect(body).toMatchObject({
      view_index: { sizes: { file: 0, external: 0, active: 0 }, collator_versions: [], purge_seq: 0 },
    });
  });
});

describe('the database of users', () => {
  it('is there for administrators before there are any, and for nobody else', async () => {
    const closed = testServer({ anonymous: false, admins: { admin: 'secret' } });
    const headers = { authorization: `Basic ${btoa('admin:secret')}` };
    expect((await closed.ask('HEAD', '/_users')).status).toBe(401);
    expect(await closed.databases.list()).toEqual([]);
    expect((await closed.ask('HEAD', '/_users', undefined, headers)).status).toBe(200);
    expect(await closed.databases.list()).toEqual(['_users']);
  });
});

describe('_bulk_get of documents without a revision, as programs ask that save a database', () => {
  it('answers all leaves, deleted ones too, each time it is asked, with attachments and as parts', async () => {
    const leaf = (rev: string, more = {}) => ({ _id: 'x', _rev: rev, ...more });
    const data = { t: { content_type: 'text/plain', data: 'aGk=' } };
    const docs = [
      leaf('2-a', { w: 'a', _attachments: data }),
      leaf('2-b', { w: 'b' }),
      leaf('3-d', { _deleted: true }),
      { _id: 'gone', _rev: '2-e', _deleted: true },
    ];
    await server.ask('POST', '/db/_bulk_docs', { new_edits: false, docs });
    const asked = {
      docs: [{ id: 'x' }, { id: 'none' }, { id: 'x', rev: '2-a' }, { id: 'gone' }, { id: 'x' }],
    };
    const revs = ['2-a', '2-b', '3-d'];
    for (const query of ['', '?revs=true', '?attachments=true&revs=true']) {
      const { body } = await server.ask('POST', `/db/_bulk_get${query}`, asked);
      const found = body.results.map((result: { docs: { ok?: { _rev: string } }[] }) =>
        result.docs.map(({ ok }) => ok?._rev).sort(),
      );
      expect(found).toEqual([revs, [undefined], ['2-a'], ['2-e'], revs]);
      expect(body.results[1].docs[0].error).toMatchObject({ error: 'not_found', rev: 'undefined' });
    }
    const parts = await server.ask('POST', '/db/_bulk_get', asked, { accept: 'multipart/mixed' });
    expect(parts.body.match(/X-Rev-Id: \S+/gi)).toHaveLength(8);
  });

  it('answers all of a document that is edited and compacted meanwhile', async () => {
    await server.ask('PUT', '/db/x', { n: 0 });
    const asking = Array.from({ length: 20 }, () =>
      server.ask('POST', '/db/_bulk_get', { docs: [{ id: 'x' }] }),
    );
    for (let n = 1; n < 10; n++) {
      const { body } = await server.ask('GET', '/db/x');
      await server.ask('PUT', '/db/x', { ...body, n });
      await server.ask('POST', '/db/_compact', {});
    }
    for (const { body } of await Promise.all(asking)) expect(body.results[0].docs[0].ok._id).toBe('x');
  });

  it('is the winner to our client, as in a database of its own', async () => {
    const docs = [
      { _id: 'x', _rev: '2-a' },
      { _id: 'x', _rev: '2-b' },
      { _id: 'x', _rev: '3-c', _deleted: true },
      { _id: 'gone', _rev: '2-e', _deleted: true },
    ];
    await server.ask('POST', '/db/_bulk_docs', { new_edits: false, docs });
    const client = remote(`${ORIGIN}/db`, { fetch: server.fetch });
    for (const options of [{}, { attachments: true }, { revs: true, latest: true }]) {
      const asked = [{ id: 'x' }, { id: 'gone' }, { id: 'x', rev: '2-a' }];
      const { results } = await client.bulkGet({ docs: asked, ...options });
      expect(results).toMatchObject([
        { id: 'x', docs: [{ ok: { _rev: '2-b' } }] },
        { id: 'gone', docs: [{ error: { error: 'not_found', reason: 'deleted', rev: 'undefined' } }] },
        { id: 'x', docs: [{ ok: { _rev: '2-a' } }] },
      ]);
    }
    await client.close();
  });
});

describe('a document that is there', () => {
  it('is deleted by its revision alone: any other is a conflict, compacted away or never known', async () => {
    const { body: first } = await server.ask('PUT', '/db/a', { n: 1 });
    const { body: second } = await server.ask('PUT', '/db/a', { n: 2, _rev: first.rev });
    const { body: gone } = await server.ask('DELETE', `/db/a?rev=${second.rev}`);
    const remove = async (rev: string) => {
      const { status, body } = await server.ask('DELETE', `/db/a?rev=${rev}`);
      return [status, body.error, body.reason];
    };
    const revs = [first.rev, second.rev, gone.rev, '1-00000000000000000000000000000000'];
    for (const rev of revs) expect(await remove(rev)).toEqual([404, 'not_found', 'deleted']);
    await server.ask('PUT', '/db/a', { n: 3 });
    const conflict = [409, 'conflict', 'Document update conflict.'];
    for (const rev of revs) expect(await remove(rev)).toEqual(conflict);
    await server.ask('POST', '/db/_compact', {});
    for (const rev of revs) expect(await remove(rev)).toEqual(conflict);
    expect((await server.ask('GET', '/db/a')).body).toMatchObject({ n: 3 });
  });
});

describe('lists', () => {
  it('have a line for each row, which some programs read one by one', async () => {
    const data = { t: { content_type: 'text/plain', data: 'aGk=' } };
    const docs = [{ _id: 'a', _attachments: data }, { _id: 'b' }, { _id: '_local/a' }, { _id: '_local/b' }];
    await server.ask('POST', '/db/_bulk_docs', { docs });
    const map = { map: 'function (doc) { emit(doc._id); }', reduce: '_count' };
    await server.ask('PUT', '/db/_design/d', { views: { v: map } });
    const view = '/db/_design/d/_view/v';
    const lists: [count: number, method: string, path: string, body?: object][] = [
      [3, 'GET', '/db/_all_docs'],
      [3, 'GET', '/db/_all_docs?include_docs=true&attachments=true'],
      [0, 'GET', '/db/_all_docs?key="none"'],
      [2, 'POST', '/db/_all_docs', { keys: ['a', 'none'] }],
      [1, 'GET', '/db/_design_docs'],
      [2, 'GET', '/db/_local_docs'],
      [2, 'GET', '/db/_local_docs?include_docs=true'],
      [2, 'GET', `${view}?reduce=false`],
      [2, 'GET', `${view}?reduce=false&include_docs=true&attachments=true`],
      [2, 'POST', `${view}?reduce=false`, { keys: ['a', 'b'] }],
      [1, 'GET', view],
      [0, 'GET', `${view}?reduce=false&key=1`],
    ];
    for (const [count, method, path, body] of lists) {
      const request = new Request(ORIGIN + path, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
      const lines = (await (await server.handle(request)).text()).split('\r\n');
      expect([path, lines.at(0)!.at(-1), lines.at(-1)]).toEqual([path, '[', ']}\n']);
      const rows = lines.slice(1, -1).map((line) => JSON.parse(line.replace(/,$/, '')));
      expect([path, rows.filter((row) => 'key' in row).length]).toEqual([path, count]);
    }
  });
});

describe('what is accepted', () => {
  it('of a _bulk_get may be multipart/related too', async () => {
    await server.ask('PUT', '/db/a', { n: 1 });
    const typeOf = async (accept: string) =>
      (await server.ask('POST', '/db/_bulk_get', { docs: [{ id: 'a' }] }, { accept })).headers
        .get('content-type')
        ?.split(';')[0];
    expect(await typeOf('multipart/related')).toBe('multipart/related');
    expect(await typeOf('multipart/related, multipart/mixed')).toBe('multipart/mixed');
    expect(await typeOf('application/json, multipart/related')).toBe('application/json');
  });

  it('of a _view_cleanup is no content type at all', async () => {
    const request = new Request(`${ORIGIN}/db/_view_cleanup`, { method: 'POST' });
    expect((await server.handle(request)).status).toBe(202);
  });
});
