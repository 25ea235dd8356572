/**
 * A `signal` that is none: it would end nothing. Every verb says so at once, in the same words, wherever the database is; and a signal of
 * another realm, such as an iframe or jsdom, is one.
 */
import { runInNewContext } from 'node:vm';
import { memory } from '@settledb/adapter-memory';
import { afterEach, describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { contextOf } from '../../packages/settledb/src/hosting';
import { ORIGIN, testServer } from '../remote/support';
import { hostAndPage } from '../worker/support';

// biome-ignore lint/suspicious/noExplicitAny: what types would not let through is what this is about
type Any = any;

const opened: Any[] = [];
const keep = (db: Any): Any => {
  opened.push(db);
  return db;
};
afterEach(() => Promise.all(opened.splice(0).map((db) => db.close())));

const PLACES: Record<string, () => Any> = {
  here: () => keep(new SettleDB('odd', { adapter: memory() })),
  'behind a URL': () => keep(new SettleDB(`${ORIGIN}/odd`, { fetch: testServer().fetch })),
  'in a worker': () => {
    const { Hosted } = hostAndPage({}, {}, contextOf(SettleDB.defaults({ adapter: memory() }) as never));
    return keep(new Hosted('odd'));
  },
};

/** Each verb, with options. */
const CALLS: Record<string, (db: Any, options: object) => unknown> = {
  get: (db, options) => db.get('a', options),
  put: (db, options) => db.put({ _id: 'b' }, options),
  post: (db, options) => db.post({}, options),
  remove: (db, options) => db.remove('a', '1-a', options),
  'remove of a document': (db, options) => db.remove({ _id: 'a', _rev: '1-a' }, options),
  bulkDocs: (db, options) => db.bulkDocs([{ _id: 'b' }], options),
  bulkGet: (db, options) => db.bulkGet({ docs: [{ id: 'a' }], ...options }),
  allDocs: (db, options) => db.allDocs(options),
  changes: (db, options) => db.changes(options),
  'live changes': (db, options) => db.changes({ live: true, ...options }),
  revsDiff: (db, options) => db.revsDiff({ a: ['1-a'] }, options),
  info: (db, options) => db.info(options),
  id: (db, options) => db.id(options),
  putAttachment: (db, options) => db.putAttachment('b', 'f', undefined, 'eA==', 'text/plain', options),
  getAttachment: (db, options) => db.getAttachment('a', 'f', options),
  openAttachment: (db, options) => db.openAttachment('a', 'f', options),
  removeAttachment: (db, options) => db.removeAttachment('a', 'f', '1-a', options),
  compact: (db, options) => db.compact(options),
  purge: (db, options) => db.purge('a', '1-a', options),
  query: (db, options) => db.query('v/v', options),
  queries: (db, options) => db.queries('v/v', [{}], options),
  viewCleanup: (db, options) => db.viewCleanup(options),
  viewInfo: (db, options) => db.viewInfo('v', options),
  createIndex: (db, options) => db.createIndex({ fields: ['n'] }, options),
  getIndexes: (db, options) => db.getIndexes(options),
  deleteIndex: (db, options) => db.deleteIndex({ ddoc: 'v', name: 'v' }, options),
  find: (db, options) => db.find({ selector: {}, ...options }),
  explain: (db, options) => db.explain({ selector: {}, ...options }),
  'live.find': (db, options) => db.live.find({ selector: {}, ...options }),
  'live.query': (db, options) => db.live.query('v/v', options),
  'live.allDocs': (db, options) => db.live.allDocs(options),
  dump: (db, options) => db.dump(options),
  load: (db, options) => db.load('{}', options),
  writeSnapshot: (db, options) => db.writeSnapshot(() => {}, options),
  loadSnapshot: (db, options) => db.loadSnapshot('http://127.0.0.1:9/manifest.json', options),
  'replicate.to': (db, options) => db.replicate.to(db, options),
  'replicate.from': (db, options) => db.replicate.from(db, options),
  sync: (db, options) => db.sync(db, options),
  'sync, one way': (db, options) => db.sync(db, { push: options }),
  'SettleDB.replicate': (db, options) => db.constructor.replicate(db, db, options),
  'SettleDB.sync': (db, options) => db.constructor.sync(db, db, options),
  destroy: (db, options) => db.destroy(options),
};

/** Feeds complete as cancelled, and live results are made before anything is asked. */
const endsByReason = (verb: string): boolean => !/changes|live|sync|replicate/i.test(verb);

/** Also of what is thrown at once. */
async function failureOf(call: () => unknown): Promise<unknown> {
  try {
    return { answered: await call() };
  } catch (error) {
    return error;
  }
}

describe.each(Object.entries(PLACES))('of a database %s', (_, place) => {
  it.each(Object.entries(CALLS))('%s refuses a signal that is none', async (_verb, call) => {
    const db = place();
    for (const isOpen of [false, true]) {
      if (isOpen) await db.info();
      for (const signal of [new AbortController(), true, 'x', 1, {}, () => {}, { aborted: false }]) {
        const error = (await failureOf(() => call(db, { signal }))) as TypeError;
        expect([signal, isOpen, error]).toEqual([signal, isOpen, expect.any(TypeError)]);
        expect(error.message).toMatch(/`signal` must be an AbortSignal/);
      }
    }
    expect(await db.info()).toMatchObject({ doc_count: 0 });
  });

  it.each(
    Object.entries(CALLS).filter(([verb]) => endsByReason(verb)),
  )('%s ends by the reason of a signal that was aborted before, also where there is nothing to find', async (_verb, call) => {
    const db = place();
    await db.info();
    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);
    const answer = async () => {
      const made = await call(db, { signal });
      // A dump is a stream of bytes.
      return made instanceof ReadableStream ? made.getReader().read() : made;
    };
    expect(await failureOf(answer)).toBe(reason);
    expect(await db.info()).toMatchObject({ doc_count: 0 });
  });

  it('a signal is a field of a document, and an id, like any other', async () => {
    const db = place();
    const [{ rev }] = await db.bulkDocs([{ _id: 'a', signal: 'x' }]);
    await db.put({ _id: 'signal', signal: true });
    expect(await db.revsDiff({ signal: ['1-a'] })).toMatchObject({ signal: { missing: ['1-a'] } });
    expect(await db.remove({ _id: 'a', _rev: rev, signal: 1 })).toMatchObject({ ok: true });
    expect((await db.post({ signal: {} })).ok).toBe(true);
  });

  it('a signal of another realm is one', async () => {
    const db = place();
    await db.put({ _id: 'a' });
    const { controller, signal } = ofAnotherRealm();
    expect(signal).not.toBeInstanceOf(AbortSignal);
    expect(await db.get('a', { signal })).toMatchObject({ _id: 'a' });
    expect(await db.bulkGet({ docs: [{ id: 'a' }], signal })).toMatchObject({ results: [{ id: 'a' }] });
    const live = db.changes({ live: true, signal });
    const sync = db.sync('http://127.0.0.1:9/other', { live: true, retry: true, signal });
    await new Promise((resolve) => live.once('change', resolve));
    controller.abort();
    expect(await live).toEqual({ status: 'cancelled' });
    expect(await sync).toMatchObject({ push: { status: 'cancelled' }, pull: { status: 'cancelled' } });
    await expect(db.allDocs({ signal })).rejects.toBe(signal.reason);
  });
});

/** What jsdom has: an `AbortSignal` that is an `EventTarget` of its own making. */
function ofAnotherRealm(): { controller: { abort(): void }; signal: AbortSignal } {
  return runInNewContext(`
    const listeners = new Set();
    const signal = {
      aborted: false,
      reason: undefined,
      addEventListener(type, listener) { listeners.add(listener); },
      removeEventListener(type, listener) { listeners.delete(listener); },
      throwIfAborted() { if (this.aborted) throw this.reason; },
    };
    const abort = () => {
      signal.aborted = true;
      signal.reason = new Error('ended');
      for (const listener of listeners) listener();
    };
    Object.setPrototypeOf(signal, { constructor: class AbortSignal {} });
    ({ controller: { abort }, signal });
  `) as never;
}
