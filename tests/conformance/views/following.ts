/** An index follows whatever happens to documents; nobody maps twice what one has mapped (contract §12). */
import { describe, expect, it } from 'vitest';
import type { Context } from '../database/context';
import { edit, numbered, store } from '../database/expectations';
import { fresh, idsOf, keysOf, pair, type ViewsDatabase, valuesOf } from './support';

const DDOC = {
  _id: '_design/d',
  views: {
    d: { map: 'function (doc) { emit(doc.n, doc._rev.split("-")[0]); }' },
    count: { map: 'function (doc) { emit(doc.n % 2); }', reduce: '_count' },
  },
};

export function followingConformance(context: Context): void {
  it('follows edits, deletions and documents that come back', async () => {
    const db = fresh(context);
    await db.put(DDOC);
    expect((await db.query('d')).rows).toEqual([]);
    let { rev } = await db.put({ _id: 'a', n: 1 });
    expect((await db.query('d')).rows).toEqual([{ id: 'a', key: 1, value: '1' }]);
    ({ rev } = await db.put({ _id: 'a', _rev: rev, n: 5 }));
    expect((await db.query('d')).rows).toEqual([{ id: 'a', key: 5, value: '2' }]);
    ({ rev } = await db.remove('a', rev));
    expect(await db.query('d')).toEqual({ total_rows: 0, offset: 0, rows: [] });
    await db.put({ _id: 'a', _rev: rev, n: 7 });
    expect((await db.query('d')).rows).toEqual([{ id: 'a', key: 7, value: '4' }]);
  });

  it('follows the winner, and nothing that loses', async () => {
    const db = fresh(context);
    await db.put(DDOC);
    await store(db, edit('a', '1-a', { n: 1 }), edit('a', '2-b 1-a', { n: 2 }));
    expect(keysOf(await db.query('d'))).toEqual([2]);
    await store(db, edit('a', '2-a 1-a', { n: 9 }));
    expect(keysOf(await db.query('d'))).toEqual([2]);
    await store(db, edit('a', '3-c 2-a 1-a', { n: 3 }));
    expect(keysOf(await db.query('d'))).toEqual([3]);
    await store(db, edit('a', '4-d 3-c 2-a 1-a', { _deleted: true }));
    expect(keysOf(await db.query('d'))).toEqual([2]);
  });

  context.when('purge', 'follows a purge, of a leaf and of the whole', async () => {
    const db = fresh(context);
    await db.put(DDOC);
    await store(db, edit('a', '1-a', { n: 1 }), edit('a', '1-b', { n: 2 }), edit('b', '1-a', { n: 5 }));
    expect(keysOf(await db.query('d'))).toEqual([2, 5]);
    expect(valuesOf(await db.query('d/count', { group: true }))).toEqual([1, 1]);
    await db.purge('a', '1-b');
    expect(keysOf(await db.query('d'))).toEqual([1, 5]);
    await db.purge('a', '1-a');
    expect(await db.query('d')).toMatchObject({ total_rows: 1, rows: [{ key: 5 }] });
    expect(await db.query('d/count', { group: true })).toEqual({ rows: [{ key: 1, value: 1 }] });
  });

  it('follows 200 documents updated in reversed and staggered order', async () => {
    const db = fresh(context);
    await db.put(DDOC);
    const docs = numbered(200).map((n) => ({ _id: `d${String(n).padStart(3, '0')}`, n }));
    await db.bulkDocs(docs);
    expect(keysOf(await db.query('d'))).toEqual(numbered(200));
    for (let round = 1; round <= 3; round++) {
      const { rows } = await db.allDocs({ include_docs: true, endkey: 'd999' });
      const edited = rows.flatMap(({ doc }) =>
        doc && !doc._id.startsWith('_') ? [{ ...doc, n: (doc.n as number) + 1_000 }] : [],
      );
      const ordered =
        round === 1
          ? edited.reverse()
          : edited.filter((_, i) => i % 3 === 0).concat(edited.filter((_, i) => i % 3 > 0));
      await db.bulkDocs(ordered);
      const result = await db.query('d');
      expect(keysOf(result)).toEqual(numbered(200).map((n) => n + 1_000 * round));
      expect(idsOf(result)).toEqual(docs.map(({ _id }) => _id));
    }
    await db.compact();
    expect((await db.query('d')).total_rows).toBe(200);
  });

  it('follows when a map emits more rows or fewer than before', async () => {
    const db = fresh(context);
    await db.put({
      _id: '_design/tags',
      views: { tags: { map: 'function (doc) { doc.tags.forEach(function (t) { emit(t, t + "!"); }); }' } },
    });
    let rev: string | undefined;
    for (const tags of [['a'], ['b', 'a', 'a', 'c'], ['c', 'a'], [], ['a', 'z'], ['z', 'a']]) {
      ({ rev } = await db.put({ _id: 'x', tags, ...(rev === undefined ? {} : { _rev: rev }) }));
      const result = await db.query('tags');
      expect(keysOf(result)).toEqual([...tags].sort());
      expect(result.total_rows).toBe(tags.length);
    }
  });

  context.when('viewEvents', 'tells of building, step by step', async () => {
    const db = fresh(context);
    await db.bulkDocs([DDOC, ...numbered(700).map((n) => ({ _id: `d${n}`, n }))]);
    const steps: Record<string, number>[] = [];
    db.on('indexing', (step) => steps.push(step as Record<string, number>));
    await db.query('d');
    expect(steps[0]).toEqual({ indexed_docs: 0 });
    for (const step of steps.slice(1))
      expect(Object.keys(step).sort()).toEqual(['indexed_docs', 'last_seq', 'results_count']);
    expect(steps.slice(1).reduce((sum, step) => sum + step.results_count!, 0)).toBe(701);
    expect(steps.at(-1)).toMatchObject({ last_seq: 701, indexed_docs: 701 });
    const before = steps.length;
    await db.query('d');
    expect(steps).toHaveLength(before);
  });

  context.when('local', 'maps once what many ask for at once', async () => {
    const [one, two] = pair(context);
    const counts = new Map<string, number>();
    // The text of the map must be what counts, so the counting is global.
    (globalThis as Record<string, unknown>).countMapped = (id: string) =>
      counts.set(id, (counts.get(id) ?? 0) + 1);
    const ids = numbered(300).map((n) => `d${n}`);
    try {
      await one!.bulkDocs([
        {
          _id: '_design/c',
          views: { c: { map: 'function (doc) { countMapped(doc._id); emit(doc._id); }' } },
        },
        ...ids.map((_id) => ({ _id })),
      ]);
      const handles = numbered(10).map((i) => (i % 2 === 0 ? one! : two!));
      for (const result of await Promise.all(handles.map((db: ViewsDatabase) => db.query('c'))))
        expect(result.rows).toHaveLength(300);
    } finally {
      delete (globalThis as Record<string, unknown>).countMapped;
    }
    expect([...counts.keys()].sort()).toEqual([...ids].sort());
    expect([...counts.values()].filter((count) => count !== 1)).toEqual([]);
  });

  describe('a call that is given up', () => {
    // Elsewhere the building may be over before the signal gets there.
    context.when('local', 'leaves what is done, and the next one goes on from there', async () => {
      const db = fresh(context);
      await db.bulkDocs([DDOC, ...numbered(3_000).map((n) => ({ _id: `d${n}`, n }))]);
      const enough = new AbortController();
      const reason = new Error('enough');
      const seqs: number[] = [];
      db.on('indexing', ({ last_seq }: { last_seq?: number }) => {
        if (last_seq !== undefined) seqs.push(last_seq);
        if (seqs.length === 1) enough.abort(reason);
      });
      await expect(db.query('d', { signal: enough.signal })).rejects.toBe(reason);
      const partly = await db.query('d', { stale: 'ok' });
      expect(partly.total_rows).toBeGreaterThan(0);
      const result = await db.query('d');
      expect(keysOf(result)).toEqual(numbered(3_000));
      expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b)); // No change was mapped again.
    });
  });
}
