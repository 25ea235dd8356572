/**
 * What compaction removes and what it keeps; purge (contract §10).
 */
import { describe, expect, it } from 'vitest';
import type { Context } from './context';
import {
  changesOf,
  edit,
  getDoc,
  idsOf,
  MISSING,
  numbered,
  openRevs,
  refused,
  rejection,
  revsOf,
  store,
} from './expectations';
import type { TestDatabase } from './types';

export function compactionAndPurgeConformance(context: Context): void {
  describe('compact', () => compaction(context));
  describe('auto_compaction', () => automatic(context));
  describe('purge', () => purge(context));
}

/** Edits a document `times` times; the revisions, oldest first. */
async function edited(db: TestDatabase, id: string, times: number): Promise<string[]> {
  const revs: string[] = [];
  for (const value of numbered(times)) {
    revs.push((await db.put({ _id: id, value, ...(value === 0 ? {} : { _rev: revs.at(-1) }) })).rev);
  }
  return revs;
}

function compaction(context: Context): void {
  it('answers ok: on an empty database, repeatedly, five at once', async () => {
    const db = context.fresh();
    expect(await db.compact()).toEqual({ ok: true });
    await edited(db, 'a', 3);
    expect(await db.compact({ interval: 1 })).toEqual({ ok: true });
    expect(await db.compact()).toEqual({ ok: true });
    await edited(db, 'b', 3);
    const answers = await Promise.all(numbered(5).map(() => db.compact()));
    expect(answers).toEqual(numbered(5).map(() => ({ ok: true })));
    expect((await db.info()).doc_count).toBe(2);
  });

  it('removes the bodies of revisions that are no leaf, and keeps the ancestry', async () => {
    const db = context.fresh();
    const revs = await edited(db, 'a', 4);
    const before = { info: await db.info(), changes: await changesOf(db), all: await db.allDocs() };
    await db.compact();
    for (const rev of revs.slice(0, -1)) await refused(db.get('a', { rev }), MISSING);
    const read = await getDoc(db, 'a', { revs: true });
    expect(read).toMatchObject({ value: 3, _rev: revs.at(-1) });
    expect(read._revisions).toEqual({ start: 4, ids: [...revs].reverse().map((rev) => rev.slice(2)) });
    const { doc_count, update_seq } = await db.info();
    expect({ doc_count, update_seq }).toEqual({
      doc_count: before.info.doc_count,
      update_seq: before.info.update_seq,
    });
    expect(await changesOf(db)).toEqual(before.changes);
    expect(await db.allDocs()).toEqual(before.all);
  });

  it('keeps every leaf: winners, conflicts, tombstones with their bodies', async () => {
    const db = context.fresh();
    await store(db, edit('a', '1-a', { value: 'root' }), edit('a', '2-b 1-a', { value: 'b' }));
    await store(
      db,
      edit('a', '2-c 1-a', { value: 'c' }),
      edit('a', '3-d 2-d 1-a', { _deleted: true, why: 'd' }),
    );
    await db.compact();
    expect(await getDoc(db, 'a', { rev: '2-b' })).toMatchObject({ value: 'b' });
    expect(await getDoc(db, 'a', { rev: '2-c' })).toMatchObject({ value: 'c' });
    expect(await getDoc(db, 'a', { rev: '3-d' })).toEqual({
      _id: 'a',
      _rev: '3-d',
      _deleted: true,
      why: 'd',
    });
    await refused(db.get('a', { rev: '1-a' }), MISSING);
    expect(revsOf(await openRevs(db, 'a', 'all'))).toEqual(['2-b', '2-c', '3-d']);
  });

  it('keeps the tombstone of a removed document', async () => {
    const db = context.fresh();
    const first = await db.put({ _id: 'a', value: 1 });
    const { rev } = await db.remove('a', first.rev);
    await db.compact();
    expect(await db.get('a', { rev })).toEqual({ _id: 'a', _rev: rev, _deleted: true });
    await refused(db.get('a', { rev: first.rev }), MISSING);
    expect((await db.put({ _id: 'a' })).rev).toMatch(/^3-/);
  });

  it('loses nothing to writes that go on meanwhile', async () => {
    const db = context.fresh();
    await edited(db, 'a', 5);
    const [, , ...revs] = await Promise.all([
      db.compact(),
      db.compact(),
      ...numbered(20).map(async (index) => (await edited(db, `doc-${index}`, 3)).at(-1)!),
    ]);
    await db.compact();
    for (const [index, rev] of revs.entries()) {
      expect(await getDoc(db, `doc-${index}`)).toEqual({ _id: `doc-${index}`, _rev: rev, value: 2 });
    }
    expect((await db.info()).doc_count).toBe(21);
  });

  it('is still done when the database is opened again', async () => {
    const name = context.name();
    const db = context.open(name);
    const revs = await edited(db, 'a', 3);
    await db.compact();
    await db.close();
    const again = context.open(name);
    await refused(again.get('a', { rev: revs[0] }), MISSING);
    expect(await getDoc(again, 'a')).toMatchObject({ value: 2 });
  });

  context.when('compactionRecord', 'notes how far it came in _local/compaction', async () => {
    const db = context.fresh();
    await edited(db, 'a', 3);
    await db.compact();
    expect((await getDoc(db, '_local/compaction')).last_seq).toBe((await db.info()).update_seq);
  });

  context.when('compactionRecord', 'removes a past body that came after the last one, too', async () => {
    const db = context.fresh();
    await store(db, edit('a', '3-c 2-b 1-a', { value: 'c' }));
    await db.put({ _id: 'b' });
    await db.compact();
    await store(db, edit('a', '2-b 1-a', { value: 'b' }));
    expect(await getDoc(db, 'a', { rev: '2-b' })).toMatchObject({ value: 'b' });
    await db.compact();
    await refused(db.get('a', { rev: '2-b' }), MISSING);
    expect(await getDoc(db, 'a')).toMatchObject({ _rev: '3-c', value: 'c' });
  });

  context.when('compactionRecord', 'leaves alone what _local/compaction says is done', async () => {
    const db = context.fresh();
    const revs = await edited(db, 'a', 3);
    await db.put({ _id: '_local/compaction', last_seq: (await db.info()).update_seq });
    const others = await edited(db, 'b', 3);
    await db.compact();
    expect(await getDoc(db, 'a', { rev: revs[0] })).toMatchObject({ value: 0 });
    await refused(db.get('b', { rev: others[0] }), MISSING);
  });
}

