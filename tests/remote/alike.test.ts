/**
 * One program, three places: what is asked of a database here, of one in a worker and of one behind a URL is answered alike, and what is
 * wrong with a call is said in the same words. Of documents: alike-documents.test.ts.
 */
import { memory } from '@settledb/adapter-memory';
import { describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { contextOf } from '../../packages/settledb/src/hosting';
import { hostAndPage } from '../worker/support';
import { type Any, alike, answerOf, places } from './alike';
import { ORIGIN } from './support';

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

  it('however many changes are asked for at a time, they are given', async () => {
    const dbs = await places();
    for (const many of [1, 2 ** 31, Number.MAX_SAFE_INTEGER])
      for (const db of dbs)
        expect((await db.changes({ batch_size: many, seq_interval: many })).results).toHaveLength(6);
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
