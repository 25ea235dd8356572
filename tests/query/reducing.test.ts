/** A reduced query over many rows while documents are edited all the time: what was reduced already need not be reduced again. */
import { memory } from '@settledb/adapter-memory';
import type { Query } from '@settledb/core';
import { expect, it } from 'vitest';
import { expectWhole, openContext } from '../support/query-context';

const DOCS = 1_000;
const ROWS_EACH = 40;
const ROWS = DOCS * ROWS_EACH;
/** Portions of rows that are read between two edits: some half of them. */
const PORTIONS = 12;

it('gets through between edits, portion by portion', async () => {
  const map = (doc: { n: number }, emit: (key: unknown, value: unknown) => void): void => {
    for (let i = 0; i < ROWS_EACH; i++) emit([i % 4, doc.n, i], 1);
  };
  const context = await openContext(memory(), 'db', { views: { v: { map: map as never, reduce: '_sum' } } });
  const { database, store, views } = context;
  await database.bulkDocs(Array.from({ length: DOCS }, (_, n) => ({ _id: `d${n}`, n })));
  await views.query('v', { reduce: false, limit: 0 });
  const { read, readNow } = store;
  let portions = 0;
  let most = 0;
  Object.assign(store, {
    readNow: () => undefined,
    read: async (...args: Parameters<typeof read>) => {
      const isPortion = (args[0] as readonly Query<never>[]).some(
        (query) => (query.from as string) === 'index' && 'limit' in query && query.limit! > 1_000,
      );
      if (isPortion && ++portions % PORTIONS === 0) {
        const doc = await database.get(`d${portions}`);
        await database.put({ ...doc, n: DOCS + portions } as never);
        await views.query('v', { reduce: false, limit: 0 }); // The index follows.
      }
      const found = await read.apply(store, args);
      for (const [at, { from }] of args[0].entries())
        if (from === 'index') most = Math.max(most, (found[at] as readonly unknown[]).length);
      return found;
    },
  });
  const { rows } = await views.query('v', { group_level: 1 });
  Object.assign(store, { read, readNow });
  expect(portions).toBeGreaterThan(2 * PORTIONS);
  expect(most).toBeLessThan(ROWS / 4);
  expect(rows).toEqual([0, 1, 2, 3].map((key) => ({ key: [key], value: ROWS / 4 })));
  await expectWhole(store);
  await database.close();
});