function automatic(context: Context): void {
  context.when('databaseOptions', 'removes the body of a revision as soon as it is no leaf', async () => {
    const db = context.fresh({ auto_compaction: true });
    const revs = await edited(db, 'a', 3);
    for (const rev of revs.slice(0, -1)) await refused(db.get('a', { rev }), MISSING);
    expect(await getDoc(db, 'a', { revs: true })).toMatchObject({ value: 2, _revisions: { start: 3 } });
    const removed = await db.remove('a', revs.at(-1));
    await refused(db.get('a', { rev: revs.at(-1) }), MISSING);
    expect(await db.get('a', { rev: removed.rev })).toEqual({ _id: 'a', _rev: removed.rev, _deleted: true });
  });

  context.when('databaseOptions', 'does so for replicated revisions, and keeps every leaf', async () => {
    const db = context.fresh({ auto_compaction: true });
    await store(db, edit('a', '1-a', { value: 'root' }));
    await store(db, edit('a', '2-b 1-a', { value: 'b' }), edit('a', '2-c 1-a', { value: 'c' }));
    await refused(db.get('a', { rev: '1-a' }), MISSING);
    expect(await getDoc(db, 'a', { rev: '2-b' })).toMatchObject({ value: 'b' });
    expect(await getDoc(db, 'a', { rev: '2-c' })).toMatchObject({ value: 'c' });
  });

  context.when('databaseOptions', 'does so with a limit of revisions too', async () => {
    const db = context.fresh({ auto_compaction: true, revs_limit: 2 });
    const revs = await edited(db, 'a', 5);
    for (const rev of revs.slice(0, -1)) await refused(db.get('a', { rev }), MISSING);
    expect((await getDoc(db, 'a', { revs: true }))._revisions!.ids).toHaveLength(2);
  });
}

function purge(context: Context): void {
  context.when('purge', 'forgets a document whose only leaf is purged', async () => {
    const db = context.fresh();
    const revs = await edited(db, 'a', 3);
    await db.put({ _id: 'b' });
    await db.purge('a', revs.at(-1)!);
    await refused(db.get('a'), { status: 404, name: 'not_found' });
    for (const rev of revs) await refused(db.get('a', { rev }), { status: 404, name: 'not_found' });
    expect((await db.info()).doc_count).toBe(1);
    expect(idsOf((await db.allDocs()).rows)).toEqual(['b']);
    expect(idsOf((await changesOf(db)).results)).toEqual(['b']);
    expect((await db.revsDiff({ a: revs })).a!.missing).toEqual(revs);
    expect((await db.put({ _id: 'a' })).rev).toMatch(/^1-/);
  });

  context.when('purge', 'forgets only the ancestors that no other leaf has', async () => {
    const db = context.fresh();
    await store(
      db,
      edit('a', '1-a', { value: 'root' }),
      edit('a', '2-l 1-a', { value: 'l2' }),
      edit('a', '3-l 2-l 1-a', { value: 'l3' }),
      edit('a', '2-b 1-a', { value: 'b' }),
    );
    await db.purge('a', '3-l');
    expect(await db.get('a', { conflicts: true })).toEqual({ _id: 'a', _rev: '2-b', value: 'b' });
    expect(await getDoc(db, 'a', { rev: '1-a' })).toMatchObject({ value: 'root' });
    for (const rev of ['3-l', '2-l']) await refused(db.get('a', { rev }), { status: 404, name: 'not_found' });
    expect(revsOf(await openRevs(db, 'a', 'all'))).toEqual(['2-b']);
    expect((await db.info()).doc_count).toBe(1);
  });

  context.when('purge', 'of the last live leaf leaves the tombstone to tell of', async () => {
    const db = context.fresh();
    await store(db, edit('a', '2-b 1-a'), edit('a', '2-c 1-a', { _deleted: true }));
    await db.purge('a', '2-b');
    expect((await db.info()).doc_count).toBe(0);
    expect((await changesOf(db)).results).toMatchObject([
      { id: 'a', deleted: true, changes: [{ rev: '2-c' }] },
    ]);
  });

  context.when('purge', 'of a tombstone leaves no trace', async () => {
    const db = context.fresh();
    const removed = await db.remove('a', (await db.put({ _id: 'a' })).rev);
    await db.purge('a', removed.rev);
    expect((await changesOf(db)).results).toEqual([]);
    expect((await db.info()).doc_count).toBe(0);
    expect((await db.put({ _id: 'a' })).rev).toMatch(/^1-/);
  });

  context.when('purge', 'refuses what is not there or is no leaf', async () => {
    const db = context.fresh();
    const revs = await edited(db, 'a', 2);
    const calls = [db.purge('b', '1-a'), db.purge('a', '1-unknown'), db.purge('a', revs[0]!)];
    await Promise.all(calls.map(rejection));
    expect(await getDoc(db, 'a')).toMatchObject({ _rev: revs[1] });
  });
}
