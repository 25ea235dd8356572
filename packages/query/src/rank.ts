/** `_top_N` and `_bottom_N`: the N highest values, highest first, and the N lowest, lowest first, in the order of keys. */
import { compareKeys, DatabaseError, type Loose } from '@settledb/core';
import type { Reducer } from './reducers';
import { valueIn } from './rows';

/** CouchDB's limit. */
const RANK_MAX = 100;

/** @throws DatabaseError 400 for a rank that is not a number from 1 to {@link RANK_MAX} */
export function rank(name: string): Reducer | undefined {
  const [, side, digits] = /^_(top|bottom)_(.*)$/.exec(name) ?? [];
  if (side === undefined || digits === undefined) return undefined;
  const count = Number(digits);
  if (!/^\d+$/.test(digits)) throw invalidReduce('invalid rank reducer');
  if (count < 1 || count > RANK_MAX) throw invalidReduce(`rank value must be between 1 and ${RANK_MAX}`);
  const order = side === 'top' ? (a: Loose, b: Loose) => compareKeys(b, a) : compareKeys;
  const best = (values: Loose[]): Loose[] => values.sort(order).slice(0, count);
  return {
    id: `_${side}_${count}`,
    reduce: (rows) => best(rows.map(valueIn)),
    merge: (states) => best(states.flat(1)),
    finish: (state) => state,
  };
}

export const invalidReduce = (reason: string): DatabaseError =>
  new DatabaseError({ status: 400, name: 'invalid_design_doc', reason });
