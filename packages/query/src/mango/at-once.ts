/**
 * Finds answered at once, from memory: those of a plain shape, by an index that is up to date, where this context is alone. All
 * of it is one turn of the event loop, so index and documents are of one state. Whatever is otherwise takes the long way.
 */
import {
  compareJson,
  copyOf,
  type DatabaseTables,
  type ExistingDoc,
  type FindRequest,
  type FindResult,
  fieldAt,
  fromKey,
  type IndexEntry,
  type InfoRow,
  isDesignId,
  type Json,
  type KeptDocs,
  keptDocs,
  type Store,
} from '@settledb/core';
import type { IndexDefinition, IndexRange } from '../index-reader';
import { storeRange } from '../ranges';
import { NO_BOOKMARK, readBookmark, writeBookmark } from './bookmark';
import { choosePlan } from './choose';
import { behind, firstBatch, nextBatch, type Place } from './documents';
import type { IndexCatalog } from './indexes';
import type { MangoIndex } from './mango-index';
import { asksForPoint, findPoint } from './point';
import { place } from './project';
import { checkRequest, DEFAULT_LIMIT } from './request';
import { ID, type Prepared, prepare, rangeFor, type Shape, shapeOf } from './shape';
import { proportionWarning } from './warning';

/** How things stand at the moment. */
export interface Look {
  readonly info: InfoRow;
  /** Names the rows of the index; `undefined` when changes are not in it yet. */
  readonly tag: string | undefined;
}

/** The indexes of a database in this realm. */
export interface LocalIndexes {
  readonly store: Store<DatabaseTables>;
  /** See `Indexes.lookNow`. */
  lookNow(index: IndexDefinition): Look | undefined;
  update(index: IndexDefinition, options?: { readonly signal?: AbortSignal | undefined }): Promise<void>;
}

/** Shapes remembered, a few hundred bytes each. Programs have some dozens; those that make up fields must not fill memory. */
const SHAPES_MAX = 200;

export class FindsAtOnce {
  readonly #indexes: LocalIndexes;
  readonly #catalog: IndexCatalog;
  /** By shape; `undefined` for those that are planned anew each time. */
  #prepared = new Map<string, Prepared | undefined>();
  /** What they were planned for. */
  #list: readonly MangoIndex[] = [];
  /** When that was looked at last. */
  #listed: InfoRow | undefined;

  constructor(indexes: LocalIndexes, catalog: IndexCatalog) {
    this.#indexes = indexes;
    this.#catalog = catalog;
  }

  /** The answer; what it will be, where the index has to follow first; `undefined`: ask the long way. */
  find(request: FindRequest): FindResult | Promise<FindResult | undefined> | undefined {
    const shape = shapeOf(request);
    if (shape === undefined || !isUsual(request)) return undefined;
    let prepared = this.#prepared.get(shape.key);
    let look = prepared && this.#indexes.lookNow(prepared.definition);
    if (prepared === undefined || look === undefined || !this.#isListed(look.info)) {
      prepared = this.#prepare(shape, request);
      look = prepared && this.#indexes.lookNow(prepared.definition);
      if (prepared === undefined || look === undefined) return undefined;
      this.#listed = look.info;
    }
    const { tag } = look;
    if (tag === undefined) return this.#findLater(request, prepared, shape);
    if (prepared.isPoint && asksForPoint(request)) {
      const found = findPoint(this.#indexes.store, prepared, shape.values, request, tag);
      if (found !== undefined) return found;
    }
    return this.#answer(request, prepared, shape, tag);
  }

  async #findLater(request: FindRequest, prepared: Prepared, shape: Shape): Promise<FindResult | undefined> {
    await this.#indexes.update(prepared.definition, request);
    const look = this.#indexes.lookNow(prepared.definition);
    return look?.tag === undefined ? undefined : this.#answer(request, prepared, shape, look.tag);
  }

