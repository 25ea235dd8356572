/** Queries take what they are given as it is when they are called, whatever they have to wait for. */
import { memory } from '@settledb/adapter-memory';
import { askedNow, type ChangesResult } from '@settledb/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { name } from './handles';

type Doc = { _id: string };
const idsOf = (result: unknown): string[] => {
  const { docs, rows } = result as { docs?: Doc[]; rows?: { id: string }[] };
  return docs?.map(({ _id }) => _id) ?? rows!.map(({ id }) => id);
};

/** One way to ask for the documents of these ids. */
type Ask = (db: SettleDB, ids: string[], view: never) => Promise<unknown> | AsyncIterable<unknown>;
const byId = (doc: Doc, emit: (key: string) => void): void => emit(doc._id);
const CALLS: Record<string, Ask> = {
  find: (db, ids) => db.find({ selector: { _id: { $in: ids } } }),
  query: (db, keys, view) => db.query(view, { keys }),
  allDocs: (db, keys) => db.allDocs({ keys }),
  'live.find': (db, ids) => db.live.find({ selector: { _id: { $in: ids } } }),
  'live.query': (db, keys, view) => db.live.query(view, { keys }),
  'live.allDocs': (db, keys) => db.live.allDocs({ keys }),
};

async function answerOf(asked: Promise<unknown> | AsyncIterable<unknown>): Promise<unknown> {
  if (asked instanceof Promise) return asked;
  for await (const result of asked) return result;
}

describe.each(Object.entries(CALLS))('%s', (_, ask) => {
  it.each(['opens', 'is open'])('of a database that %s', async (state) => {
    const options = { adapter: memory() };
    const names = name();
    const one = new SettleDB(names, options);
    await one.bulkDocs([{ _id: 'a' }, { _id: 'b' }]);
    const db = state === 'opens' ? new SettleDB(names, options) : one;
    onTestFinished(() => db.close());
    const ids = ['a'];
    const asked = ask(db, ids, byId as never);
    ids[0] = 'b';
    expect(idsOf(await answerOf(asked))).toEqual(['a']);
  });
});

/** What else is given lists, or an object that a loop may use again: asked for `a` or its first revision, and then made to say something else. */
const READS: Record<string, (db: SettleDB, first: string) => Promise<unknown>> = {
  async get(db, rev) {
    const options: { rev?: string } = { rev };
    const asked = db.get('a', options);
    delete options.rev;
    return (await asked)._rev === rev && 'a';
  },
  async getAttachment(db, rev) {
    const options: { rev?: string } = { rev };
    const asked = db.getAttachment('a', 'text', options);
    delete options.rev;
    return String(await asked);
  },
  async openAttachment(db) {
    const options = { start: 0, end: 1 };
    const asked = db.openAttachment('a', 'text', options);
    options.end = 2; // of `ab`
    return new Response((await asked).stream).text();
  },
  async bulkGet(db) {
    const docs = [{ id: 'a' }];
    const asked = db.bulkGet({ docs });
    docs.length = 0;
    return (await asked).results[0]?.id;
  },
  async 'bulkGet, by its entries'(db) {
    const entry = { id: 'a' };
    const asked = db.bulkGet({ docs: [entry] });
    entry.id = 'b';
    return (await asked).results[0]?.id;
  },
  async 'allDocs with attachments'(db) {
    const keys = ['a'];
    const asked = db.allDocs({ keys, include_docs: true, attachments: true });
    keys[0] = 'b';
    return idsOf(await asked)[0];
  },
  async revsDiff(db) {
    const revs: Record<string, string[]> = { a: ['9-x'] };
    const asked = db.revsDiff(revs);
    delete revs.a;
    return Object.keys(await asked)[0];
  },
  async changes(db) {
    const options = { doc_ids: ['a'], since: 0 };
    const asked = db.changes(options);
    options.doc_ids[0] = 'b';
    options.since = 9;
    const { results } = (await asked) as ChangesResult;
    return results[0]?.id;
  },
  async replicate(db) {
    const target = new SettleDB(name(), { adapter: 'memory' });
    onTestFinished(() => target.close());
    const options = { doc_ids: ['a'] };
    const asked = db.replicate.to(target, options);
    options.doc_ids[0] = 'b';
    await asked;
    return idsOf(await target.allDocs())[0];
  },
  async sync(db) {
    const target = new SettleDB(name(), { adapter: 'memory' });
    onTestFinished(() => target.close());
    const push = { doc_ids: ['a'] };
    const asked = db.sync(target, { push });
    push.doc_ids[0] = 'b';
    await asked;
    return idsOf(await target.allDocs())[0];
  },
  async put(db) {
    const options = { new_edits: false };
    const asked = db.put({ _id: 'given', _rev: '1-abc' }, options);
    options.new_edits = true;
    return (await asked).rev === '1-abc' && 'a';
  },
  async createIndex(db) {
    const fields = ['a'];
    const asked = db.createIndex({ fields });
    fields[0] = 'b';
    await asked;
    return Object.keys((await db.getIndexes()).indexes.at(-1)!.def.fields[0]!)[0];
  },
  async deleteIndex(db) {
    const index = { ddoc: '!one', name: 'x' };
    const asked = db.deleteIndex(index);
    index.ddoc = '!other';
    await asked;
    return (await db.getIndexes()).indexes[1]!.ddoc === '_design/!other' && 'a';
  },
};

