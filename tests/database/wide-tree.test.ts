/** One document with thousands of leaves: what is done with all of them ends in time. With their square, none of this would. */
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, LocalDatabase, schema } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import { describe, expect, it } from 'vitest';

const name = (n: number): string => n.toString(16).padStart(32, '0');
const revOf = (n: number): string => `1-${name(n)}`;

async function withLeaves(count: number) {
  const store = await openLogStore<DatabaseTables>(await memory().open('db'), schema);
  const db = await LocalDatabase.open<Record<string, unknown>>(store, { name: 'db', adapter: 'memory' });
  const revs = Array.from({ length: count }, (_, n) => revOf(n));
  await db.bulkDocs(
    revs.map((_rev) => ({ _id: 'a', _rev })),
    { new_edits: false },
  );
  return { db, revs };
}

describe('a document with many leaves', () => {
  it('gives them all to one bulkGet, between those of other documents', async () => {
    const { db, revs } = await withLeaves(3000);
    const { rev: other } = await db.put({ _id: 'b' });
    const docs = revs.flatMap((rev) => [
      { id: 'a', rev },
      { id: 'b', rev: other },
    ]);
    const { results } = await db.bulkGet({ docs, latest: true, revs: true });
    expect(results).toHaveLength(docs.length);
    results.forEach(({ id, docs: found }, i) => {
      const { id: _id, rev: _rev } = docs[i]!;
      const _revisions = { start: 1, ids: [_rev.slice(2)] };
      expect({ id, found }).toEqual({ id: _id, found: [{ ok: { _id, _rev, _revisions } }] });
    });
  });

  it('gives them all to as many calls at once, which share its tree', async () => {
    const { db, revs } = await withLeaves(4_000);
    const found = await Promise.all(revs.map((rev) => db.get('a', { rev })));
    expect(found.map(({ _rev }) => _rev)).toEqual(revs);
  });

  it('takes 16,000, tells which are lacking, and opens them all', async () => {
    const { db, revs } = await withLeaves(16_000);
    expect(await db.revsDiff({ a: [...revs, revOf(16_000)] })).toEqual({ a: { missing: [revOf(16_000)] } });
    const rows = await db.get('a', { open_revs: 'all', latest: true });
    expect(rows).toEqual([...revs].reverse().map((_rev) => ({ ok: { _id: 'a', _rev } })));
    expect(await db.get('a', { open_revs: revs, latest: true })).toHaveLength(revs.length);
    // What says of each leaf something about all others would be 256 million revisions.
    const others = { revs_info: true, conflicts: true, deleted_conflicts: true, local_seq: true };
    expect(await db.get('a', { open_revs: 'all', ...others })).toEqual(rows);
  });
});
