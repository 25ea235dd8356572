/** Ranges of keys as ranges of a store's rows, and as tests on rows in memory. */
import { type IndexPlace, type Range, toKey, under } from '@settledb/core';
import type { IndexBound, IndexRange } from './index-reader';

/** The rows of `tag` within `range`. */
export function storeRange(tag: string, { from, to }: IndexRange): Range {
  const low = from && toKey(from.key);
  // For one key alone, the text is made once, and the two bounds are known as equal by being the same text.
  const high = to && (from !== undefined && to.key === from.key ? low : toKey(to.key));
  if (low !== undefined && low === high && isWhole(from!) && isWhole(to!)) return under(tag, low);
  return { ...lowerBound(tag, low, from), ...upperBound(tag, high, to) };
}

/** Whether all rows of the key are within the bound. */
const isWhole = ({ inclusive, id }: IndexBound): boolean => inclusive && id === undefined;

function lowerBound(tag: string, key: string | undefined, bound: IndexBound | undefined): Range {
  if (key === undefined || bound === undefined) return { gte: [tag] };
  const place = placeOf(tag, key, bound);
  return bound.inclusive ? { gte: place } : { gt: [...place, []] };
}

function upperBound(tag: string, key: string | undefined, bound: IndexBound | undefined): Range {
  if (key === undefined || bound === undefined) return { lte: [tag, []] };
  const place = placeOf(tag, key, bound);
  return bound.inclusive ? { lte: [...place, []] } : { lt: place };
}

const placeOf = (tag: string, key: string, { id }: IndexBound): readonly string[] =>
  id === undefined ? [tag, key] : [tag, key, id];

/** Whether a row is within `range`. */
export function rangeTest({ from, to }: IndexRange): (row: { key: string; id: string }) => boolean {
  const low = from && toKey(from.key);
  const high = to && toKey(to.key);
  return ({ key, id }) => {
    if (from !== undefined && low !== undefined) {
      if (key < low) return false;
      if (key === low && (from.id === undefined ? !from.inclusive : beyond(from.id, id, from.inclusive)))
        return false;
    }
    if (to === undefined || high === undefined || key < high) return true;
    if (key > high) return false;
    return to.id === undefined ? to.inclusive : !beyond(id, to.id, to.inclusive);
  };
}

/** Whether `id` is below `bound`, or equals it where that is excluded. */
const beyond = (bound: string, id: string, inclusive: boolean): boolean =>
  bound === id ? !inclusive : bound > id;

/** The order of rows in an index. */
export function compareRows(a: Omit<IndexPlace, 'tag'>, b: Omit<IndexPlace, 'tag'>): number {
  if (a.key !== b.key) return a.key < b.key ? -1 : 1;
  if (a.id !== b.id) return a.id < b.id ? -1 : 1;
  return a.n - b.n;
}
