/** Pages and what changed of them since, as one; and where that is cut into pages anew. */
import type { SortKey } from '@settledb/core';
import { PAGE_ROWS } from './page';

/** What an order holds beside its pages, in order: `null` for keys that are gone. */
export interface Entries<Value> {
  readonly keys: readonly SortKey[];
  readonly values: readonly (Value | null)[];
}

/** Appends a page's rows and the entries that fall into it, in order, entries winning; `null` ones leave the row out. */
export function mergeInto<Value>(
  keys: SortKey[],
  values: Value[],
  pageKeys: readonly SortKey[],
  valueAt: (at: number) => Value,
  entries: Entries<Value>,
): void {
  let e = 0;
  const takeEntry = (): void => {
    const value = entries.values[e] as Value | null;
    if (value !== null) {
      keys.push(entries.keys[e] as SortKey);
      values.push(value);
    }
    e++;
  };
  for (let at = 0; at < pageKeys.length; at++) {
    const key = pageKeys[at] as SortKey;
    while (e < entries.keys.length && (entries.keys[e] as SortKey) < key) takeEntry();
    if (e < entries.keys.length && entries.keys[e] === key) takeEntry();
    else {
      keys.push(key);
      values.push(valueAt(at));
    }
  }
  while (e < entries.keys.length) takeEntry();
}

/** Where to cut `length` rows into pages; without `all`, only into whole ones. */
export function chunks(length: number, all: boolean): [from: number, to: number][] {
  const count = all ? Math.ceil(length / PAGE_ROWS) : Math.floor(length / PAGE_ROWS);
  const rows = all ? length / count : PAGE_ROWS;
  return Array.from({ length: count }, (_, i) => [Math.round(i * rows), Math.round((i + 1) * rows)]);
}
