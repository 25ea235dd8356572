/** What the tests of Mango share: a database with a naive reader, documents and selectors at random. */
import { memory } from '@settledb/adapter-memory';
import fc from 'fast-check';
import { Mango } from '../../packages/query/src';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { naiveIndexReader } from '../support/naive-index-reader';

let count = 0;

/** On memory, with indexes that are mapped anew at each read. */
export function naiveMango(): { readonly db: SettleDB; readonly mango: Mango } {
  const db = new SettleDB(`mango-${Date.now()}-${++count}`, { adapter: memory() });
  return { db, mango: new Mango(db, naiveIndexReader(db)) };
}

/** The same with indexes that are kept. */
export function realMango(): { readonly db: SettleDB; readonly mango: SettleDB } {
  const db = new SettleDB(`mango-${Date.now()}-${++count}`, { adapter: memory() });
  return { db, mango: db };
}

/** Names of fields that documents may have; `o` holds others. */
export const FIELDS = ['a', 'b', 'c', 'o.a', 'o.b'] as const;

const scalar = fc.constantFrom(null, false, true, -1, 0, 1, 2, '', 'x', 'xy', 'y');
export const value = fc.oneof(
  { weight: 6, arbitrary: scalar },
  { weight: 2, arbitrary: fc.array(scalar, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom([[1]], [['x', 'y']], {}, { a: 1 }, { a: 1, b: 'x' }, [{ a: 1 }]) },
);

const content = fc.record(
  {
    a: value,
    b: value,
    c: value,
    o: fc.oneof(fc.record({ a: value, b: value }, { requiredKeys: [] }), value),
  },
  { requiredKeys: [] },
);
/** Documents with ids in no order of their content. */
export const documents = fc
  .array(content, { maxLength: 14 })
  .map((list) => list.map((each, at) => ({ ...each, _id: 'kcgbmaejdlhfni'[at]! })));

const comparison = fc.tuple(fc.constantFrom('$eq', '$ne', '$gt', '$gte', '$lt', '$lte'), value);
const onElements = fc.oneof(
  comparison.map(([operator, given]) => ({ [operator]: given })),
  fc.constantFrom({ a: 1 }, { $in: [1, 'x'] }, { $type: 'string' }, {}, { $gt: 0, $lt: 2 }),
);
const operator = fc.oneof(
  { weight: 4, arbitrary: comparison },
  fc.tuple(fc.constantFrom('$in', '$nin', '$all'), fc.array(value, { maxLength: 3 })),
  fc.tuple(fc.constant('$exists'), fc.boolean()),
  fc.tuple(fc.constant('$type'), fc.constantFrom('null', 'boolean', 'number', 'string', 'array', 'object')),
  fc.tuple(fc.constant('$size'), fc.integer({ min: 0, max: 3 })),
  fc.tuple(fc.constant('$mod'), fc.constantFrom([2, 0], [2, 1], [-3, 1])),
  fc.tuple(fc.constant('$regex'), fc.constantFrom('^x', '^xy?', 'y$', '^(x|y)', '^x|^y', '(?i)^X', '^')),
  fc.tuple(fc.constant('$beginsWith'), fc.constantFrom('', 'x', 'xy')),
  fc.tuple(fc.constantFrom('$elemMatch', '$allMatch'), onElements),
  fc.tuple(fc.constant('$keyMapMatch'), fc.constantFrom({ $eq: 'a' }, { $gt: 'a' })),
);
const conditions = fc
  .array(operator, { minLength: 1, maxLength: 2 })
  .map((list) => Object.fromEntries(list) as Record<string, unknown>);

const onField = fc.tuple(
  fc.constantFrom(...FIELDS),
  fc.oneof(
    { weight: 4, arbitrary: conditions },
    { weight: 2, arbitrary: value },
    conditions.map((inner) => ({ $not: inner })),
    fc.tuple(fc.constantFrom('$and', '$or'), fc.array(conditions, { maxLength: 2 })).map(([key, list]) => ({
      [key]: list,
    })),
  ),
);
const onId = fc.oneof(
  fc.tuple(fc.constantFrom('$eq', '$ne', '$gt', '$gte', '$lt', '$lte'), fc.constantFrom('a', 'e', 'h', 'zz')),
  fc.tuple(fc.constantFrom('$in', '$nin'), fc.subarray(['a', 'e', 'h', 'none'])),
  fc.tuple(fc.constantFrom('$gt', '$gte', '$lt', '$lte', '$eq'), fc.constantFrom(null, 0, {}, [])),
);

export type AnySelector = Record<string, unknown>;

/** Every operator, on every field, in all combinations. */
export const selectors: fc.Arbitrary<AnySelector> = fc.letrec<{ selector: AnySelector }>((tie) => ({
  selector: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    { weight: 6, arbitrary: onField.map(([name, given]) => ({ [name]: given })) },
    { weight: 1, arbitrary: onId.map(([name, given]) => ({ _id: { [name]: given } })) },
    {
      weight: 3,
      arbitrary: fc
        .tuple(fc.constantFrom('$and', '$or', '$nor'), fc.array(tie('selector'), { maxLength: 3 }))
        .map(([key, list]) => ({ [key]: list })),
    },
    { weight: 1, arbitrary: tie('selector').map((inner) => ({ $not: inner })) },
    {
      weight: 4,
      arbitrary: fc.tuple(tie('selector'), tie('selector')).map(([one, other]) => ({ ...one, ...other })),
    },
  ),
})).selector;

const few = fc.constantFrom<unknown>(1, 2, 'x', [1]);
const indexable = fc.oneof(
  few,
  fc
    .tuple(fc.constantFrom('$eq', '$gt', '$gte', '$lt', '$lte'), few)
    .map(([name, given]) => ({ [name]: given })),
  fc
    .tuple(fc.constantFrom('$in', '$all'), fc.array(few, { maxLength: 3 }))
    .map(([name, given]) => ({ [name]: given })),
  fc
    .tuple(fc.constantFrom('$eq', '$gt', '$lte'), few)
    .map(([name, given]) => ({ $elemMatch: { [name]: given } })),
);
const indexableFields = fc
  .uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 })
  .chain((names) => fc.tuple(...names.map((name) => indexable.map((given) => [name, given] as const))))
  .map((members): AnySelector => Object.fromEntries(members));

/** Made for indexes: they look into lists, at single values, and within ranges, and are often met. */
export const indexableSelectors: fc.Arbitrary<AnySelector> = fc.oneof(
  { weight: 3, arbitrary: indexableFields },
  { weight: 1, arbitrary: fc.array(indexableFields, { minLength: 2, maxLength: 3 }).map(($or) => ({ $or })) },
  fc
    .tuple(indexableFields, fc.array(indexableFields, { minLength: 2, maxLength: 2 }))
    .map(([one, $or]) => ({ ...one, $or })),
);

const listOrValue = fc.oneof(few, fc.array(few, { maxLength: 3 }));
/** With lists in every other field. */
export const listyDocuments = fc
  .array(fc.record({ a: listOrValue, b: listOrValue, c: listOrValue }, { requiredKeys: ['a'] }), {
    minLength: 4,
    maxLength: 14,
  })
  .map((list) => list.map((each, at) => ({ ...each, _id: 'kcgbmaejdlhfni'[at]! })));
