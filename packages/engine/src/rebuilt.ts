/**
 * A directory made anew from the pages that a storage has, where the manifest that named them is lost, or a block of fences. A page says
 * by its columns of which table it is; what stands in several counts once, by `newer`.
 */
import type { Schema, SortKey } from '@settledb/core';
import { encodeManifest, encodeRowPage } from './encode';
import { type Fences, noFences } from './fences';
import type { Journal } from './journal';
import { isRef, layoutOf, type Row, type TableLayout } from './layout';
import { type Column, decoderFor, PAGE_ROWS, type RowPage, rowAt, valuesOf } from './page';

/** A row of a page: nothing of it is checked, and its long fields are references. */
type PageRow = Row;

/** How pages of a table are told from others, and rows at one key from one another. */
export interface PageKind {
  readonly table: string;
  isOf(row: PageRow): boolean;
  isNewer?(row: PageRow, than: PageRow): boolean;
}

interface Rebuilt {
  readonly manifest: string;
  readonly pages: ReadonlyMap<number, string>;
}

/** Blocks read at a time. */
const BATCH = 16;

/** One that answers `undefined` for blocks that cannot be read. */
interface DamagedJournal extends Pick<Journal, 'blockIds' | 'load'> {
  /** Blocks of which a part is damaged. */
  tornIds(): number[];
  /** The text of such a block, with NULs where it is damaged. */
  rest(id: number): string | undefined;
}

export async function rebuilt(
  journal: DamagedJournal,
  schema: Schema,
  kinds: readonly PageKind[],
): Promise<Rebuilt> {
  const layout = layoutOf(schema);
  const tables = kinds.map((kind) => ({
    kind,
    table: layout.get(kind.table)!,
    rows: new Map<SortKey, Row>(),
  }));
  // Pages are made by rewrites, whose blocks have negative ids.
  const ids = (await journal.blockIds()).filter((id) => id < 0);
  const tornIds = journal.tornIds().filter((id) => id < 0);
  for await (const text of textsOf(journal, ids, tornIds)) {
    if (!text.startsWith('[')) continue;
    for (const { kind, table, rows } of tables) {
      const found = rowsOfPage(text, table);
      if (found.length === 0 || !found.every((row) => kind.isOf(row))) continue;
      for (const row of found) take(rows, table.orders[0]!.keyOf(row), row, kind);
      break;
    }
  }
  const lowest = [...ids, ...tornIds].reduce((least, id) => Math.min(least, id), 0);
  const pages = new Map<number, string>();
  const stored = Object.fromEntries(
    tables.map(({ table, rows }) => [table.name, [paged(table, rows, pages, lowest)]]),
  );
  return { manifest: encodeManifest({ tables: stored, blocks: [] }), pages };
}

/** What may be a page, or a group of its rows: a group has a line of its own, and is read as a page of no more than that. */
async function* textsOf(
  journal: DamagedJournal,
  ids: readonly number[],
  tornIds: readonly number[],
): AsyncGenerator<string> {
  for (let at = 0; at < ids.length; at += BATCH)
    for (const text of await journal.load(ids.slice(at, at + BATCH))) if (text !== undefined) yield text;
  for (const id of tornIds)
    for (const line of journal.rest(id)?.split('\n') ?? []) if (!line.includes('\0')) yield line;
}

function take(rows: Map<SortKey, Row>, key: SortKey, row: Row, { isNewer }: PageKind): void {
  const before = rows.get(key);
  if (before === undefined || isNewer?.(row, before)) rows.set(key, row);
}

/** The rows in a text, if it is a page of such a table; otherwise none, or rows that make no sense. */
function rowsOfPage(text: string, table: TableLayout): Row[] {
  try {
    const groups = decoderFor(table, 0)(text).within() as RowPage[];
    return groups.flatMap((group) => group.keys.map((_, at) => rowAt(table, group, at)));
  } catch {
    return [];
  }
}

function paged(
  table: TableLayout,
  rows: Map<SortKey, Row>,
  pages: Map<number, string>,
  lowest: number,
): Fences {
  const fences = noFences();
  const sorted = [...rows].sort(([a], [b]) => (a < b ? -1 : 1));
  for (let at = 0; at < sorted.length; at += PAGE_ROWS) {
    const some = sorted.slice(at, at + PAGE_ROWS);
    const keys = some.map(([key]) => key);
    const found = some.map(([, row]) => row);
    const id = lowest - pages.size - 1;
    pages.set(id, encodeRowPage({ keys, columns: columnsOf(table, found) }, table));
    fences.keys.push(keys[0]!);
    fences.ids.push(id);
    fences.counts.push(keys.length);
  }
  return fences;
}

/** Rows by columns, as pages have them. */
export const columnsOf = ({ fields, isText }: TableLayout, rows: readonly Row[]): Column[] =>
  fields.map((field, i) => (isText[i] ? refsOf(rows, field) : valuesOf(rows, field)));

function refsOf(rows: readonly Row[], field: string): Column {
  const refs = rows.map(({ [field]: value }) => (isRef(value) ? value : undefined));
  if (refs.every((ref) => ref === undefined)) return null;
  return refs.flatMap((ref) => (ref ? [ref.block, ref.at, ref.length] : [0, 0, 0]));
}
