/**
 * Documents and attachments in three places (alike.ts): what is written and read is answered alike, and what is refused is refused in
 * the same words, of the same document.
 */
import { describe, expect, it } from 'vitest';
import { type Any, alike, answerOf, places } from './alike';

const MISSING = { status: 404, name: 'not_found' };

describe('documents', () => {
  it('a member that is undefined is none, whatever its name', async () => {
    const dbs = await places();
    const names = ['_zz', '_rev', '_deleted', '_attachments', '_revisions', '_conflicts', '_revs_info', 'x'];
    for (const name of [...names, '_access', '_local_seq', '_rev_tree']) {
      const doc = { _id: `d${name}`, n: 1, [name]: undefined };
      const written = { ok: true, id: doc._id };
      expect(await alike(dbs, ['put', doc])).toMatchObject(written);
      expect(await alike(dbs, ['get', doc._id])).toEqual({
        _id: doc._id,
        _rev: expect.stringMatching(/^1-/),
        n: 1,
      });
      const [row] = (await alike(dbs, ['bulkDocs', [{ ...doc, _id: `b${name}` }]])) as Any[];
      expect(row).toMatchObject({ ok: true });
      expect(await alike(dbs, ['put', { ...doc, _id: `_local/${name}` }])).toMatchObject({ ok: true });
      if (name === '_rev') continue;
      const made = { ...doc, _id: `e${name}`, _rev: '1-abc' };
      expect(await alike(dbs, ['bulkDocs', [made], { new_edits: false }])).toEqual([]);
      expect(await alike(dbs, ['get', made._id])).toMatchObject({ _rev: '1-abc' });
    }
    for (const value of [null, 1, {}])
      expect(await alike(dbs, ['put', { _id: 'no', _zz: value }])).toMatchObject({
        name: 'doc_validation',
        docId: 'no',
      });
  });

  it('a member that JSON leaves out is none, unless it is what a document is made of', async () => {
    const dbs = await places();
    for (const value of [() => 1, Symbol('x')]) {
      for (const name of ['_zz', 'x', '_access', '_conflicts'])
        for (const verb of ['put', 'bulkDocs']) {
          const doc = { _id: `${typeof value} ${name} ${verb}`, n: 1, [name]: value };
          await alike(dbs, [verb, verb === 'put' ? doc : [doc]]);
          expect(await alike(dbs, ['get', doc._id])).toEqual({
            _id: doc._id,
            _rev: expect.any(String),
            n: 1,
          });
        }
      for (const refused of [{ _attachments: value }, { _attachments: { a: value } }, { _rev: value }])
        for (const _id of ['no', '_local/no']) {
          expect(await alike(dbs, ['put', { _id, ...refused }])).toHaveProperty('status');
          expect(await alike(dbs, ['bulkDocs', [{ _id, ...refused }]])).toHaveProperty('status');
          expect(await alike(dbs, ['get', _id])).toMatchObject(MISSING);
        }
      // Elsewhere that name is one of the content.
      const _id = `within ${typeof value}`;
      const data = new Blob(['x'], { type: 'a/b' });
      const within = [{ _attachments: value }, { _attachments: { a: value, b: { data: value } } }];
      await alike(dbs, ['put', { _id, within, _attachments: { f: { data } } }]);
      expect(await alike(dbs, ['get', _id])).toMatchObject({ within: [{}, { _attachments: { b: {} } }] });
    }
  });

  it('a revision that was made elsewhere has an id', async () => {
    const dbs = await places();
    for (const _id of [undefined, null, ''])
      for (const more of [{}, { _zz: 1 }])
        expect(
          await alike(dbs, [
            'bulkDocs',
            [
              { _id: 'y', _rev: '1-abc' },
              { _id, _rev: '1-abc', ...more },
            ],
            { new_edits: false },
          ]),
        ).toMatchObject({ index: 1 });
    expect(await alike(dbs, ['bulkDocs', [{ _rev: '1-abc' }], { new_edits: false }])).toMatchObject({
      status: 412,
      name: 'missing_id',
    });
    expect(await alike(dbs, ['get', 'y'])).toMatchObject({ status: 404 });
  });

  it('a _local document is edited as always, also where it is said to be made elsewhere', async () => {
    const dbs = await places();
    const elsewhere = { new_edits: false };
    for (const [doc, rev] of [
      [{ _id: '_local/m' }, '0-1'],
      [{ _id: '_local/m', _rev: '0-1', n: 1 }, '0-2'],
    ] as const)
      expect(await alike(dbs, ['put', doc, elsewhere])).toEqual({ ok: true, id: '_local/m', rev });
    expect(await alike(dbs, ['put', { _id: '_local/m' }, elsewhere])).toMatchObject({ status: 409 });
  });

  it('an index has no fields that are undefined', async () => {
    const dbs = await places();
    const none = undefined;
    for (const request of [
      { fields: ['n'], zz: none },
      { index: { fields: ['n'], zz: none }, zz: none },
      { fields: ['n'], index: none },
      { fields: ['n'], name: none, ddoc: none, type: none, partial_filter_selector: none, update: none },
      { fields: [{ n: 'asc', zz: none }] },
    ])
      expect(await alike(dbs, ['createIndex', request])).toMatchObject({
        id: expect.stringMatching('_design/'),
      });
    for (const fields of [[none], ['n', none], [{ n: none }], [{}], [null]]) {
      const refused = { status: 400, name: 'invalid_sort_field' };
      expect(await alike(dbs, ['createIndex', { fields }])).toMatchObject(refused);
      expect(await alike(dbs, ['find', { selector: {}, sort: fields }])).toMatchObject(refused);
    }
    for (const request of [
      { fields: ['n'], zz: null },
      { index: { fields: ['n'] }, zz: null },
    ])
      expect(await alike(dbs, ['createIndex', request])).toMatchObject({ name: 'invalid_key' });
  });

  it('what is wrong with the data of an attachment names its document', async () => {
    const dbs = await places();
    const refused = { status: 400, name: 'bad_request', docId: 'n' };
    for (const data of [undefined, null]) {
      const none = { ...refused, reason: "Attachment 'x' has neither data nor stub" };
      expect(await alike(dbs, ['putAttachment', 'n', 'x', undefined, data, 'text/plain'])).toMatchObject(
        none,
      );
      expect(await alike(dbs, ['putAttachment', 'n', 'x', data, 'text/plain'])).toMatchObject(none);
      expect(await alike(dbs, ['put', { _id: 'n', _attachments: { x: { data } } }])).toMatchObject(none);
    }
    for (const data of [5, true, {}, [], () => 1, () => null, () => ({}), async () => 'aGk=', '%', 'a']) {
      const isText = typeof data === 'string';
      const wrong = isText ? { status: 500, name: 'badarg', docId: 'n' } : refused;
      // Here a function may make data of any form, elsewhere streams alone, as the types say.
      const where = String(data).startsWith('async') ? dbs.slice(1, 2) : dbs;
      const docs = [{ _id: 'm' }, { _id: 'n', _attachments: { x: { data, content_type: 'text/plain' } } }];
      for (const call of [
        ['putAttachment', 'n', 'x', undefined, data, 'text/plain'],
        ['put', docs[1]],
        ['bulkDocs', docs],
      ] as const) {
        const answers = await Promise.all(where.map((db) => answerOf(db, call)));
        for (const answer of answers) expect(answer, String(data)).toMatchObject(wrong);
        for (const answer of answers) expect(answer).toEqual(answers[0]);
      }
    }
  });
});

