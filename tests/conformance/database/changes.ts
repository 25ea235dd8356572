/**
 * One-shot changes: rows, positions, styles and filters (contract §7). Live feeds are in `changes-live.ts`.
 */
import { describe, expect, it } from 'vitest';
import type { Context } from './context';
import { changesOf, edit, event, idsOf, numbered, rejection, store } from './expectations';
import type { TestChanges, TestDatabase } from './types';

export function changesConformance(context: Context): void {
  describe('rows', () => rowsOf(context));
  describe('since, limit and descending', () => positions(context));
  describe('styles and conflicts', () => styles(context));
  describe('filters of documents', () => filters(context));
  describe('filters in design documents', () => storedFilters(context));
  describe('the feed', () => feeds(context));
}

/** doc-0 to doc-9, each with `odd` and `index`. */
async function ten(context: Context): Promise<TestDatabase> {
  const db = context.fresh();
  await db.bulkDocs(numbered(10).map((index) => ({ _id: `doc-${index}`, index, odd: index % 2 === 1 })));
  return db;
}

const ODD = ['doc-1', 'doc-3', 'doc-5', 'doc-7', 'doc-9'];

function rowsOf(context: Context): void {
  it('are none of an empty database, at seq 0', async () => {
    expect(await changesOf(context.fresh())).toMatchObject({ results: [], last_seq: 0 });
  });

  it('are id, seq and the revision, in order of writing, without documents', async () => {
    const db = context.fresh();
    const rows = await db.bulkDocs([{ _id: 'b' }, { _id: 'a' }]);
    const { results, last_seq } = await changesOf(db);
    expect(results.map(({ id, changes }) => ({ id, changes }))).toEqual(
      rows.map(({ id, rev }) => ({ id, changes: [{ rev }] })),
    );
    for (const row of results) expect(Object.keys(row).sort()).toEqual(['changes', 'id', 'seq']);
    expect(last_seq).toBe(results.at(-1)!.seq);
    expect((await db.info()).update_seq).toBe(last_seq);
  });

  it('are one per document: its latest state, at its latest seq', async () => {
    const db = context.fresh();
    const [a] = await db.bulkDocs([{ _id: 'a' }, { _id: 'b' }, { _id: 'c' }]);
    const before = await changesOf(db);
    const second = await db.put({ _id: 'a', _rev: a!.rev, value: 2 });
    const after = await changesOf(db);
    expect(idsOf(after.results)).toEqual(['b', 'c', 'a']);
    expect(after.results.at(-1)).toMatchObject({ changes: [{ rev: second.rev }] });
    expect(new Set(before.results.map(({ seq }) => seq))).not.toContain(after.results.at(-1)!.seq);
  });

  it('mark deleted documents', async () => {
    const db = context.fresh();
    await db.put({ _id: 'a' });
    const removed = await db.remove(await db.get('a'));
    const { results } = await changesOf(db, { include_docs: true });
    expect(results).toMatchObject([
      {
        id: 'a',
        deleted: true,
        changes: [{ rev: removed.rev }],
        doc: { _id: 'a', _rev: removed.rev, _deleted: true },
      },
    ]);
    await db.put({ _id: 'a' });
    expect((await changesOf(db)).results[0]).not.toHaveProperty('deleted');
  });

  it('carry documents with include_docs', async () => {
    const db = await ten(context);
    for (const { id, changes, doc } of (await changesOf(db, { include_docs: true })).results) {
      expect(doc).toMatchObject({ _id: id, _rev: changes[0]!.rev });
      expect(`doc-${doc!.index}`).toBe(id);
    }
    for (const row of (await changesOf(db, { include_docs: false })).results) {
      expect(row).not.toHaveProperty('doc');
    }
  });

  it('have design documents but no local ones', async () => {
    const db = context.fresh();
    await db.bulkDocs([{ _id: '_local/l' }, { _id: '_design/d' }, { _id: 'a' }]);
    expect(idsOf((await changesOf(db)).results)).toEqual(['_design/d', 'a']);
  });

  it('stay out of the answer with return_docs: false', async () => {
    const db = await ten(context);
    const answer = await changesOf(db, { return_docs: false });
    expect(answer.results).toEqual([]);
    expect(answer.last_seq).toBe((await changesOf(db)).last_seq);
  });
}

