/**
 * A find with any set of indexes answers what one without any answers: documents, order, pages. Random documents, selectors, sorts
 * and indexes; the reader of the indexes maps all documents at each read.
 */
import { compareKeys, fieldAt, fieldPath } from '@settledb/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Mango } from '../../packages/query/src';
import type { SettleDB } from '../../packages/settledb/src/settledb';
import { naiveMatches } from './naive-selector';
import {
  type AnySelector,
  documents,
  FIELDS,
  indexableSelectors,
  listyDocuments,
  naiveMango,
  realMango,
  selectors,
} from './support';

/** Other cases in each run, of functions that know nothing of where they run: in a browser few. `RUNS=1000` asks for more in Node. */
const numRuns = Number(globalThis.process?.env?.RUNS ?? ('document' in globalThis ? 30 : 150));
const RUNS = { numRuns };

/** What indexes may be asked: anything, or what they are made for. */
const cases = fc.oneof(
  fc.tuple(documents, selectors, fc.array(indexFields(...FIELDS), { maxLength: 3 })),
  fc.tuple(
    listyDocuments,
    indexableSelectors,
    fc.array(indexFields('a', 'b', 'c'), { minLength: 1, maxLength: 3 }),
  ),
);

function indexFields(...names: readonly string[]): fc.Arbitrary<string[]> {
  return fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 3 });
}

const field = fc.constantFrom(...FIELDS, '_id');
const sorts = fc.oneof(
  { weight: 1, arbitrary: fc.constant([]) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.uniqueArray(field, { minLength: 1, maxLength: 2 }), fc.constantFrom('asc', 'desc'))
      .map(([names, direction]) => names.map((name) => ({ [name]: direction as 'asc' | 'desc' }))),
  },
  {
    weight: 1,
    arbitrary: fc
      .uniqueArray(field, { minLength: 2, maxLength: 2 })
      .map(([one, other]) => [{ [one!]: 'asc' as const }, { [other!]: 'desc' as const }]),
  },
);
type Sort = readonly { readonly [name: string]: 'asc' | 'desc' }[];
type Doc = { readonly _id: string };

type Finder = Pick<Mango, 'find' | 'explain' | 'createIndex'>;
type Make = () => { readonly db: SettleDB; readonly mango: Finder };

async function filled(
  make: Make,
  docs: readonly Doc[],
  names: readonly (readonly string[])[],
): Promise<Finder> {
  const { db, mango } = make();
  await db.bulkDocs([...docs]);
  for (const fields of names) await mango.createIndex({ fields });
  return mango;
}

/** By the literal reading: what matches and has a place in the order, sorted. Ties are left as they are. */
function expected(selector: AnySelector, sort: Sort, docs: readonly Doc[]): readonly Doc[] {
  return docs
    .filter((doc) => naiveMatches(selector, doc))
    .filter((doc) => values(doc, sort).every((value) => value !== undefined))
    .sort((one, other) => compare(one, other, sort));
}

const values = (doc: Doc, sort: Sort): unknown[] =>
  sort.map((by) => fieldAt(doc, fieldPath(Object.keys(by)[0]!)));

function compare(one: Doc, other: Doc, sort: Sort): number {
  const [left, right] = [values(one, sort), values(other, sort)];
  for (let at = 0; at < sort.length; at++) {
    const order = compareKeys(left[at], right[at]);
    if (order !== 0) return Object.values(sort[at]!)[0] === 'desc' ? -order : order;
  }
  return 0;
}

const idsOf = (docs: readonly object[]): string[] => docs.map((doc) => (doc as Doc)._id).sort();
const keysOf = (docs: readonly object[], sort: Sort): unknown[] =>
  docs.map((doc) => values(doc as Doc, sort));

