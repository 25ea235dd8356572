/**
 * Others at the other end: PouchDB as a client of our server; and this package as a client of express-pouchdb, of our own server
 * and, where COUCHDB_URL names one (`http://name:password@host:5984`), of a CouchDB. What went there and came back is all there:
 * leaves, conflicts, deletions, bodies, attachments.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { createServer } from '../../packages/settledb/src/server';
import { importUntyped, startExpressPouchDB } from '../support/express-pouchdb';

// biome-ignore lint/suspicious/noExplicitAny: PouchDB ships no types, and settledb answers to the same calls
type Any = any;

/** With an underscore instead of a dash all servers take it as a name. */
const unique = (what: string) => `interop_${what}_${Math.random().toString(36).slice(2)}`;
const name = 'interop';
const password = 'päss:word';

let dir = '';
let PouchDB: Any;
const cleanUp: (() => unknown)[] = [];
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'settledb-interop-'));
  PouchDB = await importUntyped('pouchdb');
});
afterAll(async () => {
  for (const undo of cleanUp.reverse()) await undo();
  await rm(dir, { recursive: true, force: true });
});

async function ours(): Promise<string> {
  const options = { port: 0, admins: { [name]: password }, runStoredFunctions: true };
  const server = await createServer({ dir: join(dir, 'ours'), ...options });
  cleanUp.push(() => server.close());
  return server.url.replace('://', `://${name}:${encodeURIComponent(password)}@`);
}

async function expressPouch(): Promise<string> {
  const server = await startExpressPouchDB(dir);
  cleanUp.push(() => server.close());
  return server.url;
}

const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 31) & 255));
const hash = (letter: string) => letter.repeat(32);

/** Documents with all that may be wrong with them. */
async function fill(db: Any): Promise<void> {
  await db.bulkDocs(Array.from({ length: 120 }, (_, i) => ({ _id: `plain/${i}`, i, text: 'x'.repeat(i) })));
  for (const odd of ['a+b', 'ü %2F', '日本', '"quoted"', 'constructor']) await db.put({ _id: odd, odd });
  const gone = await db.put({ _id: 'gone', v: 1 });
  await db.remove('gone', gone.rev);
  await db.bulkDocs(
    ['a', 'b', 'c'].map((letter) => ({
      _id: 'torn',
      _rev: `2-${hash(letter)}`,
      _revisions: { start: 2, ids: [hash(letter), hash('0')] },
      letter,
      ...(letter === 'c' ? { _deleted: true } : {}),
    })),
    { new_edits: false },
  );
  const data = bytes.toString('base64');
  await db.put({
    _id: 'files',
    _attachments: {
      'a/b.png': { content_type: 'image/png', data },
      't.txt': { content_type: 'text/plain', data: 'aGVsbG8=' },
    },
  });
  await db.put({ _id: '_design/d', views: { v: { map: 'function (doc) { emit(doc.i) }' } } });
}

