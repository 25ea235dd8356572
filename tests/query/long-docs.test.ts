/** Whoever reads many documents reads few at a time if they are long, and many if they are short. */
import { memory } from '@settledb/adapter-memory';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Mango } from '../../packages/query/src';
import { openContext, type QueryContext } from '../support/query-context';

const LONG = 100_000;
const LONG_DOCS = 120;
const SHORT_DOCS = 2_500;
const MAP = 'function (doc) { emit(doc.n); }';

const opened: QueryContext[] = [];
afterEach(async () => {
  for (const { database } of opened.splice(0)) await database.close();
});

/** Notes how many documents each read answers with their bodies. */
async function filled(count: number, length: number) {
  const context = await openContext(memory(), 'db', { checkpoint: false });
  opened.push(context);
  const { store, database } = context;
  const text = 'x'.repeat(length);
  const docs = Array.from({ length: count }, (_, n) => ({ _id: `d${String(n).padStart(4, '0')}`, n, text }));
  await database.bulkDocs(docs as never);
  const reads: number[] = [];
  const note = (answers: readonly unknown[] | undefined): void => {
    for (const rows of answers ?? []) {
      const bodies = Array.isArray(rows) ? rows.filter((row) => typeof row?.body === 'string') : [];
      if (bodies.length > 0) reads.push(bodies.length);
    }
  };
  const { read, readNow } = store;
  vi.spyOn(store, 'read').mockImplementation(async (...args) => {
    const found = await read.apply(store, args as never);
    note(found);
    return found as never;
  });
  vi.spyOn(store, 'readNow').mockImplementation((...args) => {
    const found = readNow.apply(store, args as never);
    note(found);
    return found as never;
  });
  return { ...context, reads };
}

type Filled = Awaited<ReturnType<typeof filled>>;

const readers: Record<string, (context: Filled) => Promise<unknown>> = {
  'a feed with documents': ({ database }) => database.changes({ include_docs: true }),
  'a feed with a selector': ({ database }) => database.changes({ selector: { n: 7 } }),
  'a view that is built': async ({ database, views }) => {
    await database.put({ _id: '_design/v', views: { rows: { map: MAP } } } as never);
    return views.query('v/rows', { limit: 1 });
  },
  'a query of a function': ({ views }) => views.query({ map: MAP } as never, { limit: 1 }),
  'a find that looks through all': ({ database, indexes }) =>
    new Mango(database, indexes).find({ selector: { none: 1 }, limit: 1 }),
};

describe.each(Object.entries(readers))('%s', (_, run) => {
  it('reads about a megabyte of long documents at a time', async () => {
    const context = await filled(LONG_DOCS, LONG);
    await run(context);
    expect(context.reads.reduce((a, b) => a + b)).toBeGreaterThanOrEqual(LONG_DOCS);
    expect(Math.max(...context.reads)).toBeLessThanOrEqual(32);
    // Only the first documents are of unknown length.
    const isLong = (count: number): boolean => count * LONG > 1.1 * 1024 * 1024;
    expect(context.reads.filter(isLong).length).toBeLessThanOrEqual(1);
  });

  it('reads short documents in few reads', async () => {
    const context = await filled(SHORT_DOCS, 200);
    await run(context);
    expect(context.reads.reduce((a, b) => a + b)).toBeGreaterThanOrEqual(SHORT_DOCS);
    expect(context.reads.length).toBeLessThanOrEqual(9);
  });
});
