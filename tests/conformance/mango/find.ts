/** find: options, answers, order, and the fields that documents are asked by. */
import { expect, it } from 'vitest';
import { Day } from '../database/expectations';
import { ids, type MangoContext, type MangoDatabase } from './context';

const NO_INDEX = 'No matching index found, create an index to optimize query time.';

const people = [
  { _id: 'ann', age: 31, name: { first: 'Ann', last: 'Lee' }, tags: ['x', 'y'] },
  { _id: 'bob', age: 25, name: { first: 'Bob', last: 'Lee' }, tags: [] },
  { _id: 'cid', age: 31, name: { first: 'Cid', last: 'Roe' } },
  { _id: 'dan', name: { first: 'Dan', last: 'Roe' }, tags: 'x' },
  { _id: 'eve', age: null, name: { first: 'Eve', last: 'Fox' }, tags: ['y'] },
];

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

export function findConformance(context: MangoContext): void {
  it('answers whole documents, and a warning when all had to be read', async () => {
    const db = await context.with(...people);
    const { docs, warning, bookmark } = await db.find({ selector: { age: 25 } });
    expect(docs).toEqual([{ ...people[1], _rev: expect.stringMatching(/^1-/) }]);
    expect(warning).toBe(NO_INDEX);
    expect(typeof bookmark).toBe('string');
    await db.createIndex({ fields: ['age'] });
    const again = await db.find({ selector: { age: 25 } });
    expect(again.docs).toEqual(docs);
    expect(again).not.toHaveProperty('warning');
    expect(await db.find({ selector: { age: 99 } })).toEqual({ docs: [], bookmark: 'nil' });
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

  it('answers 25 unless told otherwise, and none when told none', async () => {
    const db = await context.with(...Array.from({ length: 40 }, (_, n) => ({ _id: `d${100 + n}`, n })));
    await db.createIndex({ fields: ['n'] });
    for (const selector of [{}, { n: { $gte: 0 } }]) {
      expect(await ids(db, selector)).toHaveLength(25);
      expect(await ids(db, selector, { limit: 100 })).toHaveLength(40);
      expect(await ids(db, selector, { limit: 0 })).toEqual([]);
      expect(await ids(db, selector, { limit: 2, skip: 38 })).toEqual(['d138', 'd139']);
      expect(await ids(db, selector, { skip: 50 })).toEqual([]);
    }
    expect(await ids(db, { n: { $mod: [2, 1], $gt: 5 } }, { limit: 2, skip: 1 })).toEqual(['d109', 'd111']);
  });

  it('finds neither design documents nor deleted ones', async () => {
    const db = await context.with({ _id: 'a', n: 1 }, { _id: 'b', n: 1 }, { _id: '_design/d', n: 1 });
    await db.put({ ...(await db.get('b')), _deleted: true });
    for (const selector of [{}, { n: 1 }, { _id: { $gt: null } }, { _id: { $gte: '_design/' } }])
      expect(await ids(db, selector)).toEqual(['a']);
    expect(await ids(db, { _id: '_design/d' })).toEqual([]);
    expect(await ids(db, { _id: 'b' })).toEqual([]);
    await db.createIndex({ fields: ['n'] });
    expect(await ids(db, { n: 1 })).toEqual(['a']);
  });

  it('orders by the index it uses, ties by id, and by id without one', async () => {
    const db = await context.with(...people);
    expect(await ids(db, { age: { $gt: null } })).toEqual(['ann', 'bob', 'cid']);
    await db.createIndex({ fields: ['age'] });
    expect(await ids(db, { age: { $gt: null } })).toEqual(['bob', 'ann', 'cid']);
    expect(await ids(db, { age: { $gte: null } }, { sort: [{ age: 'desc' }] })).toEqual([
      'cid',
      'ann',
      'bob',
      'eve',
    ]);
    expect(await ids(db, { age: { $lt: 31 } }, { sort: [{ age: 'desc' }] })).toEqual(['bob', 'eve']);
    expect(await ids(db, { age: { $gt: null } }, { sort: ['_id'] })).toEqual(['ann', 'bob', 'cid']);
    expect(await ids(db, {}, { sort: [{ _id: 'desc' }], limit: 2 })).toEqual(['eve', 'dan']);
  });

  it('sorts in memory what no index has in order, and says so', async () => {
    const db = await context.with(...people);
    const { docs, warning } = await db.find({ selector: {}, sort: [{ 'name.last': 'desc' }, 'age'] });
    expect(docs.map(({ _id }) => _id)).toEqual(['cid', 'bob', 'ann', 'eve']);
    expect(warning).toBe(
      `${NO_INDEX}\nSorted in memory: an index on ["name.last","age"] would have this order.`,
    );
    await db.createIndex({ fields: ['name.last'] });
    const lee = await db.find({ selector: { 'name.last': 'Lee' }, sort: ['age'] });
    expect(lee.docs.map(({ _id }) => _id)).toEqual(['bob', 'ann']);
    expect(lee.warning).toBe('Sorted in memory: an index on ["name.last","age"] would have this order.');
    await db.createIndex({ fields: ['name.last', 'age'] });
    expect(await db.find({ selector: { 'name.last': 'Lee' }, sort: ['age'] })).toEqual({
      docs: lee.docs,
      bookmark: expect.any(String),
    });
  });

  it('leaves out what has no place in the order, with an index or without', async () => {
    const db = await context.with(...people);
    expect(await ids(db, {}, { sort: ['age'] })).toEqual(['eve', 'bob', 'ann', 'cid']);
    await db.createIndex({ fields: ['age'] });
    expect(await ids(db, {}, { sort: ['age'] })).toEqual(['eve', 'bob', 'ann', 'cid']);
  });

  it('answers the fields asked for', async () => {
    const doc = { _id: 'a', o: { a: 1, b: { c: 2, d: 3 } }, 'x.y': 4, n: null, t: [{ k: 1 }] };
    const db = await context.with(doc);
    const project = async (...fields: string[]) => (await db.find({ selector: {}, fields })).docs[0];
    expect(await project('_id', 'n', 'none', 'none.more')).toEqual({ _id: 'a', n: null });
    expect(await project('o.b.c')).toEqual({ o: { b: { c: 2 } } });
    expect(await project('o.b.c', 'o.a')).toEqual({ o: { a: 1, b: { c: 2 } } });
    expect(await project('o.b.c', 'o')).toEqual({ o: doc.o });
    expect(await project('x\\.y', 'x.y')).toEqual({ 'x.y': 4 });
    expect(await project('t.k')).toEqual({});
    expect(await project('_rev')).toEqual({ _rev: expect.any(String) });
    expect(await project()).toMatchObject(doc);
  });

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

  it('uses and sorts by _id as a later field of an index', async () => {
    const db = await context.with(...people);
    await db.createIndex({ fields: ['name.last', '_id'], name: 'last', ddoc: 'last' });
    const request = { selector: { 'name.last': 'Lee', _id: { $gt: 'ann' } }, sort: ['name.last', '_id'] };
    expect(await ids(db, request.selector, { sort: request.sort })).toEqual(['bob']);
    expect((await db.explain(request as never)).index.name).toBe('last');
    const sort = [{ 'name.last': 'desc' }, { _id: 'desc' }];
    expect(await ids(db, { 'name.last': { $gt: null } }, { sort })).toEqual([
      'dan',
      'cid',
      'bob',
      'ann',
      'eve',
    ]);
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

  it('follows the documents', async () => {
    const db = await context.with(...people);
    await db.createIndex({ fields: ['age'] });
    const ann = await db.get('ann');
    await db.put({ ...ann, age: 25 } as never);
    expect(await ids(db, { age: 25 })).toEqual(['ann', 'bob']);
    await db.put({ ...(await db.get('ann')), _deleted: true });
    expect(await ids(db, { age: 25 })).toEqual(['bob']);
    await db.put({ _id: 'ann', age: 31 } as never);
    expect(await ids(db, { age: 31 })).toEqual(['ann', 'cid']);
  });

  it('shows conflicts when asked', async () => {
    const db = await context.with();
    const edit = (hash: string) => ({ _id: 'a', _rev: `1-${hash.repeat(32)}`, n: 1 });
    await db.bulkDocs([edit('a'), edit('b')], { new_edits: false });
    expect((await db.find({ selector: { n: 1 }, conflicts: true })).docs[0]).toMatchObject({
      _conflicts: [`1-${'a'.repeat(32)}`],
    });
    expect((await db.find({ selector: { n: 1 } })).docs[0]).not.toHaveProperty('_conflicts');
  });

  it('tells what it looked at', async () => {
    const db = await context.with(...people);
    const stats = async () =>
      (await db.find({ selector: { age: 31 }, execution_stats: true })).execution_stats;
    expect(await stats()).toEqual({
      total_keys_examined: 5,
      total_docs_examined: 5,
      total_quorum_docs_examined: 0,
      results_returned: 2,
      execution_time_ms: expect.any(Number),
    });
    await db.createIndex({ fields: ['age'] });
    expect(await stats()).toMatchObject({
      total_keys_examined: 2,
      total_docs_examined: 2,
      results_returned: 2,
    });
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

  it.each<[unknown, object]>([
    [undefined, { message: expect.stringContaining('provide search parameters') }],
    [{}, { name: 'missing_required_key', reason: 'Missing required key: selector' }],
    [{ selector: 'x' }, { message: 'Selector must be a JSON object' }],
    [
      { selector: { a: { $in: 'a' } } },
      { message: 'Query operator $in must be an array. Received string: a' },
    ],
    [{ selector: {}, sort: 'a' }, { name: 'invalid_sort_json' }],
    [{ selector: {}, sort: [1] }, { name: 'invalid_sort_field' }],
    [{ selector: {}, sort: { a: 'asc' } }, { name: 'invalid_sort_json' }],
    [{ selector: {}, fields: 'a' }, { name: 'invalid_fields_json' }],
    [{ selector: {}, limit: -1 }, { status: 400 }],
    [{ selector: {}, skip: 1.5 }, { status: 400 }],
    [
      { selector: {}, bookmark: 'nil' },
      { name: 'invalid_bookmark', reason: 'Invalid bookmark value: "nil"' },
    ],
    [{ selector: {}, bookmark: 'g1AAA' }, { name: 'invalid_bookmark' }],
    [
      { selector: {}, update: 'x' },
      { name: 'query_parse_error', reason: 'Invalid value for `update`: "x"' },
    ],
    [{ selector: {}, update: 1 }, { name: 'query_parse_error' }],
    [{ selector: {}, use_index: 7 }, { name: 'invalid_index_name' }],
  ])('refuses %j', async (request, error) => {
    const db = await context.with();
    await expect(db.find(request as never)).rejects.toThrow(Error);
    await expect(db.find(request as never)).rejects.toMatchObject({ status: 400, ...error });
    await expect(db.explain(request as never)).rejects.toMatchObject(error);
  });

  it('ends with its signal', async () => {
    const db = await context.with(...people);
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(db.find({ selector: {}, signal })).rejects.toThrow('enough');
    await expect(db.createIndex({ fields: ['a'] }, { signal })).rejects.toThrow('enough');
    await expect(db.getIndexes({ signal })).rejects.toThrow('enough');
  });
}

/** A document that has a value at a path. */
function withField(name: string, value: unknown): object {
  const path = name.split(/(?<!\\)\./).map((part) => part.replaceAll(/\\(.)/g, '$1'));
  return path.reduceRight<unknown>((inner, part) => {
    return Object.defineProperty({}, part, { value: inner, enumerable: true });
  }, value) as object;
}
