/**
 * Rows ⇄ the columns of a commit's head. It is written with every commit and mostly never read, so what the rest tells is left out:
 *
 *   a field that an earlier column equals, as do the ids of past revisions those of their documents: the number of that column
 *   a long field: the length of its text if that begins where the one before it ended, else [block, at, length]; `null` if it has none
 */
import type { TextRef } from '@settledb/core';
import { isRef, type Row, type TableLayout } from './layout';
import { type Column, valuesOf } from './page';

type PackedText = number | readonly [block: number, at: number, length: number] | null;
export type PackedColumn = Column | readonly PackedText[] | number;

/** @param before the columns of the commit so far that are not long fields; those of these rows are added */
export function packColumns(table: TableLayout, rows: readonly Row[], before: Column[]): PackedColumn[] {
  const texts = packTexts(table, rows);
  return table.fields.map((field, i) => {
    if (table.isText[i]) return texts.get(field) ?? null;
    const column = valuesOf(rows, field);
    const same = column !== null && rows.length > 1 ? before.findIndex((other) => isSame(other, column)) : -1;
    before.push(column);
    return same < 0 ? column : same;
  });
}

function isSame(one: Column, other: readonly unknown[]): boolean {
  if (one?.length !== other.length) return false;
  for (let i = 0; i < other.length; i++) if (one[i] !== other[i]) return false;
  return true;
}

/** Follows the texts of a table as its rows name them: where the next one is if it lies behind the one before, as new ones do. */
class Follow {
  block = 0;
  at = 0;

  past({ block, at, length }: TextRef): void {
    this.block = block;
    this.at = at + length + 1; // between texts there is one character
  }
}

/** By field; without those that no row has. As when they are placed: row by row, and fields as the table's `texts` has them. */
function packTexts({ textFields }: TableLayout, rows: readonly Row[]): Map<string, PackedText[]> {
  const columns = new Map<string, PackedText[]>();
  const next = new Follow();
  for (let i = 0; i < rows.length; i++) {
    for (let f = 0; f < textFields.length; f++) {
      const field = textFields[f]!;
      const ref = rows[i]![field];
      if (!isRef(ref)) continue;
      const column = columns.get(field) ?? [];
      if (column.length === 0) columns.set(field, column);
      while (column.length < i) column.push(null);
      const { block, at, length } = ref;
      column.push(block === next.block && at === next.at ? length : [block, at, length]);
      next.past(ref);
    }
  }
  return columns;
}

/** The columns as pages have them. @param before as in {@link packColumns} */
export function unpackColumns(
  table: TableLayout,
  count: number,
  packed: readonly PackedColumn[],
  before: Column[],
): Column[] {
  const texts = unpackTexts(table, count, packed);
  return packed.map((column, i) => {
    if (table.isText[i]) return texts.get(i) ?? null;
    const whole = typeof column === 'number' ? before[column]! : (column as Column);
    before.push(whole);
    return whole;
  });
}

function unpackTexts(
  { textFields, fields }: TableLayout,
  count: number,
  packed: readonly PackedColumn[],
): Map<number, number[]> {
  const columns = new Map<number, number[]>();
  const places = textFields.map((field) => fields.indexOf(field)).filter((i) => packed[i]);
  for (const i of places) columns.set(i, []);
  const next = new Follow();
  for (let at = 0; at < count; at++) {
    for (const i of places) {
      const text = (packed[i] as readonly PackedText[])[at] ?? NONE;
      const [block, start, length] = typeof text === 'number' ? [next.block, next.at, text] : text;
      columns.get(i)!.push(block, start, length);
      if (block !== 0) next.past({ block, at: start, length });
    }
  }
  return columns;
}

const NONE = [0, 0, 0] as const;
