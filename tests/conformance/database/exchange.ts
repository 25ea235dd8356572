/**
 * What replication asks of a database, without the replicator: two databases that exchange their changes by `changes`,
 * `revsDiff`, `bulkGet` and `bulkDocs` end with the same leaves (invariant I8), however edits, deletions and compactions lay.
 */
import { describe, expect, it } from 'vitest';
import type { Context } from './context';
import {
  changesOf,
  edit,
  getDoc,
  newSeeds,
  numbered,
  openRevs,
  seeded,
  store,
  unchanged,
} from './expectations';
import type { TestDatabase } from './types';

const ROUNDS = 4;
const EDITS_PER_ROUND = 20;
const IDS = ['a', 'b', 'constructor', 'c/d', '\u{1f600}', '_design/d'];

export function exchangeConformance(context: Context): void {
  describe('of changes between two databases', () => {
    for (const seed of newSeeds(2)) {
      it(`gives both the same leaves, winners and histories (seed ${seed})`, () =>
        converge(context, seeded(seed)));
    }

    it('carries every leaf once, and what is known not again', () => carriesLeaves(context));
    it('settles a conflict on the same winner, and its resolution too', () => resolves(context));
  });
}

/** Sends what `target` lacks; the number of revisions sent. */
async function push(source: TestDatabase, target: TestDatabase, batch = 7): Promise<number> {
  let sent = 0;
  for (let since: number | string = 0; ; ) {
    const { results, last_seq } = await changesOf(source, { since, style: 'all_docs', limit: batch });
    if (results.length === 0) return sent;
    const listed = Object.fromEntries(results.map(({ id, changes }) => [id, changes.map(({ rev }) => rev)]));
    const diff = await target.revsDiff(listed);
    const docs = Object.entries(diff).flatMap(([id, { missing }]) => missing.map((rev) => ({ id, rev })));
    const { results: found } = await source.bulkGet({ docs, revs: true, latest: true });
    const revisions = found.flatMap(({ docs: rows }) => rows.map(({ ok }) => ok!));
    await store(target, ...revisions);
    sent += revisions.length;
    since = last_seq;
  }
}

/** Everything about leaves that both sides must agree on. */
async function leavesOf(db: TestDatabase): Promise<unknown> {
  const { results } = await changesOf(db, { style: 'all_docs', include_docs: true, conflicts: true });
  const documents = results.map(async ({ id, changes, deleted, doc }) => {
    const rows = await openRevs(db, id, 'all', { revs: true });
    const leaves = rows.map(({ ok }) => ok!).sort((one, other) => (one._rev < other._rev ? -1 : 1));
    const revs = changes.map(({ rev }) => rev).sort();
    return [id, { revs, deleted, winner: doc!._rev, conflicts: doc!._conflicts, leaves }] as const;
  });
  const sorted = (await Promise.all(documents)).sort(([one], [other]) => (one < other ? -1 : 1));
  const { doc_count } = await db.info();
  return { sorted, doc_count, live: (await db.allDocs()).rows };
}

async function converge(context: Context, random: () => number): Promise<void> {
  const [one, other] = [context.fresh(), context.fresh()];
  for (const _round of numbered(ROUNDS)) {
    for (const _edit of numbered(EDITS_PER_ROUND)) await randomEdit(random() < 0.5 ? one : other, random);
    if (random() < 0.5) await one.compact();
    await push(one, other);
    await push(other, one);
    if (random() < 0.5) await other.compact();
    expect(await leavesOf(other)).toEqual(await leavesOf(one));
    await unchanged(one, () => unchanged(other, async () => expect(await push(one, other)).toBe(0)));
  }
}

/** Edits, deletes or revives a random leaf of a random document; every call must be accepted. */
async function randomEdit(db: TestDatabase, random: () => number): Promise<void> {
  const id = IDS[Math.floor(random() * IDS.length)]!;
  const value = Math.floor(random() * 1000);
  const rows = await openRevs(db, id, 'all').catch(() => []);
  const living = rows.flatMap(({ ok }) => (ok === undefined || ok._deleted ? [] : [ok._rev]));
  if (living.length === 0) return void (await db.put({ _id: id, value }));
  const rev = living[Math.floor(random() * living.length)]!;
  if (random() < 0.25) await db.remove(id, rev);
  else if (random() < 0.2) await db.put({ _id: id, _rev: rev, value, _deleted: true });
  else await db.put({ _id: id, _rev: rev, value });
}

async function carriesLeaves(context: Context): Promise<void> {
  const [source, target] = [context.fresh(), context.fresh()];
  await store(source, edit('a', '3-c 2-b 1-a'), edit('a', '3-d 2-b 1-a', { _deleted: true, why: 'd' }));
  await store(source, edit('b', '2-f 1-e', { _deleted: true }));
  expect(await push(source, target)).toBe(3);
  expect(await push(source, target)).toBe(0);
  expect(await push(target, source)).toBe(0);
  expect(await getDoc(target, 'a', { rev: '3-d' })).toMatchObject({ _deleted: true, why: 'd' });
  expect(await leavesOf(target)).toEqual(await leavesOf(source));
}

async function resolves(context: Context): Promise<void> {
  const [one, other] = [context.fresh(), context.fresh()];
  await one.put({ _id: 'a', text: 'common' });
  await push(one, other);
  const { _rev } = await getDoc(one, 'a');
  await one.put({ _id: 'a', _rev, text: 'edited here' });
  await other.put({ _id: 'a', _rev, text: 'edited there' });
  await push(one, other);
  await push(other, one);
  const [here, there] = [
    await getDoc(one, 'a', { conflicts: true }),
    await getDoc(other, 'a', { conflicts: true }),
  ];
  expect(there).toEqual(here);
  expect(here._conflicts).toHaveLength(1);
  await other.remove('a', there._conflicts![0]);
  await push(other, one);
  expect(await getDoc(one, 'a', { conflicts: true })).toEqual({
    _id: 'a',
    _rev: here._rev,
    text: expect.stringMatching(/^edited /),
  });
}
