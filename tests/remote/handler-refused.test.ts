/** What a server refuses: requests that make no sense, names, and bodies that are too large or none. */
import { describe, expect, it } from 'vitest';
import { fromFolderName, isDatabaseName, toFolderName } from '../../packages/remote/src/names';
import { ORIGIN, testServer } from './support';

describe('what makes no sense', () => {
  it('is 4xx with error and reason, never 5xx', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    await server.ask('PUT', '/db/a', {});
    // JavaScript can make no text of it.
    const textless = { toString: null };
    const user = { name: 'u', type: 'user', roles: [] };
    const requests: [string, string, unknown?][] = [
      ['PUT', '/db/b', '{'],
      ['PUT', '/db/b', '[]'],
      ['PUT', '/db/b', 'null'],
      ['PUT', '/db/b', '"x"'],
      ['PUT', '/db/b', ''],
      ['PUT', '/db/b', { _rev: 5 }],
      ['PUT', '/db/b', { _rev: 'x' }],
      ['PUT', '/db/b', { _nope: 1 }],
      ['PUT', '/db/b', { _attachments: { f: null } }],
      ['PUT', '/db/b', { _attachments: { f: 'text' } }],
      ['PUT', '/db/b', { _attachments: 5 }],
      ['PUT', '/db/b', { _attachments: [null] }],
      ['PUT', '/db/b', { _attachments: { f: { data: '%' } } }],
      ['POST', '/db/_bulk_docs', { docs: [{ _id: 'b', _attachments: { f: null } }], new_edits: 5 }],
      ['PUT', '/db/_security', '{'],
      ['PUT', '/db/_revs_limit', 'x'],
      ['POST', '/db/_find', { selector: 5 }],
      ['POST', '/db/_index', { index: 5 }],
      ['POST', '/_session', '{'],
      ['GET', '/db/a/x?rev=y'],
      ['GET', '/db/_all_docs?startkey=%22%ff%22'],
      ['PUT', '/db/b?new_edits=false', {}],
      ['PUT', '/db/b?new_edits=false', { _rev: '1-a', _revisions: 5 }],
      ['PUT', '/db/b?new_edits=false', { _rev: '1-a', _revisions: { start: 2 ** 53 + 1, ids: [] } }],
      ['PUT', '/db/_nope', {}],
      ['POST', '/db', { _id: 5 }],
      ['POST', '/db', { _id: '_x' }],
      ['PUT', '/db/b', { _id: 5 }],
      ...[5, true, null, '', ['b'], { b: 1 }].map((_id): [string, string, unknown] => [
        'POST',
        '/db/_bulk_docs',
        { docs: [{ _id: 'b' }, { _id }] },
      ]),
      ['POST', '/db/_bulk_docs', {}],
      ['POST', '/db/_bulk_docs', { docs: 5 }],
      ['POST', '/db/_bulk_docs', { docs: [5] }],
      ['POST', '/db/_bulk_docs', { docs: [], new_edits: 'no' }],
      ['POST', '/db/_bulk_docs', []],
      ['POST', '/db/_bulk_get', { docs: 5 }],
      ['POST', '/db/_revs_diff', { a: 'x' }],
      ['POST', '/db/_revs_diff', { a: [5] }],
      ['POST', '/db/_purge', { a: [null] }],
      ['POST', '/db/_all_docs', { keys: 5 }],
      ...['_all_docs', '_local_docs', '_design/v/_view/v'].flatMap((list) =>
        [textless, ['true'], 1, null].map((descending): [string, string, unknown] => [
          'POST',
          `/db/${list}`,
          { descending },
        ]),
      ),
      ['POST', '/db/_index', { index: { fields: ['a'] }, type: textless }],
      ['PUT', '/_users/org.couchdb.user:u', { ...user, name: textless }],
      ['PUT', '/_users/org.couchdb.user:u', { ...user, password: textless }],
      ['GET', '/db/_all_docs?limit=x'],
      ['GET', '/db/_all_docs?startkey=5'],
      ['GET', '/db/_all_docs?startkey='],
      ['GET', '/db/_all_docs?descending=x'],
      ['GET', '/db/_changes?since=x'],
      ['GET', '/db/_changes?feed=x'],
      ['GET', '/db/_changes?style=x'],
      ['GET', '/db/_changes?heartbeat=0'],
      ['GET', '/db/_changes?filter=a/b'],
      ['GET', '/db/_changes?limit=-1'],
      ['POST', '/db/_changes?filter=_selector', {}],
      ['POST', '/db/_changes?filter=_selector', { selector: { $x: 1 } }],
      ['POST', '/db/_changes?filter=_doc_ids', { doc_ids: 'a' }],
      ['GET', '/db/a?rev=x'],
      ['GET', '/db/a?open_revs=x'],
      ['GET', '/db/a?open_revs=[5]'],
      ['DELETE', '/db/a?rev=x'],
      ['GET', '/db/%zz'],
      ['PATCH', '/db/a'],
      ['PATCH', '/db'],
      ['POST', '/db/a/b/c'],
      ['GET', '/db/_design'],
      ['GET', '/db/_local/'],
      ['COPY', '/db/a'],
      ['GET', '/db/__proto__'],
      ['PUT', `/db/deep?x`, `${'['.repeat(200_000)}${']'.repeat(200_000)}`],
      ['PUT', `/db/deep?x`, `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`],
    ];
    for (const [method, path, body] of requests) {
      const answer = await server.ask(method, path, body);
      const kind = answer.status >= 400 && answer.status < 500 && typeof answer.body.error === 'string';
      expect([method, path, kind, answer.body.reason !== undefined]).toEqual([method, path, true, true]);
    }
    expect((await server.ask('GET', '/db')).body).toMatchObject({ doc_count: 1, update_seq: '1' });
  });

  it('refuses names that no database may have, and could be a path', async () => {
    const server = testServer();
    const names = [
      'A',
      'Db',
      '1a',
      '_x',
      '%2e%2e%2f',
      '..%2fx',
      'a%00',
      'a.b',
      'a%5cb',
      'x'.repeat(5000),
      '%C3%A9',
      'a b',
    ];
    for (const name of names) {
      expect([name.slice(0, 20), (await server.ask('PUT', `/${name}`)).body.error]).toEqual([
        name.slice(0, 20),
        'illegal_database_name',
      ]);
    }
    expect(await server.databases.list()).toEqual([]);
  });

  it('gives each database name a folder of its own that cannot leave its parent', () => {
    const names = [
      'a',
      'a/b',
      'a+b',
      'con',
      'com1',
      'nul',
      'constructor',
      'a$()_-9',
      'a/../b'.replace('..', '__'),
    ];
    const folders = names.map(toFolderName);
    expect(new Set(folders.map((folder) => folder.toLowerCase())).size).toBe(names.length);
    expect(folders.map(fromFolderName)).toEqual(names);
    for (const folder of folders) expect(folder).toMatch(/^[^/\\.]+$/);
    for (const folder of ['A', '..', '.git', 'a%2Fb', 'a%2e', 'server.json', '%61'])
      expect(fromFolderName(folder)).toBeUndefined();
    expect([isDatabaseName('..'), isDatabaseName('a\n'), isDatabaseName('')]).toEqual([false, false, false]);
  });
});