/** All leaves of all documents, with their bodies; attachments by their bytes. */
async function contents(db: Any): Promise<unknown[]> {
  const { results } = await db.changes({ style: 'all_docs', since: 0, batch_size: 500, limit: 1_000 });
  const asked = results.flatMap(({ id, changes }: Any) => changes.map(({ rev }: Any) => ({ id, rev })));
  const all: unknown[] = [];
  for (const { id, rev } of asked) {
    const [{ ok }] = await db.get(id, { open_revs: [rev], revs: true });
    const { _attachments = {}, ...doc } = ok;
    const files: unknown[] = [];
    for (const file of Object.keys(_attachments).sort()) {
      const found = await db.getAttachment(id, file, { rev });
      const found_bytes = Buffer.isBuffer(found) ? found : Buffer.from(await found.arrayBuffer());
      files.push([
        file,
        found_bytes.length,
        found_bytes.toString('base64').slice(0, 200),
        _attachments[file].content_type,
      ]);
    }
    all.push([id, rev, doc, files]);
  }
  return all.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

const memory = (what: string) => new SettleDB(unique(what), { adapter: 'memory' }) as Any;

describe('PouchDB 9 and our server', () => {
  it('push, pull again elsewhere, change both sides, sync: everything arrives', async () => {
    const url = `${await ours()}/${unique('pouch')}`;
    const one = new PouchDB(join(dir, unique('one')));
    const two = new PouchDB(join(dir, unique('two')));
    await fill(one);
    const pushed = await one.replicate.to(url);
    expect([pushed.ok, pushed.doc_write_failures, pushed.errors]).toEqual([true, 0, []]);
    const pulled = await two.replicate.from(url);
    expect([pulled.ok, pulled.docs_written]).toEqual([true, pushed.docs_written]);
    expect(await contents(two)).toEqual(await contents(one));
    await one.put({ ...(await one.get('plain/1')), by: 'one' });
    await two.put({ ...(await two.get('plain/1')), by: 'two' });
    await two.remove(await two.get('plain/2'));
    for (const db of [one, two, one]) await db.sync(url);
    expect(await contents(two)).toEqual(await contents(one));
    expect(await contents(new SettleDB(url))).toEqual(await contents(one));
    // A second time there is nothing to do.
    expect((await one.replicate.to(url)).docs_written).toBe(0);
    for (const db of [one, two]) await db.close();
  });

  it('the HTTP adapter: reads, writes, attachments, feeds, purge of the whole', async () => {
    const db = new PouchDB(`${await ours().catch(() => '')}/${unique('http')}`);
    const { rev } = await db.put({ _id: 'a', n: 1 });
    expect(await db.get('a')).toEqual({ _id: 'a', _rev: rev, n: 1 });
    await expect(db.put({ _id: 'a' })).rejects.toMatchObject({ status: 409, name: 'conflict' });
    const put = await db.putAttachment('a', 'f', rev, bytes, 'image/png');
    expect(Buffer.compare(await db.getAttachment('a', 'f'), bytes)).toBe(0);
    let { rev: last } = await db.removeAttachment('a', 'f', put.rev);
    let heard: unknown;
    db.changes({ since: 'now', live: true }).once('change', (change: unknown) => {
      heard = change;
    });
    await db.bulkDocs([{ _id: 'b' }, { _id: 'c' }]);
    // When 'now' is the server says, to a request that may come after that of the write.
    while (heard === undefined) ({ rev: last } = await db.put({ _id: 'a', _rev: last }));
    expect(heard).toMatchObject({ id: expect.stringMatching(/[abc]/) });
    expect((await db.allDocs({ keys: ['b', 'x'] })).rows).toMatchObject([
      { id: 'b' },
      { error: 'not_found' },
    ]);
    expect((await db.info()).doc_count).toBe(3);
    await db.compact();
    expect(await db.destroy()).toMatchObject({ ok: true });
  });
});

const couchdb = process.env.COUCHDB_URL;
if (couchdb === undefined) console.info('skipped: our client against CouchDB (no COUCHDB_URL)');
const SERVERS: [string, () => Promise<string>][] = [
  ['our own server', ours],
  ['express-pouchdb', expressPouch],
  ...(couchdb === undefined
    ? []
    : [['CouchDB', async () => couchdb.replace(/\/$/, '')] as [string, () => Promise<string>]]),
];

describe.each(SERVERS)('our client and %s', (server, start) => {
  let at = '';
  beforeAll(async () => {
    at = await start();
  });

  it('asks views and finds, makes indexes and takes them away', async () => {
    const db = new SettleDB(`${at}/${unique('settle')}`);
    await db.bulkDocs(['ann', 'bob', 'cid'].map((_id, i) => ({ _id, age: 30 + i, tags: ['x', `t${i}`] })));
    await db.put({
      _id: '_design/people',
      views: {
        age: { map: 'function (doc) { emit(doc.age, doc._id); }' },
        tags: {
          map: 'function (doc) { doc.tags.forEach(function (tag) { emit(tag, 1); }); }',
          reduce: '_sum',
        },
      },
    } as never);
    const ids = async (options: object) => (await db.query('people/age', options)).rows.map(({ id }) => id);
    expect(await ids({})).toEqual(['ann', 'bob', 'cid']);
    expect(await ids({ descending: true, limit: 1 })).toEqual(['cid']);
    expect(await ids({ startkey: 31, endkey: 32, inclusive_end: false })).toEqual(['bob']);
    expect(await ids({ keys: [32, 30, 99] })).toEqual(['cid', 'ann']);
    const [row] = (await db.query('people/age', { key: 30, include_docs: true })).rows;
    expect(row).toMatchObject({ key: 30, value: 'ann', doc: { age: 30, tags: ['x', 't0'] } });
    const groups = (await db.query('people/tags', { group: true })).rows;
    expect(groups.map(({ key, value }) => [key, value])).toEqual([
      ['t0', 1],
      ['t1', 1],
      ['t2', 1],
      ['x', 3],
    ]);
    const several = await db.queries('people/tags', [{ key: 'x' }, { reduce: false, limit: 2 }]);
    expect(several[0]!.rows).toMatchObject([{ key: null, value: 3 }]);
    expect(several[1]!.rows).toHaveLength(2);
    expect(await db.queries('people/tags', [])).toEqual([]);
    await expect(db.queries('people/none', [])).rejects.toMatchObject({ status: 404 });
    await expect(db.query('people/none')).rejects.toMatchObject({ status: 404 });
    await expect(db.query('none')).rejects.toMatchObject({ status: 404 });
    // express-pouchdb has nothing to tell there, and says so in a form that is none.
    const info = db.viewInfo('people');
    if (server === 'express-pouchdb') await expect(info).rejects.toMatchObject({ name: 'bad_response' });
    else expect(await info).toMatchObject({ name: 'people', view_index: {} });
    expect(await db.viewCleanup()).toEqual({ ok: true });

    const made = await db.createIndex({ index: { fields: ['age'] }, name: 'age', ddoc: 'by' });
    expect(made).toMatchObject({ result: 'created', name: 'age' });
    expect(await db.createIndex({ fields: ['age'], name: 'age', ddoc: 'by' })).toMatchObject({
      result: 'exists',
    });
    const { indexes } = await db.getIndexes();
    expect(indexes.map(({ name, def }) => [name, def.fields])).toEqual([
      ['_all_docs', [{ _id: 'asc' }]],
      ['age', [{ age: 'asc' }]],
    ]);
    const found = await db.find({
      selector: { age: { $gt: 30 } },
      fields: ['_id'],
      sort: [{ age: 'desc' }],
      limit: 5,
    });
    expect(found.docs).toEqual([{ _id: 'cid' }, { _id: 'bob' }]);
    expect((await db.explain({ selector: { age: 31 } })).index).toMatchObject({ name: 'age', type: 'json' });
    await expect(db.find({ selector: { age: { $nope: 1 } } })).rejects.toBeInstanceOf(Error);
    expect(await db.deleteIndex({ ddoc: '_design/by', name: 'age' })).toEqual({ ok: true });
    expect((await db.getIndexes()).indexes).toHaveLength(1);
    await db.destroy();
  });

  it('push, pull again elsewhere, change both sides, sync: everything arrives', async () => {
    const url = `${at}/${unique('settle')}`;
    const one = memory('one');
    const two = memory('two');
    await fill(one);
    const pushed = await one.replicate.to(url);
    expect([pushed.ok, pushed.doc_write_failures]).toEqual([true, 0]);
    await two.replicate.from(url);
    expect(await contents(two)).toEqual(await contents(one));
    await one.put({ ...(await one.get('plain/1')), by: 'one' });
    await two.put({ ...(await two.get('plain/1')), by: 'two' });
    await two.remove(await two.get('plain/2'));
    for (const db of [one, two, one]) await db.sync(url);
    expect(await contents(two)).toEqual(await contents(one));
    expect((await one.replicate.to(url)).docs_written).toBe(0);
    await new SettleDB(url).destroy();
    for (const db of [one, two]) await db.destroy();
  });
});
