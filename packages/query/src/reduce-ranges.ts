/**
 * Reduced answers from several ranges of an index, one for each key. Each range is read by itself; if the index
 * changes between two of them, all are read anew, and in the end in one go.
 */
import type { IndexEntry } from '@settledb/core';
import { type Group, Groups } from './groups';
import type { IndexDefinition, IndexRange } from './index-reader';
import type { Indexes } from './indexes';
import { type Reduced, type ReduceOptions, reduceRange, rowsToReduce } from './reduce';

/** Attempts to read them one by one. */
const TRIES_MAX = 3;

/** The groups of the ranges, in their order, from one state of the index. */
export async function reduceRanges(
  indexes: Indexes,
  index: IndexDefinition,
  ranges: readonly IndexRange[],
  options: ReduceOptions,
): Promise<Reduced> {
  const [only, ...more] = ranges;
  if (only !== undefined && more.length === 0) return reduceRange(indexes, index, only, options);
  // Without any range only the state is read, which says how far the index is.
  if (only === undefined) return inOneGo(indexes, index, ranges, options);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const reduced = await oneByOne(indexes, index, ranges, options);
    if (reduced !== undefined) return reduced;
  }
  return inOneGo(indexes, index, ranges, options);
}

/** @returns undefined if the index changed meanwhile */
async function oneByOne(
  indexes: Indexes,
  index: IndexDefinition,
  ranges: readonly IndexRange[],
  options: ReduceOptions,
): Promise<Reduced | undefined> {
  const groups: Group[] = [];
  let first: Reduced['state'];
  for (const [i, range] of ranges.entries()) {
    const wanted = options.wanted - groups.length;
    const update = i === 0 ? options.update : false;
    const { groups: some, state } = await reduceRange(indexes, index, range, { ...options, wanted, update });
    if (i === 0) first = state;
    else if (state?.tag !== first?.tag || state?.version !== first?.version) return undefined;
    groups.push(...some);
    if (groups.length >= options.wanted) break;
  }
  return { groups, state: first };
}

async function inOneGo(
  indexes: Indexes,
  index: IndexDefinition,
  ranges: readonly IndexRange[],
  options: ReduceOptions,
): Promise<Reduced> {
  const { update, signal, companions } = options;
  const queries = (tag: string) => ranges.map((range) => rowsToReduce(tag, range, options));
  const { state, found } = await indexes.readAt(index, queries, { update, signal }, companions);
  const groups: Group[] = [];
  for (const rows of found as readonly IndexEntry[][]) {
    if (groups.length >= options.wanted) break;
    const some = new Groups({ ...options, wanted: options.wanted - groups.length });
    for (const row of rows) {
      some.row(row);
      if (some.full) break;
    }
    some.finish();
    groups.push(...some.groups);
  }
  return { groups: groups.slice(0, options.wanted), state };
}
