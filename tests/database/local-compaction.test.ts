/** What leaves the local database: bodies of past revisions, also those that come late, and leaves that are purged. */
import { describe, expect, it } from 'vitest';
import type { Doc, LocalDatabase } from '../../packages/core/src/index';
import { type Note, newStore, open, path } from './local';

describe('the body of a past revision that comes after a compaction', () => {
  const late = path('a', 'x');
  const missing = { status: 404, reason: 'missing' };
  const other = { _id: 'b', _rev: '1-x' } as Doc<Note>;
  const begun = async (store = newStore(), isLast = false): Promise<LocalDatabase<Note>> => {
    const db = await open(store);
    const whole = path('a', 'x', 'y');
    await db.bulkDocs(isLast ? [other, whole] : [whole, other], { new_edits: false });
    return db;
  };

  it.each([
    false,
    true,
  ])('goes with the next one, its document the last that was compacted: %s', async (isLast) => {
    const db = await begun(newStore(), isLast);
    await db.compact();
    await db.bulkDocs([late], { new_edits: false });
    expect(await db.get('a', { rev: '1-x' })).toMatchObject({ text: 'x' });
    await db.compact();
    await expect(db.get('a', { rev: '1-x' })).rejects.toMatchObject(missing);
    expect(await db.get('a')).toMatchObject({ _rev: '2-y', text: 'xy' });
    expect(await db.get('_local/compaction')).toMatchObject({ last_seq: 2 });
  });

  it('goes with the one that is under way, behind which it came', async () => {
    const store = newStore();
    let listings = 0;
    const db = await begun({
      ...store,
      async read(queries, options) {
        const [query] = queries as unknown as readonly [{ readonly by?: string }];
        if (query.by === 'seq' && ++listings === 2) await db.bulkDocs([late], { new_edits: false });
        return store.read(queries, options);
      },
    });
    await db.bulkDocs(Array.from({ length: 1_500 }, (_, i) => ({ _id: `c${i}` })));
    await db.compact();
    expect(listings).toBeGreaterThan(2);
    await expect(db.get('a', { rev: '1-x' })).rejects.toMatchObject(missing);
    expect(await db.get('_local/compaction')).toMatchObject({ last_seq: 1_502 });
  });

  it('leaves alone what the same write says of compaction', async () => {
    const db = await begun();
    await db.compact();
    const { _rev } = await db.get('_local/compaction');
    const said = { _id: '_local/compaction', _rev, last_seq: 1 } as Doc<Note>;
    await db.bulkDocs([late, said], { new_edits: false });
    expect(await db.get('_local/compaction')).toMatchObject({ last_seq: 1 });
  });
});

describe('compact', () => {
  it('drops the bodies of documents with long histories in slices', async () => {
    const store = newStore();
    const slices: number[] = [];
    const db = await open({
      ...store,
      write: (queries, plan, options) =>
        store.write(
          queries,
          (found) => {
            const made = plan(found);
            const gone = made.writes.flatMap((each) => (each.into === 'bodies' ? (each.delete ?? []) : []));
            if (gone.length > 0) slices.push(gone.length);
            return made;
          },
          options,
        ),
    });
    const hashes = Array.from({ length: 1_000 }, (_, i) => `${i}`);
    const ids = Array.from({ length: 6 }, (_, i) => `d${i}`);
    const docs = ids.flatMap((_id) =>
      hashes.map((_, i) => path(_id, ...hashes.slice(Math.max(0, i - 1), i + 1))),
    );
    for (const [i, doc] of docs.entries()) Object.assign(doc._revisions!, { start: (i % 1_000) + 1 });
    await db.bulkDocs(docs, { new_edits: false });
    const rev = '1000-999';
    expect(await db.get('d5', { rev: '999-998' })).toMatchObject({ text: '997998' });
    await db.compact();
    // The store of the test makes each plan twice.
    expect(slices.reduce((sum, n) => sum + n, 0)).toBe(2 * 6 * 999);
    expect(Math.max(...slices)).toBeLessThanOrEqual(5_000);
    for (const id of ids) {
      expect(await db.get(id)).toMatchObject({ _rev: rev });
      await expect(db.get(id, { rev: '999-998' })).rejects.toMatchObject({ status: 404 });
    }
    expect(await db.get('_local/compaction')).toMatchObject({ last_seq: 6_000 });
  });

  it('drops past bodies since the position in _local/compaction, and moves it', async () => {
    const store = newStore();
    const db = await open(store);
    const edit = async (id: string) => {
      const { rev } = await db.put({ _id: id, n: 1 });
      await db.put({ _id: id, _rev: rev, n: 2 });
      return rev;
    };
    const early = await edit('early');
    await db.put({ _id: '_local/compaction', last_seq: 2 } as Doc<Note>);
    const late = await edit('late');
    await Promise.all(Array.from({ length: 5 }, () => db.compact()));
    expect(await db.get('early', { rev: early })).toMatchObject({ n: 1 });
    await expect(db.get('late', { rev: late })).rejects.toMatchObject({ status: 404 });
    expect((await db.get('late', { revs: true }))._revisions!.ids).toHaveLength(2);
    expect(await db.get('_local/compaction')).toEqual({ _id: '_local/compaction', _rev: '0-2', last_seq: 4 });
    const before = store.stats().commits;
    await db.compact();
    expect(store.stats().commits).toBe(before);
  });

  it('takes the interval that a remote database is asked by, and refuses one that no timer keeps', async () => {
    const db = await open();
    await db.compact({ interval: 1 });
    for (const interval of [0, 1.5, 2 ** 31])
      await expect(db.compact({ interval })).rejects.toMatchObject({ status: 400, name: 'bad_request' });
  });
});

describe('purge', () => {
  it('forgets leaf by leaf, keeps the counters, and moves the document to a new seq', async () => {
    const store = newStore();
    const db = await open(store);
    await db.bulkDocs([path('a', '1', 'x'), path('a', '1', 'y'), path('a', '1', 'y', 'z')], {
      new_edits: false,
    });
    await expect(db.purge('a', '2-y')).rejects.toMatchObject({ status: 400 });
    await expect(db.purge('a', '9-q')).rejects.toMatchObject({ status: 404 });
    expect(await db.purge('a', '3-z')).toEqual({
      ok: true,
      deletedRevs: ['3-z', '2-y'],
      documentWasRemovedCompletely: false,
    });
    expect(await db.get('a', { conflicts: true })).toEqual({ _id: 'a', _rev: '2-x', text: '1x' });
    expect(await db.info()).toMatchObject({ doc_count: 1, update_seq: 4 });
    expect(await db.purge('a', '2-x')).toMatchObject({ documentWasRemovedCompletely: true });
    await expect(db.get('a')).rejects.toMatchObject({ status: 404, reason: 'missing' });
    expect(await db.info()).toMatchObject({ doc_count: 0, doc_del_count: 0, update_seq: 5 });
    const [docs, bodies] = await store.read([
      { from: 'docs', range: {} },
      { from: 'bodies', range: {} },
    ]);
    expect([...docs, ...bodies]).toEqual([]);
  });
});
