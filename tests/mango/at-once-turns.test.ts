/** A find that meets the end of a turn, or lasts for several, lets others have theirs and is answered at once nevertheless. */
import { nextTask } from '@settledb/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Views } from '../../packages/query/src';
import { openedTwice } from './at-once';

const DOCS = 5_000;
const ALL = { selector: { n: { $gte: 0 } }, sort: [{ n: 'desc' as const }], limit: 10 * DOCS };

async function opened() {
  const { database, ...planners } = await openedTwice();
  await database.bulkDocs(Array.from({ length: DOCS }, (_, n) => ({ _id: `${n}`, n })));
  await planners.quick.createIndex({ fields: ['n'] });
  await planners.quick.find(ALL);
  planners.reads.count = 0;
  const { store } = database;
  /** Each read takes so many ms of the clock. */
  const taking = (ms: number): void => {
    const readNow = store.readNow.bind(store);
    vi.spyOn(store, 'readNow').mockImplementation((queries) => {
      vi.setSystemTime(Date.now() + ms);
      return readNow(queries);
    });
  };
  return { database, ...planners, taking };
}

describe('a find amid calls that go on for long', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
  afterEach(() => void vi.useRealTimers());

  it('is answered at once after the pause', async () => {
    const { database, quick, reads } = await opened();
    await nextTask();
    await database.get('1');
    for (let i = 0; i < 100; i++) {
      vi.setSystemTime(Date.now() + 10);
      const { docs } = await quick.find({ selector: { n: i }, limit: 1 });
      expect(docs).toMatchObject([{ n: i }]);
    }
    expect(reads.count).toBe(0);
    await database.close();
  });

  it('is so after a write, too', async () => {
    const { database, indexes, quick } = await opened();
    const long = vi.spyOn(indexes, 'readAt');
    await nextTask();
    for (let i = 0; i < 100; i++) {
      await database.put({ _id: `new ${i}`, n: -i - 1 });
      vi.setSystemTime(Date.now() + 10);
      expect((await quick.find({ selector: { n: -i - 1 }, limit: 1 })).docs).toHaveLength(1);
    }
    expect(long).not.toHaveBeenCalled();
    await database.close();
  });

  it('so is a query of a view', async () => {
    const { database, indexes } = await opened();
    const views = new Views(database, indexes, { views: { n: (doc, emit) => emit(doc.n) } });
    await views.query('n');
    const long = vi.spyOn(indexes, 'readAt');
    await nextTask();
    await database.get('1');
    for (let key = 0; key < 100; key++) {
      vi.setSystemTime(Date.now() + 10);
      const { rows } = await views.query('n', { key, include_docs: true });
      expect(rows).toMatchObject([{ key, doc: { n: key } }]);
    }
    expect(long).not.toHaveBeenCalled();
    await expect(views.query('n', { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow(
      'enough',
    );
    await database.close();
  });

  it('goes on where it stopped', async () => {
    const { database, quick, long, reads, taking } = await opened();
    const expected = await long.find(ALL);
    taking(4);
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    expect(await quick.find(ALL)).toEqual(expected);
    clearInterval(timer);
    expect(reads.count).toBe(0);
    expect(turns).toBeGreaterThan(0);
    await database.close();
  });

  it('is asked anew where something is written meanwhile', async () => {
    const { database, quick, reads, taking } = await opened();
    taking(4);
    const written = nextTask().then(() => database.put({ _id: 'new', n: DOCS }));
    const { docs } = await quick.find(ALL);
    await written;
    expect(docs.map(({ n }) => n)).toEqual(Array.from({ length: DOCS + 1 }, (_, i) => DOCS - i));
    expect(reads.count).toBeGreaterThan(0);
    await database.close();
  });

  it('ends by its signal', async () => {
    const { database, quick, taking } = await opened();
    taking(4);
    const ending = new AbortController();
    const found = quick.find({ ...ALL, signal: ending.signal });
    ending.abort(new Error('enough'));
    await expect(found).rejects.toThrow('enough');
    await database.close();
  });
});
