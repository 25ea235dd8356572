/** Documents in the order of an index. */
import { compareKeys } from '@settledb/core';
import type { IndexBound, IndexRange } from '../index-reader';
import { batchSizes, type Found, type Place, type ReadOptions, type Source, type Tally } from './batches';
import { joined } from './by-ids';
import { definitionOf } from './mango-index';
import type { IndexPlan } from './planner';

/** Ranges of an index read at a time; each may fill a batch. */
export const RANGES_PER_READ = 32;

export async function* indexed(
  { database, reader }: Source,
  { access, descending }: IndexPlan,
  options: ReadOptions,
  tally: Tally,
): AsyncGenerator<readonly Found[]> {
  const { signal, update = true, after } = options;
  const definition = definitionOf(access.index);
  const inTurn = descending ? [...access.ranges].reverse() : access.ranges;
  let ranges = after === undefined ? inTurn : behind(inTurn, after, descending);
  const sizes = batchSizes(options.wanted);
  while (ranges.length > 0) {
    const limit = sizes.next().value;
    const asked = ranges.slice(0, RANGES_PER_READ);
    const answers = await reader.read(definition, asked, { descending, limit, update, signal });
    tally.seqs.add(answers[0]!.update_seq);
    // A range that reached the limit may have more rows, which come before those of the next ones.
    const full = answers.findIndex(({ rows }) => rows.length >= limit);
    const complete = full < 0 ? answers : answers.slice(0, full + 1);
    const rows = complete.flatMap((answer) => answer.rows);
    tally.keys += rows.length;
    ranges =
      full < 0
        ? ranges.slice(asked.length)
        : behind(ranges.slice(full), answers[full]!.rows.at(-1)!, descending);
    for (let at = 0; at < rows.length; at += limit)
      yield await joined(database, rows.slice(at, at + limit), options, tally);
  }
}

/** The part of the ranges that comes after a place. */
export function behind(ranges: readonly IndexRange[], place: Place, descending: boolean): IndexRange[] {
  const { key, id } = place;
  const sign = descending ? -1 : 1;
  const [near, far] = descending ? (['to', 'from'] as const) : (['from', 'to'] as const);
  return ranges.flatMap((range) => {
    const end = range[far];
    const ends = end === undefined ? 1 : sign * compareKeys(end.key, key);
    if (ends < 0 || (ends === 0 && endsBy(end!, id, sign))) return [];
    const start = range[near];
    const starts = start === undefined ? -1 : sign * compareKeys(start.key, key);
    if (starts > 0 || (starts === 0 && startsBehind(start!, id, sign))) return [range];
    return [{ ...range, [near]: { key, id, inclusive: false } }];
  });
}

/** Whether a range that ends at this bound, in the same key, has nothing after `id`. */
const endsBy = (end: IndexBound, id: string, sign: number): boolean =>
  end.id === undefined ? !end.inclusive : sign > 0 ? end.id <= id : end.id >= id;

/** Whether a range that begins at this bound, in the same key, lies wholly after `id`. */
function startsBehind(start: IndexBound, id: string, sign: number): boolean {
  if (start.id === undefined || start.id === id) return !start.inclusive;
  return sign > 0 ? start.id > id : start.id < id;
}
