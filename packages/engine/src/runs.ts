/**
 * Which blocks hold the texts of a page's rows, as far as the manifest names them: so a row's page and its text come in one turn of
 * the storage.
 *
 *   rows a b c d e f, texts of a b c in block 7, of d e f in block 9:   [7, 'd', 9]
 *
 * Bulk writes and compaction place texts in key order, so most pages have one run or two.
 */
import type { SortKey } from '@settledb/core';

/** `[block, key, block, key, …]`: a block holds the texts up to, but not including, the key after it. `0`: many blocks, or none. */
export type Runs = readonly (number | SortKey)[] | 0;

/** The block for a row at `key`, if the row is on the page. */
export function blockAt(runs: Runs | undefined, key: SortKey): number | undefined {
  if (!runs) return undefined;
  let at = 0;
  while (at + 1 < runs.length && key >= (runs[at + 1] as SortKey)) at += 2;
  return runs[at] as number;
}

/** All blocks named in `runs`. */
export const blocksIn = (runs: Runs): number[] =>
  runs === 0 ? [] : (runs.filter((_, at) => at % 2 === 0) as number[]);
