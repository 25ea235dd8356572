/**
 * A plan's writes → a commit: the last write to each key counts, new texts are placed in blocks, old rows say what becomes
 * free. Synchronous; what it lacks (an old row on a page not loaded) it leaves in `wanted`.
 */
import type { SortKey, TextRef } from '@settledb/core';
import { type CommitHead, encodeHead, type TableChange } from './commit';
import type { Directory, TableState, Wanted } from './directory';
import { BLOCKS_PER_COMMIT, type Block, type Commit } from './journal';
import { isRef, type PlannedRow, type Row } from './layout';
import { Segments, TAIL_LENGTH_MAX, TAIL_TEXTS_MAX } from './texts';

export interface PlannedWrite {
  readonly into: string;
  readonly put?: readonly object[];
  readonly delete?: readonly (string | number | readonly unknown[])[];
}

export interface Prepared {
  readonly commit: Commit;
  readonly head: CommitHead;
}

/** What becomes of each key of one table: its new row, or `null`. In key order when there are many. */
interface Outcome {
  readonly table: TableState;
  keys: readonly SortKey[];
  readonly rows: Map<SortKey, PlannedRow | null>;
}

export function prepare(
  writes: readonly PlannedWrite[],
  n: number,
  directory: Directory,
  toKey: (key: never) => SortKey,
  wanted: Wanted,
): Prepared {
  const outcomes = outcomesOf(writes, directory, toKey);
  const place = placer(outcomes, n);
  const freed = new Map<number, number>();
  const free = (ref: TextRef, sign: 1 | -1): void => {
    freed.set(ref.block, (freed.get(ref.block) ?? 0) + sign * ref.length);
  };
  const changes = outcomes.map((outcome) => changeOf(outcome, directory, place.add, free, wanted));
  const { tail, segments, sizes } = place.done();
  const head: CommitHead = { changes, blocks: sizes, freed: [...freed].filter(([, length]) => length > 0) };
  return { head, commit: { n, head: wanted.any ? '' : encodeHead(head), tail, segments } };
}

function outcomesOf(
  writes: readonly PlannedWrite[],
  directory: Directory,
  toKey: (key: never) => SortKey,
): Outcome[] {
  const outcomes = new Map<string, Outcome>();
  for (const write of writes) {
    const table = directory.table(write.into);
    const outcome = outcomes.get(write.into) ?? { table, keys: [], rows: new Map() };
    outcomes.set(write.into, outcome);
    for (const key of write.delete ?? []) outcome.rows.set(toKey(key as never), null);
    const keyOf = table.rows.layout.keyOf;
    for (const row of (write.put ?? []) as readonly PlannedRow[]) outcome.rows.set(keyOf(row), row);
  }
  for (const outcome of outcomes.values()) {
    outcome.keys = sorted(outcome.rows);
  }
  return [...outcomes.values()];
}

/** Sorted, so that texts of neighbours lie together and pages in key order touch few segments. */
function sorted(rows: Map<SortKey, unknown>): SortKey[] {
  const keys = [...rows.keys()];
  return keys.length > TAIL_TEXTS_MAX ? keys.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)) : keys;
}

function changeOf(
  { table, keys, rows }: Outcome,
  directory: Directory,
  place: (text: string) => TextRef,
  free: (ref: TextRef, sign: 1 | -1) => void,
  wanted: Wanted,
): TableChange {
  const { layout, orders } = table;
  const change: TableChange = { table: layout, rows: [], olds: [], deleted: [], oldsOfDeleted: [] };
  for (const key of keys) {
    const old = directory.row(table, key, wanted);
    const olds = old === undefined ? null : orders.map((order) => order.layout.keyOf(old));
    if (old !== undefined) for (const field of layout.textFields) if (isRef(old[field])) free(old[field], 1);
    const planned = rows.get(key) as PlannedRow | null;
    if (planned !== null) {
      change.rows.push(placed(planned, layout.textFields, place, free));
      change.olds.push(olds);
    } else if (olds !== null) {
      change.deleted.push(key);
      change.oldsOfDeleted.push(olds);
    }
  }
  return change;
}

/** A copy of the row, its new texts as references. */
function placed(
  row: PlannedRow,
  textFields: readonly string[],
  place: (text: string) => TextRef,
  free: (ref: TextRef, sign: 1 | -1) => void,
): Row {
  const copy = { ...row } as { [field: string]: Row[string] };
  for (const field of textFields) {
    const value = row[field];
    if (typeof value === 'string') copy[field] = place(value);
    else if (isRef(value)) free(value, -1);
  }
  return copy;
}

interface Placer {
  add(text: string): TextRef;
  done(): { tail: string; segments: Block[]; sizes: [number, number][] };
}

/** Few and short texts go into the commit's tail, many into segments. */
function placer(outcomes: readonly Outcome[], n: number): Placer {
  let id = n * BLOCKS_PER_COMMIT;
  const isSmall = fitsTail(outcomes);
  if (!isSmall) id++;
  const blocks = new Segments(
    () => id++,
    isSmall ? Number.POSITIVE_INFINITY : undefined,
    BLOCKS_PER_COMMIT / 8,
  );
  const sizes = new Map<number, number>();
  return {
    add(text) {
      const ref = blocks.add(text);
      sizes.set(ref.block, (sizes.get(ref.block) ?? 0) + text.length);
      return ref;
    },
    done() {
      blocks.flush();
      const tail = isSmall ? (blocks.blocks[0]?.text ?? '') : '';
      return { tail, segments: isSmall ? [] : blocks.blocks, sizes: [...sizes] };
    },
  };
}

function fitsTail(outcomes: readonly Outcome[]): boolean {
  let texts = 0;
  let length = 0;
  for (const { table, rows } of outcomes) {
    for (const row of rows.values()) {
      if (row === null) continue;
      for (const field of table.layout.textFields) {
        const value = row[field];
        if (typeof value !== 'string') continue;
        texts++;
        length += value.length;
        if (texts > TAIL_TEXTS_MAX || length > TAIL_LENGTH_MAX) return false;
      }
    }
  }
  return true;
}
