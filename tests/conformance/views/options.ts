/** Which rows a query answers (contract §12). */
import { describe, expect, it } from 'vitest';
import type { Context } from '../database/context';
import { Day, numbered, rejection } from '../database/expectations';
import { type Asked, fresh, idsOf, keysOf, type ViewsDatabase, waysOf } from './support';

const VIEW: Asked = { map: 'function (doc) { emit(doc.n, null); }' };

/** Ten documents `d0` … `d9` with `n` 0, 0, 1, 1 … 4. */
async function tens(context: Context): Promise<ViewsDatabase> {
  const db = fresh(context);
  await db.bulkDocs(numbered(10).map((i) => ({ _id: `d${i}`, n: Math.floor(i / 2) })));
  return db;
}

export function optionsConformance(context: Context): void {
  for (const [way, ask] of waysOf(context)) {
    describe(way, () => {
      it('takes keys that write their own JSON: dates, and those of libraries', async () => {
        const db = fresh(context);
        await db.bulkDocs([0, 1, 2].map((n) => ({ _id: `d${n}`, n: new Date(n) })));
        for (const options of [
          { key: new Day(1) },
          { key: new Date(1) },
          { startkey: new Day(1), endkey: new Day(1) },
          { keys: [new Day(1), ['x', new Day(1)]] },
        ])
          expect(idsOf(await ask(db, VIEW, options)), JSON.stringify(options)).toEqual(['d1']);
      });

      it('takes a hole in the keys, and one that is undefined, as null', async () => {
        const db = fresh(context);
        await db.bulkDocs([null, 1].map((n, i) => ({ _id: `d${i}`, n })));
        for (const keys of [Object.assign([], { 1: 1 }), [undefined, 1]])
          expect(idsOf(await ask(db, VIEW, { keys: keys as never }))).toEqual(['d0', 'd1']);
      });

      it.each([
        ['key', { key: 2 }, 'd4 d5'],
        ['key, not there', { key: 'x' }, ''],
        ['key undefined', { key: undefined, limit: 1 }, 'd0'],
        ['startkey', { startkey: 3 }, 'd6 d7 d8 d9'],
        ['start_key', { start_key: 3 }, 'd6 d7 d8 d9'],
        ['endkey', { endkey: 1 }, 'd0 d1 d2 d3'],
        ['end_key', { end_key: 0 }, 'd0 d1'],
        ['between keys', { startkey: 0.5, endkey: 1.5 }, 'd2 d3'],
        ['inclusive_end', { startkey: 1, endkey: 2, inclusive_end: false }, 'd2 d3'],
        [
          'inclusive_end, descending',
          { startkey: 2, endkey: 1, inclusive_end: false, descending: true },
          'd5 d4',
        ],
        ['startkey_docid', { startkey: 1, startkey_docid: 'd3', endkey: 2 }, 'd3 d4 d5'],
        ['startkey_docid beyond', { startkey: 1, startkey_docid: 'd3x', endkey: 2 }, 'd4 d5'],
        ['endkey_docid', { startkey: 1, endkey: 2, endkey_docid: 'd4' }, 'd2 d3 d4'],
        [
          'endkey_docid, exclusive',
          { startkey: 1, endkey: 2, endkey_docid: 'd5', inclusive_end: false },
          'd2 d3 d4',
        ],
        [
          'docids, descending',
          { startkey: 2, startkey_docid: 'd4', endkey: 1, endkey_docid: 'd3', descending: true },
          'd4 d3',
        ],
        ['descending', { descending: true, limit: 3 }, 'd9 d8 d7'],
        ['descending from', { descending: true, startkey: 1 }, 'd3 d2 d1 d0'],
        ['null as a bound', { startkey: null, limit: 2 }, 'd0 d1'],
        ['null as an end', { endkey: null }, ''],
        ['an empty text as an end', { endkey: '', startkey: 4 }, 'd8 d9'],
        ['skip and limit', { skip: 3, limit: 2 }, 'd3 d4'],
        ['numbers as text', { skip: '3', limit: '2' }, 'd3 d4'],
        ['limit 0', { limit: 0 }, ''],
        ['skip beyond', { skip: 20 }, ''],
        ['skip and limit, descending', { skip: 1, limit: 2, descending: true }, 'd8 d7'],
        ['keys', { keys: [4, 0, 7] }, 'd8 d9 d0 d1'],
        ['keys, doubled', { keys: [1, 1] }, 'd2 d3 d2 d3'],
        ['keys, none', { keys: [] }, ''],
        ['keys, skip and limit', { keys: [4, 0, 7, 1], skip: 1, limit: 4 }, 'd9 d0 d1 d2'],
        ['keys, descending', { keys: [4, 0], descending: true }, 'd1 d0 d9 d8'],
      ])('answers %s', async (_, options, ids) => {
        const db = await tens(context);
        const result = await ask(db, VIEW, options);
        expect(idsOf(result).join(' ')).toBe(ids);
        expect(result.total_rows).toBe(10);
        expect(result.offset).toBe(Number((options as { skip?: number | string }).skip ?? 0));
        expect(Object.keys(result)).not.toContain('update_seq');
      });

      it('takes arrays and objects as keys', async () => {
        const db = fresh(context);
        await db.bulkDocs([
          { _id: 'a', k: [1, 'x'] },
          { _id: 'b', k: { a: 1 } },
          { _id: 'c', k: [2] },
        ]);
        const map = 'function (doc) { emit(doc.k); }';
        expect(idsOf(await ask(db, { map }, { keys: [{ a: 1 }, [1, 'x'], [1]] }))).toEqual(['b', 'a']);
        expect(idsOf(await ask(db, { map }, { startkey: [1], endkey: [1, {}] }))).toEqual(['a']);
      });

      it('tells the seq of the index on request', async () => {
        const db = await tens(context);
        const { update_seq } = await ask(db, VIEW, { update_seq: true, limit: 1 });
        expect(update_seq).toEqual((await db.info()).update_seq);
      });

      it.each([
        ['reversed bounds', { startkey: 2, endkey: 1 }],
        ['reversed bounds, descending', { startkey: 1, endkey: 2, descending: true }],
        ['a negative limit', { limit: -1 }],
        ['a broken limit', { limit: 1.5 }],
        ['a limit that is no number', { limit: 'x' }],
        ['a negative skip', { skip: -1 }],
        ['a broken skip', { skip: '1.5' }],
        ['a negative group_level', { group_level: -1 }],
        ['a broken group_level', { group_level: 1.5 }],
        ['keys that are no list', { keys: 'x' }],
        ['keys and a range', { keys: [1], startkey: 1 }],
        ['an unknown stale', { stale: 'maybe' }],
        ['an unknown update', { update: 'maybe' }],
      ])('refuses %s', async (_, options) => {
        const db = await tens(context);
        expect((await rejection(ask(db, VIEW, options))).status).toBe(400);
      });

      it('leaves the options as they were', async () => {
        const db = await tens(context);
        const options = Object.freeze({ keys: Object.freeze([1, 2]), limit: 3, descending: false });
        const first = await ask(db, VIEW, options);
        expect(await ask(db, VIEW, options)).toEqual(first);
      });
    });
  }

  it('refuses values that an option cannot have', async () => {
    const db = await tens(context);
    await db.put({ _id: '_design/q', views: { q: VIEW } });
    const wrong = [
      ...['limit', 'skip', 'group_level'].flatMap((name) =>
        [[5], {}, -1, 1.5].map((value) => ({ [name]: value })),
      ),
      ...['true', 'x', 1, []].map((update) => ({ update })),
      ...['x', 1, true].map((stale) => ({ stale })),
      ...['startkey_docid', 'endkey_docid'].flatMap((name) =>
        [[], 5, {}].map((value) => ({ [name]: value })),
      ),
    ];
    for (const options of wrong)
      expect(await rejection(db.query('q', options as never)), JSON.stringify(options)).toMatchObject({
        status: 400,
        name: 'query_parse_error',
      });
  });

  it('descends when that is true to the language, and takes null for what is not said', async () => {
    const db = await tens(context);
    await db.put({ _id: '_design/q', views: { q: VIEW } });
    for (const descending of [true, 1, 'true', 'yes'])
      expect(idsOf(await db.query('q', { descending, limit: 1 } as never)), String(descending)).toEqual([
        'd9',
      ]);
    for (const descending of [false, 0, '', 'false', null])
      expect(idsOf(await db.query('q', { descending, limit: 1 } as never)), String(descending)).toEqual([
        'd0',
      ]);
    const none = { update: null, stale: null, startkey_docid: null, limit: null, startkey: 4 };
    expect(idsOf(await db.query('q', none as never))).toEqual(['d8', 'd9']);
    const counted = { ...VIEW, reduce: '_count' } as const;
    await db.put({ _id: '_design/c', views: { c: counted } });
    const whole = { rows: [{ key: null, value: 10 }] };
    for (const view of ['c', ...(context.features.temporaryViews ? [counted] : [])])
      expect(await db.query(view as never, { reduce: null } as never)).toEqual(whole);
  });

  it('takes null for options', async () => {
    const db = await tens(context);
    await db.put({ _id: '_design/q', views: { q: VIEW } });
    expect((await db.query('q', null)).rows).toHaveLength(10);
    if (context.features.temporaryViews) expect((await db.query(VIEW, null)).rows).toHaveLength(10);
  });

  it('answers several queries of one view', async () => {
    const db = await tens(context);
    await db.put({ _id: '_design/q', views: { q: { ...VIEW, reduce: '_count' } } });
    const [keys, groups, all] = await db.queries('q', [
      { keys: [1], reduce: false },
      { group: true, limit: 2 },
      {},
    ]);
    expect(idsOf(keys!)).toEqual(['d2', 'd3']);
    expect(keysOf(groups!)).toEqual([0, 1]);
    expect(all).toEqual({ rows: [{ key: null, value: 10 }] });
    expect(await db.queries('q', [])).toEqual([]);
    // What is given beside them is for the call.
    const beside = { limit: 0, reduce: false, include_docs: true, key: 'none' };
    expect(await db.queries('q', [{ reduce: false, limit: 2 }, {}], beside)).toEqual(
      await db.queries('q', [{ reduce: false, limit: 2 }, {}]),
    );
    expect(await rejection(db.queries('none', []))).toMatchObject({ status: 404, name: 'not_found' });
    for (const wrong of [{}, null, [null], [{}, 1], ['key'], [[]]])
      expect(await rejection(db.queries('q', wrong))).toMatchObject({ status: 400, name: 'bad_request' });
    for (const wrong of [null, 1])
      expect(await rejection(db.queries(wrong as never, [{}]))).toMatchObject({
        status: 400,
        name: 'bad_request',
      });
    expect(await rejection(db.queries('q', [{ limit: -1 }]))).toMatchObject({ name: 'query_parse_error' });
  });

  context.when('signals', 'ends with its signal', async () => {
    const db = await tens(context);
    const reason = new Error('enough');
    await expect(db.query(VIEW, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
}
