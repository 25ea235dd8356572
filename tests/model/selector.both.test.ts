/**
 * Selectors: against what CouchDB 3.5 answered to the same documents, against a naive reading of the operators, and the
 * messages for wrong ones. Cases that depend on ICU's order of strings are left out (docs/decisions/0002-collation.md).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkSelector, compareKeys, compileSelector, withPatterns } from '../../packages/core/src/model';
import { isObject } from '../../packages/core/src/model/kinds';
import { matches } from '../support/matches';

const docs = [
  { _id: 'a', n: 1, s: 'apple', t: ['x', 'y'], o: { a: 1, b: { c: 2 } }, y: true },
  { _id: 'b', n: 2, s: 'Banana', t: ['y'], o: { a: 2 }, y: false },
  { _id: 'c', n: 3, s: 'cherry', t: [], o: {}, z: null },
  { _id: 'd', n: '4', s: 'date', t: 'x' },
  { _id: 'e', n: -5, s: 'élan', t: [1, 2, 3], o: { a: '1' } },
  {
    _id: 'f',
    n: null,
    s: 'fig',
    t: [
      { k: 1, v: 'p' },
      { k: 2, v: 'q' },
    ],
  },
  { _id: 'g', s: 'grape', n: 7.5, t: [[1], [2]], 'a.b': 1 },
  { _id: 'h', n: [1, 2], s: '', t: { x: 1 } },
  { _id: 'i', n: { m: 1 }, s: 'ice', t: ['x', 'y', 'z'] },
  { _id: 'j', n: 10, s: 'Jam', t: ['y', 'x'], w: 'only' },
];

const found = (selector: object): string =>
  docs
    .filter(compileSelector(selector))
    .map((doc) => doc._id)
    .join('');

describe('a selector', () => {
  it.each<[object, string]>([
    [{ n: 1 }, 'a'],
    [{ n: { $eq: 1 } }, 'a'],
    [{ n: { $ne: 1 } }, 'bcdefghij'],
    [{ n: { $gt: 1 } }, 'bcdghij'],
    [{ n: { $gte: 2 } }, 'bcdghij'],
    [{ n: { $lt: 2 } }, 'aef'],
    [{ n: { $lte: 1 } }, 'aef'],
    [{ n: { $gt: null } }, 'abcdeghij'],
    [{ n: { $gte: null } }, 'abcdefghij'],
    [{ n: { $lt: {} } }, 'abcdefghj'],
    [{ n: { $gt: 1, $lt: 7 } }, 'bc'],
    [{ n: null }, 'f'],
    [{ z: null }, 'c'],
    [{ n: { $eq: null } }, 'f'],
    [{ t: ['x', 'y'] }, 'a'],
    [{ o: { a: 1, b: { c: 2 } } }, 'a'],
    [{ o: { a: 1 } }, 'a'],
    [{ o: {} }, 'c'],
    [{ t: [] }, 'c'],
    [{ n: { $gt: [0] } }, 'hi'],
    [{ n: { $lt: 'a' } }, 'abcdefgj'],
    [{ z: { $exists: true } }, 'c'],
    [{ z: { $exists: false } }, 'abdefghij'],
    [{ w: { $exists: true } }, 'j'],
    [{ 'o.b.c': { $exists: true } }, 'a'],
    [{ n: { $type: 'number' } }, 'abcegj'],
    [{ n: { $type: 'string' } }, 'd'],
    [{ n: { $type: 'null' } }, 'f'],
    [{ n: { $type: 'array' } }, 'h'],
    [{ n: { $type: 'object' } }, 'i'],
    [{ y: { $type: 'boolean' } }, 'ab'],
    [{ missing: { $type: 'null' } }, ''],
    [{ n: { $ne: 'q' } }, 'abcdefghij'],
    [{ w: { $ne: 'q' } }, 'j'],
    [{ n: { $in: [1, '4', null] } }, 'adfh'],
    [{ n: { $nin: [1, '4', null] } }, 'bcegij'],
    [{ t: { $in: ['x'] } }, 'adij'],
    [{ t: { $in: [['x', 'y']] } }, ''],
    [{ t: { $nin: ['x'] } }, 'bcefgh'],
    [{ n: { $in: [] } }, ''],
    [{ n: { $nin: [] } }, 'abcdefghij'],
    [{ missing: { $in: [null] } }, ''],
    [{ missing: { $nin: [1] } }, ''],
    [{ o: { $in: [{ a: 2 }] } }, 'b'],
    [{ n: { $mod: [2, 0] } }, 'bj'],
    [{ n: { $mod: [5, 0] } }, 'ej'],
    [{ n: { $mod: [3, 1] } }, 'aj'],
    [{ n: { $mod: [-5, 0] } }, 'ej'],
    [{ s: { $regex: '^a' } }, 'a'],
    [{ s: { $regex: 'an' } }, 'be'],
    [{ s: { $regex: '(?i)^b' } }, 'b'],
    [{ s: { $regex: '^.{3}$' } }, 'fij'],
    [{ s: { $regex: '^é' } }, 'e'],
    [{ n: { $regex: '4' } }, 'd'],
    [{ s: { $beginsWith: 'a' } }, 'a'],
    [{ s: { $beginsWith: '' } }, 'abcdefghij'],
    [{ n: { $beginsWith: '4' } }, 'd'],
    [{ s: { $beginsWith: 'é' } }, 'e'],
  ])('%j finds what CouchDB finds: %s', (selector, ids) => {
    expect(found(selector)).toBe(ids);
  });

  it.each<[object, string]>([
    [{}, 'abcdefghij'],
    [{ s: { $gt: 'b', $lt: 'e' } }, 'cd'],
    [{ $and: [{ n: { $gt: 1 } }, { n: { $lt: 7 } }] }, 'bc'],
    [{ $or: [{ n: 1 }, { n: 2 }] }, 'ab'],
    [{ $nor: [{ n: 1 }, { n: 2 }] }, 'cdefghij'],
    [{ $nor: [{ w: 'x' }] }, 'j'],
    [{ $not: { y: true } }, 'b'],
    [{ y: { $not: { $eq: true } } }, 'b'],
    [{ $not: { w: { $exists: false } } }, 'j'],
    [{ $not: { w: { $exists: true } } }, 'abcdefghi'],
    [{ 'o.a': 1 }, 'a'],
    [{ o: { a: { $gte: 1 } } }, 'abe'],
    [{ o: { 'b.c': 2 } }, 'a'],
    [{ o: { $eq: { a: 2 } } }, 'b'],
    [{ o: { $eq: { a: 1 } } }, ''],
    [{ 'a\\.b': 1 }, 'g'],
    [{ 'a.b': 1 }, ''],
    [{ 't.0': 'x' }, 'ai'],
    [{ 't.length': 2 }, ''],
    [{ t: { $all: ['x', 'y'] } }, 'aij'],
    [{ t: { $all: [] } }, ''],
    // A list alone in it is the whole list, or an element of it.
    [{ t: { $all: [['x', 'y']] } }, 'a'],
    [{ t: { $not: { $all: [['x', 'y']] } } }, 'bcdefghij'],
    [{ t: { $all: [['x', 'y'], 'x'] } }, ''],
    [{ t: { $size: 2 } }, 'afgj'],
    [{ t: { $size: 0 } }, 'c'],
    [{ t: { $elemMatch: { $eq: 'z' } } }, 'i'],
    [{ t: { $elemMatch: { k: 2, v: 'q' } } }, 'f'],
    [{ t: { $elemMatch: { k: 1, v: 'q' } } }, ''],
    [{ t: { $allMatch: { $gt: 'x' } } }, 'bfg'],
    [{ t: { $allMatch: { $in: ['x', 'y'] } } }, 'abj'],
    [{ o: { $keyMapMatch: { $eq: 'b' } } }, 'a'],
    // Numbers, a text, null and a list have no keys.
    [{ n: { $keyMapMatch: { $gte: '' } } }, 'i'],
    [{ s: { $regex: /^[ab]/i } }, 'ab'],
    [{ s: { $regex: /a/g } }, 'abdegj'],
    [{ s: { $beginsWith: 'J' } }, 'j'],
    [{ constructor: { $exists: true } }, ''],
    [{ __proto__x: { $exists: true } }, ''],
    [{ _id: { $gt: null } }, 'abcdefghij'],
    [{ _id: {} }, ''],
    [{ $and: [] }, 'abcdefghij'],
    [{ $or: [] }, ''],
    [{ s: { $and: [{ $regex: 'a' }, { $regex: 'e' }] } }, 'adg'],
  ])('%j finds %s', (selector, ids) => {
    expect(found(selector)).toBe(ids);
  });

  it('sees null within lists, and dates as their text', () => {
    const doc = { list: [null, 1, null], at: '1970-01-01T00:00:00.000Z', objects: [null, { a: { b: 1 } }] };
    expect(matches({ list: { $elemMatch: { $eq: null } } }, doc)).toBe(true);
    expect(matches({ list: { $allMatch: { $type: 'number' } } }, doc)).toBe(false);
    expect(matches({ objects: { $elemMatch: { a: { b: 1 } } } }, doc)).toBe(true);
    expect(matches({ at: new Date(0) }, doc)).toBe(true);
    expect(matches({ at: { $lte: new Date(0) } }, doc)).toBe(true);
  });

  it('tells a stored operator from one asked', () => {
    const doc = { f: { $eq: 1 }, $g: 2, 'h\\': 3 };
    expect(matches({ f: { $eq: { $eq: 1 } } }, doc)).toBe(true);
    expect(matches({ f: { $eq: 1 } }, doc)).toBe(false);
    expect(matches({ '\\$g': 2 }, doc)).toBe(true);
    expect(matches({ 'f.\\$eq': 1 }, doc)).toBe(true);
    expect(matches({ 'h\\\\': 3 }, doc)).toBe(true);
    expect(matches({ f: { $in: [{ $eq: 1 }] } }, doc)).toBe(true);
  });

  it('may hold tens of thousands of values, of every type', () => {
    // Each of the documents compared with each of the values would be a billion comparisons.
    const ids = Array.from({ length: 30_000 }, (_, i) => `id ${i}`);
    const test = compileSelector({ f: { $in: [...ids, -0, null, true, ['l'], { o: 1 }] } });
    expect(ids.filter((f) => !test({ f }))).toEqual([]);
    for (const f of [0, -0, null, true, [['l']], { o: 1 }, ['id 7', 1], [null]])
      expect(test({ f })).toBe(true);
    for (const f of [1, false, 'id', '0', ['l'], [[]], { o: 2 }, {}, [], [['id 7']]])
      expect(test({ f })).toBe(false);
  });

  it('may hold tens of thousands of lists and objects, and so may documents', () => {
    // Each compared with each would be minutes.
    const many = Array.from({ length: 30_000 }, (_, x) => (x % 2 === 0 ? { x } : [x, 'a']));
    const matches = compileSelector({ a: { $in: many }, b: { $all: [...many].reverse() } });
    const docs = many.slice(0, 2000).map((a, at) => ({ a, b: at === 998 ? many : [] }));
    expect(docs.filter(matches).map(({ a }) => a)).toEqual([{ x: 998 }]);
    expect(docs.filter(compileSelector({ a: { $in: many } })).length).toBe(1000);
    expect(compileSelector({ a: { $in: many } })({ a: { x: 1 } })).toBe(false);
    expect(compileSelector({ a: { $all: ['1', 1, '[1]', [1]] } })({ a: [[1], 1, '1'] })).toBe(false);
    expect(compileSelector({ a: { $all: ['1', 1, '1', [1]] } })({ a: [[1], 1, '1', 1] })).toBe(true);
  });

  it('sees own members only', () => {
    const odd = JSON.parse('{"__proto__":{"a":1}}');
    expect(matches(JSON.parse('{"__proto__":{"a":1}}'), odd)).toBe(true);
    expect(matches({ '__proto__.a': 1 }, {})).toBe(false);
    expect(matches({ 'constructor.name': 'Object' }, {})).toBe(false);
    expect(matches({ toString: { $exists: false } }, {})).toBe(true);
  });
});

describe('selectors at random', () => {
  const name = fc.constantFrom('a', 'b', 'c');
  const value = fc.oneof(
    fc.constantFrom(null, true, 0, 1, 2, 'x', 'y'),
    fc.array(fc.constantFrom(0, 1, 'x'), { maxLength: 2 }),
  );
  const doc = fc.dictionary(name, value, { noNullPrototype: true });
  const order = fc.constantFrom('$eq', '$ne', '$gt', '$gte', '$lt', '$lte');
  const condition = fc.oneof(
    fc.tuple(order, value),
    fc.tuple(fc.constantFrom('$in', '$nin'), fc.array(value, { maxLength: 3 })),
    fc.tuple(fc.constant('$exists'), fc.boolean()),
  );
  const field = fc.tuple(name, condition).map(([on, [operator, given]]) => ({ [on]: { [operator]: given } }));
  const { selector } = fc.letrec<{ selector: Record<string, unknown> }>((tie) => ({
    selector: fc.oneof(
      { maxDepth: 4 },
      field,
      fc
        .tuple(fc.constantFrom('$and', '$or', '$nor'), fc.array(tie('selector'), { maxLength: 3 }))
        .map(([key, list]) => ({ [key]: list })),
      tie('selector').map((inner) => ({ $not: inner })),
      fc.tuple(tie('selector'), tie('selector')).map(([one, other]) => ({ ...one, ...other })),
    ),
  }));

  type Query = Record<string, unknown>;

  /** CouchDB's rule, read literally: negations move inward until they reach a condition. */
  function naive(group: Query, on: Query, negated = false): boolean {
    const answers = Object.entries(group).map(([key, given]) => {
      if (key === '$not') return naive(given as Query, on, !negated);
      if (key === '$and' || key === '$or' || key === '$nor') {
        const negate = key === '$nor' ? !negated : negated;
        const each = (given as Query[]).map((one) => naive(one, on, negate));
        const conjunction = key === '$and' ? !negated : negate;
        return conjunction ? !each.includes(false) : each.includes(true);
      }
      const [[operator, wanted]] = Object.entries(given as Query) as [[string, unknown]];
      if (operator === '$exists') return (Object.hasOwn(on, key) === wanted) !== negated;
      return Object.hasOwn(on, key) && holds(operator, on[key], wanted) !== negated;
    });
    return negated ? answers.includes(true) : !answers.includes(false);
  }

  function holds(operator: string, is: unknown, wanted: unknown): boolean {
    const sign = compareKeys(is, wanted);
    switch (operator) {
      case '$eq':
        return sign === 0;
      case '$ne':
        return sign !== 0;
      case '$gt':
        return sign > 0;
      case '$gte':
        return sign >= 0;
      case '$lt':
        return sign < 0;
      case '$lte':
        return sign <= 0;
      default: {
        const list = Array.isArray(is) ? is : [is];
        const among = list.some((one) =>
          (wanted as unknown[]).some((other) => compareKeys(one, other) === 0),
        );
        return among === (operator === '$in');
      }
    }
  }

  it('hold for the documents for which a naive reading holds', () => {
    fc.assert(
      fc.property(selector, doc, (given, on) => {
        expect(matches(given, on)).toBe(naive(given, on));
      }),
      { numRuns: 3000 },
    );
  });

  it('hold for one of many values as for each of them, and for those alone', () => {
    const values = fc.oneof(value, fc.dictionary(name, value, { noNullPrototype: true, maxKeys: 2 }));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(name, values)),
        fc.dictionary(name, values, { noNullPrototype: true }),
        (wanted, on) => {
          const each = wanted.map(([field, one], i) => ({
            [field]: i % 2 || isObject(one) ? { $eq: one } : one,
          }));
          expect(matches({ $or: each }, on)).toBe(each.some((one) => matches(one, on)));
          expect(matches({ $nor: each }, on)).toBe(each.every((one) => matches({ $not: one }, on)));
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('are their own negation negated', () => {
    fc.assert(
      fc.property(selector, doc, (given, on) => {
        expect(matches({ $not: { $not: given } }, on)).toBe(matches(given, on));
        expect(matches({ $nor: [given] }, on)).toBe(matches({ $not: given }, on));
      }),
    );
  });
});

