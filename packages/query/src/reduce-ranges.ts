/**
 * Reduced answers from one range of an index, or from several, one for each key. Each range is read by itself; if the index
 * changes meanwhile, all are read anew, and in the end in one go.
 */
import type { IndexEntry } from '@settledb/core';
import { type Group, groupsOf } from './groups';
import type { IndexDefinition, IndexRange } from './index-reader';
import type { Indexes } from './indexes';
import { type Reduced, type ReduceOptions, reduceRange, rowsToReduce } from './reduce';

/** Attempts to read them one by one that came to nothing, and those that stored some of their work. */
const TRIES_MAX = 3;
const KEPT_MAX = 100;

/** The groups of the ranges, in their order, from one state of the index. */
export async function reduceRanges(
  indexes: Indexes,
  index: IndexDefinition,
  ranges: readonly IndexRange[],
  options: ReduceOptions,
): Promise<Reduced> {
  for (let [failed, kept] = [0, 0]; ; ) {
    // If the index changed, it may be half built, or gone: it is brought up to date once more.
    const update = failed + kept === 0 || options.update === true ? options.update : false;
    let hasKept = false;
    const how = { ...options, update, kept: () => (hasKept = true) };
    // Without any range only the state is read, which says how far the index is.
    if (ranges.length === 0 || failed === TRIES_MAX || kept === KEPT_MAX)
      return inOneGo(indexes, index, ranges, how);
    const reduced = await oneByOne(indexes, index, ranges, how);
    if (reduced !== undefined) return reduced;
    if (hasKept) kept++;
    else failed++;
  }
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
    const reduced = await reduceRange(indexes, index, range, { ...options, wanted, update });
    if (reduced === undefined) return undefined;
    const { state } = reduced;
    if (i === 0) first = state;
    else if (state?.tag !== first?.tag || state?.version !== first?.version) return undefined;
    for (const group of reduced.groups) groups.push(group); // They may be more than a call takes arguments.
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
    const some = groupsOf(rows, { ...options, wanted: options.wanted - groups.length });
    for (const group of some) groups.push(group);
  }
  return { groups, state };
}
