/**
 * Sets of JSON values as intervals of the order of keys. A list of intervals is sorted, and no two of them overlap or touch.
 */
import { compareJson, type Json } from '@settledb/core';

interface Bound {
  readonly key: Json;
  readonly inclusive: boolean;
}
/** An absent bound does not limit. */
export interface Interval {
  readonly from?: Bound;
  readonly to?: Bound;
}
export type Intervals = readonly Interval[];

export const ALL: Intervals = [{}];
export const NONE: Intervals = [];

export const point = (key: Json): Interval => ({
  from: { key, inclusive: true },
  to: { key, inclusive: true },
});

/** The only value of an interval, if it has just one. */
export function pointOf({ from, to }: Interval): { readonly key: Json } | undefined {
  return from?.inclusive && to?.inclusive && compareJson(from.key, to.key) === 0 ? from : undefined;
}

export const isAll = (intervals: Intervals): boolean =>
  intervals.length === 1 && intervals[0]!.from === undefined && intervals[0]!.to === undefined;

export function intersect(some: Intervals, others: Intervals): Intervals {
  const both: Interval[] = [];
  for (let i = 0, j = 0; i < some.length && j < others.length; ) {
    const [a, b] = [some[i]!, others[j]!]; // both indices are in range
    const from = compareFrom(a.from, b.from) >= 0 ? a.from : b.from;
    const to = compareTo(a.to, b.to) <= 0 ? a.to : b.to;
    if (!isEmpty(from, to)) both.push(interval(from, to));
    if (compareTo(a.to, b.to) <= 0) i++;
    else j++;
  }
  return both;
}

/** @param intervals in any order, overlapping or not */
export function union(intervals: Intervals): Intervals {
  const sorted = intervals
    .filter(({ from, to }) => !isEmpty(from, to))
    .sort((a, b) => compareFrom(a.from, b.from));
  const merged: Interval[] = [];
  for (const next of sorted) {
    const last = merged.at(-1);
    if (last === undefined || isGap(last.to, next.from)) merged.push(next);
    else if (compareTo(last.to, next.to) < 0) merged[merged.length - 1] = interval(last.from, next.to);
  }
  return merged;
}

/** One interval that holds all of them. */
export function cover(intervals: Intervals): Intervals {
  return intervals.length < 2 ? intervals : [interval(intervals[0]!.from, intervals.at(-1)!.to)];
}

const interval = (from: Bound | undefined, to: Bound | undefined): Interval => ({
  ...(from && { from }),
  ...(to && { to }),
});

function isEmpty(from: Bound | undefined, to: Bound | undefined): boolean {
  if (from === undefined || to === undefined) return false;
  const order = compareJson(from.key, to.key);
  return order > 0 || (order === 0 && !(from.inclusive && to.inclusive));
}

function compareFrom(a: Bound | undefined, b: Bound | undefined): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  return compareJson(a.key, b.key) || Number(b.inclusive) - Number(a.inclusive);
}

function compareTo(a: Bound | undefined, b: Bound | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return compareJson(a.key, b.key) || Number(a.inclusive) - Number(b.inclusive);
}

/** Whether something lies between the end of one and the beginning of the next. */
function isGap(to: Bound | undefined, from: Bound | undefined): boolean {
  if (to === undefined || from === undefined) return false;
  const order = compareJson(to.key, from.key);
  return order < 0 || (order === 0 && !to.inclusive && !from.inclusive);
}
