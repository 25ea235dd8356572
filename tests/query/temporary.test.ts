/** A temporary view while documents change under it: its answer is that of the moment it names, or of none it read. */
import { memory } from '@settledb/adapter-memory';
import type { ChangesResult, Loose } from '@settledb/core';
import { expect, it } from 'vitest';
import { openContext } from '../support/query-context';
import { mulberry32 } from '../support/slow-adapter';

const DOCS = 1_200;
/** So long that mapping pauses after each of the documents that are slow. */
const SLOW_MS = 8;

it.each([
  1, 2, 3, 4, 5,
])('answers what there is when it ends, though documents change meanwhile (seed %i)', async (seed) => {
  const random = mulberry32(seed);
  const { database, views } = await openContext(memory(), 'db');
  const id = (): string => `d${Math.floor(random() * DOCS * 1.1)}`;
  await database.bulkDocs(Array.from({ length: DOCS }, (_, n) => ({ _id: `d${n}`, n })));
  const change = async (): Promise<void> => {
    const doc = (await database.get(id()).catch(() => ({ _id: id() }))) as Loose;
    if (doc._rev !== undefined && random() < 0.3) await database.purge(doc._id, doc._rev);
    else if (random() < 0.3) await database.bulkDocs([{ ...doc, _deleted: true }]);
    else await database.bulkDocs([{ ...doc, n: Math.floor(random() * 5_000) }]);
  };
  const changes: Promise<unknown>[] = [];
  let mapped = 0;
  const answer = await views.query(
    (doc, emit) => {
      emit(doc.n, doc._rev);
      if (++mapped % 40 > 0 || mapped > DOCS) return;
      for (let i = 0; i < 3; i++) changes.push(change());
      for (const end = performance.now() + SLOW_MS; performance.now() < end; );
    },
    { update_seq: true },
  );
  await Promise.all(changes);
  const { rows } = await database.allDocs({ include_docs: true });
  const { update_seq } = await database.info();
  expect(changes.length).toBeGreaterThan(50);
  // The last changes may have come after the end; then only those are not in the answer.
  const { results } = (await database.changes({ since: answer.update_seq })) as ChangesResult;
  const late = new Set(results.map((change) => change.id));
  const expected = rows
    .flatMap((row) => ('doc' in row && row.doc ? [row.doc as Loose] : []))
    .map((doc) => [doc._id, doc.n, doc._rev]);
  const byId = (list: Loose[]): Loose[] => list.filter(([each]) => !late.has(each)).sort();
  expect(byId(answer.rows.map((row) => [row.id, row.key, row.value]))).toEqual(byId(expected));
  if (answer.update_seq === update_seq) expect(answer.total_rows).toBe(expected.length);
  await database.close();
});
