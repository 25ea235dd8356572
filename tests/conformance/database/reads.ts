/**
 * get with all its options, bulkGet and revsDiff (contract §4).
 */
import { describe, expect, it } from 'vitest';
import type { Context } from './context';
import {
  CONFLICT,
  changesOf,
  edit,
  getDoc,
  MISSING,
  NOT_FOUND,
  numbered,
  openRevs,
  refused,
  rejection,
  revsOf,
  store,
} from './expectations';
import type { TestDatabase } from './types';

export function readsConformance(context: Context): void {
  describe('get', () => gets(context));
  describe('get with conflicts', () => conflicts(context));
  describe('get with open_revs', () => open(context));
  describe('get with latest', () => latest(context));
  describe('bulkGet', () => bulkGets(context));
  describe('revsDiff', () => diffs(context));
}

/** A document of three edits; the revisions, oldest first. */
async function thrice(db: TestDatabase, id: string): Promise<string[]> {
  const first = await db.put({ _id: id, value: 1 });
  const second = await db.put({ _id: id, _rev: first.rev, value: 2 });
  const third = await db.put({ _id: id, _rev: second.rev, value: 3 });
  return [first.rev, second.rev, third.rev];
}

function gets(context: Context): void {
  it('reads the winner, or the revision asked for, leaf or not', async () => {
    const db = context.fresh();
    const revs = await thrice(db, 'a');
    expect(await db.get('a')).toEqual({ _id: 'a', _rev: revs[2], value: 3 });
    for (const [index, rev] of revs.entries()) {
      expect(await db.get('a', { rev })).toEqual({ _id: 'a', _rev: rev, value: index + 1 });
    }
    await refused(db.get('a', { rev: '3-unknown' }), MISSING);
  });

  it('lists the ancestry of the winner, or of the revision asked for, newest first', async () => {
    const db = context.fresh();
    const revs = await thrice(db, 'a');
    const hashes = revs.map((rev) => rev.slice(2)).reverse();
    expect((await getDoc(db, 'a', { revs: true }))._revisions).toEqual({ start: 3, ids: hashes });
    const second = await getDoc(db, 'a', { rev: revs[1], revs: true });
    expect(second._revisions).toEqual({ start: 2, ids: hashes.slice(1) });
    expect(await db.get('a')).not.toHaveProperty('_revisions');
  });

  it('keeps branches apart that have a hash in common at different generations', async () => {
    const db = context.fresh();
    await store(db, edit('a', '3-c 2-x 1-a'), edit('a', '4-x 3-d 2-b 1-a'));
    expect((await getDoc(db, 'a', { revs: true }))._revisions).toEqual({
      start: 4,
      ids: ['x', 'd', 'b', 'a'],
    });
    const other = await getDoc(db, 'a', { rev: '3-c', revs: true });
    expect(other._revisions).toEqual({ start: 3, ids: ['c', 'x', 'a'] });
    const inner = await getDoc(db, 'a', { rev: '4-x', revs: true });
    expect(inner._revisions!.ids).toEqual(['x', 'd', 'b', 'a']);
  });

  it('says which revisions are available', async () => {
    const db = context.fresh();
    const revs = await thrice(db, 'a');
    const available = [...revs].reverse().map((rev) => ({ rev, status: 'available' }));
    expect((await getDoc(db, 'a', { revs_info: true }))._revs_info).toEqual(available);
    const [row] = await openRevs(db, 'a', 'all', { revs_info: true });
    // CouchDB, and so what it is asked by, has the option for one revision alone.
    expect(row!.ok!._revs_info ?? available).toEqual(available);
    await db.compact();
    const statuses = (await getDoc(db, 'a', { revs_info: true }))._revs_info!.map(({ status }) => status);
    expect(statuses).toEqual(['available', 'missing', 'missing']);
    for (const rev of revs.slice(0, 2)) await refused(db.get('a', { rev }), MISSING);
  });

  it('lists deleted losers on request, absent when there are none, and the seq', async () => {
    const db = context.fresh();
    await db.put({ _id: 'other' });
    await store(db, edit('a', '2-b 1-a'), edit('a', '2-c 1-a', { _deleted: true }), edit('a', '2-d 1-a'));
    const read = await getDoc(db, 'a', { conflicts: true, deleted_conflicts: true, local_seq: true });
    expect([read._conflicts, read._deleted_conflicts]).toEqual([['2-b'], ['2-c']]);
    expect(read._local_seq).toBe((await changesOf(db)).last_seq);
    expect(await db.get('other', { deleted_conflicts: true })).not.toHaveProperty('_deleted_conflicts');
  });

  it('adds nothing that was not asked for', async () => {
    const db = context.fresh();
    await store(db, edit('a', '2-b 1-a', { value: 1 }), edit('a', '2-c 1-a', { value: 2 }));
    expect(Object.keys(await getDoc(db, 'a')).sort()).toEqual(['_id', '_rev', 'value']);
  });

  it('settles every call of a race of reads and writes on one id', async () => {
    const db = context.fresh();
    const attempt = async (value: number): Promise<'written' | 'conflict'> => {
      await db.get('a').catch((error) => expect(error.status).toBe(404));
      const outcome = await db.put({ _id: 'a', value }).then(
        () => 'written' as const,
        (error) => {
          expect(error).toMatchObject(CONFLICT);
          return 'conflict' as const;
        },
      );
      await db.get('a');
      return outcome;
    };
    const outcomes = await Promise.all(numbered(20).map(attempt));
    expect(outcomes.filter((outcome) => outcome === 'written')).toHaveLength(1);
  });
}