function positions(context: Context): void {
  it('repeats nothing after since', async () => {
    const db = await ten(context);
    const { results, last_seq } = await changesOf(db);
    expect((await changesOf(db, { since: last_seq })).results).toEqual([]);
    expect((await changesOf(db, { since: last_seq })).last_seq).toBe(last_seq);
    const rest = await changesOf(db, { since: results[3]!.seq });
    expect(idsOf(rest.results)).toEqual(idsOf(results.slice(4)));
    expect(idsOf((await changesOf(db, { since: 0 })).results)).toEqual(idsOf(results));
  });

  for (const since of ['now', 'latest']) {
    it(`has nothing of the past since '${since}'`, async () => {
      const db = await ten(context);
      const { last_seq } = await changesOf(db);
      expect(await changesOf(db, { since })).toMatchObject({ results: [], last_seq });
    });
  }

  it('ends at the limit, and pages by since', async () => {
    const db = await ten(context);
    const all = await changesOf(db);
    const pages: TestChanges[] = [];
    for (let since: unknown = 0; pages.length < 5; since = pages.at(-1)!.last_seq) {
      pages.push(await changesOf(db, { since, limit: 3 }));
    }
    expect(pages.map(({ results }) => results.length)).toEqual([3, 3, 3, 1, 0]);
    expect(pages.flatMap(({ results }) => results)).toEqual(all.results);
    for (const page of pages.slice(0, 3)) expect(page.last_seq).toBe(page.results.at(-1)!.seq);
  });

  it('says with a limit how many come after it, and leaves numbers without a change out of account', async () => {
    const db = await ten(context);
    const { _rev } = (await db.get('doc-4')) as { _rev: string };
    const { rev } = await db.put({ _id: 'doc-4', _rev, again: 1 });
    await db.put({ _id: 'doc-4', _rev: rev, again: 2 });
    const pendings = async (options: object): Promise<unknown> => (await changesOf(db, options)).pending;
    expect(await pendings({ limit: 3 })).toBe(7);
    const { last_seq } = await changesOf(db, { limit: 3 });
    expect(await pendings({ limit: 4, since: last_seq })).toBe(3);
    expect(await pendings({ limit: 10 })).toBe(0);
    expect(await pendings({ limit: 20 })).toBe(0);
    // Those that a filter would leave out are counted, as nobody has looked at them.
    expect(await pendings({ limit: 1, selector: { _id: 'doc-1' } })).toBe(8);
    expect(await pendings({ limit: 3, descending: true })).toBe(7);
  });

  context.when(
    'filterFunctions',
    'says with a limit how many come after it, with a function too',
    async () => {
      const db = await ten(context);
      const filter = ({ _id }: { _id: string }): boolean => _id !== 'doc-0';
      for (const options of [{}, { batch_size: 2 }, { batch_size: 3 }])
        expect((await changesOf(db, { limit: 2, filter, ...options })).pending).toBe(7);
      expect((await changesOf(db, { limit: 9, filter })).pending).toBe(0);
    },
  );

  it('takes a limit of 0 as 1', async () => {
    const db = await ten(context);
    expect(idsOf((await changesOf(db, { limit: 0 })).results)).toEqual(['doc-0']);
  });

  it('does not depend on the size of batches', async () => {
    const db = await ten(context);
    const whole = await changesOf(db, { include_docs: true });
    for (const batch_size of [1, 3, 10, 1000]) {
      expect(await changesOf(db, { include_docs: true, batch_size })).toEqual(whole);
      const limited = await changesOf(db, { batch_size, limit: 7, doc_ids: ODD });
      expect(idsOf(limited.results)).toEqual(ODD);
    }
  });

  it('reads backwards with descending', async () => {
    const db = await ten(context);
    const forwards = idsOf((await changesOf(db)).results);
    expect(idsOf((await changesOf(db, { descending: true })).results)).toEqual([...forwards].reverse());
    const two = await changesOf(db, { descending: true, limit: 2 });
    expect(idsOf(two.results)).toEqual(['doc-9', 'doc-8']);
  });
}

