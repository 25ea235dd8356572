/** A temporary view while documents change under it: its answer is that of the moment it names, or of none it read. */
import { memory } from '@settledb/adapter-memory';
import type { ChangesResult, DatabaseError, Json, Loose, MapFunction } from '@settledb/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openContext } from '../support/query-context';
import { mulberry32 } from '../support/slow-adapter';

const DOCS = 1_200;
/** So long that mapping pauses after each of the documents that are slow. */
const SLOW_MS = 8;

/** Two changes may be of one document: its revision was edited (400) or purged (404) between reading and purging it. */
const overtaken = ({ status }: DatabaseError): void => expect([400, 404]).toContain(status);

it.each([
  1, 2, 3, 4, 5,
])('answers what there is when it ends, though documents change meanwhile (seed %i)', async (seed) => {
  const random = mulberry32(seed);
  const { database, views } = await openContext(memory(), 'db');
  const id = (): string => `d${Math.floor(random() * DOCS * 1.1)}`;
  await database.bulkDocs(Array.from({ length: DOCS }, (_, n) => ({ _id: `d${n}`, n })));
  const change = async (): Promise<void> => {
    const doc = (await database.get(id()).catch(() => ({ _id: id() }))) as Loose;
    if (doc._rev !== undefined && random() < 0.3) {
      await database.purge(doc._id, doc._rev).catch(overtaken);
      if (isOver) late.add(doc._id);
    } else if (random() < 0.3) await database.bulkDocs([{ ...doc, _deleted: true }]);
    else await database.bulkDocs([{ ...doc, n: Math.floor(random() * 5_000) }]);
  };
  const changes: Promise<unknown>[] = [];
  let mapped = 0;
  // Changes that may have come after the end: then only those are not in the answer.
  const late = new Set<string>();
  let isOver = false;
  const answer = await views.query(
    (doc, emit) => {
      emit(doc.n, doc._rev);
      if (++mapped % 40 > 0 || mapped > DOCS) return;
      for (let i = 0; i < 3; i++) changes.push(change());
      for (const end = performance.now() + SLOW_MS; performance.now() < end; );
    },
    { update_seq: true },
  );
  isOver = true;
  await Promise.all(changes);
  const { rows } = await database.allDocs({ include_docs: true });
  const { update_seq } = await database.info();
  expect(changes.length).toBeGreaterThan(50);
  const { results } = (await database.changes({ since: answer.update_seq })) as ChangesResult;
  for (const { id } of results) late.add(id);
  const expected = rows
    .flatMap((row) => ('doc' in row && row.doc ? [row.doc as Loose] : []))
    .map((doc) => [doc._id, doc.n, doc._rev]);
  const byId = (list: Loose[]): Loose[] => list.filter(([each]) => !late.has(each)).sort();
  expect(byId(answer.rows.map((row) => [row.id, row.key, row.value]))).toEqual(byId(expected));
  if (answer.update_seq === update_seq) expect(answer.total_rows).toBe(expected.length);
  await database.close();
});

it('is of one moment though documents are purged, and others change while it looks which are', async () => {
  const { database, store, views } = await openContext(memory(), 'db');
  await database.bulkDocs(Array.from({ length: DOCS }, (_, n) => ({ _id: `d${n}`, n })));
  const purge = async (id: string): Promise<unknown> => database.purge(id, (await database.get(id))._rev);
  const { read, readNow } = store;
  let [batches, looks] = [0, 0];
  Object.assign(store, {
    readNow: () => undefined,
    read: async (...args: Parameters<typeof read>) => {
      const docs = args[0].filter(({ from }) => from === 'docs');
      const isBatch = docs.some((each) => 'range' in each && 'limit' in each);
      if (isBatch && ++batches === 2) await purge('d1');
      if (docs.some((each) => 'keys' in each && each.keys.length > 1) && ++looks === 1) {
        await database.put({ ...(await database.get('d2')), n: -1 } as never);
        await database.bulkDocs([{ _id: 'new', n: -2 }] as never);
        await purge('d3');
      }
      return read.apply(store, args);
    },
  });
  const map: MapFunction = (doc, emit) => emit(doc.n);
  const answer = await views.query(map, { update_seq: true });
  expect(looks).toBe(1);
  Object.assign(store, { read, readNow });
  expect(answer).toEqual(await views.query(map, { update_seq: true }));
  expect(answer.rows.slice(0, 4).map(({ id }) => id)).toEqual(['new', 'd2', 'd0', 'd4']);
  expect(answer).toMatchObject({ total_rows: DOCS - 1, rows: { length: DOCS - 1 } });
  await database.close();
});

const keys = fc.oneof(
  fc.integer({ min: -20, max: 20 }),
  fc.double(),
  fc.constantFrom(
    null,
    true,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    undefined,
    '',
    'a',
    'b\u0000',
    'é',
  ),
  fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 2 }),
);

