/**
 * Options that are null, empty or of another type than is meant: a database behind a URL answers them as a local one does, or both
 * refuse them. Asked of both, with the same documents.
 */
import { memory } from '@settledb/adapter-memory';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { evaluate } from '../../packages/settledb/src/eval';
import { DESIGN, ORIGIN, testServer } from './support';

// biome-ignore lint/suspicious/noExplicitAny: what types would not let through is what this is about
type Any = any;

const server = testServer({ runStoredFunctions: true });
const here: Any = new SettleDB('here', { adapter: memory(), evaluate });
const there: Any = new SettleDB(`${ORIGIN}/there`, { fetch: server.fetch });

beforeAll(async () => {
  for (const db of [here, there]) {
    const docs = ['a', 'b', 'c', 'd', 'e'].map((_id, n) => ({ _id, n, m: n % 2 ? null : n }));
    await db.bulkDocs([...docs, DESIGN]);
    await db.bulkDocs([{ _id: 'a', _rev: '1-00', n: 9 }], { new_edits: false });
    await db.remove(await db.get('e'));
  }
});
afterAll(() => Promise.all([here.close(), there.close()]));

const ODD: readonly unknown[] = [null, undefined, '', [], [null], 'b', 0, 1, true, false];

/** What it answers, without what may differ; or the status it refuses with. */
async function answerOf(db: Any, verb: string, args: readonly unknown[]): Promise<unknown> {
  try {
    const answer = await db[verb](...args);
    return JSON.parse(
      JSON.stringify(answer, (key, value) =>
        /^(offset|pending|warning|bookmark)$/.test(key) ? undefined : value,
      ),
    );
  } catch (error) {
    return (error as Any).status ?? error;
  }
}

const failure = (answer: Promise<unknown>): Promise<unknown> => answer.catch((error: unknown) => error);

async function differing(verb: string, calls: readonly (readonly unknown[])[]): Promise<unknown[]> {
  const differences: unknown[] = [];
  for (const args of calls) {
    const [local, remote] = [await answerOf(here, verb, args), await answerOf(there, verb, args)];
    try {
      expect(remote).toEqual(local);
    } catch {
      differences.push({ args, local, remote });
    }
  }
  return differences;
}

/** Each option with each value, alone and beside others. */
const each = (names: readonly string[], beside: readonly object[], odd = ODD): object[] =>
  names.flatMap((name) => odd.flatMap((value) => beside.map((others) => ({ ...others, [name]: value }))));

