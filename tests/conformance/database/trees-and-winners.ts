/**
 * Which revision wins, the same for every read, and trees of a size that recursion does not survive (contract §5).
 */
import { describe, expect, it } from 'vitest';
import type { Context } from './context';
import {
  changesOf,
  edit,
  generation,
  getDoc,
  numbered,
  openRevs,
  refused,
  revsOf,
  seeded,
  shuffled,
  store,
} from './expectations';
import type { TestDatabase } from './types';

const SIBLINGS = 500;
const SIBLINGS_PER_BATCH = 50;
const ROOTS = 200;
const LONG_HISTORY = 5000;

export function treesAndWinnersConformance(context: Context): void {
  describe('the winner', () => winners(context));
  describe('counting', () => counting(context));
  describe('large trees', () => large(context));
  describe('order of arrival', () => order(context));
  describe('revs_limit', () => limits(context));
}

/** Asserts that get, allDocs and changes name the same winner. */
async function expectWinner(db: TestDatabase, id: string, rev: string): Promise<void> {
  expect((await getDoc(db, id))._rev).toBe(rev);
  expect((await db.allDocs({ key: id })).rows.map(({ value }) => value?.rev)).toEqual([rev]);
  const { results } = await changesOf(db, { doc_ids: [id] });
  expect(results.map(({ changes }) => changes)).toEqual([[{ rev }]]);
}

function winners(context: Context): void {
  const cases: Record<string, { paths: string[]; deleted?: string[]; winner: string }> = {
    'is the higher generation': { paths: ['3-a 2-a 1-a', '2-z 1-a'], winner: '3-a' },
    'is the higher hash of equal generations': { paths: ['2-b 1-a', '2-c 1-a', '2-a 1-a'], winner: '2-c' },
    'is live before deleted': { paths: ['2-b 1-a', '9-z 8-z 1-a'], deleted: ['9-z'], winner: '2-b' },
    'compares generations as numbers': { paths: ['10-a 9-a', '9-z 8-z'], winner: '10-a' },
    'compares hashes by code unit': { paths: ['1-B', '1-a', '1-9', '1-Z'], winner: '1-a' },
    'may be in another root': { paths: ['1-a', '2-b 1-b'], winner: '2-b' },
  };

  for (const [title, { paths, deleted = [], winner }] of Object.entries(cases)) {
    it(title, async () => {
      const db = context.fresh();
      const edits = paths.map((path) =>
        edit('x', path, deleted.some((rev) => path.startsWith(`${rev} `)) ? { _deleted: true } : {}),
      );
      await store(db, ...edits);
      await expectWinner(db, 'x', winner);
    });
  }

  it('among tombstones is the one whose revision is told', async () => {
    const db = context.fresh();
    await store(db, edit('x', '2-b 1-a', { _deleted: true }), edit('x', '3-a 2-c 1-a', { _deleted: true }));
    const { results } = await changesOf(db);
    expect(results).toMatchObject([{ id: 'x', deleted: true, changes: [{ rev: '3-a' }] }]);
    const { rows } = await db.allDocs({ keys: ['x'] });
    expect(rows).toMatchObject([{ id: 'x', value: { rev: '3-a', deleted: true } }]);
  });

  it('changes as leaves are deleted, and back', async () => {
    const db = context.fresh();
    await store(db, edit('x', '1-a', { value: 'a' }), edit('x', '1-b', { value: 'b' }));
    await expectWinner(db, 'x', '1-b');
    await db.remove('x', '1-b');
    await expectWinner(db, 'x', '1-a');
    expect((await getDoc(db, 'x')).value).toBe('a');
    const { rev } = await db.put({ _id: 'x', _rev: '1-a', value: 'c' });
    await expectWinner(db, 'x', rev);
  });
}

function counting(context: Context): void {
  it('counts a document once while any leaf lives, and not when all are tombstones', async () => {
    const db = context.fresh();
    await store(db, edit('x', '2-b 1-a'), edit('x', '2-c 1-a'), edit('x', '2-d 1-a'));
    for (const [rev, remaining] of [
      ['2-d', 1],
      ['2-b', 1],
      ['2-c', 0],
    ] as const) {
      await db.remove('x', rev);
      expect((await db.info()).doc_count).toBe(remaining);
      expect((await db.allDocs()).total_rows).toBe(remaining);
    }
  });

  it('counts again when a leaf arrives for a dead document', async () => {
    const db = context.fresh();
    await store(db, edit('x', '3-c 2-b 1-a', { _deleted: true }));
    expect((await db.info()).doc_count).toBe(0);
    await store(db, edit('x', '2-d 1-a'));
    expect((await db.info()).doc_count).toBe(1);
    await expectWinner(db, 'x', '2-d');
  });
}

