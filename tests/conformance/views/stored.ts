/** Views in design documents: found, changed, shared, cleaned up (contract §12). */
import { expect, it, vi } from 'vitest';
import type { Context } from '../database/context';
import { NOT_FOUND, numbered, refused, rejection } from '../database/expectations';
import { fresh, keysOf, pair, type ViewsDatabase, valuesOf } from './support';

const ID_MAP = 'function (doc) { emit(doc._id); }';

export function storedConformance(context: Context): void {
  it("is named 'ddoc/view', or 'name' for 'name/name'", async () => {
    const db = fresh(context);
    await db.bulkDocs([
      { _id: 'a' },
      { _id: '_design/one', views: { one: { map: ID_MAP }, two: { map: 'function () { emit(2); }' } } },
    ]);
    expect(keysOf(await db.query('one/one'))).toEqual(['a']);
    expect(keysOf(await db.query('one'))).toEqual(['a']);
    expect(keysOf(await db.query('one/two'))).toEqual([2]);
  });

  it('is named by all behind the first slash, also with `_design/` before it', async () => {
    const db = fresh(context);
    const views = { 'v/w': { map: 'function () { emit(1); }' }, v: { map: 'function () { emit(2); }' } };
    const w = { map: 'function () { emit(3); }' };
    await db.bulkDocs([{ _id: 'a' }, { _id: '_design/d', views }, { _id: '_design/d/v', views: { w } }]);
    for (const name of ['d/v/w', '_design/d/v/w']) expect(keysOf(await db.query(name)), name).toEqual([1]);
    for (const name of ['d/v', '_design/d/v']) expect(keysOf(await db.query(name)), name).toEqual([2]);
    await refused(db.query('d/v/x'), NOT_FOUND);
  });

  it('is missing without its document, its views, itself', async () => {
    const db = fresh(context);
    const { rev } = await db.put({ _id: '_design/gone', views: { v: { map: ID_MAP } } });
    await db.remove('_design/gone', rev);
    await db.bulkDocs([
      { _id: '_design/bare' },
      { _id: '_design/empty', views: {} },
      { _id: '_design/null', views: null },
      { _id: '_design/odd', views: { v: null } },
    ]);
    for (const name of [
      'nope',
      'nope/v',
      'gone/v',
      'bare/v',
      'empty/v',
      'null/v',
      'odd/v',
      'empty/constructor',
      'empty/__proto__',
    ])
      await refused(db.query(name), NOT_FOUND);
  });

  it('is not asked for without a name', async () => {
    const db = fresh(context);
    for (const name of ['', '/', 'd/', '/v'])
      await refused(db.query(name), {
        status: 400,
        name: 'bad_request',
        reason: 'A query needs the name of a view',
      });
  });

  it('rejects functions that are none', async () => {
    const db = fresh(context);
    await db.bulkDocs([
      { _id: 'a' },
      {
        _id: '_design/d',
        views: {
          number: { map: 5 },
          object: { map: {} },
          none: {},
          text: { map: 'nonsense (' },
          value: { map: '5' },
          reduce: { map: ID_MAP, reduce: 5 },
        },
      },
    ]);
    for (const view of ['number', 'object', 'none', 'text', 'value', 'reduce'])
      expect((await rejection(db.query(`d/${view}`))).status).toBeGreaterThanOrEqual(400);
  });

  it('is reduced by default when it has a reduce', async () => {
    const db = fresh(context);
    await db.bulkDocs([
      { _id: 'a' },
      { _id: 'b' },
      { _id: '_design/d', views: { d: { map: ID_MAP, reduce: '_count' } } },
    ]);
    expect(await db.query('d')).toEqual({ rows: [{ key: null, value: 2 }] });
    expect(keysOf(await db.query('d', { reduce: false }))).toEqual(['a', 'b']);
  });

  it('is another after its map was changed', async () => {
    const db = fresh(context);
    await db.bulkDocs([
      { _id: 'a', n: 1 },
      { _id: 'b', n: 2 },
    ]);
    const first = await db.put({
      _id: '_design/d',
      views: { d: { map: 'function (doc) { emit(doc.n); }' } },
    });
    expect(keysOf(await db.query('d'))).toEqual([1, 2]);
    await db.put({
      _id: '_design/d',
      _rev: first.rev,
      views: { d: { map: 'function (doc) { emit(-doc.n); }' } },
    });
    expect(keysOf(await db.query('d'))).toEqual([-2, -1]);
    await db.viewCleanup();
    expect(keysOf(await db.query('d'))).toEqual([-2, -1]);
  });

  it('may be in many documents', async () => {
    const db = fresh(context);
    await db.bulkDocs([
      { _id: 'a' },
      ...numbered(10).map((i) => ({ _id: `_design/d${i}`, views: { v: { map: ID_MAP } } })),
    ]);
    const results = await Promise.all(numbered(10).map((i) => db.query(`d${i}/v`)));
    for (const result of results)
      expect(result).toEqual({ total_rows: 1, offset: 0, rows: [{ id: 'a', key: 'a', value: null }] });
  });

  it('answers what is indexed when stale, and builds when asked to afterwards', async () => {
    const db = fresh(context);
    // It must not follow by itself: between a write and a question a busy machine takes as long as an index waits to do so.
    const ddoc = { _id: '_design/d', autoupdate: false, views: { d: { map: ID_MAP } } };
    expect(await db.put(ddoc)).toMatchObject({ ok: true });
    await db.put({ _id: 'a' });
    const none = { total_rows: 0, offset: 0, rows: [] };
    expect(await db.query('d', { stale: 'ok' })).toEqual(none);
    expect(await db.query('d', { update: false })).toEqual(none);
    const built = new Promise<void>((resolve) => {
      db.on('indexing', ({ last_seq }: { last_seq?: number }) => last_seq !== undefined && resolve());
    });
    expect(await db.query('d', { stale: 'update_after' })).toEqual(none);
    if (context.features.viewEvents) await built;
    else await vi.waitFor(async () => expect((await db.viewInfo('d')).view_index).toMatchObject({ rows: 1 }));
    expect(keysOf(await db.query('d', { stale: 'ok' }))).toEqual(['a']);
    await db.put({ _id: 'b' });
    expect(keysOf(await db.query('d', { update: 'lazy' }))).toEqual(['a']);
    expect(keysOf(await db.query('d'))).toEqual(['a', 'b']);
  });

  it('cleans up on an empty database, repeatedly, and keeps what is in use', async () => {
    const db = fresh(context);
    expect(await db.viewCleanup()).toEqual({ ok: true });
    const { rev } = await db.put({
      _id: '_design/old',
      views: { v: { map: 'function (doc) { emit(1, doc.n); }', reduce: '_sum' } },
    });
    await db.put({ _id: '_design/d', views: { d: { map: ID_MAP, reduce: '_count' } } });
    await db.bulkDocs(numbered(400).map((n) => ({ _id: `a${n}`, n })));
    expect(valuesOf(await db.query('d'))).toEqual([400]);
    expect(valuesOf(await db.query('old/v'))).toEqual([79_800]);
    await db.remove('_design/old', rev);
    expect(await Promise.all([db.viewCleanup(), db.viewCleanup()])).toEqual([{ ok: true }, { ok: true }]);
    expect((await db.query('d', { stale: 'ok', reduce: false })).total_rows).toBe(400);
    await db.put({
      _id: '_design/again',
      views: { v: { map: 'function (doc) { emit(1, doc.n); }', reduce: '_sum' } },
    });
    expect(await db.query('again/v', { stale: 'ok', reduce: false })).toMatchObject({ total_rows: 0 });
    expect(valuesOf(await db.query('again/v'))).toEqual([79_800]);
  });

  it('can be queried while others are made and cleaned up', async () => {
    const db = fresh(context);
    await db.bulkDocs(numbered(30).map((n) => ({ _id: `a${n}`, n })));
    const work = async (i: number, handle: ViewsDatabase): Promise<void> => {
      const map = `function (doc) { emit(doc.n * ${i}); }`;
      const { rev } = await handle.put({ _id: `_design/d${i}`, views: { v: { map } } });
      expect((await handle.query(`d${i}/v`)).rows).toHaveLength(30);
      if (i % 2 === 0) await handle.viewCleanup();
      expect(keysOf(await handle.query(`d${i}/v`, { limit: 2 }))).toEqual([0, i]);
      if (i % 3 === 0) await handle.remove(`_design/d${i}`, rev);
    };
    await Promise.all(numbered(20).map((i) => work(i + 1, db)));
    await db.viewCleanup();
    expect(keysOf(await db.query('d1/v', { limit: 2, stale: 'ok' }))).toEqual([0, 1]);
  });

  it('goes with its database, and does not come back with another of that name', async () => {
    const name = context.name();
    const one = context.open(name) as ViewsDatabase;
    const ddoc = { _id: '_design/d', views: { d: { map: ID_MAP } } };
    await one.bulkDocs([{ _id: 'a' }, ddoc]);
    expect(keysOf(await one.query('d'))).toEqual(['a']);
    await one.destroy();
    const two = context.open(name) as ViewsDatabase;
    await two.bulkDocs([{ _id: 'b' }, ddoc]);
    expect(keysOf(await two.query('d', { stale: 'ok' }))).toEqual([]);
    expect(keysOf(await two.query('d'))).toEqual(['b']);
  });

  it('is there after closing and opening', async () => {
    const name = context.name();
    const keeper = context.open(name); // Memory lasts as long as somebody holds it.
    await keeper.info();
    const one = context.open(name) as ViewsDatabase;
    await one.bulkDocs([{ _id: 'a' }, { _id: '_design/d', views: { d: { map: ID_MAP } } }]);
    await one.query('d');
    await one.close();
    const two = context.open(name) as ViewsDatabase;
    expect(keysOf(await two.query('d', { stale: 'ok' }))).toEqual(['a']);
  });

  it('is seen alike by two handles', async () => {
    const [one, two] = pair(context);
    await one!.bulkDocs([{ _id: 'a' }, { _id: '_design/d', views: { d: { map: ID_MAP } } }]);
    expect(keysOf(await two!.query('d'))).toEqual(['a']);
    await two!.put({ _id: 'b' });
    expect(keysOf(await one!.query('d'))).toEqual(['a', 'b']);
  });

  it('tells how far its indexes are', async () => {
    const db = fresh(context);
    const map = 'function (doc) { emit(doc.n.x); }';
    await db.bulkDocs([{ _id: 'a', n: { x: 1 } }, { _id: 'b' }, { _id: '_design/d', views: { d: { map } } }]);
    await db.query('d');
    const { name, view_index } = await db.viewInfo('d');
    expect(name).toBe('d');
    expect(view_index).toMatchObject({
      update_seq: (await db.info()).update_seq,
      updater_running: false,
      rows: 1,
      map_errors: 1,
      language: 'javascript',
    });
    expect(typeof view_index.signature).toBe('string');
    await refused(db.viewInfo('nope'), NOT_FOUND);
    for (const wrong of [null, undefined, 1, {}])
      expect(await rejection(db.viewInfo(wrong as never))).toMatchObject({
        status: 400,
        name: 'bad_request',
      });
  });
}
