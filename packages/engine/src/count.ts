/**
 * Counts the rows of a range from the counts that the fences keep. Only those pages are read in which the range begins or ends, or
 * into which something recent falls; the same goes for fences that lie in blocks of their own.
 */
import type { SortKey } from '@settledb/core';
import { type Directory, orderOf, type TableState } from './directory';
import { endOf, type Fences, pageSpan, partSpan } from './fences';
import { decoderFor, positionOf } from './page';
import { type Bounds, Walk } from './walk';
import type { Wanted } from './wanted';

/** As with every answer of the directory, the result means nothing if something was wanted. */
export function countRange(
  directory: Directory,
  table: TableState,
  order: number,
  bounds: Bounds,
  wanted: Wanted,
): number {
  const state = orderOf<unknown>(table, order);
  const { recent, blocks } = state;
  const walk = new Walk(recent.keys(), bounds, false);
  const parts = partSpan(state, bounds);
  const decoder = decoderFor(table.layout, order);
  let count = 0;
  const countPage = (fences: Fences, number: number, isWhole: boolean, here: readonly SortKey[]): void => {
    if (isWhole) count += fences.counts[number] as number;
    if (isWhole && here.length === 0) return;
    const page = directory.held.with(fences, number, decoder, wanted, here.length === 0 ? bounds : undefined);
    if (page === undefined) return;
    if (!isWhole)
      for (const { keys } of page.within(bounds.lower, bounds.upper))
        count += new Walk(keys, bounds, false).length;
    for (const key of here) {
      if (positionOf(page.around(key)!, key) >= 0) count--;
      if (recent.get(key) !== null) count++;
    }
  };
  for (let part = parts.first; part <= parts.last; part++) {
    const after = blocks?.keys[part + 1];
    const isAll = blocks !== undefined && holds(bounds, blocks.keys[part]!, after);
    if (isAll && !(walk.more && (after === undefined || walk.key < after))) {
      count += blocks.counts[part]!;
      continue;
    }
    const fences = directory.held.fences(state, part, wanted);
    if (fences === undefined) {
      takeUntil(walk, after);
      continue;
    }
    const { first, last } = pageSpan(fences, bounds);
    for (let number = first; number <= last; number++) {
      const end = endOf(state, part, fences, number);
      const here = takeUntil(walk, number === last && part === parts.last ? undefined : end);
      countPage(fences, number, holds(bounds, fences.keys[number]!, end), here);
    }
  }
  // Recent keys that fall into no page: where there are no pages, that is all there is.
  for (const key of takeUntil(walk, undefined)) if (recent.get(key) !== null) count++;
  return count;
}

/** The recent keys before the page that begins with `next`. */
function takeUntil(walk: Walk, next: SortKey | undefined): SortKey[] {
  const keys: SortKey[] = [];
  for (; walk.more && (next === undefined || walk.key < next); walk.step()) keys.push(walk.key);
  return keys;
}

/** Whether all of what begins with `first` and ends before `next` is within the bounds; without `next` it has no end. */
function holds({ lower, lowerOpen, upper }: Bounds, first: SortKey, next: SortKey | undefined): boolean {
  const begins = lower === undefined || lower < first || (lower === first && lowerOpen !== true);
  return begins && (upper === undefined || (next !== undefined && upper >= next));
}
