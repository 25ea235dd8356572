/**
 * Queries → rows, from memory alone. Texts that are not in the cache go into `wanted`, as pages do; the answer is then
 * worth nothing but for finding what else is wanted.
 */
import {
  type CountQuery,
  type Key,
  type KeysQuery,
  type Range,
  type RangeQuery,
  type SortKey,
  sortKey,
  type TextRef,
} from '@settledb/core';
import { countRange } from './count';
import type { Bounds, Directory, TableState, Wanted } from './directory';
import { isRef, type Row } from './layout';
import type { TextCache } from './texts';

export type AnyQuery = KeysQuery<string> | RangeQuery<string> | CountQuery<string>;
export type Answer = (Row | undefined)[] | number;

export function answer(
  queries: readonly AnyQuery[],
  directory: Directory,
  cache: TextCache,
  wanted: Wanted,
): Answer[] {
  const answers = new Array<Answer>(queries.length);
  for (let i = 0; i < queries.length; i++) {
    const query = queries[i] as AnyQuery;
    const table = directory.table(query.from);
    if ('count' in query) {
      const bounds = boundsOf(query.count);
      answers[i] = countRange(directory, table, orderNumber(table, query.by), bounds, wanted);
      continue;
    }
    const rows =
      'keys' in query ? byKeys(query, table, directory, wanted) : byRange(query, table, directory, wanted);
    const texts = textFields(query.texts, table);
    if (texts.length > 0) fillIn(rows, texts, cache, wanted);
    answers[i] = rows;
  }
  return answers;
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

/** Puts copies with the texts of the named fields in place of rows that have references there. */
function fillIn(
  rows: (Row | undefined)[],
  fields: readonly string[],
  cache: TextCache,
  wanted: Wanted,
): void {
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i];
    if (row === undefined) continue;
    let copy: { [field: string]: unknown } | undefined;
    for (const field of fields) {
      const ref = row[field];
      if (!isRef(ref)) continue;
      const text = textAt(ref, cache, wanted);
      if (text === undefined) continue;
      copy ??= { ...row };
      copy[field] = text;
    }
    if (copy !== undefined) rows[i] = copy as Row;
  }
}

function textAt({ block, at, length }: TextRef, cache: TextCache, wanted: Wanted): string | undefined {
  if (length === 0) return '';
  const text = cache.get(block) ?? wanted.block(block);
  if (text === undefined) wanted.wantBlock(block);
  return text?.slice(at, at + length);
}