function conflicts(context: Context): void {
  it('lists other live leaves, highest first', async () => {
    const db = context.fresh();
    await store(
      db,
      edit('a', '3-w 2-w 1-a'),
      edit('a', '2-b 1-a'),
      edit('a', '2-d 1-a'),
      edit('a', '2-c 1-a', { _deleted: true }),
      edit('a', '1-z'),
    );
    const read = await getDoc(db, 'a', { conflicts: true });
    expect(read).toEqual({ _id: 'a', _rev: '3-w', _conflicts: ['2-d', '2-b', '1-z'] });
  });

  it('is absent when there are none', async () => {
    const db = context.fresh();
    await store(db, edit('a', '3-w 2-w 1-a'), edit('a', '2-c 1-a', { _deleted: true }));
    expect(await db.get('a', { conflicts: true })).toEqual({ _id: 'a', _rev: '3-w' });
    await store(db, edit('a', '2-d 1-a'));
    expect(await db.get('a', { conflicts: true })).toHaveProperty('_conflicts', ['2-d']);
    await db.remove('a', '2-d');
    expect(await db.get('a', { conflicts: true })).not.toHaveProperty('_conflicts');
  });
}

function open(context: Context): void {
  it('answers every leaf for "all", deleted ones too', async () => {
    const db = context.fresh();
    await store(
      db,
      edit('a', '2-b 1-a', { value: 'b' }),
      edit('a', '2-c 1-a', { _deleted: true }),
      edit('a', '1-z', { value: 'z' }),
    );
    const rows = await openRevs(db, 'a', 'all');
    const docs = rows.map(({ ok }) => ok!).sort((one, other) => (one._rev < other._rev ? -1 : 1));
    expect(docs).toEqual([
      { _id: 'a', _rev: '1-z', value: 'z' },
      { _id: 'a', _rev: '2-b', value: 'b' },
      { _id: 'a', _rev: '2-c', _deleted: true },
    ]);
  });

  it('answers those asked for, found or missing', async () => {
    const db = context.fresh();
    const [first, , third] = await thrice(db, 'a');
    const rows = await openRevs(db, 'a', [first!, '9-unknown', third!]);
    expect(revsOf(rows)).toEqual([first, third].sort());
    expect(rows.flatMap(({ missing }) => missing ?? [])).toEqual(['9-unknown']);
    expect(await openRevs(db, 'a', [])).toEqual([]);
  });

  it('adds the ancestry of each', async () => {
    const db = context.fresh();
    await store(db, edit('a', '2-b 1-a'), edit('a', '3-d 2-c 1-a'));
    const rows = await openRevs(db, 'a', 'all', { revs: true });
    const histories = new Map(rows.map(({ ok }) => [ok!._rev, ok!._revisions]));
    expect(histories.get('2-b')).toEqual({ start: 2, ids: ['b', 'a'] });
    expect(histories.get('3-d')).toEqual({ start: 3, ids: ['d', 'c', 'a'] });
  });

  it('refuses "all" of a document that does not exist', async () => {
    await refused(context.fresh().get('a', { open_revs: 'all' }), NOT_FOUND);
  });
}

