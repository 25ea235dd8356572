/**
 * One-shot feeds over the reference store. What every database must do is in the conformance suite; here is what needs a look inside: how
 * much is read, and what happens between two reads.
 */
import {
  type Change,
  type ChangesOptions,
  isDatabaseError,
  localChanges,
  refuseToEvaluate,
} from '@settledb/core';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { database, docs, type Note, results } from './feeds';

describe('a one-shot feed', () => {
  it('reads ten thousand changes in one read', async () => {
    const { db, store } = await database();
    await db.bulkDocs(docs(10_000));
    store.read.mockClear();
    store.readNow.mockClear();
    const { results: rows, last_seq } = await results(db);
    expect(rows).toHaveLength(10_000);
    expect(rows[4]).toEqual({ id: 'doc-00004', seq: 5, changes: [{ rev: expect.stringMatching(/^1-/) }] });
    expect(last_seq).toBe(10_000);
    expect(store.read.mock.calls.length + store.readNow.mock.calls.length).toBe(1);
  });

  it('ends at the update_seq it began at, with each document at most once, whatever is written between its reads', async () => {
    const { db, store } = await database({ now: false });
    await db.bulkDocs(docs(30));
    let reads = 0;
    const read = store.read.getMockImplementation()!;
    store.read.mockImplementation(async (...args) => {
      const found = await read(...args);
      if (++reads === 1) {
        const [{ _rev }, { _rev: old }] = await Promise.all([db.get('doc-00025'), db.get('doc-00001')]);
        await db.bulkDocs([
          { _id: 'doc-00025', _rev, changed: true },
          { _id: 'doc-00001', _rev: old, changed: true },
          { _id: 'new' },
        ]);
      }
      return found;
    });
    const first = await results(db, { batch_size: 10 });
    const ids = first.results.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(first.last_seq).toBe(30);
    expect(ids).not.toContain('new');
    // What moved on comes after last_seq: nothing is lost.
    const second = await results(db, { since: first.last_seq });
    expect(second.results.map(({ id }) => id).sort()).toEqual(['doc-00001', 'doc-00025', 'new']);
    expect(new Set([...ids, ...second.results.map(({ id }) => id)]).size).toBe(31);
  });

  // Property: random edits, deletions and new documents between the reads of a reader who goes on from each last_seq.
  it('and those that follow it from its last_seq leave no document out, whatever is edited between their reads', async () => {
    const option = fc.record({
      batch_size: fc.integer({ min: 1, max: 12 }),
      include_docs: fc.boolean(),
      style: fc.constantFrom('main_only' as const, 'all_docs' as const),
      limit: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
      filter: fc.constantFrom(undefined, (doc: Record<string, unknown>) => doc.n !== -1),
    });
    const edit = fc.record({ at: fc.nat(29), deletes: fc.boolean(), isNew: fc.boolean() });
    const edits = fc.array(fc.array(edit, { maxLength: 4 }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(option, edits, async (options, rounds) => {
        const { db, store } = await database({ now: false });
        await db.bulkDocs(docs(30));
        const read = store.read.getMockImplementation()!;
        const left = [...rounds];
        let isEditing = false;
        store.read.mockImplementation(async (...args) => {
          const found = await read(...args);
          const round = isEditing ? undefined : left.shift();
          if (round === undefined) return found;
          isEditing = true;
          for (const { at, deletes, isNew } of round) {
            const _id = isNew ? `new-${at}` : `doc-${String(at).padStart(5, '0')}`;
            const _rev = await db.get(_id).then(
              (doc) => doc._rev,
              () => undefined,
            );
            await db.put({ _id, ...(_rev && { _rev, _deleted: deletes }), n: at });
          }
          isEditing = false;
          return found;
        });
        const seen = new Map<string, unknown>();
        for (let since: Change['seq'] = 0, turns = 0; ; turns++) {
          const { results: rows, last_seq } = await results(db, { ...options, since });
          expect(turns).toBeLessThan(200);
          for (const { id, changes } of rows) seen.set(id, changes[0]!.rev);
          // Edits after the last read are for the next reader.
          if (
            left.length === 0 &&
            last_seq === since &&
            rows.length === 0 &&
            last_seq === (await db.info()).update_seq
          )
            break;
          since = last_seq;
        }
        store.read.mockImplementation(read);
        const now = (await results(db)).results.map(({ id, changes }) => [id, changes[0]!.rev] as const);
        expect(new Map(seen)).toEqual(new Map(now));
      }),
      { numRuns: 200 },
    );
  });

  it('looks a few doc_ids up by their keys, and many by reading on', async () => {
    const { db, store } = await database({ now: false });
    await db.bulkDocs(docs(1_500));
    store.read.mockClear();
    const few = await results(db, { doc_ids: ['doc-00007', 'doc-00003', 'doc-00007'], include_docs: true });
    expect(few.results.map(({ id, doc }) => [id, doc?.['n' as never]])).toEqual([
      ['doc-00003', 3],
      ['doc-00007', 7],
    ]);
    expect(store.read).toHaveBeenCalledTimes(1);
    const many = docs(1_200).map(({ _id }) => _id);
    expect((await results(db, { doc_ids: many, include_docs: true, limit: 1_100 })).results).toHaveLength(
      1_100,
    );
  });

  it('holds a first change back until somebody iterates, and reads no further than the consumer goes', async () => {
    const { db, store } = await database({ now: false });
    await db.bulkDocs(docs(100));
    store.read.mockClear();
    const feed = db.changes({ batch_size: 10, return_docs: false });
    await vi.waitFor(() => expect(store.read).toHaveBeenCalledTimes(1));
    const seen: string[] = [];
    for await (const change of feed) {
      seen.push(change.id);
      if (seen.length === 15) break;
    }
    expect(seen).toEqual(docs(15).map(({ _id }) => _id));
    expect(store.read.mock.calls.length).toBeLessThanOrEqual(2);
    expect(await feed).toEqual({ status: 'cancelled' });
  });

  it('does not filter documents that it does not need to look at', async () => {
    const { db } = await database();
    await db.bulkDocs(docs(50));
    const filter = vi.fn(() => true);
    const { last_seq } = await results(db, { filter, limit: 5, doc_ids: docs(20).map(({ _id }) => _id) });
    expect(filter).toHaveBeenCalledTimes(5);
    expect(last_seq).toBe(5);
  });

  for (const [what, options] of Object.entries<ChangesOptions>({
    'a since that is none': { since: '7-abc' },
    'a negative since': { since: -1 },
    'a limit that is no number': { limit: 'ten' as never },
    'a style that is none': { style: 'all' as never },
    'a seq_interval of nothing': { seq_interval: 0 },
    'doc_ids that are no list': { doc_ids: 'a' as never },
    'an unknown built-in filter': { filter: '_nonsense' },
    '_view without a view': { filter: '_view' },
    'an empty view': { filter: '_view', view: '' },
    'a view with too many parts': { view: 'a/b/c' },
    'a selector beside a filter': { selector: {}, filter: () => true },
  })) {
    it(`refuses ${what}, by event and by rejection, as a bad request`, async () => {
      const { db } = await database();
      const feed = db.changes(options);
      const errors: unknown[] = [];
      feed.on('error', (error) => errors.push(error));
      const rejected = await feed.catch((error: unknown) => error);
      expect(isDatabaseError(rejected) && rejected.status).toBe(400);
      expect(errors).toEqual([rejected]);
    });
  }

  it('names the filter a selector does not go with', async () => {
    const { db } = await database();
    const refused = (options: ChangesOptions) => expect(Promise.resolve(db.changes(options))).rejects;
    await refused({ selector: {}, filter: () => true }).toThrow('selector invalid for filter "function"');
    await refused({ selector: {}, filter: 'a/b' }).toThrow('selector invalid for filter "a/b"');
  });

  it('refuses functions of design documents where the host does, but not the host’s own', async () => {
    const { db } = await database();
    await db.bulkDocs([{ _id: '_design/d', filters: { f: 'function () { return true; }' } }, { _id: 'a' }]);
    const source = { store: db.store, evaluate: refuseToEvaluate };
    await expect(Promise.resolve(localChanges(source, { filter: 'd/f' }))).rejects.toMatchObject({
      status: 403,
    });
    expect(await localChanges(source, { filter: ({ _id }) => _id === 'a' })).toMatchObject({ last_seq: 2 });
  });

  it('says what is wrong with a filter that is no function, and takes one that ends in a comment', async () => {
    const { db } = await database();
    const filters = {
      broken: 'function (',
      none: '42',
      number: 42,
      unbound: 'nowhere.filter',
      comment: 'function (doc) { return true; } // yes',
    };
    await db.bulkDocs([{ _id: '_design/d', filters, views: { unbound: { map: 'nowhere.map' } } }]);
    const broken = ['broken', 'none', 'number', 'unbound'].map((name) => ({ filter: `d/${name}` }));
    for (const options of [...broken, { view: 'd/unbound' }]) {
      await expect(Promise.resolve(db.changes(options))).rejects.toMatchObject({
        status: 500,
        name: 'compilation_error',
      });
    }
    expect((await results(db, { filter: 'd/comment' })).results).toHaveLength(1);
    await expect(Promise.resolve(db.changes({ filter: 'd/toString' }))).rejects.toMatchObject({
      status: 404,
    });
  });

  it('misses no document that is edited while it is read from the newest on', async () => {
    for (const [at, id] of [
      [0, 'doc-00003'],
      [4, 'doc-00000'],
      [7, 'doc-00001'],
    ] as const) {
      const { db } = await database();
      await db.bulkDocs(docs(14));
      const seen: Change[] = [];
      const feed = db.changes({ descending: true, include_docs: true, batch_size: 5 });
      for await (const change of feed) {
        if (seen.length === at) await db.put({ ...(await db.get(id)), n: 99 });
        seen.push(change as Change);
      }
      expect(new Set(seen.map((change) => change.id)).size).toBe(14);
      expect(seen.find((change) => change.seq === 15)).toMatchObject({ id, doc: { n: 99 } });
      const { results, last_seq } = (await feed) as { results: Change[]; last_seq: number };
      expect(results).toHaveLength(seen.length);
      expect(last_seq).toBe(Math.min(...seen.map(({ seq }) => seq as number)));
    }
  });

  it('gives a document once, also when it is edited after it was given, read from the newest on', async () => {
    const { db } = await database();
    await db.bulkDocs(docs(14));
    const seen: Change[] = [];
    for await (const change of db.changes({ descending: true, batch_size: 5 })) {
      if (seen.push(change as Change) === 2) await db.put({ ...(await db.get('doc-00013')), n: 99 });
    }
    expect(seen.map(({ seq }) => seq)).toEqual(Array.from({ length: 14 }, (_, i) => 14 - i));
  });

  it('agrees with a plain model for any edits and options', async () => {
    const edit = fc.record({ id: fc.integer({ min: 0, max: 7 }), deleted: fc.boolean() });
    const options = fc.record({
      since: fc.integer({ min: 0, max: 12 }),
      limit: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
      descending: fc.boolean(),
      batch_size: fc.integer({ min: 1, max: 5 }),
      odd: fc.boolean(),
      include_docs: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { maxLength: 20 }), options, async (edits, { odd, ...rest }) => {
        const { db } = await database();
        const model = new Map<string, { seq: number; deleted: boolean; rev: string }>();
        let seq = 0;
        for (const { id, deleted } of edits) {
          const _id = `doc-${id}`;
          const before = model.get(_id);
          if (deleted && (before === undefined || before.deleted)) continue;
          const rev = before === undefined || before.deleted ? {} : { _rev: before.rev };
          const written = await db.put({ _id, n: id, ...rev, ...(deleted ? { _deleted: true } : {}) });
          model.set(_id, { seq: ++seq, deleted, rev: written.rev });
        }
        const matches = [...model]
          .filter(([id, row]) => row.seq > rest.since && (!odd || Number(id.slice(4)) % 2 === 1))
          .sort(([, a], [, b]) => (rest.descending ? b.seq - a.seq : a.seq - b.seq))
          .slice(0, rest.limit);
        const filter = odd ? { filter: (doc: Note) => doc.n! % 2 === 1 } : {};
        const answer = await results(db, { ...rest, ...filter });
        expect(
          answer.results.map((row) => [row.id, row.seq, row.deleted ?? false, row.changes[0]!.rev]),
        ).toEqual(matches.map(([id, row]) => [id, row.seq, row.deleted, row.rev]));
        if (rest.include_docs)
          for (const row of answer.results) expect(row.doc?._rev).toBe(row.changes[0]!.rev);
        if (!rest.descending)
          expect(answer.last_seq).toBe(matches.length === rest.limit ? matches.at(-1)![1].seq : seq);
      }),
      { numRuns: 60 },
    );
  });
});

it('a filter that looks at documents for long gives others their turn, and ends when it is cancelled', async () => {
  const { db } = await database();
  await db.bulkDocs(Array.from({ length: 200 }, (_, n) => ({ _id: `d${n}` })));
  let calls = 0;
  const cancelling = new AbortController();
  const filter = (): boolean => {
    // What others do in their turn: hang up.
    if (calls++ === 0) setImmediate(() => cancelling.abort());
    for (const begun = performance.now(); performance.now() - begun < 1; );
    return false;
  };
  await db.changes({ filter, signal: cancelling.signal });
  expect(calls).toBeGreaterThan(0);
  expect(calls).toBeLessThan(100);
});
