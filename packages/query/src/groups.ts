/**
 * Rows of an index, and stored runs of rows, passed in order → reduced groups. Stretches of rows are reduced one by one and
 * remembered, so that their states can be stored.
 *
 *   row row row │ run │ row … row │ row row │ run        │ ends a stretch: a run, {@link STRETCH_ROWS} rows, another group
 */
import { fromKey, type IndexEntry, type Json, type Loose, truncateKey } from '@settledb/core';
import type { Reducer } from './reducers';

/** Most rows of a stretch: as many as a page of the store has. */
const STRETCH_ROWS = 256;

/** The groups of rows that are all there is, however many are wanted. */
export function groupsOf(rows: readonly IndexEntry[], how: Grouping): readonly Group[] {
  const groups = new Groups(how);
  for (const row of rows) groups.row(row);
  groups.finish();
  return groups.groups;
}

/** A position in an index. */
export type Place = Pick<IndexEntry, 'key' | 'id' | 'n'>;

export interface Grouping {
  readonly reducer: Reducer;
  /** 0: all rows together; Infinity: by key; otherwise by so many leading elements of array keys. */
  readonly level: number;
  readonly descending: boolean;
  /** Number of groups wanted, from the first one on. */
  readonly wanted: number;
}

export interface Group {
  readonly key: Json;
  readonly value: Loose;
}

/** Neighbouring rows of an index and what they reduce to. */
export interface Stretch {
  readonly first: Place;
  /** Where the next rows begin. */
  readonly end: Place;
  /** Key of the last row. */
  readonly last: string;
  readonly rows: number;
  readonly state: Loose;
  /** The stretch lies between stored runs, or is one. */
  readonly fitting: boolean;
}

export class Groups {
  readonly groups: Group[] = [];
  /** Empty if descending. */
  readonly stretches: Stretch[] = [];
  readonly #how: Grouping;
  #group: string | undefined;
  #pieces: Loose[] = [];
  #rows: IndexEntry[] = [];
  #afterRun = false;

  constructor(how: Grouping) {
    this.#how = how;
  }

  get full(): boolean {
    return this.groups.length >= this.#how.wanted;
  }

  groupOf(key: string): string {
    const { level } = this.#how;
    if (level === 0) return '';
    return level === Number.POSITIVE_INFINITY ? key : truncateKey(key, level);
  }

  row(row: IndexEntry): void {
    this.#enter(this.groupOf(row.key), row);
    if (this.#rows.length === STRETCH_ROWS) this.#reduce(row, false);
    this.#rows.push(row);
  }

  /** Passes rows of one group whose state is known. @param at where they begin */
  run(at: Place, state: Loose): void {
    this.cut(at);
    this.#enter(this.groupOf(at.key), at);
    this.#pieces.push(state);
    this.#afterRun = true;
  }

  /** A stored run begins or ends here. */
  cut(at: Place): void {
    this.#reduce(at, this.#afterRun);
    this.#afterRun = true;
  }

  /** There are no more rows. */
  finish(): void {
    this.#close();
  }

  #enter(group: string, at: Place): void {
    if (group === this.#group) return;
    this.#close(at);
    this.#group = group;
  }

  #close(next?: Place): void {
    this.#reduce(next, false);
    if (this.#pieces.length === 0) return;
    const { reducer, level } = this.#how;
    const pieces = this.#ascending(this.#pieces);
    const state = pieces.length === 1 ? pieces[0] : reducer.merge(pieces);
    const key = level === 0 ? null : fromKey(this.#group as string); // There is one, since there are pieces.
    this.groups.push({ key, value: reducer.finish(state) });
    this.#pieces = [];
  }

  /** @param next the place after the rows so far */
  #reduce(next: Place | undefined, fitting: boolean): void {
    const rows = this.#ascending(this.#rows);
    const last = rows.at(-1);
    if (last === undefined) return;
    const state = this.#how.reducer.reduce(rows);
    this.#rows = [];
    this.#pieces.push(state);
    this.#afterRun = false;
    if (this.#how.descending) return;
    const end = next ?? { ...last, n: last.n + 1 };
    this.stretches.push({
      first: rows[0] as IndexEntry,
      end,
      last: last.key,
      rows: rows.length,
      state,
      fitting,
    });
  }

  #ascending<T>(list: T[]): T[] {
    return this.#how.descending ? list.reverse() : list;
  }
}
