/**
 * The commit of a stretch of mapped changes: removes old rows, adds new ones, removes the reductions they touch, and moves the view's
 * row on. All of it is worked out beforehand from what was read; the plan only checks that it still holds. If it does not (another tab
 * was quicker, a document was purged, the index was dropped), nothing of that index is written.
 */
import {
  type DatabaseTables,
  type FoundAll,
  INFO_QUERY,
  type IndexEntry,
  type IndexPlace,
  type InfoRow,
  type Key,
  type KeysQuery,
  type Plan,
  placeKey,
  type RangeQuery,
  runQueries,
  runsAt,
  type Store,
  under,
  uuid,
  type ViewStateRow,
  type Write,
} from '@settledb/core';
import type { Emitted } from './map';
import { compareRows } from './ranges';

/** Values up to this length are stored in the row, longer ones apart: a page of rows stays below 64 KB. */
const INLINE_LENGTH = 200;

/** The result of mapping a stretch of changes, for one index. */
export interface Mapped {
  readonly view: string;
  /** The documents mapped, each once. */
  readonly docs: MappedDoc[];
  /** Documents on which the map threw. */
  threw: number;
}

interface MappedDoc {
  readonly id: string;
  readonly seq: number;
  readonly emitted: readonly Emitted[];
}

/** The counters at the time when the documents were read. */
type Origin = Pick<InfoRow, 'purge_seq' | 'update_seq'>;

/** The changes to the rows of one index. */
interface Change {
  readonly before: ViewStateRow | undefined;
  readonly after: ViewStateRow;
  /** Rows with keys that the document did not have. */
  readonly added: readonly IndexEntry[];
  /** Rows that replace rows with other values. */
  readonly put: readonly IndexEntry[];
  readonly gone: readonly IndexPlace[];
}

/**
 * Writes what was mapped, up to the change `through`.
 *
 * @param states of the indexes that the rows are added to; a new index has none
 * @param origin the counters when the documents were read
 * @returns the new states of the indexes; an index that has changed meanwhile is missing
 */
export async function commitMapped(
  store: Store<DatabaseTables>,
  mapped: readonly Mapped[],
  states: ReadonlyMap<string, ViewStateRow>,
  through: number,
  origin: Origin,
): Promise<ViewStateRow[]> {
  const before = mapped.map(({ view }) => states.get(view));
  const found = await oldRows(store, mapped, before);
  const { queries, plan } = commitOf(mapped, before, found, through, origin);
  return store.write(queries, plan);
}

/**
 * Like {@link commitMapped}, but at once, if all that is needed is in memory and the storage takes it; otherwise `undefined`, and nothing
 * was written: `commitMapped` then reports why.
 * @param found see {@link oldRowsNow}
 */
export function commitMappedNow(
  store: Store<DatabaseTables>,
  mapped: readonly Mapped[],
  before: readonly (ViewStateRow | undefined)[],
  found: OldRows,
  through: number,
  origin: Origin,
): ViewStateRow[] | undefined {
  const { queries, plan } = commitOf(mapped, before, found, through, origin);
  try {
    return store.writeNow?.(queries, plan)?.value;
  } catch {
    return undefined;
  }
}

type CommitQueries = readonly [
  KeysQuery<'info'>,
  KeysQuery<'views'>,
  ...(readonly RangeQuery<'reductions'>[]),
];

/** The write: its queries, and its plan. */
function commitOf(
  mapped: readonly Mapped[],
  before: readonly (ViewStateRow | undefined)[],
  found: OldRows,
  through: number,
  origin: Origin,
): {
  readonly queries: CommitQueries;
  readonly plan: (found: FoundAll<DatabaseTables, CommitQueries>) => Plan<DatabaseTables, ViewStateRow[]>;
} {
  const changes = mapped.map((one, i) => {
    const state = before[i];
    const old = one.docs.map((doc) => (mayHaveRows(state, doc) ? found(state.tag, doc.id) : NONE));
    return changeOf(one, state, old, through, origin);
  });
  const touched = changes.flatMap(({ before, added, put, gone }) =>
    before?.reduced ? [...added, ...put, ...gone] : [],
  );
  const views = { from: 'views', keys: changes.map(({ after }) => after.view) } as const;
  return {
    queries: [INFO_QUERY, views, ...runQueries(touched)],
    plan: ([[info], current, ...runs]) => {
      const valid =
        info?.purge_seq === origin.purge_seq
          ? changes.filter(({ before }, i) => sameState(before, current[i]))
          : [];
      const tags = new Set(valid.map(({ after }) => after.tag));
      const gone = runsAt(touched, runs).filter((key) => tags.has((key as readonly string[])[0] as string));
      return { writes: writesOf(valid, gone), value: valid.map(({ after }) => after) };
    },
  };
}

function sameState(a: ViewStateRow | undefined, b: ViewStateRow | undefined): boolean {
  return a?.tag === b?.tag && a?.version === b?.version && a?.seq === b?.seq && a?.reduced === b?.reduced;
}

function writesOf(changes: readonly Change[], runs: readonly Key[]): Write<DatabaseTables>[] {
  const gone = changes.flatMap((change) => change.gone);
  return [
    { into: 'index', delete: gone.map(placeKey) },
    { into: 'index', put: changes.flatMap((change) => change.put) },
    {
      into: 'index',
      put: changes.length === 1 ? changes[0]!.added : changes.flatMap((change) => change.added),
      fresh: true, // Otherwise the page of each new key would be read, which may be needless.
    },
    { into: 'reductions', delete: runs },
    {
      into: 'views',
      put: changes.flatMap(({ before, after }) => (after.seq === before?.seq ? [] : [after])),
    },
  ];
}

const NONE: readonly IndexEntry[] = [];

