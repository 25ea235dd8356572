/** Applies a commit's change of a table to what one context holds of it: recent rows, and their orders. */
import type { SortKey } from '@settledb/core';
import { isNew, type TableChange } from './commit';
import type { TableState } from './directory';
import type { OrderState } from './fences';
import { lengthOf } from './layout';
import { placesInOrder } from './sorted-places';

/** Numbers that spread over at most this many times their count are sorted by placing them. */
const SPREAD_MAX = 2;

/** @returns the characters of its keys */
export function applyTo(
  { rows: { recent, layout }, orders, watchers }: TableState,
  change: TableChange,
): number {
  const { rows, deleted } = change;
  for (let i = 0; i < deleted.length; i++) recent.set(deleted[i]!, null);
  const keys = change.keys ?? rows.map(layout.keyOf);
  // Rows with one short key, such as documents, are looked up with each write: as long as they are `set`, no order must be kept.
  if (layout.field < 0 && isNew(change)) recent.add(keys, rows);
  else for (let i = 0; i < keys.length; i++) recent.set(keys[i]!, rows[i]!);
  for (let o = 0; o < orders.length; o++) putOff(change, o, orders[o]!, keys);
  for (let i = 0; i < watchers.length; i++) {
    watchers[i]!(keys);
    if (deleted.length > 0) watchers[i]!(deleted);
  }
  let length = 0;
  for (let i = 0; i < keys.length; i++) length += lengthOf(keys[i]);
  for (let i = 0; i < deleted.length; i++) length += lengthOf(deleted[i]);
  return length;
}

/** A separate function: for a closure within a loop V8 makes a scope in each round, slowly until the code is optimised. */
function putOff(change: TableChange, o: number, order: OrderState<SortKey>, keys: readonly SortKey[]): void {
  order.recent.later(() => applyToOrder(change, o, order, keys));
}

/** First the keys that are gone, then those that exist: one row may take the key that another had. */
function applyToOrder(
  change: TableChange,
  o: number,
  { recent, layout }: OrderState<SortKey>,
  keys: readonly SortKey[],
): void {
  const { rows, olds = [], oldsOfDeleted } = change;
  for (const gone of [oldsOfDeleted[o] ?? [], olds[o] ?? []])
    for (let i = 0; i < gone.length; i++) if (gone[i] !== null) recent.set(gone[i]!, null);
  const own = rows.map(layout.keyOf);
  const numbers = layout.field >= 0 && typeof own[0] === 'number';
  if (!numbers && !isNew(change)) {
    for (let i = 0; i < own.length; i++) recent.set(own[i]!, keys[i]!);
    return;
  }
  // Seqs and new rows replace nothing that is there: {@link Recent} keeps them in arrays if they come in order.
  const places = numbers ? rising(own as number[]) : placesInOrder(own);
  recent.add(
    places.map((i) => own[i]!),
    places.map((i) => keys[i]!),
  );
}

/** The places of distinct numbers, the lowest first. The seqs of a commit have few gaps, and need no sorting. */
function rising(numbers: readonly number[]): number[] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const number of numbers) {
    if (number < low) low = number;
    if (number > high) high = number;
  }
  if (high - low > numbers.length * SPREAD_MAX) return placesInOrder(numbers);
  const at = new Int32Array(high - low + 1).fill(-1);
  for (let i = 0; i < numbers.length; i++) at[numbers[i]! - low] = i;
  const places: number[] = [];
  for (let i = 0; i < at.length; i++) if (at[i]! >= 0) places.push(at[i]!);
  return places;
}
