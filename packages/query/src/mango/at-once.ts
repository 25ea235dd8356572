/**
 * Finds answered at once, from memory: those of a plain shape, by an index that is up to date, if no other context has the database
 * open. All of it happens in one turn of the event loop, or in several between which nothing was written, so index and documents are
 * of one state. All other finds take the usual way.
 */
import { type FindRequest, type FindResult, type InfoRow, isQuotaExceeded } from '@settledb/core';
import type { Indexes, Look } from '../indexes';
import { isRowKey, NO_BOOKMARK, readBookmark, writeBookmark } from './bookmark';
import { choosePlan } from './choose';
import { behind } from './indexed';
import type { IndexCatalog } from './indexes';
import type { MangoIndex } from './mango-index';
import { asksForPoint, findPoint } from './point';
import { Reading } from './reading';
import { checkRequest, DEFAULT_LIMIT } from './request';
import { type Prepared, prepare, rangeFor, type Shape, shapeOf } from './shape';
import { proportionWarning } from './warning';

/** The indexes of a database in this realm. */
export type LocalIndexes = Pick<Indexes, 'store' | 'lookNow' | 'update'>;

/** Shapes remembered, a few hundred bytes each. Programs have some dozens; those that make up fields must not fill memory. */
const SHAPES_MAX = 200;

export class FindsAtOnce {
  readonly #indexes: LocalIndexes;
  readonly #catalog: IndexCatalog;
  /** By shape; `undefined` for shapes that are planned anew each time. */
  #prepared = new Map<string, Prepared | undefined>();
  /** The indexes that they were planned for. */
  #list: readonly MangoIndex[] = [];
  /** The counters when the list was last read. */
  #listed: InfoRow | undefined;

  constructor(indexes: LocalIndexes, catalog: IndexCatalog) {
    this.#indexes = indexes;
    this.#catalog = catalog;
  }

  /**
   * The answer; or a promise of it, if the index has to follow first, or other tasks have their turn; or `undefined`, directly or from
   * the promise: take the usual way.
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
      if (isQuotaExceeded(error)) return undefined; // The usual way can do without the index.
      throw error;
    }
    const look = this.#indexes.lookNow(prepared.definition);
    return look && this.#answer(request, prepared, shape, look);
  }

  /** No design document was written since the list was read. */
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
    if (after !== undefined && (after.order !== prepared.order || !isRowKey(after.key))) return undefined;
    const whole = rangeFor(prepared, values);
    const [range] = after === undefined ? [whole] : behind([whole], after, prepared.descending);
    const reading = new Reading(this.#indexes.store, prepared, values, tag, { range, skip, limit });
    const answer = (): FindResult => resultOf(reading, prepared, bookmark, started);
    return reading.read() ? answer() : this.#readOn(reading, prepared, look, request.signal, answer);
  }

  /** Goes on after each turn of other tasks, while nothing is written. */
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
      if (store.pause?.() !== undefined) continue; // Other tasks came first, and used up this turn.
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

/** Whether the request has nothing that only the usual way handles, errors included. */
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