function styles(context: Context): void {
  it('lists the winner alone, or every leaf with style all_docs', async () => {
    const db = context.fresh();
    await store(db, edit('a', '2-b 1-a'), edit('a', '2-c 1-a', { _deleted: true }), edit('a', '1-z'));
    const main = await changesOf(db);
    expect(main.results).toMatchObject([{ id: 'a', changes: [{ rev: '2-b' }] }]);
    const { results } = await changesOf(db, { style: 'all_docs' });
    expect(results).toHaveLength(1);
    expect(results[0]!.changes.map(({ rev }) => rev).sort()).toEqual(['1-z', '2-b', '2-c']);
    expect(results[0]).not.toHaveProperty('deleted');
  });

  it('has the conflicts in the document on request, absent once resolved', async () => {
    const db = context.fresh();
    await store(db, edit('a', '2-b 1-a'), edit('a', '2-c 1-a'));
    const options = { style: 'all_docs', include_docs: true, conflicts: true };
    expect((await changesOf(db, options)).results[0]!.doc).toEqual({
      _id: 'a',
      _rev: '2-c',
      _conflicts: ['2-b'],
    });
    await db.remove('a', '2-b');
    expect((await changesOf(db, options)).results[0]!.doc).toEqual({ _id: 'a', _rev: '2-c' });
  });

  it('moves a document to a new seq by a losing write, and still tells of the winner', async () => {
    const db = context.fresh();
    await store(db, edit('a', '3-c 2-b 1-a', { value: 'winner' }), edit('b', '1-b'));
    const { last_seq } = await changesOf(db);
    await store(db, edit('a', '2-l 1-a', { value: 'loser' }));
    const { results } = await changesOf(db, { since: last_seq, include_docs: true });
    expect(results).toMatchObject([
      { id: 'a', changes: [{ rev: '3-c' }], doc: { _rev: '3-c', value: 'winner' } },
    ]);
    expect((await changesOf(db)).results).toHaveLength(2);
  });
}