describe('attachments', () => {
  it('what is said of bytes that are stored as they are given is true, or the document is refused', async () => {
    const dbs = await places();
    const refused = (name: string, _id: string) => ({ status: 400, name, docId: _id });
    for (const size of [2, 100_000]) {
      const data = new Uint8Array(size).fill(104);
      const put = (_id: string, said: object) =>
        alike(dbs, ['put', { _id, _attachments: { f: { data, encoded: true, ...said } } }]);
      const digest = 'md5-AAAAAAAAAAAAAAAAAAAAAA==';
      expect(await put(`true ${size}`, { length: size })).toMatchObject({ ok: true });
      expect(await put('longer', { length: size - 1 })).toMatchObject(refused('bad_request', 'longer'));
      expect(await put('shorter', { length: size + 1 })).toMatchObject(refused('bad_request', 'shorter'));
      expect(await put('other', { digest })).toMatchObject(refused('content_md5_mismatch', 'other'));
    }
  });

  const REFUSED = { status: 400, name: 'bad_request' };

  it('keep the type that was given, also an empty one, and one that is no text is refused', async () => {
    const dbs = await places();
    const html = new Blob(['hi'], { type: 'text/html' });
    const types = [
      ['empty', 'aGk=', '', ''],
      ['empty-html', html, '', ''],
      ['null', 'aGk=', null, 'application/octet-stream'],
      ['html', html, undefined, 'text/html'],
    ] as const;
    for (const db of dbs)
      for (const [id, data, type, kept] of types) {
        await db.putAttachment(id, 'x', null, data, type);
        expect((await db.get(id))._attachments.x.content_type).toBe(kept);
        const given = await db.openAttachment(id, 'x');
        expect(given.content_type).toBe(kept);
        await given.stream.cancel();
      }
    for (const type of [5, {}, [], true, 'a\nb', '\u0000', '→'])
      expect(await alike(dbs, ['putAttachment', 'odd', 'x', null, 'aGk=', type])).toMatchObject(REFUSED);
    expect(await alike(dbs, ['get', 'odd'])).toMatchObject(MISSING);
  });

  it('know a revision from data by the same rule', async () => {
    const dbs = await places();
    const rev = (await dbs[0].get('a'))._rev;
    for (const db of dbs) {
      await db.putAttachment('a', 'x', rev, 'aGk=');
      await db.putAttachment('c', 'x', rev.replace(/.*/, (await db.get('c'))._rev), new Blob(['hi']));
      await db.putAttachment('five', 'x', 'aGk=', 'text/plain', undefined);
      for (const id of ['a', 'c', 'five']) expect((await db.getAttachment(id, 'x')).length ?? 2).toBe(2);
    }
    expect(await alike(dbs, ['putAttachment', 'b', 'x', 'no-rev', [1, 2]])).toMatchObject(REFUSED);
  });

  it('that have a name that none can have, or are of no document, are refused alike', async () => {
    const dbs = await places();
    const { _rev } = await dbs[0].get('w');
    for (const name of [null, undefined, '', 5, [], {}, '_x']) {
      expect(await alike(dbs, ['putAttachment', 'new', name, null, 'aGk=', 'text/plain'])).toMatchObject(
        REFUSED,
      );
      for (const rev of [_rev, '1-00'])
        expect(await alike(dbs, ['removeAttachment', 'w', name, rev])).toMatchObject({
          ...MISSING,
          docId: 'w',
        });
      expect(await alike(dbs, ['getAttachment', 'w', name])).toMatchObject(MISSING);
    }
    for (const id of ['', '_local/l', 'nobody'])
      expect(await alike(dbs, ['removeAttachment', id, 'x', '1-00'])).toMatchObject(MISSING);
    for (const id of ['', '_x', null, 5])
      expect(await alike(dbs, ['putAttachment', id, 'x', null, 'aGk=', 'text/plain'])).toMatchObject(REFUSED);
    for (const rev of ['', 'x', 5, null])
      expect(await alike(dbs, ['getAttachment', 'w', 'x.txt', { rev }])).toMatchObject({
        reason: 'Invalid rev format',
      });
    expect(await alike(dbs, ['removeAttachment', 'w', 'nope', _rev])).toEqual({
      ok: true,
      id: 'w',
      rev: _rev,
    });
    expect(await alike(dbs, ['removeAttachment', 'w', 'nope', '1-00'])).toMatchObject({ status: 409 });
  });
});

