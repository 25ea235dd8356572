/**
 * One program, three places: what is asked of a database here, of one in a worker and of one behind a URL is answered alike, and what is
 * wrong with a call is said in the same words, of the same document.
 */
import { memory } from '@settledb/adapter-memory';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { evaluate } from '../../packages/settledb/src/eval';
import { contextOf } from '../../packages/settledb/src/hosting';
import { hostAndPage } from '../worker/support';
import { DESIGN, ORIGIN, testServer } from './support';

// biome-ignore lint/suspicious/noExplicitAny: what types would not let through is what this is about
type Any = any;
type Call = readonly [verb: string, ...args: readonly unknown[]];

/** The same documents in three places. */
async function places(): Promise<readonly Any[]> {
  const server = testServer({ runStoredFunctions: true });
  const Base = SettleDB.defaults({ adapter: memory(), evaluate });
  const { Hosted } = hostAndPage({}, {}, contextOf(Base as never));
  const all: Any[] = [
    new Base('db'),
    new Hosted('hosted'),
    new SettleDB(`${ORIGIN}/db`, { fetch: server.fetch }),
  ];
  onTestFinished(async () => {
    for (const db of all) await db.close();
  });
  for (const db of all) {
    await db.bulkDocs([...['a', 'b', 'c'].map((_id, n) => ({ _id, n })), DESIGN]);
    await db.putAttachment('w', 'x.txt', 'aGVsbG8=', 'text/plain');
    await db.put({ _id: '_local/l' });
    await db.createIndex({ fields: ['n'], ddoc: 'idx', name: 'n' });
  }
  return all;
}

/** The answer as JSON; or of an error everything that a program may look at. */
async function answerOf(db: Any, [verb, ...args]: Call): Promise<unknown> {
  try {
    return JSON.parse(JSON.stringify((await db[verb](...args)) ?? null));
  } catch (error) {
    const { status, name, reason, docId, index } = error as Any;
    return status === undefined ? String(error) : { status, name, reason, docId, index };
  }
}

/** @returns what is answered in all places */
async function alike(dbs: readonly Any[], call: Call): Promise<unknown> {
  const [here, hosted, remote] = await Promise.all(dbs.map((db) => answerOf(db, call)));
  expect({ call, hosted, remote }).toEqual({ call, hosted: here, remote: here });
  return here;
}

const MISSING = { status: 404, name: 'not_found' };
const UNPARSED = { status: 400, name: 'query_parse_error' };

describe('views', () => {
  it('another reduce than true or false is refused of a stored view', async () => {
    const dbs = await places();
    for (const reduce of ['_sum', '_count', 'x', ' ', 'TRUE', '', [], {}, 0, 1])
      for (const view of ['v/v', 'v/r']) {
        expect(await alike(dbs, ['query', view, { reduce }])).toMatchObject(UNPARSED);
        expect(await alike(dbs, ['queries', view, [{}, { reduce }]])).toMatchObject(UNPARSED);
      }
    for (const reduce of [undefined, null, true, 'true'])
      expect(await alike(dbs, ['query', 'v/r', { reduce }])).toEqual({ rows: [{ key: null, value: 4 }] });
    for (const reduce of [false, 'false'])
      expect(await alike(dbs, ['query', 'v/r', { reduce }])).toMatchObject({ total_rows: 4 });
    // A function goes to no worker.
    for (const db of [dbs[0], dbs[2]])
      expect(await answerOf(db, ['query', 'v/r', { reduce: () => 1 }])).toMatchObject({
        ...UNPARSED,
        reason: 'Invalid value for `reduce`: of a stored view it is true or false, not a function',
      });
  });

  it('a count that is none is named', async () => {
    const dbs = await places();
    for (const name of ['limit', 'skip', 'group_level'])
      for (const value of ['', ' ', 'b', '1.5', '-1', -1, 1.5, true, [], {}])
        expect(await alike(dbs, ['query', 'v/v', { [name]: value }])).toMatchObject({
          ...UNPARSED,
          reason: expect.stringContaining(`\`${name}\``),
        });
    expect(await alike(dbs, ['query', 'v/v', { limit: '1' }])).toMatchObject({ rows: [{ id: 'w' }] });
  });

  it('what is no view is no matter of where it is asked', async () => {
    const dbs = await places();
    for (const view of [{}, { a: 1 }, { map: 1 }, [], null, undefined, 5])
      expect(await alike(dbs, ['query', view])).toMatchObject({ status: 400, name: 'bad_request' });
    for (const view of [{}, { map: 'function () {}' }, null, 5])
      expect(await alike(dbs, ['queries', view, [{}]])).toMatchObject({ status: 400, name: 'bad_request' });
  });

  it('what a design document lacks is missing of that document', async () => {
    const dbs = await places();
    const inDesign = { ...MISSING, docId: '_design/v' };
    const nowhere = { ...MISSING, docId: '_design/nope' };
    expect(await alike(dbs, ['query', 'v/nope'])).toMatchObject(inDesign);
    expect(await alike(dbs, ['query', 'nope/v'])).toMatchObject(nowhere);
    expect(await alike(dbs, ['query', 'nope', { keys: ['a'] }])).toMatchObject(nowhere);
    expect(await alike(dbs, ['queries', 'nope/v', [{}]])).toMatchObject(nowhere);
    expect(await alike(dbs, ['viewInfo', 'nope'])).toMatchObject(nowhere);
    const index = { ddoc: 'nope', name: 'n' };
    expect(await alike(dbs, ['deleteIndex', index])).toMatchObject(nowhere);
    expect(await alike(dbs, ['deleteIndex', { ...index, ddoc: '_design/idx', name: 'x' }])).toMatchObject({
      ...MISSING,
      docId: '_design/idx',
    });
  });
});

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

