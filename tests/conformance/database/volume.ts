/**
 * More documents than fit in one of anything: batch, page, segment. Small enough to be a test and no measurement.
 */
import { describe, expect, it } from 'vitest';
import type { Context } from './context';
import { changesOf, getDoc, idsOf, numbered, seeded, shuffled } from './expectations';
import type { TestDatabase } from './types';

const DOCS = 3000;
const BATCH = 500;
/** About 300 bytes in all, as the documents that storage.md measures. */
const TEXT = 'lorem ipsum '.repeat(20);

export function volumeConformance(context: Context): void {
  describe(`of ${DOCS} documents`, () => {
    it('is written, updated, compacted, opened again, halved and emptied, exact at each step', () =>
      wholeLife(context));
  });
}

const idOf = (index: number): string => `doc-${String(index).padStart(6, '0')}`;

async function wholeLife(context: Context): Promise<void> {
  const name = context.name();
  let db = context.open(name);
  const random = seeded(51);
  const revs = new Map<string, string>();

  for (const generation of [1, 2, 3]) {
    await writeAll(db, shuffled(numbered(DOCS), random), revs, { generation });
    await expectAll(db, numbered(DOCS), generation, random);
  }
  await db.compact();
  await expectAll(db, numbered(DOCS), 3, random);

  await db.close();
  db = context.open(name);
  await expectAll(db, numbered(DOCS), 3, random);

  const odd = numbered(DOCS).filter((index) => index % 2 === 1);
  await writeAll(db, odd, revs, { _deleted: true });
  await db.compact();
  await db.close();
  db = context.open(name);
  const even = numbered(DOCS).filter((index) => index % 2 === 0);
  await expectAll(db, even, 3, random);
  expect((await changesOf(db)).results).toHaveLength(DOCS);

  await writeAll(db, even, revs, { _deleted: true });
  await expectAll(db, [], 3, random);
  const { results } = await changesOf(db);
  expect(results.every(({ deleted }) => deleted === true)).toBe(true);
  expect(new Set(idsOf(results)).size).toBe(DOCS);
}

/** Writes these documents, each on its last revision. */
async function writeAll(
  db: TestDatabase,
  indexes: readonly number[],
  revs: Map<string, string>,
  body: object,
): Promise<void> {
  for (let from = 0; from < indexes.length; from += BATCH) {
    const docs = indexes.slice(from, from + BATCH).map((index) => {
      const _rev = revs.get(idOf(index));
      return { _id: idOf(index), index, text: TEXT, ...body, ...(_rev === undefined ? {} : { _rev }) };
    });
    for (const { ok, id, rev } of await db.bulkDocs(docs)) {
      expect(ok).toBe(true);
      revs.set(id, rev!);
    }
  }
}

/** Asserts that just these documents live, at this generation, by whatever way they are read. */
async function expectAll(
  db: TestDatabase,
  indexes: readonly number[],
  generation: number,
  random: () => number,
): Promise<void> {
  expect((await db.info()).doc_count).toBe(indexes.length);
  const { rows, total_rows } = await db.allDocs({ include_docs: true });
  expect(total_rows).toBe(indexes.length);
  expect(rows.map(({ doc }) => [doc!._id, doc!.index, doc!.generation, doc!.text === TEXT])).toEqual(
    indexes.map((index) => [idOf(index), index, generation, true]),
  );
  for (const index of shuffled(indexes, random).slice(0, 20)) {
    expect(await getDoc(db, idOf(index))).toMatchObject({ index, generation, text: TEXT });
  }
}