function filters(context: Context): void {
  const selections: Record<string, object> = {
    doc_ids: { doc_ids: ODD },
    'filter: _doc_ids': { filter: '_doc_ids', doc_ids: ODD },
    selector: { selector: { odd: true } },
    'filter: _selector': { filter: '_selector', selector: { odd: { $eq: true } } },
    'a RegExp': { selector: { _id: { $regex: /[13579]$/i } } },
  };
  for (const [title, options] of Object.entries(selections)) {
    it(`selects by ${title}`, () => expectOdd(context, options));
  }

  context.when('filterFunctions', 'selects by a function', () =>
    expectOdd(context, { filter: (doc: { odd: boolean }) => doc.odd }),
  );

  context.when('filterFunctions', 'gives the function query_params, and deleted documents', async () => {
    const db = await ten(context);
    await db.remove(await db.get('doc-4'));
    const filter = (doc: { _id: string; _deleted?: boolean }, req: { query: Record<string, unknown> }) =>
      doc._id === req.query.id && doc._deleted === true;
    const { results } = await changesOf(db, { filter, query_params: { id: 'doc-4' } });
    expect(idsOf(results)).toEqual(['doc-4']);
    expect(idsOf((await changesOf(db, { filter, query_params: { id: 'doc-5' } })).results)).toEqual([]);
  });

  context.when('filterFunctions', 'rejects when the function throws', async () => {
    const db = await ten(context);
    const filter = (): boolean => {
      throw new Error('not filtered');
    };
    await rejection(db.changes({ filter }));
  });

  context.when(
    'filterFunctions',
    'refuses a function that is async, whose promise counts as true',
    async () => {
      const db = await ten(context);
      // As of a library that has promises of its own, in which those of the platform are no instances.
      const foreign = { then: (_: unknown, refuse: (error: Error) => void) => refuse(new Error('late')) };
      const refused = () => Promise.reject(new Error('not filtered'));
      for (const outcome of [async () => false, refused, () => foreign]) {
        const error = await rejection(db.changes({ filter: outcome }));
        expect(error).toMatchObject({ status: 400, name: 'bad_request' });
      }
    },
  );

  context.when('filterFunctions', 'refuses a selector with a function', async () => {
    const error = await rejection(context.fresh().changes({ filter: () => true, selector: {} }));
    expect(error.message).toBe('selector invalid for filter "function"');
  });

  it('refuses a selector with another filter', async () => {
    const error = await rejection(context.fresh().changes({ filter: '_view', view: 'a/b', selector: {} }));
    expect(error.message).toBe('selector invalid for filter "_view"');
    const both = await rejection(context.fresh().changes({ doc_ids: ['a'], selector: {} }));
    expect(both.message).toBe('selector invalid for filter "_doc_ids"');
  });

  it('selects design documents by _design', async () => {
    const db = context.fresh();
    await db.bulkDocs([{ _id: 'a' }, { _id: '_design/d' }, { _id: 'b' }, { _id: '_design/e' }]);
    expect(idsOf((await changesOf(db, { filter: '_design' })).results)).toEqual(['_design/d', '_design/e']);
  });

  it('takes long ids, ids that are missing, and ids that are names of objects', async () => {
    const db = context.fresh();
    const ids = ['long '.repeat(60), 'constructor', 'hasOwnProperty', 'a/b?c&d=e+f'];
    await db.bulkDocs([...ids, 'other'].map((_id) => ({ _id })));
    const { results } = await changesOf(db, { doc_ids: [...ids, 'missing', 'toString'] });
    expect(idsOf(results)).toEqual(ids);
    expect((await changesOf(db, { doc_ids: [] })).results).toEqual([]);
  });
}

/** Asserts that the options select the odd documents, and that positions do not suffer. */
async function expectOdd(context: Context, options: object): Promise<void> {
  const db = await ten(context);
  const unfiltered = await changesOf(db);
  const filtered = await changesOf(db, options);
  expect(idsOf(filtered.results)).toEqual(ODD);
  expect(filtered.last_seq).toBe(unfiltered.last_seq);
  expect(filtered.results[0]).not.toHaveProperty('doc');

  const backwards = await changesOf(db, { ...options, descending: true });
  expect(idsOf(backwards.results)).toEqual([...ODD].reverse());
  expect(backwards.last_seq).toBe((await changesOf(db, { descending: true })).last_seq);

  const two = await changesOf(db, { ...options, limit: 2, include_docs: true });
  expect(two.results.map(({ doc }) => doc?._id)).toEqual(ODD.slice(0, 2));
  expect(two.last_seq).toBe(two.results.at(-1)!.seq);
  const rest = await changesOf(db, { ...options, since: two.last_seq, limit: 3 });
  expect(idsOf(rest.results)).toEqual(ODD.slice(2));
}

const DESIGN = {
  _id: '_design/odd',
  filters: {
    odd: 'function (doc) { return doc.odd; }',
    by: 'function (doc, req) { return String(doc.index) === req.query.index; }',
    throws: 'function () { throw new Error("not filtered"); }',
  },
  views: { odd: { map: 'function (doc) { if (doc.odd) { emit(doc._id); } }' } },
};