describe.each<[string, Make]>([
  ['a reader that maps all documents', naiveMango],
  ['indexes that are kept', realMango as Make],
])('find over %s', (_, make) => {
  const withDocuments = (docs: readonly Doc[], names: readonly (readonly string[])[]) =>
    filled(make, docs, names);

  it('answers the same with any indexes as without', () =>
    fc.assert(
      fc.asyncProperty(cases, sorts, async ([docs, selector, names], sort) => {
        const mango = await withDocuments(docs, names);
        const { docs: found } = await mango.find({ selector, sort, limit: 100 });
        const all = expected(selector, sort, docs);
        expect(idsOf(found)).toEqual(idsOf(all));
        expect(keysOf(found, sort)).toEqual(keysOf(all, sort));
      }),
      { numRuns: 2 * numRuns },
    ));

  it('cuts pages out of that answer, by skip and by bookmark', () =>
    fc.assert(
      fc.asyncProperty(
        fc.tuple(cases, sorts),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 0, max: 3 }),
        async ([[docs, selector, names], sort], limit, skip) => {
          const mango = await withDocuments(docs, names);
          const whole = (await mango.find({ selector, sort, limit: 100 })).docs;
          const page = (await mango.find({ selector, sort, limit, skip })).docs;
          expect(page).toEqual(whole.slice(skip, skip + limit));
          const pages: object[] = [];
          let bookmark: string | undefined;
          for (let n = 0; n < 20; n++) {
            const next = await mango.find({ selector, sort, limit, bookmark });
            if (next.docs.length === 0) break;
            expect(next.docs.length).toBeLessThanOrEqual(limit);
            pages.push(...next.docs);
            bookmark = next.bookmark;
          }
          expect(pages).toEqual(whole);
        },
      ),
      RUNS,
    ));

  it('goes on from a bookmark when an index was made meanwhile', () =>
    fc.assert(
      fc.asyncProperty(
        fc.tuple(cases, sorts),
        indexFields(...FIELDS),
        async ([[docs, selector, names], sort], more) => {
          const mango = await withDocuments(docs, names);
          const whole = (await mango.find({ selector, sort, limit: 100 })).docs;
          const first = await mango.find({ selector, sort, limit: 2 });
          await mango.createIndex({ fields: more });
          if (first.docs.length === 0) return;
          const rest = await mango.find({ selector, sort, limit: 100, bookmark: first.bookmark });
          expect([...first.docs, ...rest.docs]).toEqual(whole);
        },
      ),
      RUNS,
    ));

  it('uses the index that explain names, and examines no more for having it', () =>
    fc.assert(
      fc.asyncProperty(cases, sorts, async ([docs, selector, names], sort) => {
        const mango = await withDocuments(docs, names);
        const { index } = await mango.explain({ selector, sort });
        const found = await mango.find({ selector, sort, limit: 100, execution_stats: true });
        if (index.ddoc !== null) expect(found.warning ?? '').not.toContain('No matching index');
        expect(found.execution_stats!.total_docs_examined).toBeLessThanOrEqual(docs.length);
        expect(found.execution_stats!.results_returned).toBe(found.docs.length);
      }),
      RUNS,
    ));

  it('answers the same while documents are edited and deleted', () =>
    fc.assert(
      fc.asyncProperty(
        cases,
        fc.array(fc.tuple(fc.nat(13), fc.constantFrom('edit', 'delete', 'swap')), { maxLength: 6 }),
        async ([docs, selector, names], edits) => {
          const { db, mango } = make();
          await db.bulkDocs([...docs]);
          for (const fields of names) await mango.createIndex({ fields });
          for (const [at, what] of edits) {
            const [doc, other] = [docs[at], docs[(at + 1) % docs.length]];
            if (doc === undefined) continue;
            const current = await db.get(doc._id).catch(() => undefined);
            const { _id, _rev } = current ?? { _id: doc._id, _rev: undefined };
            const next = what === 'delete' ? { _deleted: true } : what === 'swap' ? other : doc;
            if (what === 'delete' && current === undefined) continue;
            await db.put({ ...next, _id, ...(_rev && { _rev }) } as never);
            const { rows } = await db.allDocs({ include_docs: true, endkey: '_design' });
            const { rows: more } = await db.allDocs({ include_docs: true, startkey: '_e' });
            const all = [...rows, ...more].flatMap((row) => ('doc' in row && row.doc ? [row.doc] : []));
            const { docs: found } = await mango.find({ selector, limit: 100 });
            expect(idsOf(found)).toEqual(idsOf(expected(selector, [], all as readonly Doc[])));
          }
        },
      ),
      RUNS,
    ));
});