function mayHaveRows(
  before: ViewStateRow | undefined,
  { seq }: Pick<MappedDoc, 'seq'>,
): before is ViewStateRow {
  return before !== undefined && before.rows > 0 && seq > before.since;
}

type OldRows = (tag: string, id: string) => readonly IndexEntry[];
type IndexQueries = readonly RangeQuery<'index'>[];
const ALL_VIEWS = [{ from: 'views', range: {} }] as const;

/** The rows that documents have so far. */
async function oldRows(
  store: Store<DatabaseTables>,
  mapped: readonly Mapped[],
  before: readonly (ViewStateRow | undefined)[],
): Promise<OldRows> {
  const wanted = wantedOf(mapped, before);
  if (wanted.size === 0) return () => NONE;
  // If only one index follows, only its rows are looked for, however many indexes there are.
  const isAlone = mapped.length === 1;
  const all = isAlone ? 1 : (store.readNow(ALL_VIEWS) ?? (await store.read(ALL_VIEWS)))[0].length;
  const queries = oldRowQueries(wanted, mapped.length, all);
  return byDocument(store.readNow(queries) ?? (await store.read(queries)));
}

/** The old rows from memory; `undefined`: they are not in memory. @param mapped what the documents will emit is not needed */
export function oldRowsNow(
  store: Store<DatabaseTables>,
  mapped: readonly { readonly docs: readonly Pick<MappedDoc, 'id' | 'seq'>[] }[],
  before: readonly (ViewStateRow | undefined)[],
): OldRows | undefined {
  const wanted = wantedOf(mapped, before);
  if (wanted.size === 0) return () => NONE;
  const all = mapped.length === 1 ? 1 : store.readNow(ALL_VIEWS)?.[0].length;
  const found = all === undefined ? undefined : store.readNow(oldRowQueries(wanted, mapped.length, all));
  return found && byDocument(found);
}

/** By document, the tags of indexes in which it may have rows. */
function wantedOf(
  mapped: readonly { readonly docs: readonly Pick<MappedDoc, 'id' | 'seq'>[] }[],
  before: readonly (ViewStateRow | undefined)[],
): Map<string, Set<string>> {
  const wanted = new Map<string, Set<string>>();
  for (const [i, { docs }] of mapped.entries()) {
    const state = before[i];
    for (const doc of docs) {
      if (!mayHaveRows(state, doc)) continue;
      const tags = wanted.get(doc.id);
      if (tags === undefined) wanted.set(doc.id, new Set([state.tag]));
      else tags.add(state.tag);
    }
  }
  return wanted;
}

/**
 * If most indexes follow together, which is usual, one search for a document finds its rows in all; otherwise there is one search for
 * each index, because the rows of the others may lie on pages that are not needed.
 */
function oldRowQueries(
  wanted: ReadonlyMap<string, ReadonlySet<string>>,
  follow: number,
  all: number,
): IndexQueries {
  const together = follow > 1 && follow * 2 >= all;
  const queries: RangeQuery<'index'>[] = [];
  for (const [id, tags] of wanted) {
    if (together) queries.push({ from: 'index', by: 'doc', range: under(id) });
    else for (const tag of tags) queries.push({ from: 'index', by: 'doc', range: under(id, tag) });
  }
  return queries;
}

function byDocument(found: readonly (readonly IndexEntry[])[]): OldRows {
  const rows = new Map<string, IndexEntry[]>();
  for (const list of found) {
    for (const row of list) {
      const key = row.tag + row.id;
      const known = rows.get(key);
      if (known === undefined) rows.set(key, [row]);
      else known.push(row);
    }
  }
  return (tag, id) => rows.get(tag + id) ?? NONE;
}

function changeOf(
  { view, docs, threw }: Mapped,
  before: ViewStateRow | undefined,
  found: readonly (readonly IndexEntry[])[],
  through: number,
  origin: Origin,
): Change {
  // Nothing is known of an index that is new.
  const known: Partial<ViewStateRow> = before ?? {};
  const { tag = uuid().slice(0, 8), since = origin.update_seq, seq = 0, version = 0, reduced } = known;
  const allThrew = (known.threw ?? 0) + threw;
  let { rows = 0 } = known;
  const added: IndexEntry[] = [];
  const put: IndexEntry[] = [];
  const gone: IndexPlace[] = [];
  for (const [i, { id, emitted }] of docs.entries()) {
    const old = found[i] as readonly IndexEntry[]; // One for each query.
    rows += emitted.length - old.length;
    for (const row of old) if (emitted[row.n]?.key !== row.key) gone.push(row);
    for (let n = 0; n < emitted.length; n++) {
      const { key, value } = emitted[n] as Emitted;
      const row = old[n];
      if (row?.key !== key) added.push(entryOf(tag, key, id, n, value));
      else if (row.value !== value || row.long !== undefined) put.push(entryOf(tag, key, id, n, value));
    }
  }
  added.sort(compareRows); // The store sorts rows unless they are sorted already: here keys are shorter.
  const changed = added.length + put.length + gone.length > 0;
  const after: ViewStateRow = {
    view,
    tag,
    // An index that was ahead of the others stays there: its documents were not mapped again.
    seq: Math.max(through, seq),
    since,
    rows,
    version: version + (changed ? 1 : 0),
    ...(reduced ? { reduced } : {}),
    ...(allThrew > 0 ? { threw: allThrew } : {}),
  };
  return { before, after, added, put, gone };
}

function entryOf(tag: string, key: string, id: string, n: number, value: string | undefined): IndexEntry {
  if (value === undefined) return { tag, key, id, n };
  return value.length <= INLINE_LENGTH ? { tag, key, id, n, value } : { tag, key, id, n, long: value };
}
