/**
 * The commit of a stretch of mapped changes: old rows out, new rows in, the reductions they touch away, the view's row moved on.
 * All of it is worked out beforehand from what was read; the plan only checks that it still holds. Where it does not (another
 * tab was quicker, a document was purged, the index was dropped) nothing of that index is written.
 */
import {
  type DatabaseTables,
  type IndexEntry,
  type IndexPlace,
  type InfoRow,
  type Key,
  type RangeQuery,
  runQueries,
  runsAt,
  type Store,
  uuid,
  type ViewStateRow,
  type Write,
} from '@settledb/core';
import type { Emitted } from './map';
import { compareRows } from './ranges';

/** Values up to this length lie in the row, and longer ones apart: a page of rows stays below 64 KB. */
const INLINE_LENGTH = 200;

/** What mapping a stretch of changes came to, for one index. */
export interface Mapped {
  readonly view: string;
  /** The documents looked at, each once. */
  readonly docs: MappedDoc[];
  /** Documents on which the map threw. */
  threw: number;
}

export interface MappedDoc {
  readonly id: string;
  readonly seq: number;
  readonly emitted: readonly Emitted[];
}

/** What documents are read from: the counters then. */
export type Origin = Pick<InfoRow, 'purge_seq' | 'update_seq'>;

/** Rows of one index, worked out. */
interface Change {
  readonly before: ViewStateRow | undefined;
  readonly after: ViewStateRow;
  readonly put: readonly IndexEntry[];
  readonly gone: readonly IndexPlace[];
}

/**
 * Writes what was mapped, up to the change `through`.
 *
 * @param states of the indexes that the rows are to be added to; a new one has none
 * @param origin when the documents were read
 * @returns the new states of the indexes; one that had changed meanwhile is missing
 */
export async function commitMapped(
  store: Store<DatabaseTables>,
  mapped: readonly Mapped[],
  states: ReadonlyMap<string, ViewStateRow>,
  through: number,
  origin: Origin,
): Promise<ViewStateRow[]> {
  const changes = await workOut(store, mapped, states, through, origin);
  const touched = changes.flatMap(({ before, put, gone }) => (before?.reduced ? [...put, ...gone] : []));
  const views = { from: 'views', keys: changes.map(({ after }) => after.view) } as const;
  return store.write(
    [{ from: 'info', keys: ['info'] }, views, ...runQueries(touched)],
    ([[info], current, ...runs]) => {
      const valid =
        info?.purge_seq === origin.purge_seq
          ? changes.filter(({ before }, i) => sameState(before, current[i]))
          : [];
      const tags = new Set(valid.map(({ after }) => after.tag));
      const gone = runsAt(touched, runs).filter((key) => tags.has((key as readonly string[])[0] as string));
      return { writes: writesOf(valid, gone), value: valid.map(({ after }) => after) };
    },
  );
}

export function sameState(a: ViewStateRow | undefined, b: ViewStateRow | undefined): boolean {
  return a?.tag === b?.tag && a?.version === b?.version && a?.seq === b?.seq && a?.reduced === b?.reduced;
}

function writesOf(changes: readonly Change[], runs: readonly Key[]): Write<DatabaseTables>[] {
  const gone = changes.flatMap((change) => change.gone);
  return [
    { into: 'index', delete: gone.map(({ tag, key, id, n }) => [tag, key, id, n]) },
    { into: 'index', put: changes.flatMap((change) => change.put) },
    { into: 'reductions', delete: runs },
    { into: 'views', put: changes.map(({ after }) => after) },
  ];
}

async function workOut(
  store: Store<DatabaseTables>,
  mapped: readonly Mapped[],
  states: ReadonlyMap<string, ViewStateRow>,
  through: number,
  origin: Origin,
): Promise<Change[]> {
  const ranges: RangeQuery<'index'>[] = [];
  for (const { view, docs } of mapped) {
    const before = states.get(view);
    for (const doc of docs) if (mayHaveRows(before, doc)) ranges.push(rowsOf(before.tag, doc.id));
  }
  const found = ranges.length === 0 ? [] : (store.readNow(ranges) ?? (await store.read(ranges)));
  let at = 0;
  return mapped.map((one) => {
    const before = states.get(one.view);
    const old = one.docs.map((doc) => (mayHaveRows(before, doc) ? (found[at++] as IndexEntry[]) : NONE));
    return changeOf(one, before, old, through, origin);
  });
}

const NONE: readonly IndexEntry[] = [];

function mayHaveRows(before: ViewStateRow | undefined, { seq }: MappedDoc): before is ViewStateRow {
  return before !== undefined && before.rows > 0 && seq > before.since;
}

const rowsOf = (tag: string, id: string): RangeQuery<'index'> => {
  return { from: 'index', by: 'doc', range: { gte: [id, tag], lte: [id, tag, []] } };
};

function changeOf(
  { view, docs, threw }: Mapped,
  before: ViewStateRow | undefined,
  found: readonly (readonly IndexEntry[])[],
  through: number,
  origin: Origin,
): Change {
  const tag = before?.tag ?? uuid().slice(0, 8);
  const put: IndexEntry[] = [];
  const gone: IndexPlace[] = [];
  let rows = before?.rows ?? 0;
  for (const [i, { id, emitted }] of docs.entries()) {
    const old = found[i] as readonly IndexEntry[]; // There is one for each.
    rows += emitted.length - old.length;
    for (const row of old) if (emitted[row.n]?.key !== row.key) gone.push(row);
    for (let n = 0; n < emitted.length; n++) {
      const { key, value } = emitted[n] as Emitted;
      const row = old[n];
      if (row === undefined || row.key !== key || row.value !== value || row.long !== undefined)
        put.push(entryOf(tag, key, id, n, value));
    }
  }
  put.sort(compareRows); // The store sorts them, or finds them sorted: here keys are shorter.
  const changed = put.length + gone.length > 0;
  const after: ViewStateRow = {
    view,
    tag,
    seq: through,
    since: before?.since ?? origin.update_seq,
    rows,
    version: (before?.version ?? 0) + (changed ? 1 : 0),
    ...(before?.reduced ? { reduced: true } : {}),
    ...((before?.threw ?? 0) + threw > 0 ? { threw: (before?.threw ?? 0) + threw } : {}),
  };
  return { before, after, put, gone };
}

function entryOf(tag: string, key: string, id: string, n: number, value: string | undefined): IndexEntry {
  if (value === undefined) return { tag, key, id, n };
  return value.length <= INLINE_LENGTH ? { tag, key, id, n, value } : { tag, key, id, n, long: value };
}
