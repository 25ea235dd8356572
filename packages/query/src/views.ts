/** `query`, `queries`, `viewCleanup` and `viewInfo` of a local database, for one handle on it. */
import {
  type BareRow,
  badRequest,
  type CallOptions,
  checkedReduce,
  checkQueries,
  type Database,
  designName,
  type Evaluate,
  INFO_QUERY,
  type IndexEntry,
  isObject,
  isQuotaExceeded,
  type MapFunction,
  type Queries,
  type RangeQuery,
  type ViewInfo,
  type ViewOptions,
  type ViewResult,
  type ViewRow,
  type ViewSource,
  type ViewStateRow,
  withDocs,
} from '@settledb/core';
import { AskedRows } from './asked-rows';
import { definedIn, dropUnused } from './cleanup';
import { Definitions, type RegisteredViews, type View } from './definitions';
import { FirstKeys } from './first-keys';
import { Functions, textHash } from './functions';
import { type Group, groupsOf } from './groups';
import type { IndexDefinition } from './index-reader';
import type { Indexes, IndexHost } from './indexes';
import { withDocsNow } from './linked';
import type { RowFilter } from './map';
import { checkReduced, planQuery, type QueryPlan } from './options';
import { compareRows, storeRange } from './ranges';
import { countGroups, countQueries, isCount } from './reduce';
import { reduceRanges } from './reduce-ranges';
import type { Reducer } from './reducers';
import { rowOf } from './rows';
import { mapAll } from './temporary';

export interface ViewsOptions {
  /** Makes functions of text. Without it, text is refused. */
  readonly evaluate?: Evaluate | undefined;
  readonly views?: RegisteredViews | undefined;
}

/** Up to this many rows of a temporary view, it pays to skip rows that lie beyond them. */
const FEW_ROWS = 1_000;

type Host = IndexHost & Pick<Database, 'allDocs' | 'get'>;

export class Views implements Pick<Queries, 'query' | 'queries' | 'viewCleanup' | 'viewInfo'> {
  readonly #database: Host;
  readonly #indexes: Indexes;
  readonly #functions: Functions;
  readonly #definitions: Definitions;