describe('a document that is refused', () => {
  it('is named by the error, put alone or among others', async () => {
    const dbs = await places();
    const revisions = { _rev: '2-ab', _revisions: { start: 'x', ids: ['ab'] } };
    for (const [doc, options] of [
      [{ _id: 'a', _rev: 'x' }],
      [{ _id: 'a', _zz: 1 }],
      [{ _id: '_x' }],
      [{ _id: 'a', _rev: 5 }],
      [{ _id: 'a', _rev: 'x' }, { force: true }],
      [{ _id: 'a', ...revisions }, { new_edits: false }],
      [{ _id: 'a', _attachments: { x: {} } }],
      [{ _id: 'a', _attachments: { _x: { data: '' } } }],
      [{ _id: 'a', _attachments: { x: { data: '!', content_type: 'text/plain' } } }],
    ] as const)
      expect(await alike(dbs, ['put', doc, options])).toMatchObject({
        status: expect.any(Number),
        docId: doc._id,
      });
    for (const doc of [{ _id: 'a', _rev: 'x' }, { _id: '_x' }])
      expect(await alike(dbs, ['bulkDocs', [{ _id: 'z' }, doc]])).toMatchObject({ docId: doc._id, index: 1 });
    expect(await alike(dbs, ['put', { n: 1 }])).toMatchObject({ status: 412 });
  });
});
