/**
 * A plan's writes → a commit: the last write to each key counts, new texts are placed in blocks, and old rows show what becomes
 * free. Synchronous; what it lacks (an old row on a page that is not loaded) it leaves in `wanted`.
 */
import { type Key, type SortKey, sortKey, type TextRef } from '@settledb/core';
import { type CommitHead, encodeHead, type TableChange } from './commit';
import type { Directory, TableState } from './directory';
import { BLOCKS_PER_COMMIT, type Block, type Commit } from './journal';
import { isRef, type PlannedRow, type Row } from './layout';
import { placesInOrder } from './sorted-places';
import { Segments, TAIL_LENGTH_MAX, TAIL_TEXTS_MAX } from './texts';
import type { Wanted } from './wanted';

export interface PlannedWrite {
  readonly into: string;
  readonly put?: readonly object[];
  readonly delete?: readonly Key[];
  readonly fresh?: boolean;
}

export interface Prepared {
  readonly commit: Commit;
  readonly head: CommitHead;
}

/** What becomes of each key of one table: its new row, or `null`. Keys in order, each once; `rows[i]` belongs to `keys[i]`. */
interface Outcome {
  readonly table: TableState;
  keys: readonly SortKey[];
  rows: readonly (PlannedRow | null)[];
  /** None of these keys exists yet. */
  fresh: boolean;
  /** … or none of these does. */
  freshKeys?: ReadonlySet<SortKey>;
}

const NONE: readonly never[] = [];

export function prepare(
  writes: readonly PlannedWrite[],
  n: number,
  directory: Directory,
  wanted: Wanted,
): Prepared {
  const outcomes = outcomesOf(writes, directory);
  const small = fitsTail(outcomes);
  const texts = segmentsFor(n, small);
  const freed: Freed = { lengths: undefined };
  const changes: TableChange[] = [];
  for (let i = 0; i < outcomes.length; i++)
    changes.push(changeOf(outcomes[i]!, directory, texts, freed, wanted));
  texts.flush();
  const { blocks, sizes } = texts;
  const tail = small ? (blocks[0]?.text ?? '') : '';
  const head: CommitHead = {
    changes,
    blocks: sizes,
    freed: listOf(freed),
  };
  const commit = new PlannedCommit(n, head, tail, small ? [] : blocks);
  return { head, commit };
}

/** A class, because of its getter: that of an object made anew for each commit would stay until a full collection (decisions/0010). */
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

  /** Made when a storage asks for it, which one in memory mostly does not. */
  get head(): string {
    this.#text ??= encodeHead(this.#head);
    return this.#text;
  }
}

function outcomesOf(writes: readonly PlannedWrite[], directory: Directory): Outcome[] {
  const outcomes: Outcome[] = [];
  // By index, here and below: until V8 has optimised it, `for of` makes an object for each step.
  for (let i = 0; i < writes.length; i++) {
    const write = writes[i]!;
    const table = directory.table(write.into);
    const outcome = outcomeOf(write, table);
    if (outcome.keys.length === 0) continue;
    const before = outcomeIn(outcomes, table);
    if (before === undefined) {
      outcomes.push(outcome);
      continue;
    }
    if (before.fresh !== outcome.fresh) before.freshKeys = freshKeysOf(before, outcome);
    before.fresh &&= outcome.fresh;
    before.keys = before.keys.concat(outcome.keys);
    before.rows = before.rows.concat(outcome.rows);
  }
  for (let i = 0; i < outcomes.length; i++) sort(outcomes[i]!);
  return outcomes;
}

/** For two writes of which one says that its keys are fresh: of these, the ones that the other wrote before it are looked up. */
function freshKeysOf(before: Outcome, outcome: Outcome): Set<SortKey> {
  const keys = new Set(before.fresh ? before.keys : before.freshKeys);
  if (!outcome.fresh) return keys;
  const others = new Set(before.keys);
  for (const key of outcome.keys) if (!others.has(key)) keys.add(key);
  return keys;
}

/** A separate function: for a closure within a loop V8 makes a scope in each round, slowly until the code is optimised. */
const outcomeIn = (outcomes: readonly Outcome[], table: TableState): Outcome | undefined =>
  outcomes.find((each) => each.table === table);

function outcomeOf(write: PlannedWrite, table: TableState): Outcome {
  const gone: readonly Key[] = write.delete ?? NONE;
  const rows = (write.put ?? NONE) as readonly PlannedRow[];
  const keys = rows.map(table.rows.layout.keyOf);
  if (gone.length === 0) return { table, keys, rows, fresh: write.fresh === true };
  return {
    table,
    keys: [...gone.map(sortKey), ...keys],
    rows: [...gone.map(() => null), ...rows],
    fresh: false,
  };
}

