/** What the client makes of answers: those of no known form, and those that are errors. */
import { DatabaseError } from '@settledb/core';
import { RemoteError, remote } from '@settledb/remote';
import { describe, expect, it } from 'vitest';
import { failureOf, meddled, URL_OF_DB } from './support';

describe('an answer not of the expected form is an error', () => {
  const WRONG: [string, () => Response][] = [
    ['HTML', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
    ['{}', () => Response.json({})],
    ['[]', () => Response.json([])],
    ['null', () => Response.json(null)],
    ['nothing', () => new Response('')],
    ['half', () => new Response('{"results":[{"id":"a","seq":1,"ch')],
    ['bad UTF-8', () => new Response(new Uint8Array([0x22, 0xff, 0x22]))],
    ['other rows', () => Response.json({ results: [5], rows: [5], last_seq: 1, total_rows: 1, docs: 5 })],
    ['no last_seq', () => Response.json({ results: [] })],
    [
      'a row without revisions',
      () => Response.json({ results: [{ id: 'a', seq: 1, changes: [] }], last_seq: 1 }),
    ],
    ['another document', () => Response.json({ _id: 'b', _rev: '1-b' })],
    ['a list of another', () => Response.json([{ ok: true, id: 'b', rev: '1-b' }])],
    ['an error with status 200', () => Response.json({ error: 'x', reason: 'y' })],
  ];

  for (const [what, answer] of WRONG) {
    it(`: ${what}`, async () => {
      const paths = [
        'GET /db/a',
        'PUT /db/a',
        'POST /db/_bulk_docs',
        'POST /db/_bulk_get',
        'GET /db/_all_docs',
        'GET /db/_changes',
        'POST /db/_compact',
        'POST /db/_purge',
        'POST /db/_revs_diff',
      ];
      const { fetch } = meddled(Object.fromEntries(paths.map((path) => [path, answer])));
      const db = remote(URL_OF_DB, { fetch });
      const calls: [string, PromiseLike<unknown>][] = [
        ['get', db.get('a')],
        ['open_revs', db.get('a', { open_revs: ['1-a'] })],
        ['put', db.put({ _id: 'a' })],
        ['bulkDocs', db.bulkDocs([{ _id: 'a' }])],
        ['bulkGet', db.bulkGet({ docs: [{ id: 'a', rev: '1-a' }] })],
        ['allDocs', db.allDocs()],
        ['changes', db.changes()],
        ['live changes', db.changes({ live: true })],
        ['compact', db.compact()],
        ['purge', db.purge('a', '1-a')],
        ['revsDiff', db.revsDiff({ a: ['1-a'] })],
        ['bulkDocs new_edits: false', db.bulkDocs([{ _id: 'a', _rev: '1-a' }], { new_edits: false })],
      ];
      // These two are what the protocol says when all is known, or all was written.
      const legal = (name: string) =>
        (what === '{}' && name === 'revsDiff') || (what === '[]' && /open_revs|false/.test(name));
      const settled = await Promise.all(
        calls.map(async ([name, call]) => [name, legal(name) ? await call : await failureOf(call)] as const),
      );
      const failed = settled
        .filter(([name]) => !legal(name))
        .map(([name, error]) => [name, (error as DatabaseError).name]);
      expect(failed).toEqual(calls.filter(([name]) => !legal(name)).map(([name]) => [name, 'bad_response']));
    });
  }

  it('and so is a list that lacks the row of a key, or has one more', async () => {
    const row = { id: 'a', key: 'a', value: { rev: '1-a' } };
    for (const rows of [[], [row], [row, row, row]]) {
      const { fetch } = meddled({ 'POST /db/_all_docs': () => Response.json({ total_rows: 2, rows }) });
      const db = remote(URL_OF_DB, { fetch });
      expect(await failureOf(db.allDocs({ keys: ['a', 'b'] }))).toMatchObject({ name: 'bad_response' });
      expect((await db.allDocs({ keys: ['a', 'b'], limit: 9 })).rows).toEqual(rows);
    }
  });

  it('but rows of _bulk_docs in another order, which express-pouchdb may give, go to their documents', async () => {
    const row = (id: string) => ({ ok: true, id, rev: `1-${id}` });
    const given = [row('c'), { id: 'a', error: 'conflict', reason: 'x' }, row('b')];
    const { fetch } = meddled({ 'POST /db/_bulk_docs': () => Response.json(given) });
    const db = remote(URL_OF_DB, { fetch });
    const rows = await db.bulkDocs([{ _id: 'a' }, { _id: 'b' }, { _id: 'c' }]);
    expect(rows).toMatchObject([{ id: 'a', name: 'conflict' }, row('b'), row('c')]);
    const twice = db.bulkDocs([{ _id: 'a' }, { _id: 'a' }, { _id: 'b' }]);
    expect(await failureOf(twice)).toMatchObject({ name: 'bad_response' });
  });

  it('and rows of _bulk_get without an error in them, as PouchDB Server gives, are of documents that are not there', async () => {
    const { fetch } = meddled({
      'POST /db/_bulk_get': () =>
        Response.json({
          results: [
            { id: 'a', docs: [{ missing: '1-a' }] },
            { id: 'a', docs: [{ ok: { _id: 'a', _rev: '2-a' } }] },
            { id: 'b', docs: [{}] },
            { id: 'c', docs: [{ error: 'forbidden', reason: 'no' }] },
          ],
        }),
    });
    const db = remote(URL_OF_DB, { fetch });
    const docs = [{ id: 'a', rev: '1-a' }, { id: 'a', rev: '2-a' }, { id: 'b' }, { id: 'c' }];
    for (const attachments of [false, true]) {
      const { results } = await db.bulkGet({ docs, attachments });
      expect(results.map((result) => result.docs)).toEqual([
        [{ error: { id: 'a', rev: '1-a', error: 'not_found', reason: 'missing' } }],
        [{ ok: { _id: 'a', _rev: '2-a' } }],
        [{ error: { id: 'b', rev: 'undefined', error: 'unknown_error', reason: 'unknown' } }],
        [{ error: { id: 'c', rev: 'undefined', error: 'forbidden', reason: 'no' } }],
      ]);
    }
    for (const row of [{ ok: null }, null, 'x', []]) {
      const wrong = meddled({
        'POST /db/_bulk_get': () => Response.json({ results: [{ id: 'a', docs: [row] }] }),
      });
      const answer = remote(URL_OF_DB, { fetch: wrong.fetch }).bulkGet({ docs: [{ id: 'a', rev: '1-a' }] });
      expect(await failureOf(answer)).toMatchObject({ name: 'bad_response' });
    }
  });

  it('and a list in place of the results of _bulk_get is no answer, with attachments as without', async () => {
    for (const list of [[], [1], [{ other: {} }], [{ doc: { _id: 'a', _rev: '1-a' } }]]) {
      const { fetch } = meddled({ 'POST /db/_bulk_get': () => Response.json(list) });
      const db = remote(URL_OF_DB, { fetch });
      for (const attachments of [false, true]) {
        const answer = db.bulkGet({ docs: [{ id: 'a', rev: '1-a' }], attachments });
        expect(await failureOf(answer)).toMatchObject({ name: 'bad_response' });
      }
    }
  });

  it('nor are an attachment that is none, and an ancestry without its list', async () => {
    const doc = { _id: 'a', _rev: '2-b', _revisions: { start: 2 }, _attachments: { f: null, '.': null } };
    const parts = `--x\r\nContent-Type: application/json\r\n\r\n${JSON.stringify(doc)}\r\n--x--`;
    const type = { headers: { 'content-type': 'multipart/mixed; boundary=x' } };
    const { fetch } = meddled({
      'GET /db/a': (request) => Response.json(request.url.includes('open_revs') ? [{ ok: doc }] : doc),
      'POST /db/_bulk_get': () => new Response(parts, type),
    });
    const db = remote(URL_OF_DB, { fetch });
    for (const call of [
      db.get('a', { attachments: true }),
      db.get('a', { attachments: true, open_revs: 'all' }),
      db.openAttachment('a', 'f'),
      db.getAttachment('a', '.'),
    ])
      expect(await failureOf(call)).toMatchObject({ status: 502, name: 'bad_response' });
    const asked = { docs: [{ id: 'a', rev: '1-a' }], latest: true, attachments: true };
    expect((await db.bulkGet(asked)).results).toMatchObject([{ id: 'a', docs: [{ ok: { _rev: '2-b' } }] }]);
  });

  it('bytes of an attachment without a type, as a PouchDB has them, are of the default type', async () => {
    const file = { digest: 'md5-SfaKXIST7CwL9ImCHCH8Ow==', revpos: 1, data: 'aGk=' };
    const _attachments = { f: file, g: { ...file, content_type: null }, h: { ...file, content_type: '' } };
    const { fetch } = meddled({
      'GET /db/a': () => Response.json({ _id: 'a', _rev: '1-a', _attachments }),
    });
    const doc = await remote(URL_OF_DB, { fetch }).get('a', { attachments: true, binary: true });
    const types = Object.values(doc._attachments!).map((it) => (it as unknown as { data: Blob }).data.type);
    expect(types).toEqual(['application/octet-stream', 'application/octet-stream', '']);
  });

  it('and one of another status is that error, by its own name and reason', async () => {
    const answers: [number, Response, object][] = [
      [
        404,
        Response.json({ error: 'not_found', reason: 'deleted' }, { status: 404 }),
        { name: 'not_found', reason: 'deleted', docId: 'a' },
      ],
      [
        403,
        Response.json({ error: 'forbidden', reason: 'no' }, { status: 403 }),
        { name: 'forbidden', reason: 'no' },
      ],
      [
        500,
        new Response('<html>', { status: 500 }),
        { name: 'http_error', reason: `${URL_OF_DB} answers 500, and not as CouchDB does` },
      ],
      [401, new Response('', { status: 401 }), { name: 'unauthorized' }],
      [413, Response.json([], { status: 413 }), { name: 'too_large' }],
      [
        409,
        Response.json({ error: 'conflict', reason: 'Document update conflict.' }, { status: 409 }),
        { name: 'conflict', message: 'Document update conflict' },
      ],
    ];
    for (const [status, response, expected] of answers) {
      const { fetch } = meddled({ 'GET /db/a': () => response });
      const error = await failureOf(remote(URL_OF_DB, { fetch }).get('a'));
      expect(error).toBeInstanceOf(DatabaseError);
      expect(error).toMatchObject({ status, ...expected });
    }
  });

  it('and what is not of CouchDB names what was asked, without credentials', async () => {
    const withSecret = URL_OF_DB.replace('//', '//user:secret@');
    const html = (status: number) => () => new Response('<html>', { status });
    const { fetch } = meddled({
      'GET /db': html(404),
      'GET /db/a': html(404),
      'GET /db/b': html(200),
      'PUT /db/a': html(502),
    });
    const db = remote(withSecret, { fetch, skip_setup: true });
    const question = 'is it the URL of a database?';
    const wrong = { message: `${URL_OF_DB} answers 404, and not as CouchDB does: ${question}`, status: 404 };
    expect(await failureOf(db.info())).toMatchObject(wrong);
    expect(await failureOf(db.get('a'))).toMatchObject({ ...wrong, name: 'not_found' });
    expect(await failureOf(db.put({ _id: 'a' }))).toMatchObject({ status: 502, name: 'http_error' });
    expect(await failureOf(db.get('b'))).toMatchObject({
      status: 502,
      name: 'bad_response',
      message: expect.stringContaining(`it is no JSON. Is ${URL_OF_DB} the URL of a database?`),
    });
  });

  it('and what is a proxy’s asks for that, not for the URL', async () => {
    const html = (status: number) => () => new Response('<html>', { status });
    const { fetch } = meddled({
      'GET /db/a%2Fb': html(404),
      'PUT /db/a': html(413),
      // Of a proxy that decodes paths, as nginx does where `proxy_pass` has a path: an attachment of another document.
      'PUT /db/a%2Fb': () => Response.json({ ok: true, id: 'a', rev: '1-a' }),
    });
    const db = remote(URL_OF_DB, { fetch, skip_setup: true });
    const answers = (status: number, question: string) => ({
      status,
      message: `${URL_OF_DB} answers ${status}, and not as CouchDB does: does a proxy before it${question}?`,
    });
    expect(await failureOf(db.get('a/b'))).toMatchObject(answers(404, ' refuse %2F'));
    expect(await failureOf(db.put({ _id: 'a' }))).toMatchObject(answers(413, ''));
    expect(await failureOf(db.put({ _id: 'a/b' }))).toMatchObject({
      name: 'bad_response',
      message: expect.stringContaining('a/b was written, but a: does a proxy before it decode paths?'),
    });
  });

  it('which says when to come back where the server did', async () => {
    const headers = { 'retry-after': '7' };
    const { fetch } = meddled({
      'GET /db/a': () => Response.json({ error: 'busy', reason: 'x' }, { status: 503, headers }),
    });
    const error = await failureOf(remote(URL_OF_DB, { fetch }).get('a'));
    expect(error).toBeInstanceOf(RemoteError);
    expect(error).toMatchObject({ status: 503, retryAfterMs: 7000 });
  });

  it.each([
    ['hours behind', -5, 7000],
    ['hours ahead', 5, 7000],
    ['right, and the answer has no date', undefined, 0],
  ])('which says when by the clock of the server, where ours is %s', async (_, hours, retryAfterMs) => {
    const there = Date.now() - (hours ?? 1) * 3_600_000;
    const at = (ms: number): string => new Date(Math.floor(there / 1000) * 1000 + ms).toUTCString();
    const headers = { 'retry-after': at(7000), ...(hours === undefined ? {} : { date: at(0) }) };
    const { fetch } = meddled({ 'GET /db/a': () => new Response('', { status: 503, headers }) });
    expect(await failureOf(remote(URL_OF_DB, { fetch }).get('a'))).toMatchObject({ retryAfterMs });
  });
});
