/** An index reader that keeps nothing: it maps all documents at each read. What real ones are measured by. */
import { compareKeys, type Database, type Json, normalizeKey } from '@settledb/core';
import type { IndexAnswer, IndexRange, IndexReader, IndexRow } from '../../packages/query/src';

export function naiveIndexReader(database: Pick<Database, 'allDocs'>): IndexReader {
  return {
    async read(index, ranges, options = {}) {
      options.signal?.throwIfAborted();
      const answer = await database.allDocs({ include_docs: true, update_seq: true });
      const rows: IndexRow[] = [];
      for (const row of answer.rows) {
        if (!('doc' in row) || !row.doc || row.id.startsWith('_design/')) continue;
        index.map(row.doc, (key, value) =>
          rows.push({ id: row.id, key: normalizeKey(key), value: normalizeKey(value) }),
        );
      }
      rows.sort((one, other) => compareKeys(one.key, other.key) || (one.id < other.id ? -1 : 1));
      if (options.descending) rows.reverse();
      const { limit = Number.POSITIVE_INFINITY } = options;
      return ranges.map(
        (range): IndexAnswer => ({
          rows: rows.filter((row) => isWithin(range, row)).slice(0, limit),
          update_seq: answer.update_seq!,
        }),
      );
    },
  };
}

function isWithin({ from, to }: IndexRange, row: IndexRow): boolean {
  const below = from === undefined ? 1 : position(row, from);
  const above = to === undefined ? -1 : position(row, to);
  return (below > 0 || (below === 0 && from!.inclusive)) && (above < 0 || (above === 0 && to!.inclusive));
}

function position(row: IndexRow, bound: { readonly key: Json; readonly id?: string }): number {
  const order = compareKeys(row.key, bound.key);
  if (order !== 0 || bound.id === undefined || row.id === bound.id) return order;
  return row.id < bound.id ? -1 : 1;
}
