/** A directory larger than what is looked for: pages of which some groups are read, by a file; right, and checked as the whole is. */
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import type { Schema, Store } from '@settledb/core';
import { openLogStore } from '@settledb/engine';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';

interface Doc {
  readonly id: string;
  readonly seq: number;
  readonly note: string;
}
type Rows = { docs: Doc };

const tables: Schema = { docs: { key: 'id', fields: ['id', 'seq', 'note'], orders: { seq: 'seq' } } };
const COUNT = 3_000;
const base = mkdtempSync(join(tmpdir(), 'settledb-parts-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));

const idOf = (i: number): string => `doc-${String(i * 2).padStart(6, '0')}-of-a-length-that-ids-have`;
/** Neighbours by id lie far apart by seq. */
const docs: Doc[] = Array.from({ length: COUNT }, (_, i) => ({
  id: idOf(i),
  seq: ((i * 1567) % COUNT) + 1,
  note: `note of ${i}, `.repeat(6),
}));

/** The store at a folder, and how many blocks it loads whole, and of how many it reads a part. */
async function cold(folder: string) {
  const journal = await file().open(folder);
  const loaded = { pages: 0, parts: 0 };
  const proxy = new Proxy(journal, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        if (name === 'readIn') loaded.parts++;
        if (name === 'load') loaded.pages += (given[0] as number[]).length;
        return value.apply(target, given);
      };
    },
  });
  const store: Store<Rows> = await openLogStore<Rows>(proxy, tables, { checkpoint: false });
  return { store, loaded };
}

async function filled(name: string): Promise<string> {
  const folder = join(base, name);
  const { store } = await cold(folder);
  await store.write([], () => ({ writes: [{ into: 'docs', put: docs }], value: 0 }));
  await store.compact();
  await store.close();
  return folder;
}

describe('pages of which a part is looked for', () => {
  it('are read in part, for a row and for a short range, and whole for a long one', async () => {
    const folder = await filled('counted');
    const { store, loaded } = await cold(folder);
    const [[row]] = await store.read([{ from: 'docs', keys: [idOf(1234)] }]);
    expect(row).toEqual(docs[1234]);
    expect(loaded).toEqual({ pages: 0, parts: 1 });
    const [rows] = await store.read([{ from: 'docs', range: { gte: idOf(2000) }, limit: 5 }]);
    expect(rows).toEqual(docs.slice(2000, 2005));
    expect(loaded).toEqual({ pages: 0, parts: 2 });
    await store.read([{ from: 'docs', keys: [idOf(1235)] }]);
    expect(loaded).toEqual({ pages: 0, parts: 2 });
    const [all] = await store.read([{ from: 'docs', range: {} }]);
    expect(all).toEqual(docs);
    expect(loaded.parts).toBe(2);
    await store.close();
  });

  it('answer as if they were whole, whatever is asked in whatever order', async () => {
    const folder = await filled('any');
    const { store: first } = await cold(folder);
    const gone = docs.filter((_, i) => i % 97 === 3 || (i > 700 && i < 1_000));
    const late = docs
      .filter((_, i) => i % 89 === 5 && i % 97 !== 3 && (i <= 700 || i >= 1_000))
      .map((doc) => ({ ...doc, id: `${doc.id}-late`, seq: doc.seq + COUNT }));
    await first.write([], () => ({
      writes: [{ into: 'docs', put: late, delete: gone.map(({ id }) => id) }],
      value: 0,
    }));
    await first.close();
    const left = [...docs.filter((doc) => !gone.includes(doc)), ...late].sort((a, b) =>
      a.id < b.id ? -1 : 1,
    );
    const bySeq = [...left].sort((a, b) => a.seq - b.seq);
    const at = fc.nat({ max: COUNT * 2 });
    const question = fc.record({
      by: fc.constantFrom(undefined, 'seq' as const),
      from: at,
      to: fc.oneof(at, fc.constant(undefined)),
      skip: fc.constantFrom(0, 0, 3, 100),
      limit: fc.constantFrom(1, 7, 40, 300),
      reverse: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(question, { minLength: 1, maxLength: 8 }), async (asked) => {
        const { store } = await cold(folder);
        for (const { by, from, to, skip, limit, reverse } of asked) {
          const keyOf = (i: number): string | number => (by === 'seq' ? i : idOf(i / 2));
          const range = { gte: keyOf(from), ...(to === undefined ? {} : { lt: keyOf(to) }) };
          const isIn = (doc: Doc): boolean => {
            const key = by === 'seq' ? doc.seq : doc.id;
            return key >= range.gte && (range.lt === undefined || key < range.lt);
          };
          const within = (by === 'seq' ? bySeq : left).filter(isIn);
          const inOrder = reverse ? [...within].reverse() : within;
          const where = by === undefined ? { from: 'docs' as const } : { from: 'docs' as const, by };
          const [rows, count, [row]] = await store.read([
            { ...where, range, skip, limit, reverse },
            { ...where, count: range },
            { from: 'docs', keys: [idOf(from % COUNT)] },
          ]);
          expect(rows).toEqual(inOrder.slice(skip, skip + limit));
          expect(count).toBe(within.length);
          expect(row).toEqual(left.find(({ id }) => id === idOf(from % COUNT)));
        }
        await store.close();
      }),
      { numRuns: 25 },
    );
  });

  it('are checked: what rotted is told by whoever reads it, and by nobody else', async () => {
    const folder = await filled('rotten');
    const log = join(folder, readdirSync(folder).find((name) => /^log\.\d+$/.test(name))!);
    const bytes = readFileSync(log);
    const { store } = await cold(folder);
    // Its last mention: pages were written anew by the compaction.
    const at = bytes.lastIndexOf(Buffer.from(docs[1500]!.note, 'latin1'));
    const fd = openSync(log, 'r+');
    writeSync(fd, Buffer.from('X'), 0, 1, at);
    closeSync(fd);
    const read = (i: number) => store.read([{ from: 'docs', keys: [idOf(i)] }]);
    const failed: number[] = [];
    for (let i = 0; i < COUNT; i += 5) {
      const [[row]] = await read(i).catch((error) => {
        expect(error).toMatchObject({ name: 'corrupt', reason: expect.stringContaining(log) });
        failed.push(i);
        return [[docs[i]]];
      });
      expect(row).toEqual(docs[i]);
    }
    expect(failed).toContain(1500);
    expect(Math.max(...failed) - Math.min(...failed)).toBeLessThan(160); // a page has 256
    await expect(read(1500)).rejects.toMatchObject({
      name: 'corrupt',
      reason: expect.stringMatching(/byte \d/),
    });
    await store.close();
  });
});
