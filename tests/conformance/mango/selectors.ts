/** find: which documents a selector finds, by whatever fields, with an index on them and without. */
import { expect, it } from 'vitest';
import { Day } from '../database/expectations';
import { ids, type MangoContext, type MangoDatabase, people } from './context';

/** The same with an index on the fields and without. */
async function eitherWay(
  db: MangoDatabase,
  fields: readonly string[],
  selector: object,
  expected: readonly string[],
): Promise<void> {
  expect((await ids(db, selector, { use_index: '_all_docs' })).sort()).toEqual([...expected].sort());
  await db.createIndex({ fields });
  expect((await ids(db, selector)).sort()).toEqual([...expected].sort());
}

export function selectorsConformance(context: MangoContext): void {
  it.each([
    'a.b',
    'a\\.b',
    '\\$f',
    '0',
    '1st',
    'with space',
    'da-sh',
    'foo/bar',
    'foo_c47_bar',
    '\u{1f600} é',
    'constructor',
    'o.__proto__',
    'a.0.b',
    'tail\\\\',
  ])('finds by a field named %j', async (name) => {
    const wanted = withField(name, 'yes');
    const db = await context.with(
      { ...wanted, _id: 'a' },
      { ...withField(name, 'no'), _id: 'b' },
      { _id: 'c' },
    );
    await eitherWay(db, [name], { [name]: 'yes' }, ['a']);
    expect(await ids(db, { [name]: { $exists: false } })).toEqual(['c']);
    expect(await ids(db, {}, { sort: [name] })).toEqual(['b', 'a']);
  });

  it('tells fields apart whose names look like each other escaped', async () => {
    const db = await context.with({ _id: 'a', 'foo/bar': 1 }, { _id: 'b', foo_c47_bar: 1 });
    await db.createIndex({ fields: ['foo/bar'] });
    await db.createIndex({ fields: ['foo_c47_bar'] });
    expect(await ids(db, { 'foo/bar': 1 })).toEqual(['a']);
    expect(await ids(db, { foo_c47_bar: 1 })).toEqual(['b']);
  });

  it('knows the order of types', async () => {
    const values = [null, false, true, -1, 0, 1, 'a', [], ['a'], {}, { a: 1 }];
    const db = await context.with(...values.map((v, n) => ({ _id: `d${10 + n}`, v })), { _id: 'none' });
    const names = (from: number, to = 10) => values.map((_, n) => `d${10 + n}`).slice(from, to + 1);
    const cases: [object, string[]][] = [
      [{ v: { $gt: 0 } }, names(5)],
      [{ v: { $lt: 0 } }, names(0, 3)],
      [{ v: { $gte: null } }, names(0)],
      [{ v: { $lte: null } }, names(0, 0)],
      [{ v: { $gt: null } }, names(1)],
      [{ v: { $exists: true } }, names(0)],
      [{ v: { $ne: null } }, names(1)],
      [{ v: { $eq: null } }, names(0, 0)],
      [{ v: { $eq: false } }, names(1, 1)],
      [{ v: { $eq: 0 } }, names(4, 4)],
      [{ v: { $type: 'boolean' } }, names(1, 2)],
      [{ v: {} }, names(9, 9)],
    ];
    for (const use_index of ['_all_docs', undefined]) {
      if (use_index === undefined) await db.createIndex({ fields: ['v'] });
      for (const [selector, expected] of cases) {
        expect(await ids(db, selector, { use_index, sort: ['v'] }), JSON.stringify(selector)).toEqual(
          expected,
        );
        const sort = [{ v: 'desc' }];
        expect(await ids(db, selector, { use_index, sort })).toEqual([...expected].reverse());
      }
    }
  });

  it('compares ids with what is no id', async () => {
    const db = await context.with({ _id: 'a' }, { _id: 'b' });
    const all = [{ $gt: null }, { $gt: false }, { $gt: 0 }, { $gt: {} }, { $gte: {} }, { $gte: '' }];
    const none = [null, false, 0, {}, []].flatMap((value) => [{ $lt: value }, { $lte: value }]);
    for (const condition of all) expect(await ids(db, { _id: condition })).toEqual(['a', 'b']);
    for (const condition of [...none, { $eq: {} }, { $eq: null }, { $eq: 0 }, {}])
      expect(await ids(db, { _id: condition }), JSON.stringify(condition)).toEqual([]);
    expect(await ids(db, { _id: { $in: ['b', 'none', 'a'] } })).toEqual(['a', 'b']);
    expect(await ids(db, { _id: { $gt: 'a', $lte: 'b' } })).toEqual(['b']);
    expect(await ids(db, { _id: 'b' })).toEqual(['b']);
  });

  it('matches everything by {} and nothing by an empty condition', async () => {
    const db = await context.with(...people);
    expect(await ids(db, {})).toHaveLength(5);
    await eitherWay(db, ['age'], { age: {} }, []);
  });

  it.each<[string, object, readonly string[]]>([
    ['equality within objects', { name: { last: 'Lee' } }, ['ann', 'bob']],
    ['equality with all of an object', { name: { $eq: { first: 'Bob', last: 'Lee' } } }, ['bob']],
    ['$gt and $gte on one field', { age: { $gt: 25, $gte: 25 } }, ['ann', 'cid']],
    ['$eq and $ne on one field', { $and: [{ age: { $eq: 31 } }, { age: { $ne: 31 } }] }, []],
    ['$ne null', { age: { $ne: null } }, ['ann', 'bob', 'cid']],
    ['$in on lists and others', { tags: { $in: ['x'] } }, ['ann', 'dan']],
    ['$nin', { tags: { $nin: ['x'] } }, ['bob', 'eve']],
    ['$all', { tags: { $all: ['y', 'x'] } }, ['ann']],
    ['$all of one list', { tags: { $all: [['x', 'y']] } }, ['ann']],
    ['$elemMatch', { tags: { $elemMatch: { $gt: 'x' } } }, ['ann', 'eve']],
    ['$allMatch', { tags: { $allMatch: { $eq: 'y' } } }, ['eve']],
    ['$keyMapMatch', { name: { $keyMapMatch: { $eq: 'first' } } }, ['ann', 'bob', 'cid', 'dan', 'eve']],
    ['$size', { tags: { $size: 0 } }, ['bob']],
    ['$mod', { age: { $mod: [2, 1] } }, ['ann', 'bob', 'cid']],
    ['two patterns', { 'name.first': { $and: [{ $regex: '^[AB]' }, { $regex: 'b$' }] } }, ['bob']],
    ['$beginsWith', { 'name.last': { $beginsWith: 'R' } }, ['cid', 'dan']],
    ['$or on one field', { $or: [{ age: 25 }, { age: null }] }, ['bob', 'eve']],
    ['$or on two fields', { $or: [{ age: 25 }, { 'name.last': 'Fox' }] }, ['bob', 'eve']],
    ['$nor', { $nor: [{ age: 25 }, { age: null }] }, ['ann', 'cid']],
    ['$not', { age: { $not: { $gt: 25 } } }, ['bob', 'eve']],
    [
      '$and of $ors',
      { $and: [{ $or: [{ age: 31 }, { age: 25 }] }, { $or: [{ tags: 'x' }, { tags: [] }] }] },
      ['bob'],
    ],
  ])('finds the same by %s with an index and without', async (_, selector, expected) => {
    const db = await context.with(...people);
    for (const fields of [['age'], ['tags'], ['name.last', 'age'], ['name.first']])
      await eitherWay(db, fields, selector, expected);
  });

  it('finds documents by each element of a list, once', async () => {
    const tags = Array.from({ length: 30 }, (_, n) => n);
    const many = Array.from({ length: 1_500 }, (_, n) => n);
    const db = await context.with({ _id: 'a', tags }, { _id: 'b', tags: many }, { _id: 'c', tags: 7 });
    await db.createIndex({ fields: ['tags'] });
    expect(await ids(db, { tags: { $in: [3, 5, 7] } })).toEqual(['a', 'b', 'c']);
    expect(await ids(db, { tags: { $all: [1_400, 3] } })).toEqual(['b']);
    expect(await ids(db, { tags: { $elemMatch: { $gte: 20, $lt: 25 } } })).toEqual(['a', 'b']);
    expect(await ids(db, { tags: 7 })).toEqual(['c']);
    expect(await ids(db, { tags })).toEqual(['a']);
  });

  it.each<[string, object, readonly string[]]>([
    [
      'several conditions on one field',
      { $and: [{ age: { $gt: 20 } }, { age: { $gt: 25 } }] },
      ['ann', 'cid'],
    ],
    ['what excludes itself', { age: { $gt: 30, $lt: 30 } }, []],
    ['part of an object', { name: { first: 'Ann', last: { $regex: '^L' } } }, ['ann']],
    ['an operator that is stored', { stored: { $eq: { $gt: 1 } } }, ['odd']],
    ['one within a list of values', { stored: { $in: [{ $gt: 1 }, 2] } }, ['odd']],
    ['objects in a list', { list: { $elemMatch: { k: 1, v: { $gt: 'a' } } } }, ['odd']],
    ['all objects in a list', { list: { $allMatch: { k: { $gte: 1 } } } }, ['odd']],
    ['null in a list', { nulls: { $elemMatch: { $eq: null } } }, ['odd']],
    ['what is no list', { 'name.first': { $allMatch: { $eq: 'Ann' } } }, []],
    ['null only', { age: { $lte: null } }, ['eve']],
    ['whatever is present', { age: { $gte: null } }, ['ann', 'bob', 'cid', 'eve']],
    ['no null', { age: { $ne: null } }, ['ann', 'bob', 'cid']],
    ['a size of what has none', { 'name.first': { $size: 3 } }, []],
    ['a pattern', { 'name.first': { $regex: /^[AB]/ } }, ['ann', 'bob']],
    ['a pattern of what is no text', { age: { $regex: '3' } }, []],
  ])('tells %s', async (_, selector, expected) => {
    const odd = { _id: 'odd', stored: { $gt: 1 }, nulls: [1, null], list: [{ k: 1, v: 'b' }, { k: 2 }] };
    const db = await context.with(...people, odd);
    for (const fields of [['age'], ['name.first'], ['stored'], ['list'], ['nulls']])
      await eitherWay(db, fields, selector, expected);
  });

  it('takes values that write their own JSON: dates, and those of libraries', async () => {
    const db = await context.with(
      ...[0, 1, 2].map((n) => ({ _id: `d${n}`, day: { at: new Date(n * 86_400_000) } })),
    );
    const [, day, later] = [0, 1, 2].map((n) => new Day(n * 86_400_000));
    for (const _index of [undefined, await db.createIndex({ fields: ['day.at'] })]) {
      expect(await ids(db, { 'day.at': day })).toEqual(['d1']);
      expect(await ids(db, { 'day.at': new Date(86_400_000) })).toEqual(['d1']);
      expect(await ids(db, { day: { at: { $gte: day } } })).toEqual(['d1', 'd2']);
      expect(await ids(db, { $or: [{ 'day.at': { $in: [day, 'x'] } }, { 'day.at': later }] })).toEqual([
        'd1',
        'd2',
      ]);
      expect(await ids(db, { day: { $eq: { at: day } } })).toEqual(['d1']);
    }
  });

  it('takes boxed values for those in them, as JSON does', async () => {
    const db = await context.with({ _id: 'd1', a: 1 }, { _id: 'd2', a: 'ab' }, { _id: 'd3', a: false });
    for (const [box, id] of [
      [Object(1), 'd1'],
      [Object('ab'), 'd2'],
      [Object(false), 'd3'],
    ])
      for (const condition of [box, { $eq: box }, { $in: [box] }])
        expect(await ids(db, { a: condition })).toEqual([id]);
  });

  it('has selectors as JSON has them: what is undefined asks for nothing', async () => {
    const db = await context.with(
      { _id: '1', a: null, b: 1 },
      { _id: '2', a: 1, b: 1 },
      { _id: '3', a: {}, b: 2 },
    );
    for (const indexed of [false, true]) {
      if (indexed) await db.createIndex({ fields: ['b', 'a'] });
      expect(await ids(db, { a: undefined })).toEqual(['1', '2', '3']);
      expect(await ids(db, { b: 1, a: undefined })).toEqual(['1', '2']);
      expect(await ids(db, { $or: [{ a: undefined, b: 2 }, { a: null }] })).toEqual(['1', '3']);
      expect(await ids(db, { a: { $gt: undefined } })).toEqual(['3']);
    }
  });
}

/** A document that has a value at a path. */
function withField(name: string, value: unknown): object {
  const path = name.split(/(?<!\\)\./).map((part) => part.replaceAll(/\\(.)/g, '$1'));
  return path.reduceRight<unknown>((inner, part) => {
    return Object.defineProperty({}, part, { value: inner, enumerable: true });
  }, value) as object;
}
