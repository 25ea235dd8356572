/**
 * One write ⇄ the head of a commit.
 *
 *   [2, [[table, count, columns, olds, deleted, oldsOfDeleted] …], [[block, size] …], [[block, freed] …]]
 *
 * `olds` holds, for each other order, the keys in it of the rows that existed before, and the freed list tells which texts are no longer
 * in use: so another context applies the commit without having the old rows, which may be on pages it never loaded. In heads of format 1
 * `olds` and `oldsOfDeleted` have an array for each row, and columns are as in pages.
 */
import { corrupt, newer, type SortKey } from '@settledb/core';
import { type PackedColumn, packColumns, unpackColumns } from './commit-columns';
import type { Row, TableLayout } from './layout';
import { type Column, rowAt } from './page';
import { storedJson } from './stored-json';

const FORMAT = 2;
const FORMAT_BY_ROWS = 1;

/** Keys in another order, of rows: `null` for one that did not exist. */
export type Olds = readonly (SortKey | null)[];

/** Changes of one table. */
export interface TableChange {
  readonly table: TableLayout;
  readonly rows: Row[];
  /** Their keys, if they are known already. */
  readonly keys?: readonly SortKey[] | undefined;
  /** By order, for the rows up to the last that existed; undefined if none did. */
  readonly olds: readonly Olds[] | undefined;
  readonly deleted: SortKey[];
  /** By order. */
  readonly oldsOfDeleted: readonly Olds[];
}

/** No row existed before: none is replaced, in this order or in any other. */
export const isNew = ({ olds, deleted }: TableChange): boolean => olds === undefined && deleted.length === 0;

export interface CommitHead {
  readonly changes: readonly TableChange[];
  /** Blocks that this commit made: id and the lengths of its texts together. */
  readonly blocks: readonly (readonly [id: number, size: number])[];
  /** Characters of older blocks that are no longer in use. */
  readonly freed: readonly (readonly [id: number, length: number])[];
}

export function encodeHead({ changes, blocks, freed }: CommitHead): string {
  const before: Column[] = [];
  return storedJson([FORMAT, changes.map((change) => encodeChange(change, before)), blocks, freed]);
}

const encodeChange = (
  { table, rows, olds, deleted, oldsOfDeleted }: TableChange,
  before: Column[],
): EncodedChange => [
  table.number,
  rows.length,
  packColumns(table, rows, before),
  olds ?? 0,
  deleted,
  oldsOfDeleted,
];

export function decodeHead(text: string, tables: readonly TableLayout[], n: number): CommitHead {
  const [format, changes, blocks, freed] = parse(text, n);
  const isByRows = format === FORMAT_BY_ROWS;
  if (format !== FORMAT && !isByRows) throw newer(`Commit ${n} (format ${String(format)}, known: ${FORMAT})`);
  const before = isByRows ? undefined : [];
  return { changes: changes.map((change) => decodeChange(change, before, tables, n)), blocks, freed };
}

type EncodedChange = [
  table: number,
  rows: number,
  columns: readonly PackedColumn[],
  olds: 0 | readonly Olds[],
  deleted: SortKey[],
  oldsOfDeleted: readonly Olds[],
];
type EncodedHead = [unknown, EncodedChange[], [number, number][], [number, number][]];

function parse(text: string, n: number): EncodedHead {
  try {
    return JSON.parse(text) as EncodedHead;
  } catch (cause) {
    throw corrupt(`commit ${n} cannot be read`, cause);
  }
}

/** @param before see `commit-columns.ts`; undefined: the head is one by rows */
function decodeChange(
  [number, count, packed, olds, deleted, oldsOfDeleted]: EncodedChange,
  before: Column[] | undefined,
  tables: readonly TableLayout[],
  n: number,
): TableChange {
  const table = tables[number];
  if (table === undefined || packed.length > table.fields.length)
    throw newer(`Commit ${n} (table ${number}, ${packed.length} fields)`);
  const columns = before ? unpackColumns(table, count, packed, before) : (packed as Column[]);
  const byOrder = (keys: readonly Olds[]): readonly Olds[] =>
    before ? keys : table.orders.slice(1).map((_, o) => keys.map((ofRow) => ofRow?.[o] ?? null));
  return {
    table,
    rows: Array.from({ length: count }, (_, i) => rowAt(table, { columns }, i)),
    olds: olds === 0 ? undefined : byOrder(olds),
    deleted,
    oldsOfDeleted: byOrder(oldsOfDeleted),
  };
}
