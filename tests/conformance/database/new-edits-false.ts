/**
 * Revisions stored as they are given, which is how replication writes (contract §3, `new_edits: false`).
 */
import { describe, expect, it } from 'vitest';
import type { Context } from './context';
import {
  changesOf,
  edit,
  getDoc,
  idsOf,
  numbered,
  openRevs,
  revsOf,
  seeded,
  shuffled,
  store,
  unchanged,
} from './expectations';

/** Generations kept of a history that is longer, unless `revs_limit` says otherwise. */
const DEFAULT_REVS_LIMIT = 1000;

export function newEditsFalseConformance(context: Context): void {
  describe('one revision', () => single(context));
  describe('repetition', () => repetition(context));
  describe('branches', () => branches(context));
  describe('long histories', () => longHistories(context));
}

function single(context: Context): void {
  it('is stored with its history, and answered with an empty list', async () => {
    const db = context.fresh();
    await store(db, edit('a', '3-c 2-b 1-a', { value: 1 }));
    expect(await getDoc(db, 'a', { revs: true })).toEqual({
      _id: 'a',
      _rev: '3-c',
      value: 1,
      _revisions: { start: 3, ids: ['c', 'b', 'a'] },
    });
    expect((await db.info()).doc_count).toBe(1);
  });

  it('needs no history', async () => {
    const db = context.fresh();
    await store(db, { _id: 'a', _rev: '5-e', value: 1 });
    expect((await getDoc(db, 'a', { revs: true }))._revisions).toEqual({ start: 5, ids: ['e'] });
  });

  it('may have an empty hash', async () => {
    const db = context.fresh();
    await store(db, { _id: 'a', _rev: '1-', value: 1 });
    expect((await db.info()).doc_count).toBe(1);
  });

  it('may be a tombstone, with a body of its own', async () => {
    const db = context.fresh();
    await store(db, edit('a', '2-b 1-a', { _deleted: true, why: 'moved' }));
    expect((await db.info()).doc_count).toBe(0);
    const { results } = await changesOf(db);
    expect(results).toMatchObject([{ id: 'a', deleted: true, changes: [{ rev: '2-b' }] }]);
    expect(await db.get('a', { rev: '2-b' })).toEqual({
      _id: 'a',
      _rev: '2-b',
      _deleted: true,
      why: 'moved',
    });
  });

  it('may carry the conflicts that a read added', async () => {
    const db = context.fresh();
    await store(db, { ...edit('a', '2-b 1-a'), _conflicts: ['2-a'] });
    expect(await getDoc(db, 'a', { conflicts: true })).toEqual({ _id: 'a', _rev: '2-b' });
  });

  it('has readable ancestors only where their bodies were stored', async () => {
    const db = context.fresh();
    await store(db, edit('a', '1-a', { value: 1 }));
    await store(db, edit('a', '3-c 2-b 1-a', { value: 3 }));
    expect(await getDoc(db, 'a', { rev: '1-a' })).toMatchObject({ value: 1 });
    const infos = (await getDoc(db, 'a', { revs_info: true }))._revs_info!;
    expect(infos.map(({ rev, status }) => [rev, status])).toEqual([
      ['3-c', 'available'],
      ['2-b', 'missing'],
      ['1-a', 'available'],
    ]);
  });

  it('can be edited on as any other', async () => {
    const db = context.fresh();
    await store(db, edit('a', '2-b 1-a'));
    expect((await db.put({ _id: 'a', _rev: '2-b', value: 3 })).rev).toMatch(/^3-[0-9a-f]{32}$/);
  });
}

function repetition(context: Context): void {
  it('of a known leaf changes nothing: no seq, no change, no body', async () => {
    const db = context.fresh();
    await store(db, edit('a', '2-b 1-a', { value: 'first' }));
    await unchanged(db, async () => {
      await store(db, edit('a', '2-b 1-a', { value: 'first' }));
      await store(db, edit('a', '2-b 1-a', { value: 'second' }));
      await store(db, { _id: 'a', _rev: '2-b', value: 'third' });
    });
    expect(await getDoc(db, 'a')).toMatchObject({ value: 'first' });
  });

  it('of a known ancestor changes nothing', async () => {
    const db = context.fresh();
    await store(db, edit('a', '1-a', { value: 1 }), edit('a', '2-b 1-a', { value: 2 }));
    await unchanged(db, () => store(db, edit('a', '1-a', { value: 'other' })));
    expect(await getDoc(db, 'a', { rev: '1-a' })).toMatchObject({ value: 1 });
  });

  it('of what was written here, as another database sends it back, changes nothing', async () => {
    const db = context.fresh();
    const first = await db.put({ _id: 'a', value: 1 });
    await db.put({ _id: 'a', _rev: first.rev, value: 2 });
    await unchanged(db, async () => store(db, await getDoc(db, 'a', { revs: true })));
  });

  it('within one call stores once', async () => {
    const db = context.fresh();
    await store(db, ...numbered(5).map((value) => edit('a', '2-b 1-a', { value })));
    expect(revsOf(await openRevs(db, 'a', 'all'))).toEqual(['2-b']);
    expect((await changesOf(db)).results).toHaveLength(1);
    expect(await getDoc(db, 'a')).toMatchObject({ value: 0 });
  });
}

