/** Programs may make up views for ever: what is remembered of them has a bound, and what they emitted is not kept with them. */
import { memory } from '@settledb/adapter-memory';
import { type DatabaseTables, evaluate, type Query } from '@settledb/core';
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

/** What the store is asked during `work`. How often does not tell: what memory cannot answer at the time is asked twice. */
async function askedIn({ store }: QueryContext, work: () => Promise<unknown>): Promise<Asked[]> {
  const spies = [vi.spyOn(store, 'readNow'), vi.spyOn(store, 'read')] as const;
  await work();
  const asked = spies.flatMap((spy) => spy.mock.calls.map(([queries]) => queries));
  for (const spy of spies) spy.mockRestore();
  return asked;
}

type Asked = readonly Query<DatabaseTables>[];

it('design documents are kept while they are few, and not those of long ago', async () => {
  const context = await opened();
  const { database, store } = context;
  await database.bulkDocs(Array.from({ length: MANY + 1 }, (_, i) => ({ _id: `_design/v${i}`, views: {} })));
  const definitions = new Definitions(store, new Functions(evaluate, () => {}));
  const isRead = async (i: number) => {
    const asked = await askedIn(context, () => definitions.design(`v${i}`, {}));
    return asked.flat().some((query) => 'texts' in query);
  };
  expect(await isRead(0)).toBe(true);
  expect(await isRead(0)).toBe(false);
  for (let i = 1; i <= MANY; i++) await definitions.design(`v${i}`, {});
  expect(await isRead(0)).toBe(true);
});

it('tags of indexes are kept while they are few, and not those of long ago', async () => {
  const context = await opened();
  await context.database.put({ _id: 'a' });
  const read = (i: number) => context.indexes.read({ id: `view ${i}`, map: () => {} }, [{}]);
  /** Whether the rows are asked for together with the state of the index, so by a tag that was known. */
  const isKnown = async (i: number) =>
    (await askedIn(context, () => read(i)))[0]?.some(({ from }) => from === 'index');
  await read(0);
  expect(await isKnown(0)).toBe(true);
  for (let i = 1; i <= MANY; i++) await read(i);
  expect(await isKnown(0)).toBe(false);
  expect(await isKnown(0)).toBe(true);
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
