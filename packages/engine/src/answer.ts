/**
 * Queries → rows, from memory alone. Texts that are not in the cache go into `wanted`, as pages do; the answer is then
 * worth nothing but for finding what else is wanted.
 */
import { type Key, type KeysQuery, type Range, type RangeQuery, type SortKey, sortKey } from '@settledb/core';
import type { Bounds, Directory, TableState, Wanted } from './directory';
import { isRef, type Row } from './layout';
import type { TextCache } from './texts';

export type AnyQuery = KeysQuery<string> | RangeQuery<string>;

export function answer(
  queries: readonly AnyQuery[],
  directory: Directory,
  cache: TextCache,
  wanted: Wanted,
): (Row | undefined)[][] {
  return queries.map((query) => {
    const table = directory.table(query.from);
    const rows =
      'keys' in query ? byKeys(query, table, directory, wanted) : byRange(query, table, directory, wanted);
    const texts = textFields(query.texts, table);
    return texts.length === 0 ? rows : withTexts(rows, texts, cache, wanted);
  });
}

function byKeys(
  query: KeysQuery<string>,
  table: TableState,
  directory: Directory,
  wanted: Wanted,
): (Row | undefined)[] {
  const { keys } = query;
  const rows = new Array<Row | undefined>(keys.length);
  for (let i = 0; i < keys.length; i++) rows[i] = directory.row(table, sortKey(keys[i] as Key), wanted);
  return rows;
}

function byRange(query: RangeQuery<string>, table: TableState, directory: Directory, wanted: Wanted): Row[] {
  const order = orderNumber(table, query.by);
  const { reverse = false, skip = 0, limit = Number.POSITIVE_INFINITY } = query;
  return directory.range(table, order, boundsOf(query.range), { reverse, skip, limit }, wanted);
}

function orderNumber(table: TableState, by: string | undefined): number {
  if (by === undefined) return 0;
  const number = table.layout.orders.findIndex((order) => order.name === by);
  if (number < 1) throw new TypeError(`table ${table.layout.name} has no order ${by}`);
  return number;
}

function boundsOf(range: Range): Bounds {
  const key = (value: Key | undefined): SortKey | undefined =>
    value === undefined ? undefined : sortKey(value);
  return {
    lower: key(range.gt ?? range.gte),
    lowerOpen: range.gt !== undefined,
    upper: key(range.lt ?? range.lte),
    upperOpen: range.lt !== undefined,
  };
}

function textFields(texts: boolean | readonly string[] | undefined, table: TableState): readonly string[] {
  if (texts === true) return table.layout.textFields;
  return texts === undefined || texts === false ? [] : texts;
}

/** Copies of the rows with the named references replaced by their texts. */
function withTexts(
  rows: readonly (Row | undefined)[],
  fields: readonly string[],
  cache: TextCache,
  wanted: Wanted,
): (Row | undefined)[] {
  return rows.map((row) => {
    if (row === undefined) return undefined;
    const copy = { ...row } as Record<string, unknown>;
    for (const field of fields) {
      const ref = row[field];
      if (!isRef(ref)) continue;
      if (ref.length === 0) {
        copy[field] = '';
        continue;
      }
      const block = cache.get(ref.block) ?? wanted.block(ref.block);
      if (block === undefined) wanted.wantBlock(ref.block);
      else copy[field] = block.slice(ref.at, ref.at + ref.length);
    }
    return copy as Row;
  });
}
