/**
 * Which blocks the texts of a page's rows lie in, as far as the manifest names them: so that a row's page and its text come in one
 * turn of the storage.
 *
 *   rows a b c d e f, texts of a b c in block 7, of d e f in block 9:   [7, 'd', 9]
 *
 * Bulk writes and compaction lay texts in the order of keys, so most pages have one run or two.
 */
import type { SortKey } from '@settledb/core';

/** `[block, key, block, key, …]`: in a block up to, and without, the key after it. `0`: in many blocks, or in none. */
export type Runs = readonly (number | SortKey)[] | 0;

/** The block for a row at `key`, if it is on the page. */
export function blockAt(runs: Runs | undefined, key: SortKey): number | undefined {
  if (!runs) return undefined;
  let at = 0;
  while (at + 1 < runs.length && key >= (runs[at + 1] as SortKey)) at += 2;
  return runs[at] as number;
}

/** All blocks that are named. */
export const blocksIn = (runs: Runs): number[] =>
  runs === 0 ? [] : (runs.filter((_, at) => at % 2 === 0) as number[]);
