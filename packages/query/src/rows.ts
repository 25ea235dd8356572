/** Rows of an index as queries answer them. */
import { type BareRow, fromKey, type IndexEntry, type Loose } from '@settledb/core';
import { parseValue } from './map';

/** For a row read with its texts. */
export function rowOf(entry: IndexEntry): BareRow {
  return { id: entry.id, key: fromKey(entry.key), value: valueIn(entry) };
}

// A long value is not sliced out of its block: a slice would keep the block in memory.
export const valueIn = ({ value, long }: IndexEntry): Loose =>
  long === undefined ? parseValue(value) : JSON.parse(long as string);