describe.each(Object.entries(READS))('%s', (_, read) => {
  it.each(['opens', 'is open', 'was queried'])('of a database that %s', async (state) => {
    const options = { adapter: memory() };
    const names = name();
    const one = new SettleDB(names, options);
    onTestFinished(() => one.close());
    const text = (data: string) => ({ text: { content_type: 'text/plain', data } });
    const { rev } = await one.put({ _id: 'a', _attachments: text('YQ==') });
    await one.put({ _id: 'a', _rev: rev, _attachments: text('YWI=') });
    await one.put({ _id: 'b' });
    const language = 'query';
    const views = {
      x: { map: { fields: { x: 'asc' } }, reduce: '_count', options: { def: { fields: ['x'] } } },
    };
    await one.bulkDocs(['one', 'other'].map((ddoc) => ({ _id: `_design/!${ddoc}`, language, views })));
    const db = state === 'opens' ? new SettleDB(names, options) : one;
    onTestFinished(() => db.close());
    if (state === 'was queried') await db.getIndexes();
    expect(await read(db, rev)).toBe('a');
  });
});

it.each(Object.entries(CALLS).slice(0, 3))('%s of a remote database', async (_, ask) => {
  const sent: string[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const text = await request.text();
    if (text.includes('"keys"') || text.includes('selector')) sent.push(text);
    const rows = request.url.includes('_all_docs') ? [{ key: 'a', error: 'not_found' }] : [];
    const body = { docs: [], rows, total_rows: 0, offset: 0, update_seq: 1, results: [], last_seq: 1 };
    return Response.json({ ...body, db_name: 'db', instance_start_time: '0' });
  };
  const db = new SettleDB('http://127.0.0.1:2/db', { fetch, skip_setup: true });
  onTestFinished(() => db.close());
  const ids = ['a'];
  const asked = ask(db, ids, 'd/v' as never);
  ids[0] = 'b';
  await answerOf(asked);
  expect(sent).toEqual([expect.stringContaining('["a"]')]);
});

it('what is taken is what was given', () => {
  const [pattern, date, { signal }] = [/a/, new Date(0), new AbortController()];
  const given = { selector: { a: { $regex: pattern }, b: date, l: [[1], { c: undefined }] }, signal };
  const taken = askedNow(given);
  expect(taken).toStrictEqual(given);
  expect(taken.selector.a.$regex).toBe(pattern);
  expect(taken.selector.b).toBe(date);
  expect(taken.signal).toBe(signal);
  expect(taken.selector.l[0]).not.toBe(given.selector.l[0]);
  const own = JSON.parse('{"__proto__": {"a": 1}}');
  expect(Object.keys(askedNow(own))).toEqual(['__proto__']);
  const cycle: Record<string, unknown> = { a: 1 };
  Object.assign(cycle, { b: cycle, c: [cycle] });
  for (const left of [
    cycle,
    null,
    undefined,
    'x',
    {
      get a() {
        throw new Error();
      },
    },
  ])
    expect(askedNow(left)).toBe(left);
});
