/** Documents whose ids are known. */
import { isDesignId } from '@settledb/core';
import type { IndexRow } from '../index-reader';
import { batchSizes, type Found, type ReadOptions, type Source, type Tally } from './batches';

export async function* byIds(
  database: Source['database'],
  ids: readonly string[],
  options: ReadOptions,
  tally: Tally,
): AsyncGenerator<readonly Found[]> {
  const { after } = options;
  const rest = after === undefined ? ids : ids.slice(ids.indexOf(after.id) + 1);
  const sizes = batchSizes(options.wanted);
  for (let at = 0; at < rest.length; ) {
    const size = sizes.next().value;
    const rows = rest.slice(at, at + size).map((id) => ({ id, key: null, value: null }));
    yield await joined(database, rows, options, tally);
    at += size;
  }
}

export function inOrder(ids: readonly string[], descending: boolean): readonly string[] {
  return descending ? [...ids].reverse() : ids;
}

/** The documents of rows; those that are gone, and design documents, are left out. */
export async function joined(
  database: Source['database'],
  rows: readonly IndexRow[],
  { conflicts, signal }: ReadOptions,
  tally: Tally,
): Promise<readonly Found[]> {
  const keys = rows.map(({ id }) => id);
  const answer = await database.allDocs({ keys, include_docs: true, conflicts, update_seq: true, signal });
  if (answer.update_seq !== undefined) tally.seqs.add(answer.update_seq);
  const found = answer.rows.flatMap((row, at) =>
    'doc' in row && row.doc && !isDesignId(row.id) ? [{ key: rows[at]!.key, doc: row.doc }] : [],
  );
  tally.docs += found.length;
  return found;
}
