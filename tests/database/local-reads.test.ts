/** Reads of the local database: lists and their pages, branches, and what changes between two passes of a plan. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DatabaseTables } from '../../packages/core/src/store/schema';
import type { Store } from '../../packages/core/src/store/store';
import { newStore, open, path } from './local';

/** The store, of which each read is told when it has been answered, and before its caller hears that. */
function afterReads(
  store: Store<DatabaseTables>,
  then: (answer: readonly unknown[]) => unknown,
): Store<DatabaseTables> {
  return {
    ...store,
    readNow: () => undefined,
    read: async (queries, options) => {
      const answer = await store.read(queries, options);
      await then(answer);
      return answer;
    },
  };
}

/** Counts the bodies that are read. */
const countingBodies = (store: Store<DatabaseTables>, read: { bodies: number }): Store<DatabaseTables> =>
  afterReads(store, (answer) => {
    for (const row of answer.flat() as { body?: unknown }[])
      if (typeof row?.body === 'string') read.bodies += 1;
  });

describe('allDocs', () => {
  it('shows what sorting, filtering and slicing all documents shows', async () => {
    const key = fc.constantFrom('', 'a', 'a0', 'b', 'c', 'd5', 'zz');
    const options = fc.record(
      {
        startkey: key,
        endkey: key,
        inclusive_end: fc.boolean(),
        descending: fc.boolean(),
        skip: fc.nat(8),
        limit: fc.nat(8),
        include_docs: fc.boolean(),
        key,
      },
      { requiredKeys: [] },
    );
    const names = fc.uniqueArray(
      fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.nat(9)).map(([a, n]) => `${a}${n}`),
    );
    await fc.assert(
      fc.asyncProperty(names, names, options, async (live, gone, asked) => {
        const db = await open();
        await db.bulkDocs([
          ...live.map((_id) => ({ _id })),
          ...gone.filter((_id) => !live.includes(_id)).map((_id) => ({ _id, _deleted: true })),
        ]);
        const { startkey, endkey, inclusive_end = true, descending, skip = 0, limit } = asked;
        const [low, high] = descending ? [endkey, startkey] : [startkey, endkey];
        const kept = [...live].sort().filter((id) => {
          if (asked.key !== undefined) return id === asked.key;
          if (endkey === id) return inclusive_end && (low ?? id) <= id && id <= (high ?? id);
          return (low === undefined || id >= low) && (high === undefined || id <= high);
        });
        if (descending) kept.reverse();
        const expected = kept.slice(skip, limit === undefined ? undefined : skip + limit);
        const answer = await db.allDocs(asked);
        expect(answer.rows.map((row) => row.key)).toEqual(expected);
        expect(answer.total_rows).toBe(live.length);
        for (const row of answer.rows) expect('doc' in row).toBe(asked.include_docs === true);
      }),
      { numRuns: 150 },
    );
  });

  it('pages exactly across more deleted documents than a page has room for', async () => {
    const db = await open();
    const ids = Array.from({ length: 700 }, (_, i) => `d${String(i).padStart(4, '0')}`);
    await db.bulkDocs(ids.map((_id, i) => ({ _id, _deleted: i % 7 !== 0 || (i > 100 && i < 500) })));
    const live = ids.filter((_, i) => i % 7 === 0 && !(i > 100 && i < 500));
    for (const descending of [false, true]) {
      const seen: string[] = [];
      for (let last: string | undefined; ; last = seen.at(-1)) {
        const page = await db.allDocs({
          limit: 5,
          descending,
          ...(last === undefined ? {} : { startkey: last, skip: 1 }),
        });
        seen.push(...page.rows.map((row) => row.key));
        if (page.rows.length < 5) break;
      }
      expect(seen).toEqual(descending ? [...live].reverse() : live);
    }
  });

  it('reads documents that it gives, and no others, where some were deleted', async () => {
    const read = { bodies: 0 };
    const db = await open(countingBodies(newStore(), read));
    const docs = Array.from({ length: 500 }, (_, i) => ({ _id: `d${String(i).padStart(4, '0')}`, n: i }));
    await db.bulkDocs([...docs, { _id: 'a', _deleted: true }]);
    const { rows } = await db.allDocs({ include_docs: true, skip: 400, limit: 5 });
    expect(rows.map((row) => 'doc' in row && row.doc?.n)).toEqual([400, 401, 402, 403, 404]);
    expect(read.bodies).toBeLessThanOrEqual(10); // the first read hopes that none was
  });

  it('is of one moment, whatever is written while it looks for what is not deleted', async () => {
    const store = newStore();
    const writer = await open(store);
    const docs = Array.from({ length: 9 }, (_, i) => ({ _id: `d${i}`, n: i }));
    await writer.bulkDocs([...docs, { _id: 'a', _deleted: true }]);
    const states = [docs.map(({ _id }) => _id)];
    let isAsked = false;
    const racing = afterReads(store, async () => {
      if (!isAsked) return;
      // A document is added before the others, and the last one goes.
      const [last] = [...states[0]!].reverse();
      const { _rev } = await writer.get(last!);
      const _id = `c${states.length}`;
      await writer.bulkDocs([{ _id }, { _id: last!, _rev, _deleted: true }]);
      states.unshift([...states[0]!.slice(0, -1), _id].sort());
    });
    const db = await open(racing);
    isAsked = true;
    const { rows } = await db.allDocs({ include_docs: true, skip: 4, limit: 5 });
    expect(states.length).toBeGreaterThan(2);
    expect(states.map((ids) => ids.slice(4, 9))).toContainEqual(rows.map((row) => row.key));
  });

  it('refuses options that contradict each other or are of the wrong type', async () => {
    const db = await open();
    for (const bad of [
      { limit: -1 },
      { limit: 1.5 },
      { skip: '1' },
      { keys: 'a' },
      { keys: ['a'], key: 'a' },
      { keys: [], startkey: 'a' },
    ]) {
      await expect(db.allDocs(bad as never)).rejects.toMatchObject({ status: 400 });
    }
  });
});

