/**
 * A plan's writes → a commit: the last write to each key counts, new texts are placed in blocks, old rows say what becomes
 * free. Synchronous; what it lacks (an old row on a page not loaded) it leaves in `wanted`.
 */
import type { SortKey, TextRef } from '@settledb/core';
import { type CommitHead, encodeHead, type TableChange } from './commit';
import type { Directory, TableState } from './directory';
import { BLOCKS_PER_COMMIT, type Block, type Commit } from './journal';
import { isRef, type PlannedRow, type Row } from './layout';
import { Segments, TAIL_LENGTH_MAX, TAIL_TEXTS_MAX } from './texts';
import type { Wanted } from './wanted';

export interface PlannedWrite {
  readonly into: string;
  readonly put?: readonly object[];
  readonly delete?: readonly (string | number | readonly unknown[])[];
  readonly fresh?: boolean;
}

export interface Prepared {
  readonly commit: Commit;
  readonly head: CommitHead;
}

/** What becomes of each key of one table: its new row, or `null`. Keys in order, each once; `rows[i]` belongs to `keys[i]`. */
interface Outcome {
  readonly table: TableState;
  keys: SortKey[];
  rows: (PlannedRow | null)[];
  /** None of them is there. */
  fresh: boolean;
}

export function prepare(
  writes: readonly PlannedWrite[],
  n: number,
  directory: Directory,
  toKey: (key: never) => SortKey,
  wanted: Wanted,
): Prepared {
  const outcomes = outcomesOf(writes, directory, toKey);
  const small = fitsTail(outcomes);
  const texts = segmentsFor(n, small);
  const freed: Freed = { lengths: undefined };
  const changes = outcomes.map((outcome) => changeOf(outcome, directory, texts, freed, wanted));
  texts.flush();
  const { blocks, sizes } = texts;
  const tail = small ? (blocks[0]?.text ?? '') : '';
  const head: CommitHead = {
    changes,
    blocks: sizes,
    freed: freed.lengths === undefined ? [] : [...freed.lengths].filter(([, length]) => length > 0),
  };
  const commit = new PlannedCommit(n, head, tail, small ? [] : blocks);
  return { head, commit };
}

/** A class for its getter: one of an object made anew for each commit would keep that until a full collection (decisions/0010). */
class PlannedCommit implements Commit {
  readonly n: number;
  readonly tail: string;
  readonly segments: readonly Block[];
  readonly #head: CommitHead;
  #text: string | undefined;

  constructor(n: number, head: CommitHead, tail: string, segments: readonly Block[]) {
    this.n = n;
    this.tail = tail;
    this.segments = segments;
    this.#head = head;
  }

  /** Made when a storage asks for it: one in memory mostly does not. */
  get head(): string {
    this.#text ??= encodeHead(this.#head);
    return this.#text;
  }
}

function outcomesOf(
  writes: readonly PlannedWrite[],
  directory: Directory,
  toKey: (key: never) => SortKey,
): Outcome[] {
  const outcomes: Outcome[] = [];
  for (const write of writes) {
    const table = directory.table(write.into);
    const gone = (write.delete ?? []) as readonly never[];
    const put = (write.put ?? []) as readonly PlannedRow[];
    const { keyOf } = table.rows.layout;
    const keys = gone.length === 0 ? put.map(keyOf) : [...gone.map(toKey), ...put.map(keyOf)];
    const rows = gone.length === 0 ? [...put] : [...gone.map(() => null), ...put];
    if (keys.length === 0) continue;
    const fresh = write.fresh === true && gone.length === 0;
    const before = outcomes.find((each) => each.table === table);
    if (before === undefined) {
      outcomes.push({ table, keys, rows, fresh });
      continue;
    }
    before.fresh &&= fresh;
    before.keys = before.keys.concat(keys);
    before.rows = before.rows.concat(rows);
  }
  for (const outcome of outcomes) sort(outcome);
  return outcomes;
}

/**
 * By key, so that texts of neighbours lie together and pages in key order touch few segments. Of rows with one key the last
 * stays: the sort keeps their order.
 */
function sort(outcome: Outcome): void {
  const { keys, rows } = outcome;
  let at = 1;
  while (at < keys.length && (keys[at - 1] as SortKey) < (keys[at] as SortKey)) at++;
  if (at >= keys.length) return;
  const order = keys.map((_, i) => i);
  // Compared in place: a pair taken apart costs more than comparing it until the engine has optimised this.
  order.sort((a, b) => (keys[a]! < keys[b]! ? -1 : keys[a]! > keys[b]! ? 1 : 0));
  const last = order.filter((place, i) => keys[place] !== keys[order[i + 1] as number]);
  outcome.keys = last.map((place) => keys[place] as SortKey);
  outcome.rows = last.map((place) => rows[place] as PlannedRow | null);
}

/** Characters that become free, by block; made when there are any. */
interface Freed {
  lengths: Map<number, number> | undefined;
}

function free(freed: Freed, { block, length }: TextRef, sign: 1 | -1): void {
  freed.lengths ??= new Map();
  freed.lengths.set(block, (freed.lengths.get(block) ?? 0) + sign * length);
}

function changeOf(
  { table, keys, rows, fresh }: Outcome,
  directory: Directory,
  texts: Segments,
  freed: Freed,
  wanted: Wanted,
): TableChange {
  const { layout, orders } = table;
  const { textFields } = layout;
  const kept: SortKey[] = [];
  const change: TableChange = {
    table: layout,
    rows: [],
    keys: kept,
    fresh,
    olds: undefined,
    deleted: [],
    oldsOfDeleted: [],
  };
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as SortKey;
    const planned = rows[i] as PlannedRow | null;
    const old = fresh ? undefined : directory.row(table, key, wanted);
    if (planned !== null) {
      kept.push(key);
      change.rows.push(placed(planned, textFields, texts, freed));
    }
    if (old === undefined) continue;
    for (const field of textFields) if (isRef(old[field])) free(freed, old[field], 1);
    const oldKeys = orders.map((order) => order.layout.keyOf(old));
    if (planned === null) {
      change.deleted.push(key);
      change.oldsOfDeleted.push(oldKeys);
    } else {
      change.olds ??= [];
      while (change.olds.length < change.rows.length - 1) change.olds.push(null);
      change.olds.push(oldKeys);
    }
  }
  return change;
}

/** The row, where it has new texts a copy with references in their place. */
function placed(row: PlannedRow, textFields: readonly string[], texts: Segments, freed: Freed): Row {
  let copy: { [field: string]: PlannedRow[string] } | undefined;
  for (const field of textFields) {
    const value = row[field];
    if (typeof value === 'string') {
      copy ??= { ...row };
      copy[field] = texts.add(value);
    } else if (isRef(value)) free(freed, value, -1);
  }
  return (copy ?? row) as Row;
}

/** Few and short texts go into the commit's tail, many into segments. */
function segmentsFor(n: number, small: boolean): Segments {
  let id = n * BLOCKS_PER_COMMIT + (small ? 0 : 1);
  return new Segments(() => id++, small ? Number.POSITIVE_INFINITY : undefined, BLOCKS_PER_COMMIT / 8);
}

function fitsTail(outcomes: readonly Outcome[]): boolean {
  let texts = 0;
  let length = 0;
  for (const { table, rows } of outcomes) {
    for (const row of rows) {
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