function storedFilters(context: Context): void {
  const selections: Record<string, object> = {
    "filter: 'ddoc/name'": { filter: 'odd/odd' },
    "filter: 'name' for 'name/name'": { filter: 'odd' },
    "filter: '_view' and view": { filter: '_view', view: 'odd/odd' },
    'view alone': { view: 'odd/odd' },
  };
  for (const [title, options] of Object.entries(selections)) {
    context.when('storedFunctions', `selects by ${title}`, async () => {
      const db = await ten(context);
      await db.put(DESIGN);
      const filtered = await changesOf(db, options);
      expect(idsOf(filtered.results)).toEqual(ODD);
      expect(filtered.last_seq).toBe((await changesOf(db)).last_seq);
      const two = await changesOf(db, { ...options, limit: 2 });
      expect(idsOf(two.results)).toEqual(ODD.slice(0, 2));
    });
  }

  context.when('storedFunctions', 'gives a stored filter query_params', async () => {
    const db = await ten(context);
    await db.put(DESIGN);
    const { results } = await changesOf(db, { filter: 'odd/by', query_params: { index: '4' } });
    expect(idsOf(results)).toEqual(['doc-4']);
  });

  context.when('storedFunctions', 'rejects when a stored filter throws', async () => {
    const db = await ten(context);
    await db.put(DESIGN);
    await rejection(db.changes({ filter: 'odd/throws' }));
  });

  const broken: Record<string, object> = {
    'a design document that is missing': { filter: 'missing/odd' },
    'a filter that is missing': { filter: 'odd/missing' },
    'a design document without filters': { filter: 'empty/odd' },
    'a filter named like a method of objects': { filter: 'odd/constructor' },
    'a view of a missing design document': { filter: '_view', view: 'missing/odd' },
    'a view that is missing': { filter: '_view', view: 'odd/missing' },
    'a design document without views': { filter: '_view', view: 'empty/odd' },
  };
  for (const [title, options] of Object.entries(broken)) {
    context.when(
      'storedFunctions',
      `is not found: ${title}; told once by event and by rejection`,
      async () => {
        const db = await ten(context);
        await db.bulkDocs([DESIGN, { _id: '_design/empty' }]);
        const feed = db.changes(options);
        const told: unknown[] = [];
        feed.on('error', (error: unknown) => told.push(error));
        const error = await rejection(feed);
        expect(error).toMatchObject({ status: 404, name: 'not_found' });
        await changesOf(db);
        expect(told).toEqual([error]);
      },
    );
  }

  it('refuses _view without a view', async () => {
    const error = await rejection(context.fresh().changes({ filter: '_view' }));
    expect(error).toMatchObject({ status: 400, name: 'bad_request' });
  });

  for (const view of ['', 'a/b/c']) {
    it(`refuses the view '${view}'`, async () => {
      const db = await ten(context);
      await rejection(db.changes({ filter: '_view', view }));
    });
  }
}

function feeds(context: Context): void {
  it('leaves nothing unhandled when only a listener hears of its error', async () => {
    const db = await ten(context);
    const error = await event(db.changes({ filter: '_view', view: '' }), 'error');
    expect(error).toBeInstanceOf(Error);
    await db.info();
  });

  it('tells of each change and of its end by events', async () => {
    const db = await ten(context);
    const feed = db.changes();
    const heard: unknown[] = [];
    feed.on('change', (change: { id: string }) => heard.push(change.id));
    const complete = await event(feed, 'complete');
    expect(heard).toHaveLength(10);
    expect(complete).toEqual(await feed);
    expect(complete).toEqual(await changesOf(db));
  });

  it('lets listeners be chained', async () => {
    const db = await ten(context);
    const feed = db.changes();
    const nothing = (): void => {};
    expect(feed.on('change', nothing)).toBe(feed);
    expect(feed.on('complete', nothing)).toBe(feed);
    expect(feed.on('error', nothing)).toBe(feed);
    await feed;
  });

  it('answers the promise of every caller who waits', async () => {
    const feed = (await ten(context)).changes();
    const [one, other] = await Promise.all([feed, feed]);
    expect(one).toEqual(other);
    expect(await feed).toEqual(one);
  });

  it('may be asked a hundred times at once', async () => {
    const db = await ten(context);
    const answers = await Promise.all(numbered(100).map(() => changesOf(db)));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
  });
}
