/** A directory of which nearly nothing has room in memory: groups and pages are lent to one call, kept when they are wanted again, and put out. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import type { Schema, Store } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import fc from 'fast-check';
import { afterAll, expect, it, vi } from 'vitest';
import { timeless } from '../support/turns';

/** Of 24 pages. */
const PAGES = 2;
vi.mock('../../packages/engine/src/page', async (original) => ({
  ...(await original<object>()),
  PAGES_LOADED_MAX: 2,
}));

interface Doc {
  readonly id: string;
  readonly seq: number;
  readonly note: string;
}
type Rows = { docs: Doc };

const tables: Schema = { docs: { key: 'id', fields: ['id', 'seq', 'note'], orders: { seq: 'seq' } } };
const COUNT = 3_000;
const base = mkdtempSync(join(tmpdir(), 'settledb-lending-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));

const idOf = (i: number): string => `doc-${String(i).padStart(6, '0')}-of-a-length-that-ids-have`;
const docs: Doc[] = Array.from({ length: COUNT }, (_, i) => ({
  id: idOf(i),
  seq: ((i * 1567) % COUNT) + 1,
  note: `note of ${i}, `.repeat(6),
}));
const bySeq = [...docs].sort((a, b) => a.seq - b.seq);

let partsRead = 0;

async function open(): Promise<Store<Rows>> {
  const journal = await file().open(base);
  const readIn = journal.readIn!.bind(journal);
  journal.readIn = (block, work) => {
    partsRead++;
    return readIn(block, work);
  };
  return openLogStore<Rows>(journal, tables, { checkpoint: false });
}

it('answers as if all were in memory, at once or not', async () => {
  const first = await open();
  await first.write([], () => ({ writes: [{ into: 'docs', put: docs }], value: 0 }));
  await first.compact();
  await first.close();
  const at = fc.oneof(fc.nat({ max: COUNT - 1 }), fc.constantFrom(500, 501, 530));
  const question = fc.record({
    by: fc.constantFrom(undefined, 'seq' as const),
    from: at,
    limit: fc.constantFrom(1, 7, 40, 300),
    reverse: fc.boolean(),
    now: fc.boolean(),
  });
  const store = await open();
  expect(store.stats().pages).toBeGreaterThan(PAGES * 10);
  await fc.assert(
    fc.asyncProperty(fc.array(question, { minLength: 1, maxLength: 12 }), async (asked) => {
      for (const { by, from, limit, reverse, now } of asked) {
        const all = by === 'seq' ? bySeq : docs;
        const gte = by === 'seq' ? from + 1 : idOf(from);
        const where = by === undefined ? { from: 'docs' as const } : { from: 'docs' as const, by };
        const queries = [
          { ...where, range: { gte }, limit, reverse },
          { ...where, count: { gte } },
          { from: 'docs', keys: [idOf(from), idOf(0)] },
        ] as const;
        const found = (now ? store.readNow(queries) : undefined) ?? (await store.read(queries));
        const within = all.slice(from);
        expect(found[0]).toEqual((reverse ? within.reverse() : within).slice(0, limit));
        expect(found[1]).toBe(COUNT - from);
        expect(found[2]).toEqual([docs[from], docs[0]]);
      }
    }),
    { numRuns: 60 },
  );
  await store.close();
});

it('keeps a group that is read a second time, if that came soon', async () => {
  timeless();
  const store = await open();
  const readsOf = async (...numbers: number[]): Promise<number> => {
    const before = partsRead;
    for (const i of numbers)
      expect(store.readNow([{ from: 'docs', keys: [idOf(i)] }])?.[0]).toEqual([docs[i]]);
    return partsRead - before;
  };
  expect(await readsOf(700, 702, 701, 703)).toBe(2);
  // Neighbours are found where the last one was.
  expect(await readsOf(800, 801, 802, 803)).toBe(1);
  expect(await readsOf(1_000, 1_300, 1_600, 1_900, 1_000)).toBe(5);
  expect(await readsOf(1_000)).toBe(0);
  const others = Array.from({ length: 20 }, (_, i) => 60 + i * 140);
  expect(await readsOf(20, ...others, 20)).toBe(22);
  expect(await readsOf(20)).toBe(1);
  await store.close();
});
