/**
 * A store that is obviously right: maps in memory, sorted at every read. The database is tested on it, and the real engine
 * against it.
 *
 * Long fields are kept as references into one list of texts that only grows, so that forgetting to ask for `texts` fails here
 * too. Rows handed out are frozen. Reads and writes answer in a microtask; plans run one after the other by themselves.
 */
import {
  type Blobs,
  closed,
  type FoundAll,
  type Key,
  type Plan,
  type Query,
  type Range,
  type RowsWatcher,
  type Schema,
  type SortKey,
  type Store,
  type StoreEvent,
  sortKey,
  type TableSchema,
  type Tables,
  type TextRef,
  type Write,
} from '../../packages/core/src/index';

type Row = Record<string, unknown>;
type AnyQuery = { from: string; texts?: boolean | readonly string[] } & Partial<{
  keys: readonly Key[];
  range: Range;
  count: Range;
  by: string;
  reverse: boolean;
  skip: number;
  limit: number;
}>;
type AnyWrite = { into: string; put?: readonly object[]; delete?: readonly Key[]; fresh?: boolean };

export interface NaiveOptions {
  /** Calls every plan twice and takes the second answer: as after a lost race. Plans must be pure. */
  readonly replans?: boolean;
  /** Answers `readNow`. Default true. */
  readonly now?: boolean;
}

export function naiveStore<T extends Tables>(schema: Schema, options: NaiveOptions = {}): Store<T> {
  const tables = new Map(Object.keys(schema).map((name) => [name, new Map<SortKey, Row>()]));
  const texts: string[] = [];
  const listeners = new Set<(event: StoreEvent) => void>();
  const watchers: [table: string, changed: RowsWatcher][] = [];
  let commits = 0;
  let isClosed = false;

  const tableOf = (name: string): [TableSchema, Map<SortKey, Row>] => {
    const table = tables.get(name);
    if (table === undefined) throw new Error(`no table ${name}`);
    return [schema[name]!, table];
  };

  function stored(row: Row, { fields, texts: long = [] }: TableSchema): Row {
    const made: Row = {};
    for (const [field, value] of Object.entries(row)) {
      if (!fields.includes(field)) throw new Error(`no field ${field}`);
      if (value === undefined) continue;
      const isText = long.includes(field) && typeof value === 'string';
      made[field] = isText ? { block: texts.push(value) - 1, at: 0, length: value.length } : value;
    }
    return Object.freeze(made);
  }

  function answerRow(
    row: Row | undefined,
    { texts: long = [] }: TableSchema,
    query: AnyQuery,
  ): Row | undefined {
    const wanted = query.texts === true ? long : query.texts || [];
    if (row === undefined || wanted.length === 0) return row;
    const filled: Row = { ...row };
    for (const field of wanted) {
      const ref = row[field] as TextRef | undefined;
      if (ref !== undefined) filled[field] = texts[ref.block]!.slice(ref.at, ref.at + ref.length);
    }
    return Object.freeze(filled);
  }

  function answer(query: AnyQuery): (Row | undefined)[] | number {
    const [table, rows] = tableOf(query.from);
    if (query.keys !== undefined) {
      return query.keys.map((key) => answerRow(rows.get(sortKey(key)), table, query));
    }
    const fields = query.by === undefined ? table.key : table.orders?.[query.by];
    if (fields === undefined) throw new Error(`no order ${query.by}`);
    const sorted = [...rows.values()]
      .map((row) => ({ row, at: placeOf(row, fields) }))
      .filter(({ at }) => within(at, query.range ?? query.count ?? {}))
      .sort((a, b) => (a.at < b.at ? -1 : 1));
    if (query.count !== undefined) return sorted.length;
    if (query.reverse) sorted.reverse();
    const skip = query.skip ?? 0;
    const end = query.limit === undefined ? undefined : skip + query.limit;
    return sorted.slice(skip, end).map(({ row }) => answerRow(row, table, query));
  }

  const answerAll = <const Q extends readonly Query<T>[]>(queries: Q): FoundAll<T, Q> =>
    queries.map((query) => answer(query as AnyQuery)) as FoundAll<T, Q>;

  function apply(write: AnyWrite): void {
    const [table, rows] = tableOf(write.into);
    const isThere = (row: object): boolean => rows.has(sortKey(keyOf(row as Row, table.key)));
    if (write.fresh && write.put?.some(isThere)) throw new Error('a row that is called fresh was there');
    for (const row of write.put ?? [])
      rows.set(sortKey(keyOf(row as Row, table.key)), stored(row as Row, table));
    for (const key of write.delete ?? []) rows.delete(sortKey(key));
    for (const [order, fields] of Object.entries(table.orders ?? {})) {
      const distinct = new Set([...rows.values()].map((row) => placeOf(row, fields)));
      if (distinct.size < rows.size) throw new Error(`values of order ${order} repeat`);
    }
  }

  /** The texts that rows refer to, once per reference. */
  function blocks(): number[] {
    const found: number[] = [];
    for (const [name, rows] of tables) {
      const long = schema[name]!.texts ?? [];
      for (const row of rows.values()) {
        for (const field of long) if (row[field] !== undefined) found.push((row[field] as TextRef).block);
      }
    }
    return found;
  }

  /** A text belongs to one row, and a reference that a plan puts is one that it found. */
  function checkTexts(live: ReadonlySet<number>, added: number): void {
    const after = blocks();
    if (new Set(after).size < after.length) throw new Error('two rows refer to one text');
    if (after.some((block) => block < added && !live.has(block)))
      throw new Error('a reference to a dead text');
  }

  function commit(writes: readonly Write<T>[]): void {
    if (writes.length === 0) return;
    const before = [...tables].map(([name, rows]) => [name, new Map(rows)] as const);
    try {
      const live = new Set(blocks());
      const added = texts.length;
      for (const write of writes) apply(write as AnyWrite);
      checkTexts(live, added);
    } catch (error) {
      for (const [name, rows] of before) tables.set(name, rows);
      throw error;
    }
    commits += 1;
    for (const [table, changed] of watchers) changed(keysOf(writes as readonly AnyWrite[], table));
    for (const listener of [...listeners]) listener({ type: 'commit' });
  }

  function keysOf(writes: readonly AnyWrite[], table: string): SortKey[] {
    const { key } = schema[table]!;
    return writes
      .filter(({ into }) => into === table)
      .flatMap(({ put = [], delete: gone = [] }) => [...put.map((row) => keyOf(row as Row, key)), ...gone])
      .map(sortKey);
  }

  const begin = (signal: AbortSignal | undefined): void => {
    if (isClosed) throw closed();
    signal?.throwIfAborted();
  };

  return {
    blobs: naiveBlobs(),
    async read(queries, { signal } = {}) {
      begin(signal);
      return answerAll(queries);
    },
    readNow(queries) {
      begin(undefined);
      return options.now === false ? undefined : answerAll(queries);
    },
    rowNow(from, key, texts) {
      begin(undefined);
      const rows = options.now === false ? [] : answer({ from, keys: [key], texts });
      return (rows as (Row | undefined)[])[0] as never;
    },
    fieldNow(from, field, under, limit) {
      begin(undefined);
      const range = { gte: under, lte: [...under, []] } as const;
      const rows = options.now === false ? undefined : answer({ from, range, limit });
      return (rows as Row[] | undefined)?.map((row) => row[field as string]) as never;
    },
    stateNow() {
      begin(undefined);
      return options.now === false ? undefined : commits;
    },
    async write<const Q extends readonly Query<T>[], R>(
      queries: Q,
      plan: (found: FoundAll<T, Q>) => Plan<T, R>,
      { signal }: { readonly signal?: AbortSignal | undefined } = {},
    ): Promise<R> {
      begin(signal);
      if (options.replans) plan(answerAll(queries));
      const { writes, value } = plan(answerAll(queries));
      commit(writes);
      return value;
    },
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    watchRows(table, changed) {
      watchers.push([table, changed]);
    },
    async compact({ signal } = {}) {
      begin(signal);
    },
    stats: () => ({
      commits,
      epoch: 0,
      recentRows: 0,
      pages: 0,
      pagesLoaded: 0,
      cachedTextLength: 0,
      cachedTextLimit: 0,
      liveTextLength: 0,
      deadTextLength: 0,
    }),
    async close() {
      isClosed = true;
    },
  };
}