describe('reads', () => {
  it('follow branches and report what is missing when they changed between two passes', async () => {
    const store = newStore();
    const writer = await open(store);
    await writer.bulkDocs([path('a', '1', 'x'), path('a', '1', 'y')], { new_edits: false });
    // Between the pass that shows the tree and the one that reads the bodies, the loser becomes the winner.
    let reads = 0;
    const racing = afterReads(store, async () => {
      reads += 1;
      if (reads === 2) await writer.put({ _id: 'a', _rev: '2-y', _deleted: true });
    });
    const db = await open(racing);
    reads = 1;
    const leaves = await db.get('a', { open_revs: 'all' });
    expect(leaves).toMatchObject([{ ok: { _rev: '2-x', text: '1x' } }, { ok: { _deleted: true } }]);
    expect(reads).toBeGreaterThan(2);
  });

  it('say which revisions there are without reading their bodies', async () => {
    const read = { bodies: 0 };
    const db = await open(countingBodies(newStore(), read));
    await db.bulkDocs([path('a', '1'), path('a', '1', '2'), path('a', '1', '2', '3', '4')], {
      new_edits: false,
    });
    read.bodies = 0;
    const { _revs_info } = await db.get('a', { revs_info: true });
    expect(_revs_info?.map(({ rev, status }) => `${rev} ${status}`)).toEqual([
      '4-4 available',
      '3-3 missing',
      '2-2 available',
      '1-1 available',
    ]);
    expect(read.bodies).toBe(2); // the winner's, once to see the tree
    const past = await db.get('a', { rev: '2-2', revs_info: true });
    expect(past).toMatchObject({
      text: '12',
      _revs_info: [{ status: 'available' }, { status: 'available' }],
    });
  });

  it('answer bulkGet entry by entry, wrong ones too', async () => {
    const db = await open();
    await db.bulkDocs([path('x', '1', 'a'), path('x', '1', 'b'), path('p', '1')], { new_edits: false });
    await db.bulkDocs([{ _id: 'gone', _deleted: true }]);
    const { results } = await db.bulkGet({
      docs: [
        { id: 'x', rev: '2-a' },
        { id: 'x' },
        { id: 'x', rev: '1-1' },
        { id: 'x', rev: 'bad' },
        { id: 'gone' },
        { id: 'no' },
        { rev: '1-1' } as never,
      ],
      revs: true,
    });
    expect(results).toMatchObject([
      { id: 'x', docs: [{ ok: { _rev: '2-a', text: '1a', _revisions: { start: 2, ids: ['a', '1'] } } }] },
      { id: 'x', docs: [{ ok: { _rev: '2-b' } }] },
      { id: 'x', docs: [{ error: { id: 'x', rev: '1-1', error: 'not_found', reason: 'missing' } }] },
      { id: 'x', docs: [{ error: { error: 'bad_request', reason: 'Invalid rev format' } }] },
      { id: 'gone', docs: [{ error: { error: 'not_found', reason: 'deleted' } }] },
      { id: 'no', docs: [{ error: { error: 'not_found', reason: 'missing' } }] },
      { docs: [{ error: { error: 'bad_request' } }] },
    ]);
    const latest = await db.bulkGet({ docs: [{ id: 'x', rev: '1-1' }], latest: true });
    expect(latest.results[0]!.docs).toMatchObject([{ ok: { _rev: '2-b' } }, { ok: { _rev: '2-a' } }]);
  });
});