function large(context: Context): void {
  it(`holds ${SIBLINGS} siblings that come in batches`, async () => {
    const db = context.fresh();
    await store(db, edit('x', '1-root'));
    const hash = (index: number): string => `s${String(index).padStart(4, '0')}`;
    for (let from = 0; from < SIBLINGS; from += SIBLINGS_PER_BATCH) {
      const batch = numbered(SIBLINGS_PER_BATCH).map((index) => edit('x', `2-${hash(from + index)} 1-root`));
      await store(db, ...batch);
    }
    const highestFirst = numbered(SIBLINGS).map((index) => `2-${hash(SIBLINGS - 1 - index)}`);
    const read = await getDoc(db, 'x', { conflicts: true });
    expect([read._rev, ...read._conflicts!]).toEqual(highestFirst);
    expect(await openRevs(db, 'x', 'all')).toHaveLength(SIBLINGS);
    expect((await changesOf(db, { style: 'all_docs' })).results[0]!.changes).toHaveLength(SIBLINGS);
    expect((await db.info()).doc_count).toBe(1);
  });

  it(`holds ${ROOTS} conflicts at the root`, async () => {
    const db = context.fresh();
    const hash = (index: number): string => `r${String(index).padStart(4, '0')}`;
    const edits = numbered(ROOTS).map((index) => edit('x', `1-${hash(index)}`, { value: index }));
    await store(db, ...edits);
    const read = await getDoc(db, 'x', { conflicts: true });
    expect(read.value).toBe(ROOTS - 1);
    expect(read._conflicts).toHaveLength(ROOTS - 1);
    const removals = read._conflicts!.map((_rev) => ({ _id: 'x', _rev, _deleted: true }));
    const removed = await db.bulkDocs(removals);
    expect(removed.every(({ ok }) => ok === true)).toBe(true);
    expect(await getDoc(db, 'x', { conflicts: true })).not.toHaveProperty('_conflicts');
    expect(await openRevs(db, 'x', 'all')).toHaveLength(ROOTS);
  });

  it(`takes histories of ${LONG_HISTORY} generations, and branches of them`, async () => {
    const db = context.fresh();
    const history = (leaf: string): object => ({
      _id: 'x',
      _rev: `${LONG_HISTORY}-${leaf}`,
      _revisions: {
        start: LONG_HISTORY,
        ids: [leaf, ...numbered(LONG_HISTORY - 1).map((index) => `h${LONG_HISTORY - 1 - index}`)],
      },
    });
    await store(db, history('one'), history('two'));
    const read = await getDoc(db, 'x', { conflicts: true, revs: true });
    expect([read._rev, read._conflicts]).toEqual([`${LONG_HISTORY}-two`, [`${LONG_HISTORY}-one`]]);
    const { rev } = await db.put({ _id: 'x', _rev: read._rev });
    expect(generation(rev)).toBe(LONG_HISTORY + 1);
    await db.compact();
    expect(revsOf(await openRevs(db, 'x', 'all'))).toEqual([`${LONG_HISTORY}-one`, rev].sort());
  });

  it('goes on for hundreds of edits of one document', async () => {
    const db = context.fresh();
    let { rev } = await db.put({ _id: 'x', value: 0 });
    for (const value of numbered(300).slice(1)) ({ rev } = await db.put({ _id: 'x', _rev: rev, value }));
    expect(generation(rev)).toBe(300);
    expect((await getDoc(db, 'x', { revs: true }))._revisions!.ids).toHaveLength(300);
    expect((await changesOf(db)).results).toHaveLength(1);
  });
}

interface RandomEdit {
  _rev: string;
  _deleted?: true;
  /** The revision and its ancestors, as `edit` takes them. */
  path: string;
  value: number;
}