describe('an option that is null, empty or no such thing means behind a URL what it means here', () => {
  it('of allDocs', async () => {
    const keys = ['key', 'keys', 'startkey', 'start_key', 'endkey', 'end_key'];
    const bounds = each(keys, [
      {},
      { descending: true },
      { startkey: 'b' },
      { end_key: 'c', inclusive_end: false },
      { keys: ['a', 'e', 'z'], include_docs: true },
    ]);
    const flags = ['include_docs', 'conflicts', 'attachments', 'descending', 'inclusive_end', 'update_seq'];
    const counts = each(['limit', 'skip'], [{}, { keys: ['a', 'b'] }]);
    const calls = [...bounds, ...each(flags, [{}, { include_docs: true, startkey: 'b' }]), ...counts];
    expect(
      await differing(
        'allDocs',
        calls.map((options) => [options]),
      ),
    ).toEqual([]);
  });

  it('of allDocs: a key of null is nobody’s, as here', async () => {
    for (const db of [here, there]) {
      expect((await db.allDocs({ key: null })).rows).toEqual([]);
      expect((await db.allDocs({ endkey: null })).rows).toEqual([]);
      expect((await db.allDocs({ startkey: null })).rows).toHaveLength(5);
      expect((await db.allDocs({ keys: [null, 'a'] })).rows[0]).toEqual({ key: null, error: 'not_found' });
    }
  });

  it('of query', async () => {
    const names = ['key', 'keys', 'startkey', 'endkey', 'start_key', 'end_key', 'limit', 'skip', 'reduce'];
    const more = ['group', 'group_level', 'stale', 'include_docs', 'update_seq', 'inclusive_end'];
    const options = each([...names, ...more], [{}, { startkey: 1 }], [null, undefined, '', []]);
    const calls = ['v/v', 'v/r'].flatMap((view) => options.map((given) => [view, given]));
    expect(await differing('query', calls)).toEqual([]);
    const several = options.map((given) => ['v/v', [given]]);
    expect(await differing('queries', several)).toEqual([]);
    expect(await differing('query', [[[]], [null], [undefined]])).toEqual([]);
  });

  it('of changes', async () => {
    const names = ['since', 'limit', 'batch_size', 'style', 'filter', 'doc_ids', 'selector', 'view'];
    const more = ['include_docs', 'conflicts', 'attachments', 'descending', 'query_params', 'return_docs'];
    const waits = ['heartbeat', 'timeout', 'seq_interval'];
    const filters = [
      {},
      { filter: 'v/f' },
      { filter: '_design' },
      { filter: '_doc_ids', doc_ids: ['a', 'b'] },
      { filter: '_selector', selector: { n: 1 } },
      { view: 'v/v' },
      { filter: ({ n }: Any) => n > 1 },
    ];
    const options = each([...names, ...more, ...waits], filters, [null, undefined, '', []]);
    const calls = options.map((given) => [given]);
    expect(await differing('changes', calls)).toEqual([]);
  });

  it('of find', async () => {
    const names = [
      'selector',
      'fields',
      'sort',
      'limit',
      'skip',
      'bookmark',
      'use_index',
      'update',
      'conflicts',
    ];
    const all = each(names, [{ selector: { n: { $gt: 1 } } }, { selector: { m: null } }]);
    // An index that is not there is a hint to a server, as to CouchDB, and refused here (contract §13).
    const options = all.filter((asked) => !('use_index' in asked && asked.use_index === 'b'));
    expect(
      await differing(
        'find',
        options.map((given) => [given]),
      ),
    ).toEqual([]);
  });

  it('of openAttachment: no end is the end of the content', async () => {
    for (const db of [here, there]) {
      await db.putAttachment('with', 'f', undefined, 'eHl6', 'text/plain');
      for (const range of [{ end: null }, { end: undefined }, { start: 1, end: null }]) {
        const { stream } = await db.openAttachment('with', 'f', range);
        expect(await new Response(stream).text()).toBe('start' in range ? 'yz' : 'xyz');
      }
      const [error] = await Promise.allSettled([db.openAttachment('with', 'f', { end: 0 })]);
      expect(error).toMatchObject({ reason: { status: 416 } });
    }
  });

  it('is told as it was given, where JSON has another text for it, or none', async () => {
    const cycle: Any = {};
    cycle.cycle = cycle;
    const odd = [
      [Number.NaN, 'NaN'],
      [Number.POSITIVE_INFINITY, 'Infinity'],
      [() => 1, 'a function'],
    ] as const;
    for (const [value, text] of [...odd, [cycle, 'an object that is no JSON'], [10n, '10']] as const) {
      const named = new RegExp(`(not:?|for limit:) ${text}$`);
      const refused = expect.objectContaining({ status: 400, reason: expect.stringMatching(named) });
      for (const db of [here, there]) expect(await failure(db.allDocs({ limit: value }))).toEqual(refused);
      // What goes to a server as JSON it sees as that.
      for (const name of ['limit', 'fields', 'sort'])
        expect(await failure(here.find({ selector: {}, [name]: value }))).toEqual(refused);
    }
  });

  it('is nothing that JSON leaves out: the server is not asked as if it had not been given', async () => {
    const left = [() => 1, Symbol('s')];
    const keys = left.flatMap((odd) => [
      ...['key', 'keys', 'startkey', 'endkey'].map((name) => ({ [name]: odd })),
      { startkey: 1, endkey: odd },
      { key: [1, odd] },
      { keys: [1, odd] },
    ]);
    const calls = keys.flatMap((options) => ['v/v', 'v/r'].map((view) => [view, options]));
    expect(await differing('query', calls)).toEqual([]);
    expect(
      await differing(
        'queries',
        keys.map((options) => ['v/v', [options]]),
      ),
    ).toEqual([]);
    for (const db of [here, there]) {
      const refused = { status: 400, reason: '`keys` member must be an array.' };
      expect(await failure(db.query('v/v', { keys: left[0] }))).toMatchObject(refused);
    }
    const requests = [...left, Number.NaN].flatMap((odd) =>
      ['selector', 'fields', 'sort', 'limit', 'skip', 'bookmark', 'use_index', 'update'].map((name) => [
        { selector: {}, [name]: odd },
      ]),
    );
    for (const verb of ['find', 'explain']) expect(await differing(verb, requests)).toEqual([]);
    expect(await failure(there.find({ selector: {}, bookmark: left[0] }))).toMatchObject({
      status: 400,
      reason: 'Cannot be written as JSON: bookmark is a function',
    });
    const indexes = [...left, Number.NaN].flatMap((odd) =>
      ['name', 'ddoc', 'type', 'partial_filter_selector'].flatMap((name) => [
        [{ fields: ['n'], [name]: odd }],
        [{ index: { fields: ['n'], [name]: odd } }],
      ]),
    );
    expect(await differing('createIndex', indexes)).toEqual([]);
  });

  it('of bulkGet is refused for its entry alone, and of an attachment for the document', async () => {
    for (const odd of [() => 1, Symbol('s')]) {
      const entries = [{ id: 'a', rev: odd }, { id: 'a', atts_since: odd }, { id: 'b' }];
      expect(await differing('bulkGet', [[{ docs: entries }]])).toEqual([]);
    }
    for (const odd of [() => 1, Symbol('s'), 10n, new Date(0)]) {
      const docs = [{ _id: 'with odd', _attachments: { f: odd } }];
      expect(await differing('put', [docs])).toEqual([]);
      expect(await differing('bulkDocs', [[docs]])).toEqual([]);
      for (const db of [here, there]) expect(await answerOf(db, 'get', ['with odd'])).toBe(404);
    }
  });

  it('is no JSON, and is refused as that', async () => {
    const cycle: Any = {};
    cycle.cycle = cycle;
    const refused = (status: number) => expect.objectContaining({ status });
    for (const db of [here, there])
      for (const odd of [cycle, 10n]) {
        expect(await failure(db.query('v/v', { key: odd }))).toEqual(refused(400));
        expect(await failure(db.query('v/v', { startkey: [odd] }))).toEqual(refused(400));
        expect(await failure(db.find({ selector: { n: odd } }))).toEqual(refused(400));
        expect(await failure(db.find({ selector: {}, fields: odd }))).toEqual(refused(400));
        expect(await failure(db.createIndex({ fields: odd }))).toEqual(refused(400));
      }
  });

  it('of a live feed: a wait of null is the usual one', async () => {
    for (const db of [here, there]) {
      const feed = db.changes({ live: true, since: 'now', heartbeat: null, timeout: null });
      const heard = (async () => {
        for await (const { id } of feed) return id;
      })();
      // When it has begun nobody says: one is written after the other until the feed tells of one.
      let isOver = false;
      const told = heard.finally(() => {
        isOver = true;
      });
      for (let n = 0; !isOver; n++) {
        await db.put({ _id: `new ${n}`, n: 1 });
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      expect(await told).toMatch(/^new \d+$/);
    }
  });
});
