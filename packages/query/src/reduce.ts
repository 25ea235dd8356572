/**
 * Reduced answers from an index. If there are many rows, stored states of runs of rows are used, and those that had to be
 * worked out are stored, so that the next answer reads one row for every 256.
 *
 * All reads of an answer must come from one state of the index. There are several, with pauses between, so that 100,000 rows do
 * not block the thread.
 */
import {
  type DatabaseTables,
  type IndexEntry,
  type Loose,
  placeKey,
  type Query,
  type ReductionRow,
  type Store,
  sortKey,
  type ViewStateRow,
} from '@settledb/core';
import { type Group, type Grouping, Groups, groupsOf, type Place } from './groups';
import type { IndexDefinition, IndexRange, IndexReadOptions } from './index-reader';
import type { Indexes, ReadStates } from './indexes';
import { storeRange } from './ranges';
import type { Reducer } from './reducers';
import { Slices } from './slices';
import { statesOf, storeStretches } from './stretches';

/** An answer from up to this many rows is computed from the rows. */
const FEW_ROWS = 300;
/** Rows read at a time: some ms. */
const READ_ROWS = 2_048;
/**
 * Stretches that are stored before an answer goes on, some 16,000 rows: if the index changes while there are many more, the next attempt
 * has these, and so the answer comes to its end.
 */
const KEPT_AT = 64;

export interface ReduceOptions extends Grouping {
  readonly update?: IndexReadOptions['update'];
  readonly signal?: AbortSignal | undefined;
  readonly companions?: readonly IndexDefinition[];
  /** Called when an answer that is not complete has stored some of its work. */
  readonly kept?: () => void;
}

export interface Reduced {
  readonly groups: readonly Group[];
  /** The state of the index that the groups come from. */
  readonly state: ViewStateRow | undefined;
}

/** The groups of a range, from one state of the index; `undefined` if it changed meanwhile. */
export async function reduceRange(
  indexes: Indexes,
  index: IndexDefinition,
  range: IndexRange,
  options: ReduceOptions,
): Promise<Reduced | undefined> {
  const { descending: reverse, reducer, update, signal, companions } = options;
  const how = { update, signal };
  if (isCount(options)) {
    const read = await indexes.readAt(index, (tag) => countQueries(tag, range), how, companions);
    return { groups: countGroups(read, range), state: read.state };
  }
  const runs = (tag: string): Query<DatabaseTables> => ({
    from: 'reductions',
    range: storeRange(tag, range),
    reverse,
    texts: true,
  });
  const queries = (tag: string) => [rowsToReduce(tag, range, options, FEW_ROWS + 1), runs(tag)];
  const { state, found } = await indexes.readAt(index, queries, how, companions);
  const [some = [], stored = []] = found as readonly [IndexEntry[]?, ReductionRow[]?];
  if (state === undefined || some.length <= FEW_ROWS) return { groups: groupsOf(some, options), state };
  const groups = new Groups(options);
  // Whether or not the states can be stored, the answer is made.
  const store = () =>
    storeStretches(indexes.store, state, reducer.id, groups.stretches.splice(0)).catch(() => false);
  const keep = async (): Promise<void> => {
    if (groups.stretches.length >= KEPT_AT && (await store())) options.kept?.();
  };
  const walk = new Walk(indexes.store, state, range, options, groups, keep);
  if (!(await walk.walk(stored))) return undefined;
  groups.finish();
  await store();
  return { groups: groups.groups, state };
}

const textsOf = ({ keysOnly }: Reducer): false | readonly ['long'] => (keysOnly ? false : ['long']);

export const rowsToReduce = (
  tag: string,
  range: IndexRange,
  { reducer, descending }: Grouping,
  limit?: number,
): Query<DatabaseTables> => ({
  from: 'index',
  range: storeRange(tag, range),
  reverse: descending,
  texts: textsOf(reducer),
  ...(limit === undefined ? {} : { limit }),
});

/** Whether the store's own counts suffice: of its pages, or of the whole index. Only rows at the ends of the range are read. */
export const isCount = ({ reducer, level }: Pick<Grouping, 'reducer' | 'level'>): boolean =>
  reducer.id === '_count' && level === 0;

const isAll = ({ from, to }: IndexRange): boolean => from === undefined && to === undefined;

/** Empty if the state of the index holds the count. */
export const countQueries = (tag: string, range: IndexRange): Query<DatabaseTables>[] =>
  isAll(range) ? [] : [{ from: 'index', count: storeRange(tag, range) }];

export function countGroups(
  { state, found: [counted] }: ReadStates<readonly unknown[]>,
  range: IndexRange,
): Group[] {
  const value = isAll(range) ? (state?.rows ?? 0) : ((counted as number | undefined) ?? 0);
  return value === 0 ? [] : [{ key: null, value }];
}

