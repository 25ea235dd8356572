/**
 * How many rows a range has, by the counts that the fences keep: of the pages themselves only those are read in which the range
 * begins or ends, or into which something recent falls.
 */
import type { SortKey } from '@settledb/core';
import { type Directory, orderOf, type TableState } from './directory';
import { pageSpan } from './fences';
import { positionOf } from './page';
import { type Bounds, Walk } from './walk';
import type { Wanted } from './wanted';

/** Worth nothing when something was wanted, as every answer of the directory. */
export function countRange(
  directory: Directory,
  table: TableState,
  order: number,
  bounds: Bounds,
  wanted: Wanted,
): number {
  const { recent, fences } = orderOf<unknown>(table, order);
  const walk = new Walk(recent.keys(), bounds, false);
  const { first, last } = pageSpan(fences, bounds);
  let count = 0;
  for (let number = first; number <= last; number++) {
    const next = number === last ? undefined : fences.keys[number + 1];
    const here = takeUntil(walk, next);
    if (here.length === 0 && isWhole(fences.keys, number, bounds)) {
      count += fences.counts[number] as number;
      continue;
    }
    const page = directory.page(table, order, number, wanted, here.length === 0 ? bounds : undefined);
    if (page === undefined) continue;
    const whole = isWhole(fences.keys, number, bounds);
    if (whole) count += fences.counts[number] as number;
    else
      for (const { keys } of page.within(bounds.lower, bounds.upper))
        count += new Walk(keys, bounds, false).length;
    for (const key of here) {
      if (positionOf(page.around(key)!, key) >= 0) count--;
      if (recent.get(key) !== null) count++;
    }
  }
  // Where there are no pages: all that there is.
  for (const key of takeUntil(walk, undefined)) if (recent.get(key) !== null) count++;
  return count;
}

/** The recent keys up to the page that begins with `next`. */
function takeUntil(walk: Walk, next: SortKey | undefined): SortKey[] {
  const keys: SortKey[] = [];
  for (; walk.more && (next === undefined || walk.key < next); walk.step()) keys.push(walk.key);
  return keys;
}

/** Neither bound falls into the page. */
function isWhole(keys: readonly SortKey[], number: number, { lower, lowerOpen, upper }: Bounds): boolean {
  const first = keys[number] as SortKey;
  const next = keys[number + 1];
  const begins = lower === undefined || lower < first || (lower === first && lowerOpen !== true);
  return begins && (upper === undefined || (next !== undefined && upper >= next));
}