/** Sorts by key, so that texts of neighbours lie together and pages touch few segments. Of rows with one key the last stays. */
function sort(outcome: Outcome): void {
  const { keys, rows } = outcome;
  let at = 1;
  while (at < keys.length && (keys[at - 1] as SortKey) < (keys[at] as SortKey)) at++;
  if (at >= keys.length) return;
  const places = placesInOrder(keys);
  const sorted: { keys: SortKey[]; rows: (PlannedRow | null)[] } = { keys: [], rows: [] };
  for (let i = 0; i < places.length; i++) {
    const place = places[i]!;
    // Equal keys are in the order in which they came.
    if (i + 1 < places.length && keys[places[i + 1]!] === keys[place]) continue;
    sorted.keys.push(keys[place]!);
    sorted.rows.push(rows[place] as PlannedRow | null);
  }
  Object.assign(outcome, sorted);
}

/** Characters that become free, by block; made when there are any. */
interface Freed {
  lengths: Map<number, number> | undefined;
}

function free(freed: Freed, { block, length }: TextRef, sign: 1 | -1): void {
  freed.lengths ??= new Map();
  freed.lengths.set(block, (freed.lengths.get(block) ?? 0) + sign * length);
}

function freeTexts(row: Row, textFields: readonly string[], freed: Freed): void {
  for (let i = 0; i < textFields.length; i++) {
    const ref = row[textFields[i]!];
    if (isRef(ref)) free(freed, ref, 1);
  }
}

function listOf({ lengths }: Freed): [id: number, length: number][] {
  const list: [number, number][] = [];
  lengths?.forEach((length, block) => {
    if (length > 0) list.push([block, length]);
  });
  return list;
}

function changeOf(
  { table, keys, rows, fresh, freshKeys }: Outcome,
  directory: Directory,
  texts: Segments,
  freed: Freed,
  wanted: Wanted,
): TableChange {
  const { layout, orders } = table;
  const { textFields } = layout;
  // An overwritten row frees no text and leaves no order, so it is not looked up. With long keys it must be known which rows are new.
  const leavesNothing = layout.keyField >= 0 && textFields.length === 0 && orders.length === 0;
  // To size, since an array that is pushed to has room for at least 17; and no closure in the loop, as above.
  const changed = new Array<Row>(keys.length);
  let count = 0;
  let olds: (SortKey | null)[][] | undefined;
  const deleted: SortKey[] = [];
  const oldsOfDeleted: SortKey[][] = orders.map(() => []);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as SortKey;
    const planned = rows[i] as PlannedRow | null;
    const isKnown = fresh || freshKeys?.has(key) || (leavesNothing && planned !== null);
    const old = isKnown ? undefined : directory.row(table, key, wanted);
    if (planned !== null) {
      // A running rewrite tells by object identity whether a row was written since, so a row put back as it was found must be a new
      // object.
      const own = planned === old ? { ...planned } : planned;
      changed[count++] = placed(own, textFields, texts, freed);
    }
    if (old === undefined) continue;
    freeTexts(old, textFields, freed);
    if (planned === null) deleted.push(key);
    else olds ??= orders.map(() => []);
    for (let o = 0; o < orders.length; o++) {
      const keys = planned === null ? oldsOfDeleted[o]! : fillUp(olds![o]!, count - 1);
      keys.push(orders[o]!.layout.keyOf(old));
    }
  }
  const isWhole = count === keys.length;
  if (!isWhole) changed.length = count;
  return {
    table: layout,
    rows: changed,
    keys: isWhole ? keys : undefined,
    olds,
    deleted,
    oldsOfDeleted,
  };
}

function fillUp(keys: (SortKey | null)[], length: number): (SortKey | null)[] {
  while (keys.length < length) keys.push(null);
  return keys;
}

/** The row; if it has new texts, a copy with references in their place. */
function placed(row: PlannedRow, textFields: readonly string[], texts: Segments, freed: Freed): Row {
  let copy: { [field: string]: PlannedRow[string] } | undefined;
  for (let i = 0; i < textFields.length; i++) {
    const field = textFields[i]!;
    const value = row[field];
    if (typeof value === 'string') {
      copy ??= { ...row };
      copy[field] = texts.add(value);
    } else if (isRef(value)) free(freed, value, -1);
  }
  return (copy ?? row) as Row;
}

/** A few short texts go into the commit's tail, many into segments. */
function segmentsFor(n: number, small: boolean): Segments {
  let id = n * BLOCKS_PER_COMMIT + (small ? 0 : 1);
  return new Segments(() => id++, small ? Number.POSITIVE_INFINITY : undefined, BLOCKS_PER_COMMIT / 8);
}

function fitsTail(outcomes: readonly Outcome[]): boolean {
  let texts = 0;
  let length = 0;
  for (let o = 0; o < outcomes.length; o++) {
    const { table, rows } = outcomes[o]!;
    const { textFields } = table.layout;
    for (let r = 0; r < rows.length; r++) {
      const row = rows[r]!;
      if (row === null) continue;
      for (let f = 0; f < textFields.length; f++) {
        const value = row[textFields[f]!];
        if (typeof value !== 'string') continue;
        texts++;
        length += value.length;
        if (texts > TAIL_TEXTS_MAX || length > TAIL_LENGTH_MAX) return false;
      }
    }
  }
  return true;
}