describe('changes', () => {
  const REFUSED = { status: 400, name: 'bad_request' };

  it('an option that is none is named before anything is asked', async () => {
    const dbs = await places();
    const wrong: Record<string, readonly unknown[]> = {
      since: ['', {}, [], true],
      limit: [1.5, '2', null, 1e20, true],
      batch_size: [-1, 1.5, '2', null, 1e20],
      seq_interval: [0, -1, 1.5, '2', 1e20],
      style: [null, '', 'x', 1],
      filter: [null, 1, {}, '_x', 'a/b/c', 'a/', '/b', '/'],
      view: [null, '', 1, {}, 'a/b/c', 'a/'],
      doc_ids: [null, 'a', {}, [1]],
      selector: [null, 'a', 1, []],
      query_params: ['a=b', 1, true, []],
      heartbeat: [0, -1, 1.5, 'x', {}],
    };
    for (const [name, values] of Object.entries(wrong))
      for (const value of values) {
        expect(await alike(dbs, ['changes', { [name]: value }])).toMatchObject(REFUSED);
        expect(await alike(dbs, ['changes', { [name]: value, live: true }])).toMatchObject(REFUSED);
      }
    for (const timeout of [-1, 1.5, 'x', true, {}])
      expect(await alike(dbs, ['changes', { timeout }])).toMatchObject(UNPARSED);
    for (const [filter, beside] of [
      ['_doc_ids', {}],
      ['_selector', {}],
      ['_view', {}],
      ['v/f', { selector: {} }],
      ['_doc_ids', { doc_ids: ['a'], selector: {} }],
    ] as const)
      expect(await alike(dbs, ['changes', { filter, ...beside }])).toMatchObject(REFUSED);
  });

  it('what a filter needs is missing of its design document', async () => {
    const dbs = await places();
    for (const options of [{ filter: 'nope' }, { filter: 'nope/f' }, { view: 'nope' }, { view: 'nope/v' }])
      expect(await alike(dbs, ['changes', options])).toMatchObject({ ...MISSING, docId: '_design/nope' });
    for (const options of [{ filter: 'v/x' }, { view: 'v/x' }])
      expect(await alike(dbs, ['changes', options])).toMatchObject({ ...MISSING, docId: '_design/v' });
  });

  it('an empty filter is none, and a wait of null the usual one', async () => {
    const dbs = await places();
    for (const options of [{ filter: '' }, { heartbeat: null, timeout: null }, { timeout: false }])
      for (const db of dbs) expect((await db.changes(options)).results).toHaveLength(6);
  });
});

describe('a handle', () => {
  const failureOf = async (db: Any): Promise<Any> => {
    const error = await db.info().catch((failure: unknown) => failure);
    await db.close().catch(() => {});
    return error;
  };

  it('refuses options that are none, here and in a worker, and of a URL those that it has', async () => {
    const Base: Any = SettleDB.defaults({ adapter: memory() });
    const Hosted: Any = hostAndPage({}, {}, contextOf(Base)).Hosted;
    let count = 0;
    for (const Handle of [Base, Hosted]) {
      for (const prefix of [5, true, {}, []])
        for (const name of ['db', `${ORIGIN}/db`])
          expect(() => new Handle(name, { prefix })).toThrow('The option `prefix` must be text');
      for (const prefix of [null, undefined, ''])
        expect(await failureOf(new Handle(`h${++count}`, { prefix }))).toMatchObject({ doc_count: 0 });
      for (const name of ['auto_compaction', 'deterministic_revs', 'evaluate'])
        for (const value of ['x', 1, 0, '', {}, []])
          expect(await failureOf(new Handle(`h${++count}`, { [name]: value }))).toMatchObject({
            status: 400,
            name: 'bad_request',
            reason: expect.stringContaining(`${name} must be`),
          });
      for (const options of [{ auto_compaction: null }, { deterministic_revs: null }, { evaluate: null }])
        expect(await failureOf(new Handle(`h${++count}`, options))).toMatchObject({ doc_count: 0 });
      expect(() => new Handle('db', 'memory')).toThrow(TypeError);
    }
    for (const compress of ['x', 1, {}])
      expect(await failureOf(new Base(`${ORIGIN}/db`, { compress }))).toMatchObject({ status: 400 });
  });

  it('refuses a text for options: get(id, rev) would answer another revision', async () => {
    const dbs = await places();
    for (const db of dbs) {
      for (const verb of ['allDocs', 'changes']) expect(() => db[verb]('a')).toThrow(TypeError);
      for (const verb of ['get', 'put', 'post', 'bulkDocs', 'query'])
        expect(() => db[verb]('a', '1-a')).toThrow(TypeError);
      for (const verb of ['getAttachment', 'openAttachment'])
        expect(() => db[verb]('w', 'x.txt', '1-a')).toThrow(TypeError);
      expect(await Promise.all(['a', 'b'].map(db.get))).toMatchObject([{ n: 0 }, { n: 1 }]);
    }
  });
});

describe('attachments', () => {
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
