/** `_conflicts` in an index or its filter: a find answers as it would without the index, and shows them only if it is asked to. */
import { afterEach, expect, it, vi } from 'vitest';
import type { SettleDB } from '../../packages/settledb/src/settledb';
import { realMango } from './support';

const opened: SettleDB[] = [];
afterEach(async () => {
  for (const db of opened.splice(0)) await db.close();
});

const LOSER = `1-${'0'.repeat(32)}`;
const conflict = (db: SettleDB, _id: string): Promise<unknown> =>
  db.bulkDocs([{ _id, _rev: LOSER, a: 0 }], { new_edits: false });

/** Four documents, of which `d1` has a conflict. */
async function filled(): Promise<SettleDB> {
  const { db } = realMango();
  opened.push(db);
  await db.bulkDocs([0, 1, 2, 3].map((a) => ({ _id: `d${a}`, a })));
  await conflict(db, 'd1');
  return db;
}

const PARTIAL = {
  index: { fields: ['_id'], partial_filter_selector: { _conflicts: { $exists: true } } },
  ddoc: 'conf',
};
const ALL = { selector: { _id: { $gt: null } }, use_index: 'conf' };

it.each([
  { selector: { a: { $gte: 0 } }, fields: ['a', '_conflicts'] },
  { selector: { a: 1 }, fields: ['a', '_conflicts'] },
  { selector: { a: { $gte: 0 } }, fields: ['a', '_rev'] },
  { selector: { a: { $gte: 0 } }, sort: ['a', '_conflicts'] },
  { selector: { a: { $gte: 0 } }, sort: ['a', '_conflicts'], fields: ['a'] },
  { selector: { a: 1 }, sort: ['a', '_conflicts'], fields: ['a'] },
  { selector: { a: { $gte: 0 }, _conflicts: { $exists: true } } },
])('with conflicts in an index, the answer is that of the scan: %j', async (request) => {
  const db = await filled();
  for (const conflicts of [undefined, true]) {
    const asked = { ...request, conflicts };
    const { docs } = await db.find({ ...asked, use_index: '_all_docs' });
    for (const fields of [
      ['a', '_conflicts'],
      ['a', '_rev', '_conflicts'],
    ]) {
      const { id: ddoc, name } = await db.createIndex({ index: { fields } });
      for (let again = 0; again < 2; again++) expect((await db.find(asked)).docs).toEqual(docs);
      await db.deleteIndex({ ddoc, name });
    }
  }
});

it('an index of the documents with conflicts answers them', async () => {
  const db = await filled();
  await db.createIndex(PARTIAL);
  const { _rev } = await db.get('d1');
  expect((await db.find(ALL)).docs).toEqual([{ _id: 'd1', _rev, a: 1 }]);
  const sorted = { ...ALL, sort: ['_id'], fields: ['_id', '_conflicts'] };
  expect((await db.find(sorted)).docs).toEqual([{ _id: 'd1' }]);
  const shown = { _id: 'd1', _rev, a: 1, _conflicts: [LOSER] };
  expect((await db.find({ ...ALL, conflicts: true })).docs).toEqual([shown]);
  const none = { ...ALL, selector: { _id: { $gt: null }, _conflicts: { $exists: true } } };
  expect((await db.find(none)).docs).toEqual([]);
  await db.remove('d1', LOSER);
  // The index as it stands still has it.
  expect((await db.find({ ...ALL, update: false })).docs).toEqual([]);
  expect((await db.find(ALL)).docs).toEqual([]);
});

it('a live result by such an index follows', async () => {
  const db = await filled();
  await db.createIndex(PARTIAL);
  const seen: (readonly { _id: string }[])[] = [];
  const { unsubscribe } = db.live.find(ALL).subscribe(({ docs }) => void seen.push(docs));
  const ids = () => seen.at(-1)?.map(({ _id }) => _id);
  await vi.waitFor(() => expect(ids()).toEqual(['d1']));
  await conflict(db, 'd2');
  await db.put({ _id: 'd4', a: 4 });
  await vi.waitFor(() => expect(ids()).toEqual(['d1', 'd2']));
  expect(JSON.stringify(seen)).not.toContain('_conflicts');
  await db.remove('d1', LOSER);
  await vi.waitFor(() => expect(ids()).toEqual(['d2']));
  unsubscribe();
});
