/** Ranges of keys as ranges of a store's rows, and as tests on rows in memory. */
import { type IndexPlace, type Range, toKey, under } from '@settledb/core';
import type { IndexRange } from './index-reader';

/** The rows of `tag` within `range`. */
export function storeRange(tag: string, { from, to }: IndexRange): Range {
  const low = from && toKey(from.key);
  // For one key alone, the text is made once, and the two bounds are known as equal by being the same text.
  const high = to && (from !== undefined && to.key === from.key ? low : toKey(to.key));
  if (low !== undefined && low === high && from!.inclusive && to!.inclusive) {
    if (from!.id === undefined && to!.id === undefined) return under(tag, low);
  }
  const lower = from && [tag, low!, ...(from.id === undefined ? [] : [from.id])];
  const upper = to && [tag, high!, ...(to.id === undefined ? [] : [to.id])];
  return {
    ...(from === undefined || lower === undefined
      ? { gte: [tag] }
      : from.inclusive
        ? { gte: lower }
        : { gt: [...lower, []] }),
    ...(to === undefined || upper === undefined
      ? { lte: [tag, []] }
      : to.inclusive
        ? { lte: [...upper, []] }
        : { lt: upper }),
  };
}

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
