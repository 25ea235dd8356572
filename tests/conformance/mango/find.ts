/** find: options, answers and order. Which documents a selector finds: selectors.ts. */
import { expect, it } from 'vitest';
import { ids, type MangoContext, people } from './context';

const NO_INDEX = 'No matching index found, create an index to optimize query time.';

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