function naiveBlobs(): Blobs {
  const places = new Map<string, Uint8Array[]>();
  return {
    async put(chunks) {
      const kept: Uint8Array[] = [];
      for await (const chunk of chunks) kept.push(chunk.slice());
      const place = `place ${places.size} ${Math.random()}`;
      places.set(place, kept);
      return place;
    },
    async get(place, index) {
      return places.get(place)?.[index]?.slice();
    },
    release() {},
    async drop(gone) {
      for (const place of gone) places.delete(place);
    },
    async sweep() {
      return false;
    },
  };
}

/** Of rows that are stored, which never change: each write and each range looks at all of them. */
const places = new WeakMap<Row, Map<string | readonly string[], SortKey>>();

function placeOf(row: Row, fields: string | readonly string[]): SortKey {
  const known = places.get(row) ?? new Map<string | readonly string[], SortKey>();
  places.set(row, known);
  const place = known.get(fields) ?? sortKey(keyOf(row, fields));
  known.set(fields, place);
  return place;
}

function keyOf(row: Row, fields: string | readonly string[]): Key {
  return (typeof fields === 'string' ? row[fields] : fields.map((field) => row[field])) as Key;
}

function within(at: SortKey, { gt, gte, lt, lte }: Range): boolean {
  return (
    (gt === undefined || at > sortKey(gt)) &&
    (gte === undefined || at >= sortKey(gte)) &&
    (lt === undefined || at < sortKey(lt)) &&
    (lte === undefined || at <= sortKey(lte))
  );
}
