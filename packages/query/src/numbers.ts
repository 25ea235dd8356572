/** `_sum` and `_stats`. */
import { DatabaseError, isObject, type Loose } from '@settledb/core';
import type { Reducer } from './reducers';
import { valueIn } from './rows';

/** Numbers; arrays of summable values, by place, as long as the longest; objects by member. A number counts as a list of one. */
export const sum: Reducer = {
  id: '_sum',
  reduce: (rows) => {
    let total: Loose = 0;
    for (const row of rows) total = add(total, valueIn(row));
    return total;
  },
  merge: (states) => states.reduce(add, 0),
  finish: (state) => state,
};

function add(a: Loose, b: Loose): Loose {
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  if (a === 0) return checked(b);
  if (Array.isArray(a) || Array.isArray(b)) return addLists(listOf(a), listOf(b));
  if (isObject(a) && isObject(b)) return addObjects(a, b);
  throw notSummable(isObject(a) || typeof a === 'number' ? b : a);
}

function listOf(value: Loose): Loose[] {
  if (Array.isArray(value)) return value;
  if (typeof value === 'number') return [value];
  throw notSummable(value);
}

function addLists(a: Loose[], b: Loose[]): Loose[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, i) =>
    add(i < a.length ? checked(a[i]) : 0, i < b.length ? b[i] : 0),
  );
}

function addObjects(a: Loose, b: Loose): Loose {
  const total = new Map(Object.entries(a));
  for (const [name, value] of Object.entries(b)) total.set(name, add(total.get(name) ?? 0, value));
  return Object.fromEntries(total);
}

/** @throws unless `value` can be summed */
function checked(value: Loose): Loose {
  if (typeof value === 'number') return value;
  if (Array.isArray(value)) for (const each of value) checked(each);
  else if (isObject(value)) for (const each of Object.values(value)) checked(each);
  else throw notSummable(value);
  return value;
}

const notSummable = (value: unknown): DatabaseError =>
  new DatabaseError({
    status: 500,
    name: 'builtin_reduce_error',
    reason: `The _sum function requires that map values be numbers, arrays of numbers, or objects, not mixed: ${JSON.stringify(value)}`,
  });

interface Statistics {
  readonly sum: number;
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly sumsqr: number;
}

/** For numbers; for arrays of equal length, element by element; for values that are such statistics already. */
export const statistics: Reducer = {
  id: '_stats',
  reduce: (rows) => rows.map((row) => statisticsOf(valueIn(row))).reduce(combine),
  merge: (states) => states.reduce(combine),
  finish: (state) => state,
};

function statisticsOf(value: Loose): Statistics | Statistics[] {
  if (Array.isArray(value)) return value.map(ofOne);
  return ofOne(value);
}

function ofOne(value: Loose): Statistics {
  if (typeof value === 'number')
    return { sum: value, count: 1, min: value, max: value, sumsqr: value * value };
  const { sum, count, min, max, sumsqr } = value ?? {};
  if ([sum, count, min, max, sumsqr].some((each) => typeof each !== 'number'))
    throw notNumeric(JSON.stringify(value));
  return { sum, count, min, max, sumsqr };
}

function combine(a: Loose, b: Loose): Loose {
  if (Array.isArray(a) || Array.isArray(b)) {
    if (a.length !== b.length) throw notNumeric('numbers and arrays, or arrays of different lengths');
    return a.map((each: Loose, i: number) => combine(each, b[i]));
  }
  return {
    sum: a.sum + b.sum,
    count: a.count + b.count,
    min: Math.min(a.min, b.min),
    max: Math.max(a.max, b.max),
    sumsqr: a.sumsqr + b.sumsqr,
  };
}

const notNumeric = (what: string): DatabaseError =>
  new DatabaseError({ status: 500, name: 'invalid_value', reason: `non-numeric _stats input: ${what}` });