/** A run, and its state for one reducer when there is one. */
interface Run {
  readonly first: Place;
  readonly end: Place;
  readonly state: Loose;
  readonly known: boolean;
}

class Walk {
  readonly #store: Store<DatabaseTables>;
  readonly #state: ViewStateRow;
  readonly #range: IndexRange;
  readonly #how: ReduceOptions;
  readonly #groups: Groups;
  readonly #keep: () => Promise<void>;
  readonly #slices = new Slices();

  /** @param keep called after each portion of rows */
  constructor(
    store: Store<DatabaseTables>,
    state: ViewStateRow,
    range: IndexRange,
    how: ReduceOptions,
    groups: Groups,
    keep: () => Promise<void>,
  ) {
    this.#store = store;
    this.#state = state;
    this.#range = range;
    this.#how = how;
    this.#groups = groups;
    this.#keep = keep;
  }

  /** @param stored in the direction of the walk. @returns false if the index changed meanwhile */
  async walk(stored: readonly ReductionRow[]): Promise<boolean> {
    const { descending } = this.#how;
    const groups = this.#groups;
    let at: Place | undefined;
    for (const run of this.#usable(stored)) {
      const [near, far] = descending ? [run.end, run.first] : [run.first, run.end];
      if (!(await this.#rows(at, near))) return false;
      if (groups.full) return true;
      if (run.known) groups.run(run.first, run.state);
      else {
        groups.cut(near);
        if (!(await this.#rows(near, far))) return false;
        // It stopped in the middle of a run: what was read of that is not what the run reduces to.
        if (groups.full) return true;
        groups.cut(far);
      }
      at = far;
      const wait = this.#slices.pause();
      if (wait !== undefined) await wait;
    }
    return this.#rows(at, undefined);
  }

  /** Runs that lie within the range, and within one group. */
  #usable(stored: readonly ReductionRow[]): Run[] {
    const { tag } = this.#state;
    const { lte, lt } = storeRange(tag, this.#range);
    const upper = sortKey((lte ?? lt)!) as string; // One of them is set.
    const runs: Run[] = [];
    for (const row of stored) {
      const end = { key: row.end_key, id: row.end_id, n: row.end_n };
      if ((sortKey([tag, end.key, end.id, end.n]) as string) > upper) continue;
      if (this.#groups.groupOf(row.key) !== this.#groups.groupOf(row.last)) continue;
      const states = statesOf(row);
      const { id } = this.#how.reducer;
      runs.push({ first: row, end, state: states.get(id), known: states.has(id) });
    }
    return runs;
  }

  /** Passes the rows between two places of the walk; an absent place is the end of the range. */
  async #rows(from: Place | undefined, to: Place | undefined): Promise<boolean> {
    if (from !== undefined && to !== undefined && samePlace(from, to)) return true;
    const { descending: reverse } = this.#how;
    let seen: IndexEntry | undefined;
    for (;;) {
      const query = {
        from: 'index',
        range: this.#between(from, to, seen),
        reverse,
        limit: READ_ROWS,
        texts: textsOf(this.#how.reducer),
      } as const;
      const asked = [{ from: 'views', keys: [this.#state.view] }, query] as const;
      const [[state], rows] =
        this.#store.readNow(asked) ?? (await this.#store.read(asked, { signal: this.#how.signal }));
      if (state?.tag !== this.#state.tag || state.version !== this.#state.version) return false;
      for (const row of rows) {
        this.#groups.row(row);
        if (this.#groups.full) return true;
      }
      if (rows.length < READ_ROWS) return true;
      await this.#keep();
      seen = rows.at(-1);
      const wait = this.#slices.pause();
      if (wait !== undefined) await wait;
      this.#how.signal?.throwIfAborted();
    }
  }

  #between(from: Place | undefined, to: Place | undefined, seen: IndexEntry | undefined) {
    const { tag } = this.#state;
    const { descending } = this.#how;
    const [low, high] = descending ? [to, from] : [from, to];
    const range = { ...storeRange(tag, this.#range) };
    const at = (place: Place) => placeKey({ ...place, tag });
    if (low !== undefined) Object.assign(range, { gt: undefined, gte: at(low) });
    if (high !== undefined) Object.assign(range, { lte: undefined, lt: at(high) });
    if (seen !== undefined)
      Object.assign(range, descending ? { lte: undefined, lt: at(seen) } : { gte: undefined, gt: at(seen) });
    return range;
  }
}

const samePlace = (a: Place, b: Place): boolean => a.key === b.key && a.id === b.id && a.n === b.n;
