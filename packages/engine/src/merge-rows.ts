/**
 * Merges pages with what has changed since; `cuts.ts` says where the result is cut into new pages.
 *
 * No rows are made for that, since where ids are random a checkpoint writes every row anew for a few new ones. A merge says where each
 * row comes from, and columns are copied value by value.
 */
import type { SortKey, TextRef } from '@settledb/core';
import { isRef, lengthOf, type Row, type TableLayout } from './layout';
import { type Column, type OrderPage, PAGE_ROWS, type RowPage } from './page';

/** What an order holds besides its pages, in order: `null` for deleted keys. */
export interface Entries<Value> {
  readonly keys: readonly SortKey[];
  readonly values: readonly (Value | null)[];
}

/** Where the rows of a merge come from, in order: `at` in the page, or `~at` in the entries. */
type Places = Int32Array;

/** Merges a page's rows with the entries that fall into it; entries win, and `null` ones leave the row out. */
export function mergePlaces(pageKeys: readonly SortKey[], { keys, values }: Entries<unknown>): Places {
  const places = new Int32Array(pageKeys.length + keys.length);
  let count = 0;
  let e = 0;
  const takeEntry = (): void => {
    if (values[e] !== null) places[count++] = ~e;
    e++;
  };
  for (let at = 0; at < pageKeys.length; at++) {
    const key = pageKeys[at] as SortKey;
    while (e < keys.length && (keys[e] as SortKey) < key) takeEntry();
    if (e < keys.length && keys[e] === key) takeEntry();
    else places[count++] = at;
  }
  while (e < keys.length) takeEntry();
  return places.subarray(0, count);
}

/** The entries that fall into each of the pages or parts that begin with `firsts`; those before the first go with it. */
export function partsBy<Value>(
  firsts: readonly SortKey[],
  { keys, values }: Entries<Value>,
): Entries<Value>[] {
  let from = 0;
  return firsts.map((_, i) => {
    const end = firsts[i + 1];
    let to = from;
    while (to < keys.length && (end === undefined || keys[to]! < end)) to++;
    const part = { keys: keys.slice(from, to), values: values.slice(from, to) };
    from = to;
    return part;
  });
}

/** How one kind of pages is merged: how rows at some places become a page, and two pages one. */
export interface Kind<P, Value> {
  /** The characters of a row, or of an entry, by its place. */
  length(place: number, page: P | undefined, entries: Entries<Value>): number;
  pick(places: Places, page: P | undefined, entries: Entries<Value>): P;
  join(a: P, b: P): P;
}

export const orderKind: Kind<OrderPage, SortKey> = {
  length: (place, page, { keys, values }) =>
    place < 0
      ? lengthOf(keys[~place]) + lengthOf(values[~place])
      : lengthOf(page?.keys[place]) + lengthOf(page?.primary[place]),
  pick: (places, page, { keys, values }) => ({
    keys: pick(places, page?.keys, (e) => keys[e]),
    primary: pick(places, page?.primary, (e) => values[e] as SortKey),
  }),
  join: (a, b) => ({ keys: a.keys.concat(b.keys), primary: a.primary.concat(b.primary) }),
};

export function rowKind({ fields, isText, keyField }: TableLayout): Kind<RowPage, Row> {
  return {
    length(place, page, { values }) {
      const row = place < 0 ? (values[~place] as Row) : undefined;
      let length = 0;
      for (let i = 0; i < fields.length; i++)
        if (!isText[i]) length += lengthOf(row ? row[fields[i]!] : page?.columns[i]?.[place]);
      return length;
    },
    pick(places, page, { keys, values }) {
      const columns = fields.map((field, i): Column => {
        const column = page?.columns[i] ?? undefined;
        const entered = (e: number): Row[string] => (values[e] as Row)[field];
        // Three of the seven columns of documents mostly are: filling them first to find out takes a third more for a page.
        const isEmpty =
          column === undefined && !places.some((place) => place < 0 && entered(~place) !== undefined);
        if (isEmpty) return null;
        const picked = isText[i] ? pickTexts(places, column, entered) : pick(places, column, entered);
        return picked.some((value) => (isText[i] ? value !== 0 : value !== null)) ? picked : null;
      });
      if (keyField >= 0) return { keys: columns[keyField] as readonly SortKey[], columns };
      return { keys: pick(places, page?.keys, (e) => keys[e]), columns };
    },
    join(a, b) {
      const columns = fields.map((_, i): Column => {
        const [first, second] = [a.columns[i] ?? null, b.columns[i] ?? null];
        if (first === null && second === null) return null;
        const none = (count: number): unknown[] => (isText[i] ? packed(count * 3, 0) : packed(count, null));
        return (first ?? none(a.keys.length)).concat(second ?? none(b.keys.length));
      });
      return { keys: a.keys.concat(b.keys), columns };
    },
  };
}

/** @param entered the value of an entry; `undefined` counts as `null` */
function pick<Value>(
  places: Places,
  column: readonly Value[] | undefined,
  entered: (e: number) => unknown,
): Value[] {
  const valueAt = (i: number): unknown => {
    const place = places[i] as number;
    return (place < 0 ? entered(~place) : column?.[place]) ?? null;
  };
  if (places.length === 0) return [];
  const values = packed(places.length, typeof valueAt(0) === 'number' ? 0 : null);
  for (let i = 0; i < places.length; i++) values[i] = valueAt(i);
  return values as Value[];
}

/** The same for a long field, which has three numbers a row. */
function pickTexts(
  places: Places,
  column: readonly unknown[] | undefined,
  entered: (e: number) => unknown,
): unknown[] {
  const values = packed(places.length * 3, 0);
  for (let i = 0; i < places.length; i++) {
    const place = places[i] as number;
    if (place < 0) {
      const ref = entered(~place);
      if (isRef(ref)) putRef(values, i, ref);
    } else if (column !== undefined) {
      for (let part = 0; part < 3; part++) values[i * 3 + part] = column[place * 3 + part];
    }
  }
  return values;
}

/** Sets where the text of the row at `at` lies. */
export function putRef(column: unknown[], at: number, { block, at: from, length }: TextRef): void {
  column[at * 3] = block;
  column[at * 3 + 1] = from;
  column[at * 3 + 2] = length;
}

/** The length of the arrays that others are copied from: that of the longest column of a page. */
const MODEL_MAX = PAGE_ROWS * 3;
const NULLS: null[] = [];
const ZEROS: number[] = [];

/**
 * A filled array of exact size: pages stay in memory, and an array that grew takes twice the room. It has no holes; an array made
 * with a length keeps them for ever, and V8 takes 1.5 times as long to make JSON of it (texts), or twice as long (numbers).
 *
 * @param value what fills it: `0` where numbers are to come
 */
function packed(length: number, value: 0 | null): unknown[] {
  // A longer one is left as it grew: recent entries may make many pages before they are cut.
  const model: (number | null)[] = length > MODEL_MAX ? [] : value === 0 ? ZEROS : NULLS;
  while (model.length < length) model.push(value);
  return length > MODEL_MAX ? model : model.slice(0, length);
}