  constructor(database: Host, indexes: Indexes, options: ViewsOptions = {}) {
    this.#database = database;
    this.#indexes = indexes;
    this.#functions = new Functions(options.evaluate, (error) => indexes.report(error));
    this.#definitions = new Definitions(database.store, this.#functions, options.views);
    for (const index of this.#definitions.registered()) indexes.register(index);
  }

  query(view: string | MapFunction | ViewSource, options: ViewOptions = {}): Promise<ViewResult> {
    // Not async: most queries of stored views are answered at once, and one promise each is enough.
    try {
      const given = options ?? {};
      given.signal?.throwIfAborted();
      const plan = planQuery(given);
      if (typeof view !== 'string') return this.#query(view, plan, given);
      checkedReduce(given);
      const found = this.#storedNow(view, plan, given);
      if (found !== undefined) return Promise.resolve(found);
      const wait = this.#indexes.store.pause?.();
      return wait === undefined
        ? this.#query(view, plan, given)
        : this.#storedLater(wait, view, plan, { ...given });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Answers after other tasks had their turn. */
  async #storedLater(
    wait: Promise<void>,
    view: string,
    plan: QueryPlan,
    given: ViewOptions,
  ): Promise<ViewResult> {
    await wait;
    given.signal?.throwIfAborted();
    return this.#storedNow(view, plan, given) ?? this.#query(view, plan, given);
  }

  async #query(
    view: string | MapFunction | ViewSource,
    plan: QueryPlan,
    given: ViewOptions,
  ): Promise<ViewResult> {
    if (typeof view === 'string') return this.#stored(await this.#definitions.find(view, given), plan, given);
    if (typeof view === 'function') return this.#temporary({ map: view }, plan, given);
    // Lists have a method called `map`.
    const isSource = isObject(view);
    if (!isSource || !['string', 'function'].includes(typeof view.map))
      throw badRequest('A query needs a map function, or the name of a view');
    return this.#temporary(view, plan, given);
  }

  async queries(
    view: string,
    queries: readonly ViewOptions[],
    { signal }: CallOptions = {},
  ): Promise<ViewResult[]> {
    if (typeof view !== 'string') throw badRequest('A query needs the name of a view');
    checkQueries(queries);
    const planned = queries.map((query) => {
      checkedReduce(query);
      return { query: { ...query, ...(signal && { signal }) }, plan: planQuery(query) };
    });
    const found = await this.#definitions.find(view, { signal });
    const results: ViewResult[] = [];
    for (const { query, plan } of planned) results.push(await this.#stored(found, plan, query));
    return results;
  }

  /** The handle is closed: what it defined is no longer kept for it. */
  leave(): void {
    for (const index of this.#definitions.registered()) this.#indexes.unregister(index);
  }

  async viewCleanup(options: CallOptions = {}): Promise<{ readonly ok: true }> {
    await dropUnused(this.#indexes.store, this.#indexes.registered, options);
    return { ok: true };
  }

  async viewInfo(ddoc: string, options: CallOptions = {}): Promise<ViewInfo> {
    const name = designName(ddoc);
    const doc = await this.#definitions.design(name, options);
    const ids = [...new Set(definedIn(doc))];
    const [[info], states] = await this.#indexes.store.read(
      [INFO_QUERY, { from: 'views', keys: ids }],
      options,
    );
    const built = states.filter((state): state is ViewStateRow => state !== undefined);
    const seqs = ids.map((_, i) => states[i]?.seq ?? 0);
    const sum = (of: (state: ViewStateRow) => number): number =>
      built.reduce((all, each) => all + of(each), 0);
    const seq = seqs.length === 0 ? 0 : Math.min(...seqs);
    const pending = (info?.update_seq ?? 0) - seq;
    return {
      name,
      view_index: {
        signature: textHash(...ids),
        language: typeof doc.language === 'string' ? doc.language : 'javascript',
        update_seq: seq,
        updates_pending: { minimum: pending, preferred: pending, total: pending },
        updater_running: this.#indexes.updating,
        compact_running: false,
        waiting_commit: false,
        waiting_clients: 0,
        purge_seq: info?.purge_seq ?? 0,
        rows: sum(({ rows }) => rows),
        map_errors: sum(({ threw = 0 }) => threw),
      },
    };
  }

  /** Like {@link #stored}, from one state, if everything is in memory; otherwise `undefined`. */
  #storedNow(name: string, plan: QueryPlan, options: ViewOptions): ViewResult | undefined {
    if (plan.update === 'lazy') return undefined;
    const view = this.#definitions.findNow(name);
    if (view === undefined) return undefined;
    if (view.reducer !== undefined && checkedReduce(options) !== false)
      return this.#countedNow(view, view.reducer(), plan, options);
    const read = this.#indexes.readNow(
      view.index,
      (tag) => rowQueries(tag, plan),
      plan.update,
      view.siblings,
    );
    if (read === undefined) return undefined;
    const { state, found } = read;
    const rows = rowsOf(found, plan);
    const { conflicts, attachments, include_docs } = options;
    if (!include_docs) return answer(rows, state, plan, options);
    if (conflicts || attachments) return undefined;
    const withTheirs = withDocsNow(this.#indexes.store, rows);
    return withTheirs && answer(withTheirs, state, plan, options);
  }

  /** A count of all rows, or of one range, in the same way. */
  #countedNow(
    { index, siblings }: View,
    reducer: Reducer,
    plan: QueryPlan,
    options: ViewOptions,
  ): ViewResult | undefined {
    const [range, another] = plan.ranges;
    const isOne = range !== undefined && another === undefined;
    if (!isOne || !isCount({ reducer, level: plan.level })) return undefined;
    checkReduced(options, plan);
    const read = this.#indexes.readNow(
      index,
      (tag) => countQueries(tag, range),
      plan.update === true,
      siblings,
    );
    return read && reduced(countGroups(read, range), read.state?.seq ?? 0, plan, options);
  }

  /** If there is no room to bring the index up to date, the view is mapped as if it were temporary: full storage can be read. */
  async #stored(view: View, plan: QueryPlan, options: ViewOptions): Promise<ViewResult> {
    const reducer = checkedReduce(options) === false ? undefined : view.reducer?.();
    try {
      return await (reducer === undefined
        ? this.#rows(view, plan, options)
        : this.#reduced(view, reducer, plan, options));
    } catch (error) {
      if (!isQuotaExceeded(error)) throw error;
      return this.#mapped(view.index, reducer, plan, options);
    }
  }