function order(context: Context): void {
  /** A random tree: each revision is a child of an earlier one, or a root; every path is told once. */
  function randomEdits(random: () => number): RandomEdit[] {
    const paths: string[] = [];
    const edits: RandomEdit[] = [];
    for (const index of numbered(30)) {
      const parent = random() < 0.2 ? undefined : paths[Math.floor(random() * paths.length)];
      const rev = `${parent === undefined ? 1 : generation(parent) + 1}-${Math.floor(random() * 1e9).toString(36)}x${index}`;
      const path = parent === undefined ? rev : `${rev} ${parent}`;
      paths.push(path);
      const deleted = random() < 0.25 ? ({ _deleted: true } as const) : {};
      edits.push({ ...edit('x', path), ...deleted, _rev: rev, path, value: index });
    }
    return edits;
  }

  /** The same by the words of the contract: live first, then generation, then hash; every leaf with its body. */
  function expectedOf(edits: readonly RandomEdit[]): object {
    const parents = new Set(edits.map(({ path }) => path.split(' ')[1]));
    const leaves = edits.filter(({ _rev }) => !parents.has(_rev));
    const rank = ({ _rev, _deleted }: (typeof leaves)[number]): [boolean, number, string] => [
      _deleted !== true,
      generation(_rev),
      _rev.slice(_rev.indexOf('-') + 1),
    ];
    const [winner, ...losers] = leaves.sort((one, other) => (outranks(rank(one), rank(other)) ? -1 : 1));
    const conflicts = losers.flatMap(({ _rev, _deleted }) => (_deleted ? [] : [_rev]));
    const deleted = winner!._deleted === true;
    const doc = deleted ? null : { _rev: winner!._rev };
    return {
      docs: leaves
        .map(({ _rev, path }) => ({ _rev, path }))
        .sort((one, other) => (one._rev < other._rev ? -1 : 1)),
      changes: [{ rev: winner!._rev }],
      rows: [{ doc: doc && { ...doc, ...(conflicts.length > 0 ? { _conflicts: conflicts } : {}) } }],
      doc_count: deleted ? 0 : 1,
    };
  }

  function outranks(one: [boolean, number, string], other: [boolean, number, string]): boolean {
    if (one[0] !== other[0]) return one[0];
    return one[1] === other[1] ? one[2] > other[2] : one[1] > other[1];
  }

  for (const seed of [11, 12, 13, 14, 15, 16]) {
    it(`does not matter to winner, leaves, histories and counts (seed ${seed})`, async () => {
      const random = seeded(seed);
      const edits = randomEdits(random);
      const summaries: unknown[] = [];
      for (const batch of [1, 7, edits.length]) {
        const db = context.fresh();
        const arriving = shuffled(edits, random);
        for (let from = 0; from < arriving.length; from += batch) {
          await store(db, ...arriving.slice(from, from + batch));
        }
        const rows = await openRevs(db, 'x', 'all', { revs: true });
        const docs = rows.map(({ ok }) => ok!).sort((one, other) => (one._rev < other._rev ? -1 : 1));
        const { results } = await changesOf(db);
        const all = await db.allDocs({ keys: ['x'], include_docs: true, conflicts: true });
        const { doc_count } = await db.info();
        const { changes, deleted } = results[0]!;
        summaries.push({ docs, changes, deleted, rows: all.rows, doc_count });
      }
      expect(summaries[0]).toMatchObject(expectedOf(edits));
      expect(summaries[1]).toEqual(summaries[0]);
      expect(summaries[2]).toEqual(summaries[0]);
    });
  }
}

function limits(context: Context): void {
  context.when('databaseOptions', 'keeps that many revisions of a branch', async () => {
    const db = context.fresh({ revs_limit: 3 });
    const revs: string[] = [];
    for (const value of numbered(6)) {
      revs.push((await db.put({ _id: 'x', value, ...(value === 0 ? {} : { _rev: revs.at(-1) }) })).rev);
    }
    const { _revisions } = await getDoc(db, 'x', { revs: true });
    expect(_revisions).toEqual({
      start: 6,
      ids: revs
        .slice(3)
        .reverse()
        .map((rev) => rev.slice(2)),
    });
    expect((await getDoc(db, 'x', { rev: revs[3] })).value).toBe(3);
    for (const rev of revs.slice(0, 3)) {
      await refused(db.get('x', { rev }), { status: 404, name: 'not_found', message: 'missing' });
    }
  });

  context.when('databaseOptions', 'may be 1: conflicts and deletions are still seen', async () => {
    const db = context.fresh({ revs_limit: 1 });
    const first = await db.put({ _id: 'x', value: 1 });
    const second = await db.put({ _id: 'x', _rev: first.rev, value: 2 });
    await refused(db.put({ _id: 'x', _rev: first.rev }), { status: 409, name: 'conflict' });
    expect((await getDoc(db, 'x', { revs: true }))._revisions).toEqual({
      start: 2,
      ids: [second.rev.slice(2)],
    });
    const removed = await db.remove('x', second.rev);
    expect(generation((await db.put({ _id: 'x' })).rev)).toBe(generation(removed.rev) + 1);
    expect(await openRevs(db, 'x', 'all')).toHaveLength(1);
    expect((await db.info()).doc_count).toBe(1);
  });

  context.when('databaseOptions', 'counts per branch', async () => {
    const db = context.fresh({ revs_limit: 2 });
    await store(db, edit('x', '4-d 3-c 2-b 1-a'), edit('x', '4-z 3-y 2-x 1-w'));
    const rows = await openRevs(db, 'x', 'all', { revs: true });
    const histories = new Map(rows.map(({ ok }) => [ok!._rev, ok!._revisions!.ids]));
    expect(histories.get('4-d')).toEqual(['d', 'c']);
    expect(histories.get('4-z')).toEqual(['z', 'y']);
  });

  context.when('databaseOptions', 'refuses an edit of a revision that fell off', async () => {
    const db = context.fresh({ revs_limit: 2 });
    const first = await db.put({ _id: 'x' });
    const second = await db.put({ _id: 'x', _rev: first.rev, value: 2 });
    await db.put({ _id: 'x', _rev: second.rev, value: 3 });
    await refused(db.put({ _id: 'x', _rev: first.rev }), { status: 409, name: 'conflict' });
  });
}