function branches(context: Context): void {
  it('are conflicts, and none is lost', async () => {
    const db = context.fresh();
    await store(db, edit('a', '2-b 1-a', { value: 'b' }), edit('a', '2-c 1-a', { value: 'c' }));
    await store(db, edit('a', '2-d 1-z', { value: 'd' }));
    expect(await getDoc(db, 'a', { conflicts: true })).toEqual({
      _id: 'a',
      _rev: '2-d',
      value: 'd',
      _conflicts: ['2-c', '2-b'],
    });
    expect(revsOf(await openRevs(db, 'a', 'all'))).toEqual(['2-b', '2-c', '2-d']);
    expect((await db.info()).doc_count).toBe(1);
  });

  it('are joined when a longer history shows their common root', async () => {
    const db = context.fresh();
    await store(db, { _id: 'a', _rev: '3-c', value: 3 });
    await store(db, edit('a', '4-d 3-c 2-b 1-a', { value: 4 }));
    expect(revsOf(await openRevs(db, 'a', 'all'))).toEqual(['4-d']);
    expect((await getDoc(db, 'a', { revs: true }))._revisions).toEqual({
      start: 4,
      ids: ['d', 'c', 'b', 'a'],
    });
  });

  it('may mix with local edits of the same document in any order', async () => {
    const db = context.fresh();
    const first = await db.put({ _id: 'a', value: 1 });
    const hash = first.rev.slice(2);
    await store(db, edit('a', `3-c 2-b 1-${hash}`, { value: 3 }));
    expect(await getDoc(db, 'a', { conflicts: true })).toEqual({ _id: 'a', _rev: '3-c', value: 3 });
  });

  for (const seed of [1, 2, 3]) {
    it(`give the same winner, leaves and counts in any order (seed ${seed})`, async () => {
      const edits = [
        edit('a', '1-a', { value: 1 }),
        edit('a', '2-b 1-a', { value: 2 }),
        edit('a', '3-c 2-b 1-a', { value: 3 }),
        edit('a', '3-d 2-b 1-a', { value: 4, _deleted: true }),
        edit('a', '2-e 1-a', { value: 5 }),
        edit('a', '4-f 3-x 2-x 1-x', { _deleted: true }),
        edit('b', '2-g 1-g', { _deleted: true }),
        edit('c', '1-h'),
      ];
      const random = seeded(seed);
      const [whole, single] = [context.fresh(), context.fresh()];
      await store(whole, ...shuffled(edits, random));
      for (const one of shuffled(edits, random)) await store(single, one);
      for (const db of [whole, single]) {
        expect((await db.info()).doc_count).toBe(2);
        expect(await getDoc(db, 'a', { conflicts: true })).toEqual({
          _id: 'a',
          _rev: '3-c',
          value: 3,
          _conflicts: ['2-e'],
        });
        expect(revsOf(await openRevs(db, 'a', 'all'))).toEqual(['2-e', '3-c', '3-d', '4-f']);
        expect(idsOf((await changesOf(db)).results).sort()).toEqual(['a', 'b', 'c']);
      }
    });
  }
}

function longHistories(context: Context): void {
  it(`are stored stemmed to ${DEFAULT_REVS_LIMIT} generations`, async () => {
    const db = context.fresh();
    const length = DEFAULT_REVS_LIMIT + 500;
    const ids = numbered(length).map((index) => `h${length - index}`);
    await store(db, { _id: 'a', _rev: `${length}-h${length}`, _revisions: { start: length, ids } });
    const read = (await getDoc(db, 'a', { revs: true }))._revisions!;
    expect(read.start).toBe(length);
    expect(read.ids).toEqual(ids.slice(0, DEFAULT_REVS_LIMIT));
  });
}
