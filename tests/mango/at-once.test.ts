/**
 * Finds that are answered at once from memory, beside the same ones the long way: one state, asked by two planners of which one
 * has a reader that only reads.
 */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Mango } from '../../packages/query/src';
import { readBookmark, writeBookmark } from '../../packages/query/src/mango/bookmark';
import { openedTwice } from './at-once';
import { documents, FIELDS } from './support';

const single = fc.constantFrom(null, false, true, -1, 0, 1, 2, '', 'x', 'xy', 'y');
const condition = fc.oneof(
  single,
  fc
    .tuple(fc.constantFrom('$eq', '$gt', '$gte', '$lt', '$lte'), single)
    .map(([operator, value]) => ({ [operator]: value })),
);
const selector = fc.dictionary(fc.constantFrom(...FIELDS), condition, { maxKeys: 3 });
const fieldNames = (max: number) =>
  fc.uniqueArray(fc.constantFrom(...FIELDS, '_id'), { minLength: 1, maxLength: max });
const sort = fc
  .tuple(fieldNames(2), fc.constantFrom('asc', 'desc'))
  .map(([names, direction]) => names.map((name) => ({ [name]: direction as 'asc' | 'desc' })));
const request = fc.record(
  {
    selector,
    sort,
    fields: fieldNames(3),
    limit: fc.integer({ min: 1, max: 6 }),
    skip: fc.integer({ min: 0, max: 3 }),
  },
  { requiredKeys: ['selector'] },
);
const indexed = fc.array(fc.uniqueArray(fc.constantFrom(...FIELDS, '_id'), { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 3,
});

interface Found {
  readonly warning?: string | undefined;
  readonly execution_stats?: object | undefined;
}

/** But for what is different each time, and, where fewer documents had to be read, for how many and what is said of that. */
function comparable({ warning, execution_stats, ...found }: Found, readsFewer: boolean): object {
  const { execution_time_ms: _, total_docs_examined, ...stats } = execution_stats as Record<string, number>;
  return { ...found, stats, ...(readsFewer ? {} : { warning, total_docs_examined }) };
}

const examined = ({ execution_stats }: Found): number =>
  (execution_stats as { total_docs_examined: number }).total_docs_examined;

/** Time stands still: no call waits for a turn of others, as one in some ms does, by the long way. */
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

describe('a find that is answered at once', () => {
  it('is the one that is answered the long way: documents, order, bookmarks, statistics', () =>
    fc.assert(
      fc.asyncProperty(
        documents,
        indexed,
        fc.array(request, { maxLength: 6 }),
        async (docs, names, requests) => {
          const { database, quick, long } = await openedTwice();
          await database.bulkDocs(docs);
          for (const fields of names) await long.createIndex({ fields });
          for (const each of requests) {
            let bookmark: string | undefined;
            for (let page = 0; page < 3; page++) {
              const asked = { ...each, bookmark, execution_stats: true };
              const found = await quick.find(asked);
              const other = await long.find(asked);
              // Batches of which the index tells everything are not read: all of them, some, or none.
              expect(examined(found)).toBeLessThanOrEqual(examined(other));
              const readsFewer = examined(found) < examined(other);
              expect(comparable(found, readsFewer)).toEqual(comparable(other, readsFewer));
              // Asked for nothing but documents, one key of an index is read by a way of its own.
              const plain = await quick.find({ ...each, bookmark });
              expect({ docs: plain.docs, bookmark: plain.bookmark }).toEqual({
                docs: other.docs,
                bookmark: other.bookmark,
              });
              if (!readsFewer) expect(plain.warning).toBe(other.warning);
              if (found.bookmark === 'nil') break;
              bookmark = found.bookmark;
            }
          }
          await database.close();
        },
      ),
      { numRuns: 150 },
    ));

  it('is taken for questions of a plain shape, also after a write, and for no others', async () => {
    const { database, quick, reads } = await openedTwice();
    await database.bulkDocs([
      { _id: 'a', n: 1, role: 'x' },
      { _id: 'b', n: 2, role: 'x' },
    ]);
    await quick.createIndex({ fields: ['n', 'role'] });
    await quick.find({ selector: { n: 1 } }); // takes the list of indexes in
    reads.count = 0;
    const ids = async (asked: Parameters<Mango['find']>[0]) =>
      (await quick.find(asked)).docs.map(({ _id }) => _id);
    expect(await ids({ selector: { n: 2 } })).toEqual(['b']);
    await database.put({ _id: 'c', n: 2, role: 'y' });
    expect(await ids({ selector: { n: 2 } })).toEqual(['b', 'c']);
    expect(await ids({ selector: { n: { $gte: 1 } }, sort: [{ n: 'desc' }], limit: 2 })).toEqual(['c', 'b']);
    expect(reads.count).toBe(0);
    expect(await ids({ selector: { n: { $in: [1, 2] } } })).toEqual(['a', 'b', 'c']);
    expect(reads.count).toBeGreaterThan(0);
    await database.close();
  });

  it('is the one of the moment, whatever is written between questions', () => {
    const step = fc.oneof(
      fc.record({ put: fc.nat(5), a: single, b: single }),
      fc.record({ remove: fc.nat(5) }),
      fc.record({ find: single }),
      fc.record({ find: single }),
    );
    return fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
        const { database, quick, long } = await openedTwice();
        await quick.createIndex({ fields: ['a'] });
        await quick.createIndex({ fields: ['b', 'a'] });
        for (const each of steps) {
          if ('find' in each) {
            for (const selector of [{ a: each.find }, { b: each.find, a: each.find }])
              expect(await quick.find({ selector })).toEqual(await long.find({ selector }));
            continue;
          }
          const _id = `d${'put' in each ? each.put : each.remove}`;
          const { _rev } = await database.get(_id).catch(() => ({ _rev: undefined }));
          if ('put' in each) await database.put({ _id, ...(_rev && { _rev }), a: each.a, b: each.b });
          else if (_rev !== undefined) await database.put({ _id, _rev, _deleted: true });
        }
        await database.close();
      }),
      { numRuns: 30 },
    );
  });

  it('follows indexes that are made and deleted, and designs that are edited', async () => {
    const { database, quick } = await openedTwice();
    await database.bulkDocs([{ _id: 'a', n: 1, m: 5 }]);
    const made = await quick.createIndex({ fields: ['n'] });
    const find = () => quick.find({ selector: { n: 1, m: 5 } });
    expect((await find()).warning).toBeUndefined();
    await quick.deleteIndex({ ddoc: made.id, name: made.name });
    expect((await find()).warning).toContain('No matching index');
    await quick.createIndex({ fields: ['m'], ddoc: 'other', name: 'by-m' });
    expect((await find()).warning).toBeUndefined();
    await database.put({ ...(await database.get('_design/other')), _deleted: true });
    expect((await find()).docs).toHaveLength(1);
    await database.close();
  });

  it('answers fields of the index without reading documents', async () => {
    const { database, quick } = await openedTwice();
    await database.bulkDocs([
      { _id: 'a', n: 1, o: { p: 'x' }, list: [1] },
      { _id: 'b', n: 2, o: {} },
      { _id: 'c', n: 3, o: { p: { q: [null] } } },
    ]);
    await quick.createIndex({ fields: ['n', 'o.p'] });
    await quick.find({ selector: { n: 1 } });
    const asked = { selector: { n: { $gte: 1 } }, fields: ['o.p', '_id'], execution_stats: true };
    const { docs, execution_stats } = await quick.find(asked);
    expect(docs).toEqual([{ o: { p: 'x' }, _id: 'a' }, { _id: 'b' }, { o: { p: { q: [null] } }, _id: 'c' }]);
    expect(execution_stats).toMatchObject({ total_keys_examined: 3, total_docs_examined: 0 });
    const whole = await quick.find({ ...asked, fields: ['n', '_rev'] });
    expect(whole.execution_stats).toMatchObject({ total_docs_examined: 3 });
    await database.close();
  });

  it('gives each caller documents of his own, as they are stored, however often it is asked', async () => {
    const { database, quick, reads } = await openedTwice();
    const model = new Map<string, { n: number; list: number[] }>();
    const write = async (id: string, n: number): Promise<void> => {
      const known = await database.get(id).catch(() => undefined);
      model.set(id, { n, list: [n] });
      await database.put({ ...known, _id: id, n, list: [n] });
    };
    const remove = async (id: string): Promise<void> => {
      model.delete(id);
      await database.put({ ...(await database.get(id)), _deleted: true });
    };
    const check = async (): Promise<void> => {
      const { docs } = await quick.find({ selector: { n: { $gte: 1 } }, sort: ['n'], limit: 100 });
      const expected = [...model].filter(([, { n }]) => n >= 1).sort(([, a], [, b]) => a.n - b.n);
      expect(docs.map(({ _id, n, list }) => [_id, { n, list }])).toEqual(expected);
      for (const doc of docs) {
        (doc.list as unknown[]).push('spoilt');
        doc.n = 'spoilt';
      }
      const { docs: some } = await quick.find({ selector: { n: { $gte: 1 } }, fields: ['list'], limit: 100 });
      for (const doc of some) (doc.list as unknown[]).push('spoilt');
    };
    for (let i = 0; i < 20; i++) await write(`id ${i}`, i);
    await quick.createIndex({ fields: ['n'] });
    await check();
    reads.count = 0;
    for (let round = 0; round < 6; round++) {
      for (let again = 0; again < 3; again++) await check();
      await write(`id ${round}`, 100 + round);
      await check();
      await remove(`id ${10 + round}`);
      await write(`id ${10 + round - 1}`, 200 + round);
    }
    await check();
    expect(reads.count).toBe(0);
    await database.close();
  });

  it('is refused as the long way refuses: by signals, closed databases, wrong requests', async () => {
    const { database, quick } = await openedTwice();
    await database.bulkDocs([{ _id: 'a', n: 1 }]);
    await quick.createIndex({ fields: ['n'] });
    const selector = { n: 1 };
    await quick.find({ selector });
    await expect(quick.find({ selector, limit: -1 })).rejects.toMatchObject({ status: 400 });
    await expect(quick.find({ selector, bookmark: 'wrong' })).rejects.toMatchObject({
      name: 'invalid_bookmark',
    });
    await expect(quick.find({ selector, sort: [{ n: 'up' as 'asc' }] })).rejects.toMatchObject({
      status: 400,
    });
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(quick.find({ selector, signal })).rejects.toThrow('enough');
    await database.close();
    await expect(quick.find({ selector })).rejects.toMatchObject({ name: 'closed' });
  });
});

describe('a bookmark', () => {
  const key = fc.array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.double({ noDefaultInfinity: true, noNaN: true }),
      fc.boolean(),
    ),
  );

  it('says what was put into it', () =>
    fc.assert(
      fc.property(fc.string(), key, fc.string({ unit: 'binary' }), (order, values, id) => {
        const given = JSON.parse(JSON.stringify({ order, key: values, id }));
        expect(readBookmark(writeBookmark(given))).toEqual(given);
      }),
    ));
});
