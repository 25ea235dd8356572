/** Whether a checkpoint would rewrite few pages for what it takes in. */
import type { SortKey } from '@settledb/core';
import type { Rewritable } from './checkpoint';
import { type Directory, orderOf, type TableState } from './directory';
import { endOf, partAt } from './fences';
import { upperBound } from './recent';
import { Wanted } from './wanted';

/** It is made if it writes no more than a page for so many rows (an eighth of the rows is one in 16, in two orders), … */
const ROWS_PER_PAGE = 16;
/** … and a page for so many commits: about 6 KB for each. */
const COMMITS_PER_PAGE = 4;

/** Of large databases it takes fences that lie in blocks, unless these are too many already. */
export async function isWorthwhile({ image, journal }: Rewritable): Promise<boolean> {
  const wanted = new Wanted();
  if (pagesChanged(image.directory, wanted) > pagesFor(image)) return false;
  if (!wanted.any) return true;
  // Fences that lie in blocks. Where one is gone, or damaged, that is told by who needs it.
  await image.load(journal, wanted).catch(() => false);
  return pagesChanged(image.directory, wanted) <= pagesFor(image);
}

const pagesFor = ({ n, through, recentRows }: Rewritable['image']): number =>
  recentRows / ROWS_PER_PAGE + (n - through) / COMMITS_PER_PAGE;

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
    // Where they are not in memory at least one page changes of all that they are of.
    if (fences === undefined) end = state.blocks?.keys[part + 1];
    else end = endOf(state, part, fences, Math.max(upperBound(fences.keys, key), 1) - 1);
    pages++;
  }
  return pages;
}
