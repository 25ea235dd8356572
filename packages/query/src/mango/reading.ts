/** Rows of an index and their documents, read from memory, tested and cut to a page: a batch in each turn of the event loop. */
import {
  compareJson,
  copyOf,
  type DatabaseTables,
  type DocRow,
  type ExistingDoc,
  fieldAt,
  fromKey,
  type IndexEntry,
  isDesignId,
  type Json,
  type KeptDocs,
  keptDocs,
  type Store,
} from '@settledb/core';
import type { IndexRange } from '../index-reader';
import { storeRange } from '../ranges';
import { firstBatch, nextBatchAfter, type Place } from './batches';
import { behind } from './indexed';
import { place } from './project';
import { ID, type Prepared } from './shape';

const BODY = ['body'] as const;

/** The documents wanted from a range. */
interface Part {
  readonly range: IndexRange | undefined;
  readonly skip: number;
  readonly limit: number;
}

/** The reading for one answer. */
export class Reading {
  readonly docs: ExistingDoc<object>[] = [];
  /** The place of the last document that matched. */
  last: Place | undefined;
  keys = 0;
  looked = 0;
  readonly #store: Store<DatabaseTables>;
  readonly #prepared: Prepared;
  readonly #values: readonly Json[];
  readonly #tag: string;
  readonly #kept: KeptDocs;
  readonly #limit: number;
  #skip: number;
  /** The rest of the range; below, the number of rows to read next. */
  #rest: IndexRange | undefined;
  #size: number;
  /** Those of the last documents that were read with their texts. */
  #found: readonly (DocRow | undefined)[] = [];
  #lastRow: IndexEntry | undefined;

  /** @param tag of the index's rows */
  constructor(
    store: Store<DatabaseTables>,
    prepared: Prepared,
    values: readonly Json[],
    tag: string,
    { range, skip, limit }: Part,
  ) {
    this.#store = store;
    this.#kept = keptDocs(store);
    this.#prepared = prepared;
    this.#values = values;
    this.#tag = tag;
    this.#limit = limit;
    this.#skip = skip;
    this.#rest = range;
    this.#size = firstBatch(skip + limit);
  }

  /**
   * Reads to the end. If index and documents have not changed, it goes on where it stopped.
   * @returns false if something is not in memory, or it is time for other tasks
   */
  read(): boolean {
    const { descending: reverse } = this.#prepared;
    while (this.#rest !== undefined && this.docs.length < this.#limit) {
      const limit = this.#size;
      const query = { from: 'index', range: storeRange(this.#tag, this.#rest), reverse, limit } as const;
      const [rows] = this.#store.readNow([query]) ?? [];
      if (rows === undefined || !this.#take(rows)) return false;
      this.keys += rows.length;
      const end = rows.length < limit ? undefined : rows.at(-1);
      this.#rest = end && behind([this.#rest], placeOf(end), reverse)[0];
      this.#size = nextBatchAfter(limit, this.#found.length, this.#found);
    }
    this.last = this.#lastRow && placeOf(this.#lastRow);
    return true;
  }

  #take(rows: readonly IndexEntry[]): boolean {
    const { covering } = this.#prepared;
    if (covering === undefined) return this.#takeDocs(rows);
    const keys = rows.map(({ key }) => fromKey(key) as readonly Json[]);
    // A key has the values up to the first absent field, with a mark after each value but the last field's.
    const isTold = (key: readonly Json[]): boolean => covering.last <= (key.length + 1) >> 1;
    if (!keys.every(isTold)) return this.#takeDocs(rows);
    for (const [i, row] of rows.entries()) {
      if (this.docs.length === this.#limit) break;
      const fieldOf = (_path: unknown, at: number): unknown => (at === ID ? row.id : keys[i]![2 * at]);
      if (!this.#matches(fieldOf) || this.#isSkipped(row)) continue;
      const doc = {};
      for (const { path, at } of covering.fields) {
        const value = fieldOf(path, at);
        if (value !== undefined) place(doc, path, value);
      }
      this.docs.push(doc as ExistingDoc<object>);
    }
    return true;
  }

  #takeDocs(rows: readonly IndexEntry[]): boolean {
    const kept = this.#kept;
    const known: (ExistingDoc | undefined)[] = [];
    const ids: string[] = [];
    for (const { id } of rows) {
      const doc = kept.current(id);
      known.push(doc);
      if (doc === undefined) ids.push(id);
    }
    const found =
      ids.length === 0 ? [] : this.#store.readNow([{ from: 'docs', keys: ids, texts: BODY }])?.[0];
    if (found === undefined) return false;
    this.#found = found;
    const { project } = this.#prepared;
    let next = 0;
    for (let i = 0; i < rows.length; i++) {
      const row = known[i] === undefined ? found[next++] : undefined;
      if ((known[i] === undefined && (row === undefined || row.deleted)) || isDesignId(rows[i]!.id)) continue;
      this.looked++;
      if (this.docs.length === this.#limit) continue;
      const doc = known[i] ?? kept.doc(row!, kept.state);
      if (this.#matchesDoc(doc) && !this.#isSkipped(rows[i]!))
        this.docs.push(project(known[i] === undefined ? doc : copyOf(doc)));
    }
    return true;
  }

  /** Tests what the range itself does not ensure. */
  #matches(find: (path: readonly string[], at: number) => unknown): boolean {
    const { tests, open, present } = this.#prepared;
    for (const i of open) {
      const { path, at, holds } = tests[i]!;
      const value = find(path, at);
      if (value === undefined || !holds(compareJson(value, this.#values[i]!))) return false;
    }
    for (const { path, at } of present) if (find(path, at) === undefined) return false;
    return true;
  }

  /** Like {@link #matches}, for a document: without making a function for each. */
  #matchesDoc(doc: object): boolean {
    const { tests, open, present } = this.#prepared;
    for (const i of open) {
      const { path, holds } = tests[i]!;
      const value = fieldAt(doc, path);
      if (value === undefined || !holds(compareJson(value, this.#values[i]!))) return false;
    }
    for (let i = 0; i < present.length; i++) if (fieldAt(doc, present[i]!.path) === undefined) return false;
    return true;
  }

  /** Counts `row` as a match, and tells whether it is skipped. */
  #isSkipped(row: IndexEntry): boolean {
    this.#lastRow = row;
    return this.#skip > 0 && this.#skip-- > 0;
  }
}

const placeOf = ({ key, id }: IndexEntry): Place => ({ key: fromKey(key), id });
