/** Programs may make up views for ever: what is remembered of them has a bound, and what they emitted is not kept with them. */
import { memory } from '@settledb/adapter-memory';
import { evaluate } from '@settledb/core';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Definitions } from '../../packages/query/src/definitions';
import { Functions } from '../../packages/query/src/functions';
import { openContext, type QueryContext } from '../support/query-context';

/** As many as are remembered. */
const MANY = 500;

async function opened(): Promise<QueryContext> {
  const context = await openContext(memory(), 'bounds');
  onTestFinished(() => context.database.close());
  return context;
}

/** How often the store is asked. */
async function readsOf({ store }: QueryContext, work: () => Promise<unknown>): Promise<number> {
  const spies = [vi.spyOn(store, 'read'), vi.spyOn(store, 'readNow')];
  await work();
  const reads = spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
  for (const spy of spies) spy.mockRestore();
  return reads;
}

it('design documents are kept while they are few, and not those of long ago', async () => {
  const context = await opened();
  const { database, store } = context;
  await database.bulkDocs(Array.from({ length: MANY + 1 }, (_, i) => ({ _id: `_design/v${i}`, views: {} })));
  const definitions = new Definitions(store, new Functions(evaluate, () => {}));
  const design = (i: number) => readsOf(context, () => definitions.design(`v${i}`, {}));
  const first = await design(0);
  expect(await design(0)).toBeLessThan(first);
  for (let i = 1; i <= MANY; i++) await definitions.design(`v${i}`, {});
  expect(await design(0)).toBe(first);
});

it('tags of indexes are kept while they are few, and not those of long ago', async () => {
  const context = await opened();
  await context.database.put({ _id: 'a' });
  const read = (i: number) => context.indexes.read({ id: `view ${i}`, map: () => {} }, [{}]);
  for (let times = 0; times < 3; times++) await read(0);
  const known = await readsOf(context, () => read(0));
  for (let i = 1; i <= MANY; i++) await read(i);
  expect(await readsOf(context, () => read(0))).toBeGreaterThan(known);
  await read(0);
  expect(await readsOf(context, () => read(0))).toBe(known);
});

it('a view kept as text holds nothing of who asked it last', () => {
  const functions = new Functions(evaluate, () => {});
  const late: { emit?: (key: unknown) => void } = {};
  vi.stubGlobal('late', late);
  onTestFinished(() => void vi.unstubAllGlobals());
  const given = vi.fn();
  const map = functions.map(
    'function (doc) { late.emit = emit; emit(doc._id); if (doc.bad) throw doc.bad; }',
  );
  map({ _id: 'a' }, given);
  late.emit?.('b');
  expect(() => map({ _id: 'c', bad: new Error('bad') }, given)).toThrow('bad');
  late.emit?.('d');
  expect(given.mock.calls).toEqual([
    ['a', undefined],
    ['c', undefined],
  ]);
});