it('answers the rows of many keys, in their order', async () => {
  const { database, views } = await openContext(memory(), 'db');
  const docs = 10_000;
  await database.bulkDocs(Array.from({ length: docs }, (_, n) => ({ _id: `d${n}`, n })));
  // Each key compared with each row would be minutes.
  const keys = Array.from({ length: 40 * docs }, (_, i) => 40 * docs - i);
  const map: MapFunction = (doc, emit) => emit(doc.n);
  const down = Array.from({ length: docs - 1 }, (_, i) => docs - 1 - i);
  expect((await views.query(map, { keys })).rows.map(({ key }) => key)).toEqual(down);
  const counted = await views.query({ map, reduce: '_count' }, { keys: [7, docs, [], 7], group: true });
  expect(counted.rows).toEqual([
    { key: 7, value: 1 },
    { key: 7, value: 1 },
  ]);
  await database.close();
});

it('answers the first rows as they stand among all', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(keys, { maxLength: 3 }), { minLength: 1, maxLength: 120 }),
      fc.record({
        limit: fc.integer({ min: 0, max: 6 }),
        skip: fc.integer({ min: 0, max: 3 }),
        descending: fc.boolean(),
        startkey: fc.option(fc.constantFrom<Json>(null, -3, 0, 2.5, 'a', [1]), { nil: undefined }),
      }),
      async (emits, { limit, skip, ...range }) => {
        const { database, views } = await openContext(memory(), 'db');
        await database.bulkDocs(emits.map((_, n) => ({ _id: `d${n}`, n })));
        // Not from the documents, where the keys would have become JSON.
        const map: MapFunction = (doc, emit) => {
          for (const key of emits[doc.n]!) emit(key, doc.n);
        };
        const all = await views.query(map, range);
        const some = await views.query(map, { ...range, limit, skip });
        expect(some.rows).toEqual(all.rows.slice(skip, skip + limit));
        expect(some.total_rows).toBe(all.total_rows);
        await database.close();
      },
    ),
    { numRuns: 150 },
  ));

it('answers the first rows though those that were first change meanwhile', async () => {
  const { database, views } = await openContext(memory(), 'db');
  await database.bulkDocs(Array.from({ length: DOCS }, (_, n) => ({ _id: `d${n}`, n })));
  const moved: Promise<unknown>[] = [];
  const map: MapFunction = (doc, emit) => {
    emit(doc.n);
    if (moved.length > 0 || doc._id !== 'd500') return;
    // The first ten go to the end, after they were mapped.
    for (let n = 0; n < 10; n++)
      moved.push(database.get(`d${n}`).then((each) => database.put({ ...each, n: 10_000 + n } as never)));
    for (const end = performance.now() + SLOW_MS; performance.now() < end; );
  };
  const first = await views.query(map, { limit: 3, update_seq: true });
  await Promise.all(moved);
  if (first.update_seq === DOCS + 10) expect(first.rows.map(({ key }) => key)).toEqual([10, 11, 12]);
  expect((await views.query(map, { limit: 3 })).rows.map(({ key }) => key)).toEqual([10, 11, 12]);
  await database.close();
});

const cycle: Loose[] = [];
cycle.push(cycle);
let deep: Loose = 1;
for (let i = 0; i < 2_500; i++) deep = [deep];

it.each<[string, unknown]>([
  ['a BigInt', 10n],
  ['a cycle', cycle],
  ['nested too deep', deep],
])('leaves a document out whose value is %s, whatever range is asked for', async (_, value) => {
  const { database, views } = await openContext(memory(), 'db');
  await database.bulkDocs([{ _id: 'odd' }, { _id: 'plain' }]);
  const map: MapFunction = (doc, emit) => {
    emit('a', 1);
    emit('b', doc._id === 'odd' ? value : { n: 1 });
  };
  const ranges = [{}, { key: 'a' }, { endkey: 'a' }, { keys: ['a'] }, { limit: 1 }];
  for (const range of [...ranges, { key: 'c' }, { descending: true, limit: 1 }]) {
    const { rows, total_rows } = await views.query(map, range);
    expect(rows.filter(({ id }) => id === 'odd')).toEqual([]);
    expect(total_rows).toBe(2);
  }
  await database.close();
});

describe('a limit', () => {
  const documents = Array.from({ length: 300 }, (_, i) => ({ _id: `d${String(i).padStart(3, '0')}`, i }));
  const maps: Record<string, MapFunction> = {
    'throws behind what it emitted': (doc, emit) => {
      emit(doc.i, null);
      emit(1_000 + doc.i, doc.i < 100 ? doc.none.length : null);
    },
    'goes on after what could not be emitted': (doc, emit) => {
      const value: Loose = {};
      if (doc.i < 50) value.itself = value;
      try {
        emit(doc.i, value);
      } catch {
        // As if it had not been tried.
      }
    },
  };
  it.each(Object.keys(maps))('gives the first rows there are, of a map that %s', async (name) => {
    const { database, views } = await openContext(memory(), 'db');
    await database.bulkDocs(documents);
    const map = maps[name]!;
    for (const descending of [false, true]) {
      const { rows } = await views.query(map, { descending });
      expect(rows.length).toBeGreaterThan(200);
      for (const limit of [1, 3, 60])
        expect((await views.query(map, { descending, limit })).rows).toEqual(rows.slice(0, limit));
    }
    expect((await views.query(map)).total_rows).toBe((await views.query(map)).rows.length);
    await database.close();
  });
});
