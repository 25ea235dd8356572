/** Rows of which a plan knows that they are new, among others of the same commit: those are looked for, as ever. */
import { memory } from '@settledb/adapter-memory';
import type { Schema, Write } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import fc from 'fast-check';
import { expect, it } from 'vitest';

const tables: Schema = {
  rows: { key: 'id', fields: ['id', 'n', 'text'], orders: { n: 'n' }, texts: ['text'] },
};
type Row = { id: string; n: number; text: string };
type Rows = { rows: Row };

const id = fc.integer({ min: 0, max: 30 });
const commit = fc.array(fc.record({ put: fc.array(id), drop: fc.array(id), order: fc.nat(5) }), {
  maxLength: 3,
});

/** Puts what is new by itself, in one write or two, before, between or behind the others. */
function writesOf(
  known: ReadonlyMap<string, Row>,
  put: readonly Row[],
  drop: readonly string[],
  order: number,
) {
  const added = put.filter((row) => !known.has(row.id) && !drop.includes(row.id));
  const others = put.filter((row) => !added.includes(row));
  const half = added.length >> 1;
  const writes: Write<Rows>[] = [
    { into: 'rows', delete: drop },
    { into: 'rows', put: others },
    { into: 'rows', put: added.slice(half), fresh: true },
  ];
  writes.splice(order % 4, 0, { into: 'rows', put: added.slice(0, half), fresh: true });
  return writes;
}

it('are there afterwards, in all orders, and of what was written over nothing is left', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(commit, { maxLength: 6 }), async (commits) => {
      const world = memory();
      const store = await openLogStore<Rows>(await world.open('db'), tables, { checkpoint: false });
      const model = new Map<string, Row>();
      let n = 0;
      for (const plans of commits) {
        for (const { put, drop, order } of plans) {
          const rows = [...new Set(put)].map((i) => ({ id: `k${i}`, n: ++n, text: `text ${n}` }));
          const dropped = drop.map((i) => `k${i}`);
          const writes = writesOf(model, rows, dropped, order);
          await store.write([], () => ({ writes, value: 0 }));
          for (const key of dropped) model.delete(key);
          for (const row of rows) model.set(row.id, row);
        }
        if (plans.length === 2) await store.compact();
      }
      const [byId, byN] = await store.read([
        { from: 'rows', range: {}, texts: true },
        { from: 'rows', by: 'n', range: {}, texts: true },
      ]);
      const rows = [...model.values()];
      expect(byN).toEqual([...rows].sort((a, b) => a.n - b.n));
      expect(byId).toEqual([...rows].sort((a, b) => (a.id < b.id ? -1 : 1)));
      expect(store.stats().liveTextLength).toBe(rows.reduce((sum, row) => sum + row.text.length, 0));
      await store.close();
    }),
    { numRuns: 60 },
  );
});

it('that a write before them names are looked for all the same', async () => {
  const store = await openLogStore<Rows>(await memory().open('db'), tables, { checkpoint: false });
  const row = (n: number) => ({ id: 'k', n, text: `text ${n}` });
  await store.write([], () => ({ writes: [{ into: 'rows', put: [row(1)] }], value: 0 }));
  const writes: Write<Rows>[] = [
    { into: 'rows', delete: ['k'] },
    { into: 'rows', put: [row(2)], fresh: true },
  ];
  await store.write([], () => ({ writes, value: 0 }));
  expect((await store.read([{ from: 'rows', by: 'n', range: {}, texts: true }]))[0]).toEqual([row(2)]);
  await store.close();
});
