/**
 * Rows ⇄ the columns of a commit's head. It is written with every commit and mostly never read, so what the rest tells is left out:
 *
 *   a field that an earlier column equals, as do the ids of past revisions those of their documents: the number of that column
 *   a long field: the length of its text if that begins where the one before it ended, else [block, at, length]; `null` if it has none
 */
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

/** Between texts there is one character. */
const AFTER = 1;

/** By field; without those that no row has. As when they are placed: row by row, and fields as the table's `texts` has them. */
function packTexts({ textFields }: TableLayout, rows: readonly Row[]): Map<string, PackedText[]> {
  const columns = new Map<string, PackedText[]>();
  /** Where the next text is if it lies behind the one before, as new ones do. */
  let next = 0;
  let last = 0;
  for (let i = 0; i < rows.length; i++) {
    for (let f = 0; f < textFields.length; f++) {
      const field = textFields[f]!;
      const ref = rows[i]![field];
      if (!isRef(ref)) continue;
      const column = columns.get(field) ?? [];
      if (column.length === 0) columns.set(field, column);
      while (column.length < i) column.push(null);
      const { block, at, length } = ref;
      column.push(block === last && at === next ? length : [block, at, length]);
      last = block;
      next = at + length + AFTER;
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

/**
 * By the number of the field. It runs when a database is opened, mostly for the first time in a page: so the loop takes nothing apart and
 * calls nothing else, until V8 has optimised it.
 */
function unpackTexts(
  { textFields, fields }: TableLayout,
  count: number,
  packed: readonly PackedColumn[],
): Map<number, number[]> {
  const places = textFields.map((field) => fields.indexOf(field)).filter((i) => packed[i]);
  const from = places.map((i) => packed[i] as readonly PackedText[]);
  const to = places.map((): number[] => []);
  let block = 0;
  let at = 0;
  for (let row = 0; row < count; row++) {
    for (let f = 0; f < from.length; f++) {
      const text = from[f]![row];
      const numbers = to[f]!;
      if (typeof text === 'number') {
        numbers.push(block, at, text);
        at += text + AFTER;
      } else if (text) {
        block = text[0];
        at = text[1];
        numbers.push(block, at, text[2]);
        at += text[2] + AFTER;
      } else numbers.push(0, 0, 0);
    }
  }
  return new Map(places.map((i, f) => [i, to[f]!]));
}
