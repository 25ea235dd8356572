/** What client libraries of CouchDB send and read, in languages and ways that neither ours nor PouchDB have: found by running them against the server. */
import { beforeEach, describe, expect, it } from 'vitest';
import { type TestServer, testServer } from './support';

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
  it('is UTF-8, percent-encoded or not', async () => {
    await server.ask('PUT', '/db/a', { n: 1 });
    const raw = Buffer.from('größe ✓/1').toString('latin1');
    const copied = await server.ask('COPY', '/db/a', undefined, { destination: raw });
    expect(copied).toMatchObject({ status: 201, body: { id: 'größe ✓/1' } });
    const rev = (copied.body as { rev: string }).rev;
    const again = { destination: `${encodeURIComponent('größe ✓/1')}?rev=${rev}` };
    expect(await server.ask('COPY', '/db/a', undefined, again)).toMatchObject({ body: { id: 'größe ✓/1' } });
    const latin1 = await server.ask('COPY', '/db/a', undefined, { destination: 'gr\xf6\xdfe' });
    expect(latin1).toMatchObject({ status: 400, body: { reason: 'invalid_url_encoding' } });
  });
});

describe('indexes of a design document', () => {
  it('are compacted as CouchDB says it, by who may', async () => {
    await server.ask('PUT', '/db/_design/d', { views: {} });
    expect(await server.ask('POST', '/db/_compact/d', {})).toMatchObject({ status: 202, body: { ok: true } });
    expect((await server.ask('POST', '/db/_compact/none', {})).status).toBe(404);
    expect((await server.ask('GET', '/db/_compact/d')).status).toBe(404);
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
