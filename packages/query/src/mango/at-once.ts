/**
 * Finds answered at once, from memory: those of a plain shape, by an index that is up to date, where this context is alone. All
 * of it is one turn of the event loop, or several between which nothing was written, so index and documents are of one state. Whatever is
 * otherwise takes the long way.
 */
import {
  type DatabaseTables,
  type FindRequest,
  type FindResult,
  type InfoRow,
  isQuotaExceeded,
  type Store,
} from '@settledb/core';
import type { IndexDefinition } from '../index-reader';
import { NO_BOOKMARK, readBookmark, writeBookmark } from './bookmark';
import { choosePlan } from './choose';
import { behind } from './indexed';
import type { IndexCatalog } from './indexes';
import type { MangoIndex } from './mango-index';
import { asksForPoint, findPoint } from './point';
import { Reading } from './reading';
import { checkRequest, DEFAULT_LIMIT } from './request';
import { type Prepared, prepare, rangeFor, type Shape, shapeOf } from './shape';
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

  /**
   * The answer; what it will be, where the index has to follow first, or others have their turn; `undefined`, also in the end: ask the long
   * way.
   */
  find(request: FindRequest): Found {
    const shape = shapeOf(request);
    if (shape === undefined || !isUsual(request)) return undefined;
    const found = this.#find(request, shape);
    if (found !== undefined) return found;
    const asked = { ...request };
    return this.#indexes.store.pause?.()?.then(() => (isUsual(asked) ? this.#find(asked, shape) : undefined));
  }

  #find(request: FindRequest, shape: Shape): Found {
    let prepared = this.#prepared.get(shape.key);
    let look = prepared && this.#indexes.lookNow(prepared.definition);
    if (prepared === undefined || look === undefined || !this.#isListed(look.info)) {
      prepared = this.#prepare(shape, request);
      look = prepared && this.#indexes.lookNow(prepared.definition);
      if (prepared === undefined || look === undefined) return undefined;
      this.#listed = look.info;
    }
    const { tag } = look;
    if (tag === undefined) return this.#findLater({ ...request }, prepared, shape);
    if (prepared.isPoint && asksForPoint(request)) {
      const found = findPoint(this.#indexes.store, prepared, shape.values, request, tag);
      if (found !== undefined) return found;
    }
    return this.#answer(request, prepared, shape, look);
  }

  async #findLater(request: FindRequest, prepared: Prepared, shape: Shape): Promise<FindResult | undefined> {
    try {
      await this.#indexes.update(prepared.definition, request);
    } catch (error) {
      if (isQuotaExceeded(error)) return undefined; // The long way knows how to do without.
      throw error;
    }
    const look = this.#indexes.lookNow(prepared.definition);
    return look && this.#answer(request, prepared, shape, look);
  }

  /** No design document was written since. */
  #isListed(info: InfoRow): boolean {
    return isOneState(info, this.#listed);
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

  #answer(request: FindRequest, prepared: Prepared, { values }: Shape, look: Look): Found {
    const { tag } = look;
    if (tag === undefined) return undefined;
    const { bookmark, execution_stats, limit = DEFAULT_LIMIT, skip = 0 } = request;
    const started = execution_stats ? performance.now() : 0;
    const after = bookmark ? readBookmark(bookmark) : undefined;
    if (after !== undefined && after.order !== prepared.order) return undefined;
    const whole = rangeFor(prepared, values);
    const [range] = after === undefined ? [whole] : behind([whole], after, prepared.descending);
    const reading = new Reading(this.#indexes.store, prepared, values, tag, { range, skip, limit });
    const answer = (): FindResult => resultOf(reading, prepared, bookmark, started);
    return reading.read() ? answer() : this.#readOn(reading, prepared, look, request.signal, answer);
  }

  /** Goes on, as often as others have to have their turn, while nothing is written. */
  async #readOn(
    reading: Reading,
    { definition }: Prepared,
    { info, tag }: Look,
    signal: AbortSignal | undefined,
    answer: () => FindResult,
  ): Promise<FindResult | undefined> {
    const { store } = this.#indexes;
    for (let wait = store.pause?.(); wait !== undefined; wait = store.pause?.()) {
      await wait;
      if (store.pause?.() !== undefined) continue; // Others were first, and took all of this turn.
      const now = this.#indexes.lookNow(definition);
      if (signal?.aborted || now?.tag !== tag || !isOneState(now?.info, info)) return undefined;
      if (reading.read()) return answer();
    }
    return undefined;
  }
}

type Found = FindResult | Promise<FindResult | undefined> | undefined;

function resultOf(
  { docs, keys, looked, last }: Reading,
  { order }: Prepared,
  bookmark: string | undefined,
  started: number,
): FindResult {
  const warning = proportionWarning(looked, docs.length);
  return {
    docs,
    bookmark: last ? writeBookmark({ order, ...last }) : bookmark || NO_BOOKMARK,
    ...(started > 0 && {
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

/** Nothing was written in between. */
const isOneState = (one: InfoRow | undefined, other: InfoRow | undefined): boolean =>
  one?.update_seq === other?.update_seq && one?.purge_seq === other?.purge_seq;

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