describe('the body of a request', () => {
  it('is refused with 413 as soon as it is too large, without reading the rest', async () => {
    const server = testServer({ limits: { document: 1000, request: 2000 } });
    await server.ask('PUT', '/db');
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent++;
        controller.enqueue(new Uint8Array(500).fill(32));
      },
    });
    const request = new Request(`${ORIGIN}/db/a`, {
      method: 'PUT',
      body: endless,
      duplex: 'half',
    } as RequestInit);
    const response = await server.handle(request);
    expect([response.status, (await response.json()).error]).toEqual([413, 'too_large']);
    expect(sent).toBeLessThan(10);
    expect((await server.ask('PUT', '/db/a', { a: 'x'.repeat(1000) })).status).toBe(413);
    const longer = { docs: [], more: 'x'.repeat(2000) };
    const said = { 'content-length': '10' };
    expect((await server.ask('POST', '/db/_bulk_docs', longer, said)).status).toBe(413);
    // One document is bounded by itself, wherever it comes: nothing stored could not be written again.
    const inBulk = await server.ask('POST', '/db/_bulk_docs', { docs: [{ _id: 'b', a: 'x'.repeat(1500) }] });
    expect([inBulk.status, inBulk.body]).toEqual([413, { error: 'document_too_large', reason: 'b' }]);
    expect(
      (await server.ask('POST', '/db/_bulk_docs', { docs: [{ a: 'x'.repeat(900) }, { a: 'x'.repeat(900) }] }))
        .status,
    ).toBe(201);
  });

  it('is refused by the name of the document that is too large, as none of the others is written', async () => {
    const server = testServer({ limits: { document: 1000, attachment: 1000 } });
    await server.ask('PUT', '/db');
    const photo = { data: btoa('x'.repeat(2000)) };
    const many = Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`f${i}`, { stub: true }]));
    for (const [doc, refusal] of [
      [
        { _id: 'b', _attachments: { photo } },
        { error: 'attachment_too_large', reason: 'b: photo' },
      ],
      [{ _attachments: { photo } }, { error: 'attachment_too_large', reason: 'docs[1]: photo' }],
      [
        { _id: 'b', a: 'x'.repeat(1000) },
        { error: 'document_too_large', reason: 'b' },
      ],
      [{ a: 'x'.repeat(1000) }, { error: 'document_too_large', reason: 'docs[1]' }],
      [
        { _id: 'b', _attachments: many },
        { error: 'too_large', reason: 'b: A document may have 10000 attachments' },
      ],
    ] as const) {
      const { status, body } = await server.ask('POST', '/db/_bulk_docs', { docs: [{ _id: 'a' }, doc] });
      expect([status, body]).toEqual([413, refusal]);
    }
    expect((await server.ask('GET', '/db')).body.doc_count).toBe(0);
  });

  it('has no number that is larger than any there is, however it is written', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const ten = (digits: number): string => `1${'0'.repeat(digits)}`;
    const huge = [
      '1e309',
      '-1E+400',
      '1e0400',
      ten(309),
      `-${ten(309)}`,
      `${ten(300)}e10`,
      `${ten(220)}.5e99`,
    ];
    for (const number of huge)
      for (const text of [
        `{"n":${number}}`,
        `{"n":[1, ${number}]}`,
        `{"n":[${number}]}`,
        `{"n":\n${number}}`,
      ])
        expect([text, (await server.ask('PUT', '/db/a', text)).status]).toEqual([text, 400]);
    expect((await server.ask('GET', `/db/_design/d/_view/v?key=${ten(309)}`)).status).toBe(400);
    const large = [
      '1e308',
      ten(308),
      `${ten(209)}e99`,
      '1e-400',
      '"1e999"',
      `"${ten(400)}"`,
      `0.${ten(400)}`,
    ];
    const body = `{"n":[${large.join()}]}`;
    expect((await server.ask('PUT', '/db/a', body)).status).toBe(201);
    expect((await server.ask('GET', '/db/a')).body.n).toEqual(JSON.parse(body).n);
  });

  it('has no millions of objects, lists and members; in strings they are no such parts', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const most = 2_000_000;
    for (const text of [
      `{"docs":[${'{},'.repeat(most)}{}]}`,
      `{"docs":${'['.repeat(most)}${']'.repeat(most)}}`,
      `{"docs":[{${'"a":1,'.repeat(most)}"b":1}]}`,
      '['.repeat(most + 1),
    ]) {
      const { status, body } = await server.ask('POST', '/db/_bulk_docs', text);
      expect([status, body.error]).toEqual([413, 'too_large']);
    }
    const few = JSON.stringify({ text: `"\\${'{'.repeat(most)}` });
    expect((await server.ask('PUT', '/db/few', few)).status).toBe(201);
  });

  it('has no document with more than 10,000 attachments, in whatever form they come', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const many = (attachment: object) =>
      JSON.stringify({
        _attachments: Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`f${i}`, attachment])),
      });
    for (const attachment of [{ data: '' }, { stub: true }, { follows: true }]) {
      const { status, body } = await server.ask('PUT', '/db/many', many(attachment));
      expect([status, body.error]).toEqual([413, 'too_large']);
    }
    const related = await server.handle(
      new Request(`${ORIGIN}/db/many`, {
        method: 'PUT',
        headers: { 'content-type': 'multipart/related; boundary=b' },
        body: `--b\r\ncontent-type: application/json\r\n\r\n${many({ follows: true })}\r\n--b--`,
      }),
    );
    expect([related.status, (await related.json()).error]).toEqual([413, 'too_large']);
    for (const _attachments of ['x'.repeat(10_001), Array(10_001).fill(0)])
      expect((await server.ask('PUT', '/db/none', { _attachments })).status).toBe(400);
  });

  it('must be UTF-8', async () => {
    const server = testServer();
    await server.ask('PUT', '/db');
    const body = new Uint8Array([123, 34, 97, 34, 58, 34, 0xff, 34, 125]);
    const response = await server.handle(new Request(`${ORIGIN}/db/a`, { method: 'PUT', body }));
    expect(response.status).toBe(400);
  });
});

it('what asks for more than is given at a time', async () => {
  const server = testServer();
  expect((await server.ask('GET', '/_uuids?count=1000')).body).toMatchObject({
    uuids: { length: 1_000 },
  });
  expect(await server.ask('GET', '/_uuids?count=1001')).toMatchObject({
    status: 400,
    body: { reason: 'count parameter too large' },
  });
  const named = (count: number) =>
    server.ask('POST', '/_dbs_info', { keys: Array.from({ length: count }, (_, n) => `db${n}`) });
  expect((await named(100)).body).toHaveLength(100);
  expect(await named(101)).toMatchObject({ status: 400, body: { reason: 'too_many_keys' } });
  await server.ask('PUT', '/db');
  const many = <T>(each: T): T[] => Array(1_001).fill(each);
  for (const [path, body] of [
    ['_all_docs/queries', { queries: many({ limit: 1 }) }],
    ['_local_docs', { keys: many('_local/a') }],
    ['_index/_bulk_delete', { docids: many('a') }],
  ] as const)
    expect((await server.ask('POST', `/db/${path}`, body)).status).toBe(400);
});
