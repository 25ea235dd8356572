/** Where functions of views come from: the program, by name, without evaluating anything; text, only where it is allowed. */
import { memory } from '@settledb/adapter-memory';
import { evaluate } from '@settledb/core';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';

const adapter = memory();
const opened: SettleDB[] = [];
let count = 0;

/** Handles of one name share a database, and bring their own functions. */
function open(options: object, name = `functions ${++count}`): SettleDB {
  const db = new SettleDB(name, { adapter, ...options });
  opened.push(db);
  return db;
}

afterEach(async () => {
  vi.unstubAllGlobals();
  for (const db of opened.splice(0)) await db.close();
});

type Emit = (key?: unknown, value?: unknown) => void;
const byTag = (doc: { tags?: string[] }, emit: Emit): void => {
  for (const tag of doc.tags ?? []) emit(tag, 1);
};
const DOCS = [{ _id: 'a', tags: ['x', 'y'] }, { _id: 'b', tags: ['x'] }, { _id: 'c' }];
const DDOC = {
  _id: '_design/d' as const,
  views: { d: { map: 'function (doc) { emit(doc._id); }', reduce: '_count' } },
};

describe('a view of the program', () => {
  it('is asked by its name, and nothing is evaluated', async () => {
    vi.stubGlobal('Function', () => {
      throw new EvalError('forbidden');
    });
    const db = open({ views: { tags: byTag, 'd/tags': { map: byTag, reduce: '_count' } } });
    await db.bulkDocs(DOCS);
    expect((await db.query('tags', { key: 'x' })).rows).toMatchObject([{ id: 'a' }, { id: 'b' }]);
    expect((await db.query('d/tags', { group: true })).rows).toEqual([
      { key: 'x', value: 2 },
      { key: 'y', value: 1 },
    ]);
    const longest = (_: unknown, values: readonly number[]): number => Math.max(...values);
    expect((await db.query({ map: byTag, reduce: longest })).rows).toEqual([{ key: null, value: 1 }]);
  });

  it('stays through viewCleanup, and is built anew for another version', async () => {
    const name = `functions ${++count}`;
    const db = open({ views: { v: { map: byTag, version: 1 } } }, name);
    await db.bulkDocs(DOCS);
    expect((await db.query('v')).total_rows).toBe(3);
    await db.viewCleanup();
    expect((await db.query('v', { stale: 'ok' })).total_rows).toBe(3);
    const next = open({ views: { v: { map: (_: object, emit: Emit) => emit(1), version: 2 } } }, name);
    expect((await next.query('v', { stale: 'ok' })).total_rows).toBe(0);
    expect((await next.query('v')).total_rows).toBe(3);
    const same = open({ views: { v: { map: () => {}, version: 1 } } }, name);
    expect((await same.query('v', { stale: 'ok' })).total_rows).toBe(3);
  });

  it('has a version that is a text or a number: of others, two could be taken for one', async () => {
    for (const version of [{ major: 1 }, [1], null, true, () => 1]) {
      const db = open({ views: { v: { map: byTag, version: version as never } } });
      await expect(db.query('v')).rejects.toMatchObject({ status: 400, name: 'bad_request' });
    }
    for (const version of [0, 1.5, '', '2026-11'])
      expect((await open({ views: { v: { map: byTag, version } } }).query('v')).rows).toEqual([]);
  });
});

it('a view of the program belongs to nobody once the handles that define it are closed', async () => {
  const name = `functions ${++count}`;
  const db = open({}, name);
  await db.bulkDocs(DOCS);
  let mapped = 0;
  const map = (doc: { tags?: string[] }, emit: Emit): void => {
    for (const tag of doc.tags ?? []) emit(tag, ++mapped);
  };
  const views = { v: { map, version: 1, update: 'eager' as const } };
  const [one, two] = [open({ views }, name), open({ views }, name)];
  for (const handle of [one, two]) expect((await handle.query('v')).total_rows).toBe(3);
  await one.close();
  await db.viewCleanup();
  expect((await two.query('v', { stale: 'ok' })).total_rows).toBe(3);
  await two.close();
  await db.put({ _id: 'd', tags: ['z'] });
  await new Promise((resolve) => setTimeout(resolve, 300)); // Indexes follow when writes pause, eager ones at once.
  expect(mapped).toBe(3);
  await db.viewCleanup();
  const next = open({ views: { v: { map, version: 1, update: 'lazy' } } }, name);
  expect((await next.query('v', { stale: 'ok' })).total_rows).toBe(0);
});

describe('a view kept as text', () => {
  it('is refused where the program does not evaluate text, and says what to do', async () => {
    const db = open({});
    await db.bulkDocs([...DOCS, DDOC]);
    const refusal = {
      status: 501,
      name: 'not_implemented',
      message: expect.stringContaining('settledb/eval'),
    };
    await expect(db.query('d')).rejects.toMatchObject(refusal);
    await expect(db.query({ map: DDOC.views.d.map })).rejects.toMatchObject(refusal);
    const text = 'function () { return 1; }';
    await expect(db.query(byTag, { reduce: text })).rejects.toMatchObject(refusal);
    expect((await db.query(byTag, { reduce: '_count' })).rows).toEqual([{ key: null, value: 3 }]);
    expect(await db.viewCleanup()).toEqual({ ok: true });
    expect((await db.viewInfo('d')).name).toBe('d');
  });

  it('is evaluated where the program says so, by each handle for itself', async () => {
    const name = `functions ${++count}`;
    const db = open({ evaluate }, name);
    await db.bulkDocs([...DOCS, DDOC]);
    expect((await db.query('d')).rows).toEqual([{ key: null, value: 3 }]);
    await expect(open({}, name).query('d')).rejects.toMatchObject({ status: 501 });
    // What another handle built is an index like any other: it is kept by those who may not evaluate it.
    await open({}, name).viewCleanup();
    expect((await db.query('d', { stale: 'ok', reduce: false })).total_rows).toBe(3);
  });

  it('says that the page forbids it, where it does', async () => {
    vi.stubGlobal('Function', () => {
      throw new EvalError('forbidden');
    });
    const db = open({ evaluate });
    await db.bulkDocs([DDOC]);
    await expect(db.query('d')).rejects.toMatchObject({
      status: 501,
      message: expect.stringContaining('unsafe-eval'),
    });
  });
});
