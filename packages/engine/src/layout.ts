/**
 * A schema prepared for use: tables by number, how a row's keys are made, and rows as arrays of values.
 *
 * Order 0 of a table is its primary key; the others map their key to the primary one.
 */
import {
  type Key,
  type KeyPart,
  type Schema,
  type SortKey,
  sortKey,
  type Text,
  type TextRef,
} from '@settledb/core';

/** A row as the engine keeps it: immutable, its long fields always references. */
export type Row = { readonly [field: string]: string | number | boolean | TextRef | undefined };
/** A row as a plan gives it. */
export type PlannedRow = { readonly [field: string]: string | number | boolean | Text | undefined };

export interface OrderLayout {
  readonly name: string;
  readonly keyOf: (row: Row | PlannedRow) => SortKey;
  /** The number of the field that is the key, if it is a single field; otherwise -1. */
  readonly field: number;
}

export interface TableLayout {
  readonly number: number;
  readonly name: string;
  readonly fields: readonly string[];
  /** By field number: whether it is a long field. */
  readonly isText: readonly boolean[];
  readonly textFields: readonly string[];
  readonly orders: readonly OrderLayout[];
  /** The field, or fields, that make the primary key. */
  readonly key: string | readonly string[];
  /** The number of the field that is the primary key, if it is a single field; otherwise -1. */
  readonly keyField: number;
}

export type Layout = ReadonlyMap<string, TableLayout>;

export function layoutOf(schema: Schema): Layout {
  const layout = new Map<string, TableLayout>();
  for (const [name, table] of Object.entries(schema)) {
    const texts = table.texts ?? [];
    const orderOf = (order: string, by: string | readonly string[]): OrderLayout => {
      return { name: order, keyOf: keyBy(by), field: typeof by === 'string' ? table.fields.indexOf(by) : -1 };
    };
    const orders = [orderOf('', table.key)];
    for (const [order, by] of Object.entries(table.orders ?? {})) orders.push(orderOf(order, by));
    layout.set(name, {
      number: layout.size,
      name,
      key: table.key,
      fields: table.fields,
      isText: table.fields.map((field) => texts.includes(field)),
      textFields: texts,
      orders,
      keyField: orders[0]!.field,
    });
  }
  return layout;
}

function keyBy(fields: string | readonly string[]): OrderLayout['keyOf'] {
  if (typeof fields === 'string') return (row) => row[fields] as SortKey;
  return (row) => sortKey(fields.map((field) => row[field] as KeyPart) as Key);
}

export const isRef = (value: unknown): value is TextRef => typeof value === 'object' && value !== null;
/** The characters of a key or of a field that is none of the long ones; other values than texts are short. */
export const lengthOf = (value: unknown): number => (typeof value === 'string' ? value.length : 0);