function latest(context: Context): void {
  const tree = [
    edit('a', '4-w 3-w 2-w 1-a', { value: 'winner' }),
    edit('a', '2-l 1-a', { value: 'old loser' }),
    edit('a', '3-l 2-l 1-a', { value: 'loser' }),
    edit('b', '2-x 1-b', { value: 'x' }),
    edit('b', '2-y 1-b', { value: 'y' }),
    edit('c', '3-w 2-w 1-c', { value: 'winner' }),
    edit('c', '3-d 2-d 1-c', { _deleted: true }),
  ];

  it('follows a revision to the leaf of its branch, also when that loses', async () => {
    const db = context.fresh();
    await store(db, ...tree);
    expect(await db.get('a', { rev: '2-l', latest: true })).toEqual({
      _id: 'a',
      _rev: '3-l',
      value: 'loser',
    });
    expect((await getDoc(db, 'a', { rev: '2-w', latest: true }))._rev).toBe('4-w');
    expect((await getDoc(db, 'a', { rev: '3-l', latest: true }))._rev).toBe('3-l');
    expect((await getDoc(db, 'a', { rev: '2-l' }))._rev).toBe('2-l');
  });

  it('collapses revisions of one branch to its leaf', async () => {
    const db = context.fresh();
    await store(db, ...tree);
    const rows = await openRevs(db, 'a', ['2-l', '3-l', '2-w'], { latest: true });
    expect(rows.map(({ ok }) => ok!._rev).sort()).toEqual(['3-l', '4-w']);
  });

  it('answers every leaf below a revision', async () => {
    const db = context.fresh();
    await store(db, ...tree);
    expect(revsOf(await openRevs(db, 'b', ['1-b'], { latest: true }))).toEqual(['2-x', '2-y']);
  });

  context.when('latestTombstone', 'follows to a deleted leaf', async () => {
    const db = context.fresh();
    await store(db, ...tree);
    expect(await db.get('c', { rev: '2-d', latest: true })).toEqual({
      _id: 'c',
      _rev: '3-d',
      _deleted: true,
    });
    expect(revsOf(await openRevs(db, 'c', ['2-d'], { latest: true }))).toEqual(['3-d']);
  });
}

