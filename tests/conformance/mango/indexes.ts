/** createIndex, getIndexes, deleteIndex. */
import { expect, it } from 'vitest';
import type { MangoContext } from './context';
import { ids } from './context';

const ALL_DOCS = { ddoc: null, name: '_all_docs', type: 'special', def: { fields: [{ _id: 'asc' }] } };

export function indexesConformance(context: MangoContext): void {
  it('creates an index once, and says so the second time without touching it', async () => {
    const db = await context.with();
    const request = { index: { fields: ['a', 'b'] }, name: 'ab', ddoc: 'mine' };
    expect(await db.createIndex(request)).toEqual({ id: '_design/mine', name: 'ab', result: 'created' });
    expect(await db.createIndex(request)).toEqual({ id: '_design/mine', name: 'ab', result: 'exists' });
    expect(await db.createIndex({ fields: ['a', 'b'], name: 'ab', ddoc: '_design/mine' })).toMatchObject({
      result: 'exists',
    });
    expect((await db.get('_design/mine'))._rev).toMatch(/^1-/);
    expect(await db.getIndexes()).toEqual({
      total_rows: 2,
      indexes: [
        ALL_DOCS,
        { ddoc: '_design/mine', name: 'ab', type: 'json', def: { fields: [{ a: 'asc' }, { b: 'asc' }] } },
      ],
    });
  });

  it('keeps a RegExp of a partial filter as its text', async () => {
    const db = await context.with({ _id: 'a', kind: 'Xy', n: 1 }, { _id: 'b', kind: 'z', n: 1 });
    const partial_filter_selector = { kind: { $regex: /^x/i } };
    await db.createIndex({ index: { fields: ['n'], partial_filter_selector }, name: 'n', ddoc: 'mine' });
    expect((await db.getIndexes()).indexes[1]!.def).toMatchObject({
      partial_filter_selector: { kind: { $regex: '(?i)^x' } },
    });
    const asked = { selector: { n: 1, kind: { $regex: '(?i)^x' } }, use_index: ['mine', 'n'] };
    expect((await db.find(asked)).docs.map(({ _id }) => _id)).toEqual(['a']);
  });

  it('refuses a RegExp of a partial filter whose text would mean something else', async () => {
    const db = await context.with({ _id: 'a', kind: 'é', n: 1 });
    const made = (pattern: RegExp): Promise<unknown> => {
      const partial_filter_selector = { kind: { $regex: pattern } };
      return db.createIndex({ index: { fields: ['n'], partial_filter_selector }, name: String(pattern) });
    };
    const flag = 'v'; // not in a literal: TypeScript does not take it there
    const patterns = [/^\p{L}/u, /\P{L}/u, /\u{e9}/u, /[😀]/u, new RegExp('^[[a-z]--b]', flag)];
    for (const pattern of patterns)
      await expect(made(pattern)).rejects.toMatchObject({ status: 400, name: 'bad_request' });
    expect((await db.getIndexes()).total_rows).toBe(1);
    for (const pattern of [/^é$/u, /\\p{2}|é/iu]) await made(pattern);
    expect((await db.getIndexes()).total_rows).toBe(3);
  });

  it('answers with objects that belong to who asked', async () => {
    const db = await context.with({ _id: 'a', kind: 'x', n: 1 });
    const partial_filter_selector = { kind: 'x' };
    await db.createIndex({ index: { fields: ['n'], partial_filter_selector }, name: 'n', ddoc: 'mine' });
    const spoil = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      for (const each of Object.values(value)) spoil(each);
      for (const key of Object.keys(value)) delete (value as Record<string, unknown>)[key];
    };
    const asked = () => ({ selector: { n: 1, kind: 'x' }, use_index: ['mine', 'n'] });
    const before = [await db.getIndexes(), await db.explain(asked()), await db.explain({ selector: {} })];
    const again = structuredClone(before);
    spoil(before);
    expect([await db.getIndexes(), await db.explain(asked()), await db.explain({ selector: {} })]).toEqual(
      again,
    );
    expect((await db.find(asked())).docs.map(({ _id }) => _id)).toEqual(['a']);
  });

  it('names an index by what is in it, and another name is another design document', async () => {
    const db = await context.with();
    const one = await db.createIndex({ index: { fields: ['a'] } });
    expect(one).toEqual({ id: `_design/${one.name}`, name: one.name, result: 'created' });
    for (const field of ['a', { a: 'asc' }] as const)
      expect(await db.createIndex({ fields: [field] })).toEqual({ ...one, result: 'exists' });
    const down = await db.createIndex({ fields: [{ a: 'desc' }] });
    expect(down.result).toBe('created');
    const named = await db.createIndex({ index: { fields: ['a'], name: 'a' } });
    const other = await db.createIndex({ index: { fields: ['a'], name: 'also a' } });
    expect(new Set([one.id, down.id, named.id, other.id]).size).toBe(4);
    expect(named.name).toBe('a');
    expect((await db.getIndexes()).total_rows).toBe(5);
  });

  it('puts several into one design document, and replaces one of other fields', async () => {
    const db = await context.with({ _id: 'x', s: 1, w: 2 });
    await db.createIndex({ index: { fields: ['n'] }, name: 'n', ddoc: 'idx' });
    await db.createIndex({ index: { fields: ['s'] }, name: 's', ddoc: 'idx' });
    expect(await db.createIndex({ index: { fields: ['w'] }, name: 's', ddoc: 'idx' })).toMatchObject({
      result: 'created',
    });
    const { indexes } = await db.getIndexes();
    expect(indexes.map(({ name, def }) => [name, def.fields])).toEqual([
      ['_all_docs', [{ _id: 'asc' }]],
      ['n', [{ n: 'asc' }]],
      ['s', [{ w: 'asc' }]],
    ]);
    expect(await ids(db, { w: 2 }, { use_index: ['idx', 's'] })).toEqual(['x']);
  });

  it('writes design documents that CouchDB reads', async () => {
    const db = await context.with();
    const partial_filter_selector = { type: 'x', o: { a: 1 } };
    await db.createIndex({ index: { fields: ['n'], partial_filter_selector }, name: 'p', ddoc: 'p' });
    await db.createIndex({ index: { fields: [{ a: 'desc' }, { b: 'desc' }] }, name: 'd', ddoc: 'd' });
    const normal = { type: { $eq: 'x' }, o: { a: { $eq: 1 } } };
    expect(await db.get('_design/p')).toMatchObject({
      language: 'query',
      views: {
        p: {
          map: { fields: { n: 'asc' }, partial_filter_selector: normal },
          reduce: '_count',
          options: { def: { fields: ['n'], partial_filter_selector } },
        },
      },
    });
    const design = (await db.get('_design/d')) as unknown as { views: { d: { map: object } } };
    expect(design.views.d.map).toEqual({ fields: { a: 'desc', b: 'desc' } });
    const { indexes } = await db.getIndexes();
    expect(indexes.at(-1)!.def).toEqual({ fields: [{ n: 'asc' }], partial_filter_selector: normal });
  });

  it('reads design documents that CouchDB wrote, and skips what is no index', async () => {
    const db = await context.with(
      { _id: 'x', n: 1 },
      {
        _id: '_design/couch',
        language: 'query',
        views: {
          n: {
            map: { fields: { n: 'asc' }, partial_filter_selector: {} },
            reduce: '_count',
            options: { def: { fields: ['n'] } },
          },
        },
      },
      { _id: '_design/empty', language: 'query' },
      { _id: '_design/text', language: 'query', indexes: { t: {} } },
      { _id: '_design/js', views: { v: { map: 'function (doc) { emit(doc.n); }' } } },
      {
        _id: '_design/odd',
        language: 'query',
        views: { v: null, w: { map: 'x' }, y: { map: { fields: 1 } } },
      },
    );
    expect((await db.getIndexes()).indexes.map(({ ddoc }) => ddoc)).toEqual([null, '_design/couch']);
    expect(await ids(db, { n: 1 }, { use_index: 'couch' })).toEqual(['x']);
  });

  it('keeps the order of fields whose names are numbers', async () => {
    const db = await context.with({ _id: 'x', 1: 'one', b: 'two' });
    await db.createIndex({ fields: ['b', '1'] });
    const { indexes } = await db.getIndexes();
    expect(indexes[1]!.def.fields).toEqual([{ b: 'asc' }, { 1: 'asc' }]);
    expect(await ids(db, { b: 'two', 1: 'one' })).toEqual(['x']);
  });

  it('creates eight at once, also in one design document', async () => {
    const db = await context.with();
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const apart = names.map((name) => db.createIndex({ fields: [name] }));
    const together = names.map((name) => db.createIndex({ fields: [name], name, ddoc: 'all' }));
    const same = names.map(() => db.createIndex({ fields: ['same'] }));
    const results = (await Promise.all([...apart, ...together, ...same])).map(({ result }) => result);
    expect(results.filter((result) => result === 'created')).toHaveLength(17);
    expect((await db.getIndexes()).total_rows).toBe(18);
  });

  it('takes an index away, and its design document with the last one', async () => {
    const db = await context.with({ _id: 'x', a: 1 });
    await db.createIndex({ fields: ['a'], name: 'a', ddoc: 'idx' });
    await db.createIndex({ fields: ['b'], name: 'b', ddoc: 'idx' });
    expect(await db.deleteIndex({ ddoc: '_design/idx', name: 'a', type: 'json' })).toEqual({ ok: true });
    expect((await db.getIndexes()).indexes.map(({ name }) => name)).toEqual(['_all_docs', 'b']);
    expect(await ids(db, { a: 1 })).toEqual(['x']);
    expect(await db.deleteIndex({ ddoc: 'idx', name: 'b' })).toEqual({ ok: true });
    await expect(db.get('_design/idx')).rejects.toMatchObject({ status: 404, reason: 'deleted' });
    expect(await db.createIndex({ fields: ['a'], name: 'a', ddoc: 'idx' })).toMatchObject({
      result: 'created',
    });
  });

  it('leaves what else a design document holds', async () => {
    const db = await context.with();
    await db.createIndex({ fields: ['a'], name: 'a', ddoc: 'idx' });
    const design = await db.get('_design/idx');
    await db.put({ ...design, validate_doc_update: 'function () {}' } as never);
    await db.deleteIndex({ ddoc: 'idx', name: 'a' });
    expect(await db.get('_design/idx')).toMatchObject({ validate_doc_update: 'function () {}' });
  });

  it.each<[string, object, object]>([
    ['a missing design document', { ddoc: 'none', name: 'x' }, { status: 404, name: 'not_found' }],
    ['a missing name', { ddoc: 'idx', name: 'x' }, { status: 404, name: 'not_found' }],
    ['another type', { ddoc: 'idx', name: 'a', type: 'text' }, { status: 404 }],
    ['no ddoc', { name: 'a' }, { status: 400, message: expect.stringContaining('index.ddoc') }],
    ['no name', { ddoc: 'idx' }, { status: 400, message: expect.stringContaining('index.name') }],
    ['_all_docs', { ddoc: null, name: '_all_docs' }, { status: 400 }],
  ])('does not delete %s', async (_, given, error) => {
    const db = await context.with();
    await db.createIndex({ fields: ['a'], name: 'a', ddoc: 'idx' });
    await expect(db.deleteIndex(given as never)).rejects.toMatchObject(error);
    expect((await db.getIndexes()).total_rows).toBe(2);
  });

  it.each<[unknown, string, string]>([
    [{}, 'missing_required_key', 'Missing required key: index'],
    [{ index: {} }, 'missing_required_key', 'Missing required key: fields'],
    [{ index: 'x' }, 'invalid_index', 'JSON indexes must be an object, not: "x"'],
    [{ index: { fields: 'x' } }, 'invalid_sort_json', 'Sort must be an array of sort specs, not: "x"'],
    [{ fields: [1] }, 'invalid_sort_field', 'Invalid sort field: 1'],
    [{ fields: [''] }, 'invalid_sort_field', 'Invalid sort field: ""'],
    [{ fields: [{ a: 'x' }] }, 'invalid_sort_field', 'Invalid sort field: {"a":"x"}'],
    [{ fields: [{ a: 'asc', b: 'asc' }] }, 'invalid_sort_field', 'Invalid sort field: {"a":"asc","b":"asc"}'],
    [
      { fields: [{ a: 'asc' }, { b: 'desc' }] },
      'unsupported_mixed_sort',
      'Sorts currently only support a single direction for all fields.',
    ],
    [{ type: 'x', index: { fields: ['a'] } }, 'invalid_index', 'Invalid type for index: x'],
    [{ index: { fields: ['a'] }, name: 5 }, 'invalid_string', 'Invalid string: 5'],
    [{ index: { fields: ['a'] }, ddoc: 5 }, 'invalid_string', 'Invalid string: 5'],
    [
      { index: { fields: ['a'] }, name: '' },
      'invalid_empty_string',
      'Index name or ddoc cannot be empty string',
    ],
    [{ index: { fields: ['a'], selector: {} } }, 'invalid_key', 'Invalid key selector for this request.'],
    [
      { index: { fields: ['a'] }, partial_filter_selector: { a: 1 } },
      'invalid_key',
      'Invalid key partial_filter_selector for this request.',
    ],
    [
      { index: { fields: ['a'], partial_filter_selector: { a: { $nope: 1 } } } },
      'invalid_operator',
      'Invalid operator: $nope',
    ],
  ])('refuses to create %j', async (request, name, reason) => {
    const db = await context.with();
    await expect(db.createIndex(request as never)).rejects.toMatchObject({ status: 400, name, reason });
    expect((await db.getIndexes()).total_rows).toBe(1);
  });

  it('refuses what is no request, and says what is wrong with a design document', async () => {
    const db = await context.with(
      { _id: '_design/js', language: 'javascript', views: {} },
      { _id: '_design/view', language: 'query', views: { a: { map: 'function () {}' } } },
      // Without a language it is JavaScript, which CouchDB would not run any more if it said `query`.
      { _id: '_design/unsaid', validate_doc_update: 'function () {}', views: { v: { map: '() => {}' } } },
      { _id: '_design/bare' },
    );
    for (const request of [undefined, null, 'a', 7])
      await expect(db.createIndex(request as never)).rejects.toThrow('provide an index');
    const index = { fields: ['a'], name: 'a' };
    for (const ddoc of ['js', 'unsaid', 'bare'])
      await expect(db.createIndex({ ...index, ddoc })).rejects.toMatchObject({
        status: 400,
        name: 'invalid_ddoc_lang',
      });
    await expect(db.createIndex({ ...index, ddoc: 'view' })).rejects.toMatchObject({ name: 'invalid_ddoc' });
  });
}
