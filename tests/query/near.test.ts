/** A query whose index misses little does not wait until another index is built, and that one is built though others are queried. */
import { memory } from '@settledb/adapter-memory';
import type { MapFunction } from '@settledb/core';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openContext, type QueryContext } from '../support/query-context';

const DOCS = 4_000;
/** Of work for each document: so that building takes several turns. By a clock that nothing else moves, however busy the machine is. */
const SLOW_MS = 0.2;
/** Queries that find the other index not yet built. */
const ASKED_MAX = 1_000;

let context: QueryContext;
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(async () => {
  vi.useRealTimers();
  await context.database.close();
});

const slow = { mapped: 0 };
const map: MapFunction = (doc, emit) => {
  slow.mapped++;
  vi.advanceTimersByTime(SLOW_MS);
  emit(doc.n);
};

/** With one index that is built, and another whose building has begun. */
async function begun(): Promise<{ readonly built: Promise<unknown>; put(n: number): Promise<unknown> }> {
  slow.mapped = 0;
  const views = { quick: (doc: { n: number }, emit: (key: unknown) => void) => emit(doc.n), slow: map };
  context = await openContext(memory(), 'db', { views: views as never });
  const { database, views: queries } = context;
  await database.bulkDocs(Array.from({ length: DOCS }, (_, n) => ({ _id: `d${n}`, n })));
  await queries.query('quick', { limit: 0 });
  const first = new Promise<void>((resolve) => {
    context.indexes.on(
      'indexing',
      ({ indexed_docs }: { indexed_docs: number }) => indexed_docs > 0 && resolve(),
    );
  });
  const built = queries.query('slow', { limit: 0 });
  await first;
  return { built, put: (n) => database.put({ _id: `x${n}`, n: -n } as never) };
}

it('is answered while the other is built', async () => {
  const { built, put } = await begun();
  Object.assign(context.store, { readNow: () => undefined }); // so that it waits for a turn
  for (let n = 1; n < 4; n++) {
    await put(n);
    const { rows, total_rows } = await context.views.query('quick', { limit: 1 });
    expect([rows[0]?.id, total_rows]).toEqual([`x${n}`, DOCS + n]);
    if (n === 1) expect(slow.mapped).toBeLessThan(DOCS);
  }
  await built;
  expect((await context.views.query('slow', { limit: 1 })).total_rows).toBe(DOCS + 3);
});

it('is answered at once where nobody else waits for it', async () => {
  const { built, put } = await begun();
  const steps: number[] = [];
  context.indexes.on('indexing', ({ indexed_docs }: { indexed_docs: number }) => steps.push(indexed_docs));
  let atOnce = 0;
  for (let n = 1; n <= 5; n++) {
    await put(n);
    const before = slow.mapped;
    await context.views.query('quick', { limit: 1 });
    if (slow.mapped === before && before < DOCS) atOnce++;
  }
  // A commit of the other index may be under way at that moment.
  expect(atOnce).toBeGreaterThanOrEqual(3);
  await built;
  // The numbers are those of one pass.
  expect(steps).toEqual([...steps].sort((a, b) => a - b));
});

it('does not keep the other from being built, however often it is asked', async () => {
  const { built, put } = await begun();
  const { store } = context;
  const { read } = store;
  // As in a storage that has to be waited for: whoever was answered asks again before the next turn begins.
  const later = async (...args: Parameters<typeof read>): Promise<unknown> => {
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    return read.apply(store, args);
  };
  Object.assign(store, { readNow: () => undefined, read: later });
  let isBuilt = false;
  let n = 0;
  const ask = async (): Promise<void> => {
    while (!isBuilt && n < ASKED_MAX) {
      await put(++n);
      await context.views.query('quick', { limit: 0 });
    }
  };
  // Several, so that one waits at any time.
  const asking = [ask(), ask(), ask(), ask()];
  await built;
  isBuilt = true;
  await Promise.all(asking);
  expect(n).toBeLessThan(ASKED_MAX);
});

it('is brought up to date in portions, also where the other is asked for what was there before', async () => {
  // Time passes in turns that begin with the first document alone: any other is over when it has done all that it is for.
  const [before, after] = [22_000, 2_100];
  const plain = (doc: { n: number }, emit: (key: unknown) => void): void => emit(doc.n);
  context = await openContext(memory(), 'db', { views: { quick: plain, other: plain } as never });
  const { database, store, views: queries } = context;
  const { read } = store;
  await database.bulkDocs(Array.from({ length: before }, (_, n) => ({ _id: `d${n}`, n })));
  await queries.query('quick', { limit: 0 });
  let begin!: () => void;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  let most = 0;
  Object.assign(store, {
    readNow: () => undefined,
    read: async (...args: Parameters<typeof read>) => {
      for (const query of args[0]) {
        if (!('by' in query) || query.by !== 'seq' || !('limit' in query)) continue;
        await begun;
        if (query.range?.gt === 0) vi.advanceTimersByTime(1_000);
        most = Math.max(most, query.limit!);
      }
      return read.apply(store, args);
    },
  });
  const built = queries.query('other', { limit: 0 });
  const long = 'x'.repeat(10_000); // of which 100 are read at a time
  await database.bulkDocs(Array.from({ length: after }, (_, n) => ({ _id: `x${n}`, n, long })));
  const answer = queries.query('quick', { limit: 0 });
  begin();
  expect((await answer).total_rows).toBe(before + after);
  expect(most).toBe(1_000);
  expect((await built).total_rows).toBe(before + after);
});
