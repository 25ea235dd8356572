/**
 * One write ⇄ the head of a commit.
 *
 *   [1, [[table, count, columns, olds, deleted, oldsOfDeleted] …], [[block, size] …], [[block, freed] …]]
 *
 * `olds` holds, for each row that existed before, its keys in the other orders, and the freed list tells which texts are no longer in
 * use: so another context applies the commit without having the old rows, which may be on pages it never loaded.
 */
import { corrupt, newer, type SortKey } from '@settledb/core';
import type { Row, TableLayout } from './layout';
import { type Column, columnsOf, rowAt } from './page';
import { storedJson } from './stored-json';

const FORMAT = 1;

/**
 * Changes of one table. `olds[i]` belongs to `rows[i]`: old keys by order, or `null` for a row that did not exist; it ends with the
 * last row that did, and is undefined if none did.
 */
export interface TableChange {
  readonly table: TableLayout;
  readonly rows: Row[];
  /** Their keys, if they are known already. */
  readonly keys?: readonly SortKey[] | undefined;
  readonly olds: (readonly SortKey[] | null)[] | undefined;
  readonly deleted: SortKey[];
  readonly oldsOfDeleted: (readonly SortKey[])[];
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

export function encodeHead(head: CommitHead): string {
  return storedJson([FORMAT, head.changes.map(encodeChange), head.blocks, head.freed]);
}

const encodeChange = ({ table, rows, olds, deleted, oldsOfDeleted }: TableChange): unknown[] => [
  table.number,
  rows.length,
  columnsOf(table, rows),
  olds ?? 0,
  deleted,
  oldsOfDeleted,
];

export function decodeHead(text: string, tables: readonly TableLayout[], n: number): CommitHead {
  const [format, changes, blocks, freed] = parse(text, n);
  if (format !== FORMAT) throw newer(`Commit ${n} (format ${String(format)}, known: ${FORMAT})`);
  return { changes: changes.map((change) => decodeChange(change, tables, n)), blocks, freed };
}

type EncodedChange = [number, number, Column[], 0 | (SortKey[] | null)[], SortKey[], SortKey[][]];
type EncodedHead = [unknown, EncodedChange[], [number, number][], [number, number][]];

function parse(text: string, n: number): EncodedHead {
  try {
    return JSON.parse(text) as EncodedHead;
  } catch (cause) {
    throw corrupt(`commit ${n} cannot be read`, cause);
  }
}

function decodeChange(change: EncodedChange, tables: readonly TableLayout[], n: number): TableChange {
  const [number, count, columns, olds, deleted, oldsOfDeleted] = change;
  const table = tables[number];
  if (table === undefined || columns.length > table.fields.length)
    throw newer(`Commit ${n} (table ${number}, ${columns.length} fields)`);
  const rows = Array.from({ length: count }, (_, i) => rowAt(table, { columns }, i));
  return {
    table,
    rows,
    olds: olds === 0 ? undefined : olds,
    deleted,
    oldsOfDeleted,
  };
}