  /** Nothing was written since, so no design document either. */
  #isListed({ update_seq, purge_seq }: InfoRow): boolean {
    return update_seq === this.#listed?.update_seq && purge_seq === this.#listed.purge_seq;
  }

  #prepare(shape: Shape, request: FindRequest): Prepared | undefined {
    const list = this.#catalog.listNow(this.#indexes.store);
    if (list === undefined) return undefined;
    if (list !== this.#list || this.#prepared.size >= SHAPES_MAX) {
      this.#prepared = new Map();
      this.#list = list;
    }
    const { key } = shape;
    const known = this.#prepared.get(key);
    if (known !== undefined || this.#prepared.has(key)) return known;
    const asked = checkRequest({ ...request, bookmark: undefined });
    const made = prepare(shape, asked, choosePlan(asked, list));
    this.#prepared.set(key, made);
    return made;
  }

  #answer(request: FindRequest, prepared: Prepared, { values }: Shape, tag: string): FindResult | undefined {
    const { bookmark, execution_stats, limit = DEFAULT_LIMIT, skip = 0 } = request;
    const started = execution_stats ? performance.now() : 0;
    const after = bookmark ? readBookmark(bookmark) : undefined;
    if (after !== undefined && after.order !== prepared.order) return undefined;
    const range = rangeFor(prepared, values);
    const ranges = after === undefined ? [range] : behind([range], after, prepared.descending);
    const reading = new Reading(this.#indexes.store, prepared, values, tag);
    if (!reading.read(ranges[0], skip, limit)) return undefined;
    const { docs, keys, looked, last } = reading;
    const warning = proportionWarning(looked, docs.length);
    return {
      docs,
      bookmark: last ? writeBookmark({ order: prepared.order, ...last }) : (bookmark ?? NO_BOOKMARK),
      ...(execution_stats && {
        execution_stats: {
          total_keys_examined: keys,
          total_docs_examined: looked,
          total_quorum_docs_examined: 0,
          results_returned: docs.length,
          execution_time_ms: performance.now() - started,
        },
      }),
      ...(warning && { warning }),
    };
  }
}

/** Nothing about it that the long way sees to: what is wrong, too. */
function isUsual({
  limit = DEFAULT_LIMIT,
  skip = 0,
  update,
  conflicts,
  signal,
  bookmark,
}: FindRequest): boolean {
  if (signal?.aborted || conflicts || (update !== undefined && update !== true)) return false;
  if (bookmark === NO_BOOKMARK) return false;
  return Number.isInteger(limit) && limit > 0 && Number.isInteger(skip) && skip >= 0;
}

const BODY = ['body'] as const;

/** The reading of one answer. */
class Reading {
  readonly docs: ExistingDoc<object>[] = [];
  /** Of the last document that matched. */
  last: Place | undefined;
  keys = 0;
  looked = 0;
  readonly #store: Store<DatabaseTables>;
  readonly #prepared: Prepared;
  readonly #values: readonly Json[];
  readonly #tag: string;
  readonly #kept: KeptDocs;
  #skip = 0;
  #limit = 0;
  #lastRow: IndexEntry | undefined;

  constructor(store: Store<DatabaseTables>, prepared: Prepared, values: readonly Json[], tag: string) {
    this.#store = store;
    this.#kept = keptDocs(store);
    this.#prepared = prepared;
    this.#values = values;
    this.#tag = tag;
  }

  /** @returns false when something is not in memory */
  read(range: IndexRange | undefined, skip: number, limit: number): boolean {
    const { descending: reverse } = this.#prepared;
    this.#skip = skip;
    this.#limit = limit;
    let size = firstBatch(skip + limit);
    for (let rest = range; rest !== undefined && this.docs.length < limit; size = nextBatch(size)) {
      const query = { from: 'index', range: storeRange(this.#tag, rest), reverse, limit: size } as const;
      const [rows] = this.#store.readNow([query]) ?? [];
      if (rows === undefined || !this.#take(rows)) return false;
      const end = rows.length < size ? undefined : rows.at(-1);
      rest = end && behind([rest], placeOf(end), reverse)[0];
    }
    this.last = this.#lastRow && placeOf(this.#lastRow);
    return true;
  }

  #take(rows: readonly IndexEntry[]): boolean {
    this.keys += rows.length;
    const { covering } = this.#prepared;
    if (covering === undefined) return this.#takeDocs(rows);
    const keys = rows.map(({ key }) => fromKey(key) as readonly Json[]);
    // A key has the values up to the first that is absent, with a mark after each but the last of all.
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

  /** What the range itself does not tell. */
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

  /** As {@link #matches}, of a document: without a function for each. */
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

  /** Notes that `row` matched. */
  #isSkipped(row: IndexEntry): boolean {
    this.#lastRow = row;
    return this.#skip > 0 && this.#skip-- > 0;
  }
}

const placeOf = ({ key, id }: IndexEntry): Place => ({ key: fromKey(key), id });