describe('a wrong selector is refused', () => {
  const number = 'must be in the format [divisor, remainder], where divisor and remainder are both integers';
  const types = '"null", "boolean", "number", "string", "array", or "object"';
  it.each<[object, string]>([
    [{ a: { $in: 'a' } }, 'Query operator $in must be an array. Received string: a'],
    [{ a: { $nin: 'a' } }, 'Query operator $nin must be an array. Received string: a'],
    [{ a: { $all: 'a' } }, 'Query operator $all must be an array. Received string: a'],
    [{ a: { $mod: 'a' } }, 'Query operator $mod must be an array. Received string: a'],
    [{ a: { $allMatch: 'a' } }, 'Query operator $allMatch must be an object. Received string: a'],
    [{ a: { $elemMatch: null } }, 'Query operator $elemMatch must be an object. Received : null'],
    [{ a: { $size: 2.1 } }, 'Query operator $size must be a integer. Received number: 2.1'],
    [{ a: { $exists: 'true' } }, 'Query operator $exists must be a boolean. Received string: true'],
    [
      { a: { $type: 'made-up' } },
      `Query operator $type must be a string. Supported values: ${types}. Received string: made-up`,
    ],
    [{ a: { $mod: [0, 1] } }, "Query operator $mod's divisor cannot be 0, cannot divide by zero."],
    [{ a: { $mod: ['a', 1] } }, "Query operator $mod's divisor is not an integer. Received string: a"],
    [{ a: { $mod: [1, 'a'] } }, "Query operator $mod's remainder is not an integer. Received string: a"],
    [{ a: { $mod: [1] } }, `Query operator $mod ${number}. Received array: [\n\t1\n]`],
    [
      { a: { $regex: 1986 } },
      'Query operator $regex must be a string or an instance of a javascript regular expression. Received number: 1986',
    ],
    [{ $or: [{ a: { $not: { $in: 'a' } } }] }, 'Query operator $in must be an array. Received string: a'],
    [{ $and: {} }, 'Query operator $and must be an array. Received object: {}'],
    [{ $or: [1] }, 'Query operator $or must be an array of objects. Received number: 1'],
    [{ $not: 1 }, 'Query operator $not must be an object. Received number: 1'],
    [{ a: { $foo: 1 } }, 'Invalid operator: $foo'],
    [{ $foo: 1 }, 'Invalid operator: $foo'],
    [{ a: { $regex: '(' } }, 'Query operator $regex must be a regular expression: ('],
    [{ a: { $beginsWith: 1 } }, 'Query operator $beginsWith must be a string. Received number: 1'],
    [{ a: { $keyMapMatch: 1 } }, 'Query operator $keyMapMatch must be an object. Received number: 1'],
    [{ a: { $elemMatch: 'a' } }, 'Query operator $elemMatch must be an object. Received string: a'],
    [{ a: { $size: 'a' } }, 'Query operator $size must be a integer. Received string: a'],
    [{ a: { $mod: [1.5, 0] } }, "Query operator $mod's divisor is not an integer. Received number: 1.5"],
    [
      { a: { $type: 1 } },
      `Query operator $type must be a string. Supported values: ${types}. Received number: 1`,
    ],
    [{ a: { $all: {} } }, 'Query operator $all must be an array. Received object: {}'],
    [{ $nor: 'a' }, 'Query operator $nor must be an array. Received string: a'],
  ])('%j', (selector, message) => {
    expect(() => checkSelector(selector)).toThrow(expect.objectContaining({ status: 400, message }));
  });

  it('when JSON has nothing, or `{}`, for a value', () => {
    const find = (): string => 'a';
    for (const [wrong, message] of [
      [/a/i, 'In a selector a pattern is the value of $regex: { $regex: /a/i }'],
      [find, 'A selector has no functions: give what it answers'],
      [Promise.resolve('a'), 'A selector has no promises: await it first'],
    ] as const)
      for (const selector of [
        { a: wrong },
        { a: { $ne: wrong } },
        { a: { $in: ['b', wrong] } },
        { a: { b: wrong } },
        { $or: [{ b: 1 }, { $not: { a: wrong } }] },
        { a: { $elemMatch: { $eq: wrong } } },
      ])
        for (const read of [checkSelector, compileSelector, withPatterns])
          expect(() => read(selector)).toThrow(expect.objectContaining({ status: 400, message }));
  });

  it('but not for what a value that writes its own JSON consists of', () => {
    const day = { at: 1, format: () => '', pattern: /a/, toJSON: () => '2026-11-30' };
    const selector = { a: day, b: { $gt: day }, c: { $regex: /x/ } };
    const doc = { a: '2026-11-30', b: '2026-12-01', c: 'x' };
    expect(compileSelector(checkSelector(selector))(doc)).toBe(true);
    expect(withPatterns(selector)).toMatchObject({ c: { $regex: 'x' } });
  });

  it('when it is no object, or nested beyond measure', () => {
    for (const value of [null, undefined, 'a', 1, []]) {
      expect(() => checkSelector(value)).toThrow('Selector must be a JSON object');
    }
    let deep: object = {};
    for (let n = 0; n < 100_000; n++) deep = { $not: deep };
    expect(() => checkSelector(deep)).toThrow(expect.objectContaining({ status: 400 }));
  });
});
