/** Files that other programs made. */
import { describe, expect, it } from 'vitest';
import { type Db, gzip, make, utf8 } from './content';

/** Byte by byte. */
const slowly = (bytes: Uint8Array): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });

describe('files of others', () => {
  const docs = [
    { _id: 'a', _rev: '1-aa', n: 1, text: '"],{\\' },
    { _id: 'b', _rev: '3-bb', list: [1, [2], { docs: [3] }] },
  ];
  const expectLoaded = async (db: Db): Promise<void> => {
    expect(await db.get('a')).toMatchObject(docs[0]!);
    expect(await db.get('b')).toMatchObject(docs[1]!);
  };
  const rows = docs.map((doc) => ({ id: doc._id, key: doc._id, value: { rev: doc._rev }, doc }));

  it.each([
    ['_all_docs', JSON.stringify({ total_rows: 2, offset: 0, rows })],
    [
      '_all_docs, as CouchDB lays it out',
      `{"total_rows":2,"offset":0,"rows":[\r\n${rows.map((row) => JSON.stringify(row)).join(',\r\n')}\r\n]}\n`,
    ],
    ['_bulk_docs', JSON.stringify({ new_edits: false, docs })],
    ['_bulk_docs, indented', JSON.stringify({ docs, new_edits: false }, undefined, 2)],
    ['a list', JSON.stringify(docs)],
    [
      'pouchdb-dump',
      `${[
        { version: '1.2.6', db_type: 'leveldb', start_time: '2026-01-01', db_info: { doc_count: 2 } },
        { docs: [docs[0]] },
        { seq: 1 },
        { docs: [docs[1]] },
        { seq: 2 },
      ]
        .map((line) => JSON.stringify(line))
        .join('\n')}\n`,
    ],
  ])('%s is loaded, whole or in pieces, also gzipped', async (name, text) => {
    const bytes = utf8(text);
    const packed = await gzip(bytes);
    for (const input of [bytes, slowly(bytes), packed, slowly(packed)]) {
      const db = make();
      const result = await db.load(input);
      expect(result).toMatchObject({ ok: true, docs_read: 2, docs_written: 2 });
      expect(result).toMatchObject(
        name === 'pouchdb-dump' ? { format: 'pouchdb', seq: 2 } : { format: 'couchdb' },
      );
      await expectLoaded(db);
      expect(await db.load(bytes)).toMatchObject({ docs_written: 0 });
    }
    // Of lines, those before the cut are whole: only what has no end of its own is found to be cut off.
    if (name !== 'pouchdb-dump')
      for (let end = 0; end < bytes.length - 2; end++)
        await expect(make().load(bytes.slice(0, end)), `${end}`).rejects.toThrow();
  });

  it('with attachments, deleted rows and documents without revisions are loaded', async () => {
    const db = make();
    const file = { content_type: 'text/plain', data: btoa('hello'), revpos: 1, digest: 'md5-x' };
    const deleted = { id: 'g', key: 'g', value: { rev: '2-c', deleted: true }, doc: null };
    const doc = { _id: 'a', _rev: '1-aa', _attachments: { f: file } };
    const row = { id: 'a', key: 'a', value: { rev: '1-aa' }, doc };
    expect(await db.load(utf8(JSON.stringify({ rows: [row, deleted] })))).toMatchObject({ docs_written: 1 });
    expect(await db.get('a', { attachments: true })).toMatchObject({
      _attachments: { f: { data: file.data } },
    });
    expect(await db.load(utf8('{"docs":[{"_id":"new","n":1},{"n":2}]}'))).toMatchObject({ docs_written: 2 });
    expect(await db.get('new')).toMatchObject({ n: 1 });
  });

  it('name the documents that are refused, and load the others', async () => {
    const db = make();
    const bad = {
      _id: 'b',
      _rev: '1-b',
      _attachments: { f: { stub: true, digest: 'md5-none', content_type: 't' } },
    };
    const result = await db.load(
      utf8(JSON.stringify({ docs: [docs[0], bad, { _id: '_no', _rev: '1-a' }, docs[1]] })),
    );
    expect(result).toMatchObject({ ok: false, docs_read: 4, docs_written: 2, doc_write_failures: 2 });
    expect(result.errors.map(({ id }) => id).sort()).toEqual(['_no', 'b']);
    await expectLoaded(db);
  });

  it('of pouchdb-dump with a line that is none are refused as damage', async () => {
    const header = JSON.stringify({ version: '1.2.6', db_type: 'leveldb', db_info: { doc_count: 2 } });
    for (const line of ['7', 'null', '["a"]'])
      await expect(make().load(utf8(`${header}\n${line}\n`)), line).rejects.toMatchObject({
        name: 'corrupt',
      });
  });

  it('of which an element is no document are refused as damage', async () => {
    for (const text of ['[{"_id":"a"},7]', '{"docs":[["a"]]}', '{"rows":[{"doc":"a"}]}', '{"rows":[null]}'])
      await expect(make().load(utf8(text)), text).rejects.toMatchObject({ name: 'corrupt' });
  });

  it('with a row in place of a document that could not be read are refused as damage, not of a key without one', async () => {
    const [a] = rows;
    const error = { error: 'timeout', reason: 'The request could not be processed' };
    const cut = utf8(JSON.stringify({ rows: [a, error] }));
    await expect(make().load(cut)).rejects.toMatchObject({
      name: 'corrupt',
      reason: expect.stringMatching('timeout'),
    });
    const missing = utf8(JSON.stringify({ rows: [a, { key: 'none', error: 'not_found' }] }));
    expect(await make().load(missing)).toMatchObject({ ok: true, docs_written: 1 });
  });

  it('that are none are refused', async () => {
    const rowsOnly = JSON.stringify({ rows: [{ id: 'a', key: 'a', value: { rev: '1-a' } }] });
    for (const text of ['hello', '{}', '{"a":[]}', '{"docs2":[]}', '7', rowsOnly, '<html></html>'])
      await expect(make().load(utf8(text)), text).rejects.toMatchObject({ status: 400 });
  });
});