  async #rows(view: View, plan: QueryPlan, options: ViewOptions): Promise<ViewResult> {
    const { state, found } = await this.#indexes.readAt(
      view.index,
      (tag) => rowQueries(tag, plan),
      { update: plan.update, signal: options.signal },
      view.siblings,
    );
    return answer(await this.#withDocs(rowsOf(found, plan), options), state, plan, options);
  }

  async #reduced(
    { index, siblings }: View,
    reducer: Reducer,
    plan: QueryPlan,
    options: ViewOptions,
  ): Promise<ViewResult> {
    checkReduced(options, plan);
    const { descending, level, update } = plan;
    const wanted = plan.limit === undefined ? Number.POSITIVE_INFINITY : plan.skip + plan.limit;
    const how = { reducer, level, descending, wanted, update, companions: siblings, signal: options.signal };
    const { groups, state } = await reduceRanges(this.#indexes, index, plan.ranges, how);
    return reduced(groups, state?.seq ?? 0, plan, options);
  }

  async #temporary(view: ViewSource, plan: QueryPlan, options: ViewOptions): Promise<ViewResult> {
    const index = { id: '', map: this.#functions.map(view.map) };
    // `null` means none given, as of a stored view.
    const reduce = options.reduce ?? true;
    const wanted = reduce === true ? view.reduce : reduce;
    const reducer =
      wanted === undefined || wanted === null || wanted === false
        ? undefined
        : this.#functions.reducer(wanted);
    return this.#mapped(index, reducer, plan, options);
  }

  /** Maps all documents for this answer. */
  async #mapped(
    index: IndexDefinition,
    reducer: Reducer | undefined,
    plan: QueryPlan,
    options: ViewOptions,
  ): Promise<ViewResult> {
    if (reducer !== undefined) checkReduced(options, plan);
    const asked = new AskedRows(plan);
    const failed = this.#indexes.report.bind(this.#indexes);
    const count =
      reducer !== undefined || plan.byKeys || plan.limit === undefined ? Infinity : plan.skip + plan.limit;
    const map = (wanted: RowFilter) => mapAll(this.#indexes.store, index, wanted, failed, options);
    const isFew = count > 0 && count <= FEW_ROWS;
    let all = await map(isFew ? new FirstKeys(count, plan.descending).filter(asked.has) : { row: asked.has });
    // If a row was withdrawn, others that were skipped because of it may count.
    if (isFew && !all.isPlain) all = await map({ row: asked.has });
    const rows = [...all.rows].sort(plan.descending ? (x, y) => compareRows(y, x) : compareRows);
    const ranges = asked.parts(rows);
    if (reducer === undefined)
      return answer(
        await this.#withDocs(page(ranges.flat(), plan).map(rowOf), options),
        { rows: all.total, seq: all.seq },
        plan,
        options,
      );
    const { level, descending } = plan;
    const how = { reducer, level, descending, wanted: Number.POSITIVE_INFINITY };
    const groups = ranges.flatMap((range) => groupsOf(range, how));
    return reduced(groups, all.seq, plan, options);
  }

  async #withDocs(rows: readonly BareRow[], options: ViewOptions): Promise<readonly ViewRow[]> {
    return options.include_docs && rows.length > 0 ? withDocs(this.#database, rows, options) : rows;
  }
}

function answer(
  rows: readonly ViewRow[],
  state: { readonly rows: number; readonly seq: number } | undefined,
  { skip }: QueryPlan,
  { update_seq }: ViewOptions,
): ViewResult {
  const result = { total_rows: state?.rows ?? 0, offset: skip, rows };
  return update_seq ? { ...result, update_seq: state?.seq ?? 0 } : result;
}

const reduced = (
  groups: readonly Group[],
  seq: number,
  plan: QueryPlan,
  { update_seq }: ViewOptions,
): ViewResult => ({ rows: page(groups, plan), ...(update_seq ? { update_seq: seq } : {}) });

function rowQueries(tag: string, plan: QueryPlan): RangeQuery<'index'>[] {
  const { skip, limit, descending: reverse } = plan;
  if (limit === 0) return [];
  // Over several keys, skip and limit count the rows of all keys together.
  const each = plan.byKeys ? { limit: limit && skip + limit } : { skip, limit };
  return plan.ranges.map((range) => ({
    from: 'index',
    range: storeRange(tag, range),
    reverse,
    texts: LONG,
    ...(each.skip ? { skip: each.skip } : {}),
    ...(each.limit === undefined ? {} : { limit: each.limit }),
  }));
}

const LONG = ['long'] as const;

function rowsOf(found: readonly unknown[][], plan: QueryPlan): BareRow[] {
  const entries = found as readonly IndexEntry[][];
  return (plan.byKeys ? page(entries.flat(), plan) : (entries[0] ?? [])).map(rowOf);
}

function page<T>(rows: readonly T[], { skip, limit }: QueryPlan): readonly T[] {
  return skip === 0 && limit === undefined
    ? rows
    : rows.slice(skip, limit === undefined ? undefined : skip + limit);
}
