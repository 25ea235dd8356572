/**
 * How an index serves constraints: by ranges of its rows that hold every document which can meet them.
 */
import { fieldPath, type Json } from '@settledb/core';
import type { IndexRange } from '../index-reader';
import { type Conjunction, fixedValue, narrowness, pathKey } from './constraint';
import { cover, type Interval, type Intervals, intersect, pointOf } from './interval';
import { BEYOND, MANY_ELEMENTS, type MangoIndex, PRESENT, rowKey } from './mango-index';

/**
 * Ranges read for one query. If there are more single values, they are read as one range from the least to the greatest: a
 * range costs a search in memory, so some hundreds cost less than the documents they find.
 */
export const MAX_RANGES = 500;

export interface Access {
  readonly index: MangoIndex;
  /** Ranges of plain rows, ascending and disjoint; rows of elements come after them. */
  readonly ranges: readonly IndexRange[];
  /** Rows may name a document twice, and are not in the order of the index. */
  readonly byElements: boolean;
  /** Number of leading fields that must have single values. */
  readonly exact: number;
  /** How much the next field's constraint leaves out (`narrowness`). */
  readonly narrowness: number;
}

/** Whether some field's constraint leaves anything out. */
export const isSelective = ({ exact, narrowness }: Access): boolean => exact > 0 || narrowness > 0;

export const pathsOf = (index: MangoIndex): (readonly string[])[] =>
  index.fields.map(({ name }) => fieldPath(name));

/**
 * @param ordered rows must come in the order of the index, each document once
 * @returns undefined if the index may lack documents: those without its first field
 */
export function accessOf(index: MangoIndex, { fields }: Conjunction, ordered: boolean): Access | undefined {
  const constraints = pathsOf(index).map((path) => fields.get(pathKey(path)));
  const usable = constraints.findIndex((each) => each === undefined || each.absent);
  const used = usable < 0 ? constraints : constraints.slice(0, usable);
  if (used.length === 0) return undefined;
  const at = ordered ? -1 : used.findIndex((each) => each!.elements !== undefined);
  const values = used.map((each) => each!.values);
  const elements = at < 0 ? undefined : used[at]!.elements;
  if (elements !== undefined) values[at] = intersect(values[at]!, elements.plain);
  const plain = rangesOf(index, values);
  if (elements === undefined) return { index, byElements: false, ...plain };
  // If a list is searched by its elements, the fields before it tell where the rows of elements lie.
  const among = rangesOf(index, [...values.slice(0, at), elements.elements, ...values.slice(at + 1)]);
  const many: Json = { [at]: MANY_ELEMENTS };
  return {
    index,
    byElements: true,
    ranges: [
      ...plain.ranges,
      { from: { key: many, inclusive: true }, to: { key: many, inclusive: true } },
      ...among.ranges.map((range) => within(at, range)),
    ],
    exact: among.exact,
    narrowness: among.narrowness,
  };
}

interface Ranges {
  readonly ranges: readonly IndexRange[];
  readonly exact: number;
  readonly narrowness: number;
}

/** Ranges by single values of the leading fields, and by the constraint on the field after them. */
function rangesOf(index: MangoIndex, values: readonly Intervals[]): Ranges {
  const length = index.fields.length;
  let prefixes: Json[][] = [[]];
  let exact = 0;
  for (const intervals of values) {
    const points = intervals.map(pointOf);
    if (points.some((each) => each === undefined)) break;
    if (prefixes.length * points.length > MAX_RANGES) break;
    prefixes = prefixes.flatMap((prefix) => points.map((each) => [...prefix, each!.key]));
    exact++;
  }
  const next = values[exact];
  if (next === undefined) {
    return { ranges: prefixes.map((prefix) => exactRange(prefix, length)), exact, narrowness: 0 };
  }
  const intervals = prefixes.length * next.length > MAX_RANGES ? cover(next) : next;
  const ranges = prefixes.flatMap((prefix) =>
    intervals.map((interval) => rangeWithin(prefix, interval, length)),
  );
  return { ranges, exact, narrowness: narrowness(intervals) };
}

/** Rows that begin with `values`. @param length fields of the index */
export function exactRange(values: readonly Json[], length: number): IndexRange {
  const key = rowKey(values, length);
  const to = values.length === length ? { key, inclusive: true } : { key: beyond(key), inclusive: false };
  return { from: { key, inclusive: true }, to };
}

/** Rows that begin with `prefix` and go on with a value of `interval`. */
export function rangeWithin(prefix: readonly Json[], { from, to }: Interval, length: number): IndexRange {
  const start = rowKey(prefix, length);
  const isLast = prefix.length === length - 1;
  const after = (key: Json): Json[] => (isLast ? [...start, key] : [...start, key, BEYOND]);
  const low: IndexRange['from'] =
    from === undefined
      ? { key: start, inclusive: false } // After the row that ends here because its next field is absent.
      : from.inclusive
        ? { key: [...start, from.key], inclusive: true }
        : { key: after(from.key), inclusive: false };
  const high: IndexRange['to'] =
    to === undefined
      ? { key: prefix.length === 0 ? END_OF_LISTS : beyond(start), inclusive: false }
      : to.inclusive
        ? { key: after(to.key), inclusive: isLast }
        : { key: [...start, to.key], inclusive: false };
  return { from: low, to: high };
}

/** Objects sort after lists, and this before all other objects: plain rows end here, and rows of elements begin. */
const END_OF_LISTS: Json = {};

/** The key of rows that have these values of all fields. @param places by field of the index: which of `values` it has */
export function keyOf(places: readonly number[], values: readonly Json[]): Json[] {
  const key: Json[] = [values[places[0]!]!];
  for (let at = 1; at < places.length; at++) key.push(PRESENT, values[places[at]!]!);
  return key;
}

const beyond = (key: readonly Json[]): Json[] => [...key.slice(0, -1), BEYOND];

/** The range among the rows of elements of the field at `at`. */
function within(at: number, { from, to }: IndexRange): IndexRange {
  return {
    from: { ...from!, key: { [at]: from!.key } }, // rangesOf always sets both ends.
    to: { ...to!, key: { [at]: to!.key } },
  };
}

/** A field that can have only one value has no effect on an order. */
export const isFixed = ({ fields }: Conjunction, path: readonly string[]): boolean =>
  fixedValue(fields.get(pathKey(path))) !== undefined;