function bulkGets(context: Context): void {
  it('answers in the order asked, the winner where no revision is named', async () => {
    const db = context.fresh();
    const revs = await thrice(db, 'a');
    const b = await db.put({ _id: 'b' });
    const { results } = await db.bulkGet({
      docs: [{ id: 'b' }, { id: 'a', rev: revs[0] }, { id: 'unknown' }, { id: 'a' }],
    });
    expect(results.map(({ id }) => id)).toEqual(['b', 'a', 'unknown', 'a']);
    expect(results[0]!.docs).toEqual([{ ok: { _id: 'b', _rev: b.rev } }]);
    expect(results[1]!.docs).toEqual([{ ok: { _id: 'a', _rev: revs[0], value: 1 } }]);
    expect(results[2]!.docs[0]!.error).toBeTruthy();
    expect(results[2]!.docs[0]).not.toHaveProperty('ok');
    expect(results[3]!.docs).toEqual([{ ok: { _id: 'a', _rev: revs[2], value: 3 } }]);
  });

  it('answers an unknown revision with an error', async () => {
    const db = context.fresh();
    await thrice(db, 'a');
    const { results } = await db.bulkGet({ docs: [{ id: 'a', rev: '5-unknown' }] });
    expect(results[0]!.docs).toHaveLength(1);
    expect(results[0]!.docs[0]!.error).toBeTruthy();
  });

  it('adds the ancestry only when asked, and reads tombstones by revision', async () => {
    const db = context.fresh();
    await store(db, edit('a', '2-b 1-a', { _deleted: true, why: 'moved' }));
    const docs = [{ id: 'a', rev: '2-b' }];
    const [plain, withRevs] = [await db.bulkGet({ docs }), await db.bulkGet({ docs, revs: true })];
    const doc = { _id: 'a', _rev: '2-b', _deleted: true, why: 'moved' };
    expect(plain.results[0]!.docs).toEqual([{ ok: doc }]);
    const expected = { ...doc, _revisions: { start: 2, ids: ['b', 'a'] } };
    expect(withRevs.results[0]!.docs).toEqual([{ ok: expected }]);
  });

  it('follows to the leaf with latest', async () => {
    const db = context.fresh();
    const revs = await thrice(db, 'a');
    const { results } = await db.bulkGet({ docs: [{ id: 'a', rev: revs[0] }], latest: true });
    expect(results[0]!.docs.map(({ ok }) => ok?._rev)).toEqual([revs[2]]);
  });

  it('ignores other keys of an entry, and knows the id constructor', async () => {
    const db = context.fresh();
    const rows = await db.bulkDocs([{ _id: 'constructor' }, { _id: 'a' }]);
    const { results } = await db.bulkGet({ docs: rows });
    expect(results.map(({ docs }) => docs[0]!.ok?._id)).toEqual(['constructor', 'a']);
  });

  it('answers no request with no results, and refuses one without docs', async () => {
    const db = context.fresh();
    expect(await db.bulkGet({ docs: [] })).toEqual({ results: [] });
    await rejection(db.bulkGet({}));
  });
}

function diffs(context: Context): void {
  it('lists what is missing, in the order asked, and leaves out ids that lack nothing', async () => {
    const db = context.fresh();
    const revs = await thrice(db, 'a');
    await store(db, edit('b', '2-x 1-b'), edit('b', '2-y 1-b', { _deleted: true }));
    const answer = await db.revsDiff({
      a: [...revs],
      b: ['2-y', '2-z', '2-x', '1-a'],
      unknown: ['3-c', '1-a', '2-b'],
    });
    expect(Object.keys(answer).sort()).toEqual(['b', 'unknown']);
    expect(answer.b!.missing).toEqual(['2-z', '1-a']);
    expect(answer.unknown!.missing).toEqual(['3-c', '1-a', '2-b']);
  });

  it('names leaves that may be ancestors of what is missing, highest first', async () => {
    const db = context.fresh();
    await store(
      db,
      edit('a', '3-b 2-b 1-a'),
      edit('a', '3-a 2-b 1-a'),
      edit('a', '2-d 1-a', { _deleted: true }),
    );
    const answer = async (...revs: string[]) => (await db.revsDiff({ a: revs })).a;
    expect(await answer('4-x')).toEqual({ missing: ['4-x'], possible_ancestors: ['3-b', '3-a', '2-d'] });
    expect(await answer('3-x', '1-y')).toEqual({ missing: ['3-x', '1-y'], possible_ancestors: ['2-d'] });
    expect(await answer('2-x', '3-a')).toEqual({ missing: ['2-x'] });
  });

  it('answers nothing for nothing', async () => {
    expect(Object.keys(await context.fresh().revsDiff({}))).toEqual([]);
  });

  it('knows the ids constructor and __proto__', async () => {
    const db = context.fresh();
    const request = JSON.parse('{"constructor": ["1-a"], "__proto__": ["1-b"], "toString": ["1-c"]}');
    const answer = await db.revsDiff(request);
    expect(Object.keys(answer).sort()).toEqual(['__proto__', 'constructor', 'toString']);
    await store(db, edit('constructor', '1-a'), edit('toString', '1-c'));
    expect(Object.keys(await db.revsDiff(request))).toEqual(['__proto__']);
  });
}
