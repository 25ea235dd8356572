/**
 * Reductions: rows → a state → a value. States are JSON and can be merged: those of long runs are stored, so that a query
 * over many rows reads few. The built-in ones are those of CouchDB 3.5.
 */
import {
  badRequest,
  copyOf,
  DatabaseError,
  type IndexEntry,
  isLate,
  type Json,
  type Loose,
  type ReduceFunction,
  whyOf,
} from '@settledb/core';
import { approximateCount } from './approximate';
import { statistics, sum } from './numbers';
import { isJson } from './plain';
import { invalidReduce, rank } from './rank';
import { rowOf, valueIn } from './rows';

export interface Reducer {
  /** Equal for all reducers that reduce in the same way: states are stored under it. */
  readonly id: string;
  /** The reducer does not look at values. */
  readonly keysOnly?: true;
  /** @param rows in the order of the index, at least one, read with their texts */
  reduce(rows: readonly IndexEntry[]): Loose;
  /** @param states of neighbours, in order, at least one */
  merge(states: readonly Loose[]): Loose;
  finish(state: Loose): Loose;
}

const same = (state: Loose): Loose => state;

const count: Reducer = {
  id: '_count',
  keysOnly: true,
  reduce: (rows) => rows.length,
  merge: (states) => states.reduce((total: number, state: number) => total + state, 0),
  finish: same,
};

/** The value of the row with the lowest key, and with the highest. A state is `[value]`. */
const first: Reducer = {
  id: '_first',
  reduce: (rows) => [valueIn(rows[0] as IndexEntry)],
  merge: (states) => states[0],
  finish: ([value]) => value,
};
const last: Reducer = {
  id: '_last',
  reduce: (rows) => [valueIn(rows.at(-1) as IndexEntry)],
  merge: (states) => states.at(-1),
  finish: ([value]) => value,
};

const PLAIN: ReadonlyMap<string, Reducer> = new Map(
  [count, sum, statistics, approximateCount, first, last].map((each) => [each.id, each]),
);

/** Whether text is meant as the name of a built-in rather than as a function. */
export const isBuiltIn = (text: string): boolean => text.startsWith('_');

/**
 * The built-in whose name the text begins with; what follows the name is ignored.
 * @throws DatabaseError 400 for an unknown name
 */
export function builtIn(text: string): Reducer {
  const [name = text] = /^\w+/.exec(text) ?? [];
  const reducer = PLAIN.get(name) ?? rank(name);
  if (reducer === undefined) throw invalidReduce(`\`${name}\` is not a supported reduce function.`);
  return reducer;
}

/** A program's own reducer. `failed` is called with what it throws, and the value is then null. */
export function customReducer(
  id: string,
  reduce: ReduceFunction,
  failed: (error: DatabaseError) => void,
): Reducer {
  const call = (
    keys: readonly (readonly [Json, string])[] | null,
    values: readonly Loose[],
  ): readonly unknown[] => {
    try {
      const value = reduce(keys, values, keys === null);
      if (isLate(value)) throw new TypeError('it returned a promise');
      return [value];
    } catch (cause) {
      failed(
        new DatabaseError({
          status: 500,
          name: 'reduce_function_error',
          reason: `The reduce function threw: ${whyOf(cause)}`,
          cause,
        }),
      );
      return FAILED;
    }
  };
  return {
    id,
    reduce(rows) {
      const made = rows.map(rowOf);
      const keys = made.map((row) => [row.key, row.id] as const);
      return call(
        keys,
        made.map((row) => row.value),
      );
    },
    merge(states: readonly (readonly unknown[])[]) {
      if (states.length === 1) return states[0];
      if (states.some(isFailed)) return FAILED;
      return call(
        null,
        states.map(([value]) => apart(value)),
      );
    },
    finish: (state) => (isFailed(state) ? null : state[0]),
  };
}

/** A function may add to its arguments: as in CouchDB, it gets copies, because states are stored and merged again. */
const apart = (value: Loose): Loose =>
  typeof value === 'object' && value !== null && isJson(value) ? copyOf(value) : value;

/** The state of a group on which the function threw: an empty list. It is never stored. */
const FAILED: readonly unknown[] = [];

export const isFailed = (state: unknown): boolean => Array.isArray(state) && state.length === 0;

/** What CouchDB offers to functions kept as text, besides `emit`. */
export const HELPERS: Readonly<Record<string, unknown>> = {
  sum: (values: readonly number[]) => values.reduce((total, value) => total + value, 0),
  log: () => {},
  isArray: Array.isArray,
  toJSON: JSON.stringify,
};

export function checkReduce(reduce: unknown): asserts reduce is string | ReduceFunction {
  if (typeof reduce !== 'string' && typeof reduce !== 'function')
    throw badRequest('`reduce` must be a function, its source, or the name of a built-in');
}
