/**
 * Which blocks the texts of a page's rows lie in, as far as the manifest names them: so that a row's page and its text come in one
 * turn of the storage.
 *
 *   rows a b c d e f, texts of a b c in block 7, of d e f in block 9:   [7, 'd', 9]
 *
 * Bulk writes and compaction lay texts in the order of keys, so most pages have one run or two.
 */
import type { SortKey } from '@settledb/core';
import type { Column, RowPage } from './page';

/** `[block, key, block, key, …]`: in a block up to, and without, the key after it. `0`: in many blocks, or in none. */
export type Runs = readonly (number | SortKey)[] | 0;

/** Four blocks, and the keys between them. */
const RUNS_LENGTH_MAX = 7;

/** @param texts the column of the long field that is meant */
export function runsOf({ keys }: RowPage, texts: Column | undefined): Runs {
  const runs: (number | SortKey)[] = [];
  for (let i = 0; texts && i < keys.length; i++) {
    const block = texts[i * 3] as number;
    if (block === 0 || texts[i * 3 + 2] === 0 || block === runs.at(-1)) continue;
    if (runs.length > 0) runs.push(keys[i] as SortKey);
    if (runs.push(block) > RUNS_LENGTH_MAX) return 0;
  }
  return runs.length === 0 ? 0 : runs;
}

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
