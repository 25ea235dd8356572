/**
 * A directory page: about {@link PAGE_ROWS} rows of a table in key order, by columns; or, for another order, its keys and
 * the primary keys they stand for. By columns the row of a document takes some 165 bytes in Node, 215 if it was edited; as an object 220
 * and 355.
 */
import { lowerBound, newer, type SortKey, type TextRef } from '@settledb/core';
import type { Fences } from './fences';
import { isRef, type Row, type TableLayout } from './layout';
import { decodeHead, decodePage, type StoredPage } from './stored-page';

/** Pages kept in memory: 262,144 rows. With more documents pages are read as they are needed. */
export const PAGES_LOADED_MAX = 1024;
/** Rows per page: 20–40 KB of text, which one request reads in about 0.3 ms. */
export const PAGE_ROWS = 256;

export type Column = readonly unknown[] | null;

/** Rows by columns; a long field has three numbers a row in its column (block 0: absent). A column without any value is `null`. */
export interface RowPage {
  readonly keys: readonly SortKey[];
  readonly columns: readonly Column[];
}
export interface OrderPage {
  readonly keys: readonly SortKey[];
  readonly primary: readonly SortKey[];
}
export type Page = RowPage | OrderPage | Fences;

/**
 * The column of a field that is none of the long ones. Grown, not sized: a commit's columns are garbage at once; sized, a process's first
 * 200 single writes take half as long again.
 */
export function valuesOf(rows: readonly Row[], field: string): Column {
  // As most commits have one row: an array that grows begins with room for 17.
  if (rows.length === 1) return rows[0]![field] === undefined ? null : [rows[0]![field]];
  const values: unknown[] = [];
  let isEmpty = true;
  for (let i = 0; i < rows.length; i++) {
    const value = (rows[i] as Row)[field];
    if (value !== undefined) isEmpty = false;
    values.push(value ?? null);
  }
  return isEmpty ? null : values;
}

export function decodeRows(table: TableLayout, text: string): RowPage {
  const columns = JSON.parse(text) as Column[];
  if (columns.length > table.fields.length)
    throw newer(`A page of table "${table.name}" (${columns.length} fields)`);
  if (table.keyField >= 0) return { keys: columns[table.keyField] as SortKey[], columns };
  const length = (columns.find((values, i) => values !== null && table.isText[i] !== true) ?? []).length;
  const page = { columns };
  const { keyOf } = table.orders[0]!;
  return { keys: Array.from({ length }, (_, i) => keyOf(rowAt(table, page, i))), columns };
}

/** Fills in the texts of some fields for their references; `undefined` for a text that is not at hand. */
export interface TextFill {
  readonly fields: readonly string[];
  text(block: number, at: number, length: number): string | undefined;
}

/** Neither texts nor references: for callers that do not use them, since a reference is an object for each row. */
export const NO_TEXTS: TextFill = { fields: [], text: () => undefined };

/** The row at a position, as a new object. */
export function rowAt(
  table: TableLayout,
  page: { readonly columns: readonly Column[] },
  at: number,
  fill?: TextFill,
): Row {
  const row: Record<string, unknown> = {};
  const { fields, isText } = table;
  const { columns } = page;
  for (let i = 0; i < fields.length; i++) {
    const values = columns[i];
    if (values === null || values === undefined) continue;
    const field = fields[i] as string;
    if (isText[i] && fill === NO_TEXTS) continue;
    const value = isText[i] ? longAt(values, at, field, fill) : values[at];
    if (value !== null && value !== undefined) row[field] = value;
  }
  return row as Row;
}

function longAt(
  values: readonly unknown[],
  row: number,
  field: string,
  fill: TextFill | undefined,
): TextRef | string | undefined {
  const block = values[row * 3] as number;
  if (block === 0) return undefined;
  const at = values[row * 3 + 1] as number;
  const length = values[row * 3 + 2] as number;
  const text = fill?.fields.includes(field) ? fill.text(block, at, length) : undefined;
  return text ?? { block, at, length };
}

/** A copy of the row with its texts filled in, if it has any. */
export function filled(row: Row, fill: TextFill): Row {
  let copy: Record<string, unknown> | undefined;
  for (const field of fill.fields) {
    const ref = row[field];
    if (!isRef(ref)) continue;
    const text = fill.text(ref.block, ref.at, ref.length);
    if (text === undefined) continue;
    copy ??= { ...row };
    copy[field] = text;
  }
  return (copy as Row | undefined) ?? row;
}

function decodeOrder(text: string): OrderPage {
  const [keys, primary] = JSON.parse(text) as [SortKey[], SortKey[]];
  return { keys, primary };
}

/** The position of `key` in a page, or -1. */
export function positionOf(page: Page, key: SortKey): number {
  const at = lowerBound(page.keys, key);
  return page.keys[at] === key ? at : -1;
}

/** Makes a page from its text. */
export interface Decoder {
  (text: string): StoredPage;
  /** Makes a page without its rows from the beginning of its text; `undefined` if that is not enough. */
  head(text: string): StoredPage | undefined;
}

export const decoderFor = (table: TableLayout, order: number): Decoder => {
  const decode = order === 0 ? (text: string): Page => decodeRows(table, text) : decodeOrder;
  return Object.assign((text: string) => decodePage(text, decode), {
    head: (text: string) => decodeHead(text, decode),
  });
};
