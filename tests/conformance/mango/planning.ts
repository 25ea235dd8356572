/** use_index, explain, bookmarks: which way an answer is found. */
import { expect, it } from 'vitest';
import { ids, type MangoContext, type MangoDatabase } from './context';

const docs = Array.from({ length: 20 }, (_, n) => ({
  _id: `d${10 + n}`,
  type: n % 2 ? 'odd' : 'even',
  n,
  tags: [n % 3, 'all'],
}));

interface Plan {
  readonly kind: string;
  readonly steps: readonly string[];
  readonly in_memory_sort: boolean;
}
const planOf = async (db: MangoDatabase, request: object): Promise<Plan> =>
  (await db.explain(request as never)).plan as Plan;
const indexOf = async (db: MangoDatabase, request: object): Promise<string> =>
  (await db.explain(request as never)).index.name;

export function planningConformance(context: MangoContext): void {
  it('explains what find uses', async () => {
    const db = await context.with(...docs);
    const request = { selector: { n: { $gt: 5 } }, fields: ['n'], limit: 3 };
    expect(await db.explain(request)).toMatchObject({
      index: { ddoc: null, name: '_all_docs', type: 'special', def: { fields: [{ _id: 'asc' }] } },
      selector: { n: { $gt: 5 } },
      fields: ['n'],
      limit: 3,
      skip: 0,
      plan: { kind: 'scan', warning: expect.stringContaining('No matching index') },
    });
    await db.createIndex({ fields: ['n'], name: 'by n', ddoc: 'n' });
    const explanation = await db.explain({ selector: { n: { $gt: 5 }, type: 'odd' } });
    expect(explanation).toMatchObject({
      dbname: expect.any(String),
      index: { ddoc: '_design/n', name: 'by n', type: 'json', def: { fields: [{ n: 'asc' }] } },
      selector: { n: { $gt: 5 }, type: { $eq: 'odd' } },
      opts: { limit: 25, skip: 0, bookmark: 'nil', use_index: [] },
      fields: 'all_fields',
      range: { start_key: [5] },
      plan: { kind: 'index', in_memory_sort: false },
    });
    expect(explanation.plan).not.toHaveProperty('warning');
  });

  it('takes the index that leaves out most', async () => {
    const db = await context.with(...docs);
    for (const name of ['type', 'n', 'type,n', 'n,type', 'type,tags'])
      await db.createIndex({ fields: name.split(','), name });
    const chosen = (selector: object, sort?: unknown[]) => indexOf(db, { selector, sort });
    expect(await chosen({ type: 'odd' })).toBe('type');
    expect(await chosen({ type: 'odd', n: 3 })).toBe('n,type');
    expect(await chosen({ type: 'odd', n: { $gt: 3 } })).toBe('type,n');
    expect(await chosen({ n: { $gt: 3 } })).toBe('n');
    expect(await chosen({ type: 'odd' }, ['n'])).toBe('type,n');
    expect(await chosen({ type: 'odd' }, ['type', 'n'])).toBe('type,n');
    expect(await chosen({ type: 'odd', tags: { $in: [1] } })).toBe('type,tags');
    expect(await chosen({}, ['n'])).toBe('n');
    expect(await chosen({ n: { $exists: false } })).toBe('_all_docs');
    expect(await chosen({ _id: { $in: ['d10', 'd11'] }, n: { $gt: 1 } })).toBe('_all_docs');
    expect(await chosen({ n: { $gt: 1 }, _id: { $gt: 'd11' } })).toBe('n');
  });

  it('uses an index by its leading fields, also for documents without the others', async () => {
    const db = await context.with({ _id: 'a', x: 1 }, { _id: 'b', x: 1, y: 2 }, { _id: 'c', x: 2 });
    await db.createIndex({ fields: ['x', 'y'], name: 'xy' });
    expect(await indexOf(db, { selector: { x: 1 } })).toBe('xy');
    expect(await ids(db, { x: 1 })).toEqual(['a', 'b']);
    expect(await ids(db, { x: { $gte: 1 } })).toEqual(['a', 'b', 'c']);
    expect(await ids(db, { x: 1, y: { $exists: true } })).toEqual(['b']);
  });

  it('joins indexes for the branches of an $or', async () => {
    const db = await context.with(...docs);
    await db.createIndex({ fields: ['type', 'n'], name: 'type,n' });
    await db.createIndex({ fields: ['tags'], name: 'tags' });
    const selector = { $or: [{ type: 'odd', n: 3 }, { tags: { $all: [0] } }, { _id: 'd12' }] };
    const plan = await planOf(db, { selector });
    expect(plan.kind).toBe('gather');
    expect(plan.steps.join('\n')).toMatch(/type,n[\s\S]*tags[\s\S]*look up 1 id/);
    const found = await db.find({ selector, execution_stats: true });
    expect(found.docs.map(({ _id }) => _id)).toEqual([
      'd10',
      'd12',
      'd13',
      'd16',
      'd19',
      'd22',
      'd25',
      'd28',
    ]);
    expect(found.execution_stats!.total_docs_examined).toBe(8);
    expect(found).not.toHaveProperty('warning');
    const sorted = await db.find({ selector, sort: [{ n: 'desc' }], limit: 3 });
    expect(sorted.docs.map(({ _id }) => _id)).toEqual(['d28', 'd25', 'd22']);
    // One branch without an index: then nothing is gained.
    expect((await planOf(db, { selector: { $or: [{ tags: 1 }, { other: 1 }] } })).kind).toBe('scan');
  });

  it('reads many single values as one range', async () => {
    const db = await context.with(...docs);
    await db.createIndex({ fields: ['n'] });
    const $in = Array.from({ length: 3_000 }, (_, n) => n - 1_000);
    expect(await ids(db, { n: { $in } })).toHaveLength(20);
    expect(await ids(db, { n: { $in }, type: 'odd' }, { sort: [{ n: 'desc' }], limit: 2 })).toEqual([
      'd29',
      'd27',
    ]);
  });

  it('uses the index that is named', async () => {
    const db = await context.with(...docs);
    await db.createIndex({ fields: ['n'], name: 'one', ddoc: 'd' });
    await db.createIndex({ fields: ['n', 'type'], name: 'two', ddoc: 'd' });
    const selector = { n: 3 };
    for (const use_index of [
      ['d', 'two'],
      ['_design/d', 'two'],
    ])
      expect(await indexOf(db, { selector, use_index })).toBe('two');
    for (const use_index of ['d/two', '_design/d/two'])
      expect(await indexOf(db, { selector, use_index })).toBe('two');
    for (const use_index of ['d', '_design/d', ['d']])
      expect(await indexOf(db, { selector, use_index })).toBe('one');
    expect(await indexOf(db, { selector, use_index: '_all_docs' })).toBe('_all_docs');
    for (const use_index of [[], '', null, undefined])
      expect(await indexOf(db, { selector, use_index: use_index as never })).toBe('one');
  });

  it('refuses an index that is not there or cannot be used; a server does without', async () => {
    const db = await context.with(...docs);
    await db.createIndex({ fields: ['n'], name: 'one', ddoc: 'd' });
    await db.createIndex({ fields: ['n', 'type'], name: 'two', ddoc: 'd' });
    const selector = { n: 3 };
    const unusable = { selector: { type: 'odd' }, use_index: 'd' };
    if (context.traits.fallsBack) {
      for (const use_index of ['none', ['d', 'none'], ['none', 'one'], 'd/none', 'n/d/two']) {
        const { docs: found, warning } = await db.find({ selector, use_index });
        expect(found).toHaveLength(1);
        expect(warning).toMatch(/was not used/);
        expect(await indexOf(db, { selector, use_index })).toBe('one');
      }
      expect((await db.find(unusable)).docs).toHaveLength(10);
      return;
    }
    for (const use_index of ['none', ['d', 'none'], ['none', 'one'], 'd/none', 'n/d/two']) {
      await expect(db.find({ selector, use_index })).rejects.toMatchObject({ error: 'unknown_error' });
      await expect(db.explain({ selector, use_index })).rejects.toMatchObject({ error: 'unknown_error' });
    }
    await expect(db.find(unusable)).rejects.toMatchObject({ error: 'no_usable_index', status: 400 });
    await expect(db.explain(unusable)).rejects.toThrow(Error);
  });

  it('uses a partial index only when it is named', async () => {
    const db = await context.with(...docs);
    const partial_filter_selector = { type: 'odd' };
    await db.createIndex({ index: { fields: ['n'], partial_filter_selector }, name: 'odd', ddoc: 'odd' });
    const selector = { n: { $lt: 6 } };
    expect(await indexOf(db, { selector })).toBe('_all_docs');
    expect(await ids(db, selector)).toHaveLength(6);
    expect(await ids(db, selector, { use_index: 'odd' })).toEqual(['d11', 'd13', 'd15']);
    expect(await indexOf(db, { selector, use_index: ['odd', 'odd'] })).toBe('odd');
    await db.put({ ...(await db.get('d11')), type: 'even' } as never);
    expect(await ids(db, selector, { use_index: 'odd' })).toEqual(['d13', 'd15']);
  });

  it.each<[string, object]>([
    ['all documents', { selector: {} }],
    ['an index', { selector: { n: { $gte: 0 } } }],
    ['an index backwards', { selector: { n: { $gte: 0 } }, sort: [{ n: 'desc' }] }],
    ['elements of lists', { selector: { tags: { $in: ['all'] } } }],
    ['a sort in memory', { selector: {}, sort: ['type', 'n'] }],
    ['ids', { selector: { _id: { $in: docs.map(({ _id }) => _id) } } }],
  ])('goes on by bookmark through %s', async (_, request) => {
    const db = await context.with(...docs);
    await db.createIndex({ fields: ['n'] });
    await db.createIndex({ fields: ['tags'] });
    const all = (await db.find({ limit: 100, ...request } as never)).docs;
    const pages: object[] = [];
    let bookmark: string | undefined;
    for (const size of [7, 7, 6, 0, 0]) {
      const page = await db.find({ limit: 7, bookmark, ...request } as never);
      expect(page.docs).toHaveLength(size);
      // At the end it stays where it is.
      if (size === 0) expect(page.bookmark).toBe(bookmark);
      bookmark = page.bookmark;
      pages.push(...page.docs);
    }
    expect(pages).toEqual(all);
    expect(await db.find({ limit: 3, skip: 2, ...request } as never)).toMatchObject({
      docs: all.slice(2, 5),
    });
  });

  it('neither repeats nor leaves out a document that is there all the time, whatever is written between pages', async () => {
    const db = await context.with(...docs);
    await db.createIndex({ fields: ['n'] });
    const first = await db.find({ selector: { n: { $gte: 0 } }, limit: 5 });
    await db.bulkDocs([
      { _id: 'new', n: 1.5 },
      { _id: 'newer', n: 7.5 },
      { ...first.docs[0], _deleted: true },
    ] as never);
    const rest = await db.find({ selector: { n: { $gte: 0 } }, limit: 100, bookmark: first.bookmark });
    const seen = [...first.docs, ...rest.docs].map(({ _id }) => _id);
    expect(seen).toEqual([
      ...docs.slice(0, 8).map(({ _id }) => _id),
      'newer',
      ...docs.slice(8).map(({ _id }) => _id),
    ]);
  });

  it('refuses a bookmark of an index that is gone', async () => {
    const db = await context.with(...docs);
    await db.createIndex({ fields: ['n'], name: 'n', ddoc: 'n' });
    const { bookmark } = await db.find({ selector: { n: { $gte: 0 } }, limit: 5 });
    await db.deleteIndex({ ddoc: 'n', name: 'n' });
    await expect(db.find({ selector: { n: { $gte: 0 } }, bookmark })).rejects.toMatchObject({
      status: 400,
      name: 'invalid_bookmark',
    });
  });

  it('refuses a bookmark whose place its order does not have', async () => {
    const db = await context.with(...docs);
    const selector = { n: { $gte: 0 } };
    const forged = (bookmark: string, key: unknown): string => {
      const [order, , id] = JSON.parse(bookmark);
      return JSON.stringify([order, key, id]);
    };
    const refuses = async (sort: string[], keys: readonly unknown[]): Promise<void> => {
      const { bookmark } = await db.find({ selector, sort, limit: 5 });
      for (const key of keys)
        await expect(
          db.find({ selector, sort, bookmark: forged(bookmark!, key) }),
          `${key}`,
        ).rejects.toMatchObject({ status: 400, name: 'invalid_bookmark' });
    };
    await refuses(['n'], [null, 5, {}, [], [1, 2]]);
    await db.createIndex({ fields: ['n'] });
    await refuses([], [null, 5, 'x']);
  });
}
