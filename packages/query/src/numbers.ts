/** `_sum` and `_stats`. */
import { DatabaseError, isObject, type Loose } from '@settledb/core';
import type { Reducer } from './reducers';
import { valueIn } from './rows';

/** Numbers; arrays of summable values, by place, as long as the longest; objects by member. A number counts as a list of one. */
export const sum: Reducer = {
  id: '_sum',
  reduce: (rows) => {
    let total: Total = 0;
    for (const row of rows) total = add(total, valueIn(row));
    return plain(total);
  },
  merge: (states) => plain(states.reduce<Total>(add, 0)),
  finish: (state) => state,
};

/** What was summed so far, which is added to in place: copies of objects of many members would take longer than all else. */
type Total = number | Total[] | Map<string, Total>;

/** The sum: `total` itself, unless it is a number. */
function add(total: Total, value: Loose): Total {
  if (typeof total === 'number' && typeof value === 'number') return total + value;
  if (total === 0) return begun(value);
  if (Array.isArray(total) || Array.isArray(value)) return addList(listOf(total), value);
  if (total instanceof Map && isObject(value)) return addMembers(total, value);
  throw notSummable(total instanceof Map || typeof total === 'number' ? value : plain(total));
}

/** @throws unless `value` can be summed */
function begun(value: Loose): Total {
  if (typeof value === 'number') return value;
  if (Array.isArray(value)) return value.map(begun);
  if (isObject(value)) return addMembers(new Map(), value);
  throw notSummable(value);
}

function listOf(total: Total): Total[] {
  if (Array.isArray(total)) return total;
  if (typeof total === 'number') return [total];
  throw notSummable(plain(total));
}

function addList(total: Total[], value: Loose): Total[] {
  if (!Array.isArray(value) && typeof value !== 'number') throw notSummable(value);
  const values: Loose[] = Array.isArray(value) ? value : [value];
  for (let i = 0; i < values.length; i++) total[i] = add(total[i] ?? 0, values[i]);
  return total;
}

function addMembers(total: Map<string, Total>, value: object): Map<string, Total> {
  for (const [name, each] of Object.entries(value)) total.set(name, add(total.get(name) ?? 0, each));
  return total;
}

function plain(total: Total): Loose {
  if (typeof total === 'number') return total;
  if (Array.isArray(total)) return total.map(plain);
  return Object.fromEntries([...total].map(([name, each]) => [name, plain(each)]));
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
