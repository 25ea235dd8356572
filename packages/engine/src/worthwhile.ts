/** Whether a checkpoint would rewrite few pages for what it takes in. */
import { type SortKey, upperBound } from '@settledb/core';
import type { Rewritable } from './checkpoint';
import { type Directory, orderOf, type TableState } from './directory';
import { endOf, partAt } from './fences';
import { Wanted } from './wanted';

/** It is made if it writes at most one page for this many rows (an eighth of the rows is one in 16, in two orders), … */
const ROWS_PER_PAGE = 16;
/** … or after a while without a write, so that opening need not read what was changed: 7 KB for each row; */
const ROWS_PER_PAGE_QUIET = 2;
/** … and one for this many commits: about 6 KB for each. */
const COMMITS_PER_PAGE = 4;
/** … and one for this many characters of keys, tails and dead texts: as much is written as an opening need not read, or is given back. */
const LENGTH_PER_PAGE = 32 * 1024;

/** For large databases fences in blocks are loaded, unless the pages known to change are too many already. */
export async function isWorthwhile({ image, journal }: Rewritable, isQuiet: boolean): Promise<boolean> {
  const { n, through, recentRows, recentLength } = image;
  const max =
    recentRows / (isQuiet ? ROWS_PER_PAGE_QUIET : ROWS_PER_PAGE) +
    (n - through) / COMMITS_PER_PAGE +
    recentLength / LENGTH_PER_PAGE;
  const wanted = new Wanted();
  if (pagesChanged(image.directory, wanted) > max) return false;
  if (!wanted.any) return true;
  // Loads fences that lie in blocks. If one is gone, or damaged, the call that needs it reports that.
  await image.load(journal, wanted).catch(() => false);
  return pagesChanged(image.directory, wanted) <= max;
}

function pagesChanged(directory: Directory, wanted: Wanted): number {
  let pages = 0;
  for (const table of directory.tables.values()) {
    for (let order = 0; order < table.layout.orders.length; order++)
      pages += pagesChangedOf(directory, table, order, wanted);
  }
  return pages;
}

function pagesChangedOf(directory: Directory, table: TableState, order: number, wanted: Wanted): number {
  const state = orderOf(table, order);
  let pages = 0;
  /** Where the page of the last key ends. */
  let end: SortKey | undefined;
  for (const key of state.recent.keys()) {
    if (pages > 0 && (end === undefined || key < end)) continue;
    const part = partAt(state, key);
    const fences = directory.held.fences(state, part, wanted);
    // If the fences of a part are not in memory, at least one of its pages changes.
    if (fences === undefined) end = state.blocks?.keys[part + 1];
    else end = endOf(state, part, fences, Math.max(upperBound(fences.keys, key), 1) - 1);
    pages++;
  }
  return pages;
}
