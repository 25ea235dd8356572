/**
 * Questions by secondary index: map/reduce views and Mango. Beside `Database`, not in it: replication needs none of
 * this, and a peer without indexes is still a peer. Options and answers are PouchDB's, which are CouchDB's.
 */
import type { ExistingDoc, Json, Seq } from '../model/types';
import type { CallOptions } from '../store/store';

/** Any JSON, also as `undefined`, which means "no key given". */
export type ViewKey = Json | undefined;

/** Content of documents and values whose type is not given. */
// biome-ignore lint/suspicious/noExplicitAny: what is in a document, and what a map emits, is the program's own business
export type Loose = any;

export type Emit = (key?: unknown, value?: unknown) => void;
/**
 * Called once per document, for winners only; emits rows. It must depend on nothing but the document, whose type it may name. A function that
 * does not take `emit` finds it as a global while it runs.
 */
export type MapFunction<Content extends object = Loose> = {
  // As a method: a function may name the type, and where documents are of several, one of them with its `_id` (`ExistingDoc<Task>`):
  // TypeScript has no way to take a bare one and to tell the type to functions that name none. Where nobody described them, any.
  map(doc: ExistingDoc<string extends keyof Content ? Loose : Content>, emit: Emit): void;
}['map'];
/** `keys` are `[key, id]` pairs; they are `null` when `values` are results of this function (`rereduce`). */
export type ReduceFunction = (
  keys: readonly (readonly [Json, string])[] | null,
  values: readonly Loose[],
  rereduce: boolean,
) => unknown;

/** A view that is not stored in a design document. */
export interface ViewSource<Content extends object = Loose> {
  map: MapFunction<Content> | string;
  /** A function, its source, or a built-in's name such as `_sum`. */
  reduce?: ReduceFunction | string | undefined;
}

export interface ViewOptions extends CallOptions {
  /** `false`: rows as they were mapped. With a map function also the reduce to use; a stored view has its own. Default: reduced if the view has a reduce. */
  reduce?: boolean | ReduceFunction | string | undefined;
  /** Adds the document of each row, in `doc`; if the value is `{ _id }`, the document that it names. Not for reduced rows. */
  include_docs?: boolean | undefined;
  /** With `include_docs`: losing leaves, in `_conflicts`. */
  conflicts?: boolean | undefined;
  /** With `include_docs`: data of attachments, as base64, or with `binary` as bytes. */
  attachments?: boolean | undefined;
  /** With `attachments`: data as bytes. */
  binary?: boolean | undefined;
  /** The first key; also `start_key`. With `descending`, the greatest. */
  startkey?: ViewKey;
  start_key?: ViewKey;
  /** With `startkey`: begin at this document among the rows of that key. */
  startkey_docid?: string | undefined;
  /** The last key; also `end_key`. `startkey: ['a'], endkey: ['a', {}]` gives all lists that begin with `'a'`. */
  endkey?: ViewKey;
  end_key?: ViewKey;
  /** With `endkey`: end with this document among the rows of that key. */
  endkey_docid?: string | undefined;
  /** Default true. */
  inclusive_end?: boolean | undefined;
  /** At most so many rows; 0 gives none. */
  limit?: number | string | undefined;
  /** Rows left out at the start. */
  skip?: number | string | undefined;
  /** From the last key to the first; `startkey` and `endkey` then change places. */
  descending?: boolean | undefined;
  /** Rows of this key. */
  key?: ViewKey;
  /** Rows of each of these keys, in this order. */
  keys?: readonly Json[] | undefined;
  /** One row per distinct key. */
  group?: boolean | undefined;
  /** One row for each distinct beginning, of this length, of array keys. 0: no groups; 999: exact. */
  group_level?: number | string | undefined;
  /** `'ok'`: answer what is indexed so far, which may be half built. `'update_after'`: the same, then bring the index up to date. */
  stale?: 'ok' | 'update_after' | undefined;
  /** CouchDB's newer word for `stale`: `true` (default), `false` as `stale: 'ok'`, `'lazy'` as `'update_after'`. */
  update?: boolean | 'lazy' | undefined;
  /** Adds the seq at which the index stands. */
  update_seq?: boolean | undefined;
}

export interface ViewRow<Content extends object = object, Key = Json, Value = Loose> {
  /** Absent in reduced rows. */
  readonly id?: string;
  /** `null` when reduced without groups. */
  readonly key: Key;
  readonly value: Value;
  /** With `include_docs`: the document, or the one that `value._id` names; `null` when it is gone. */
  readonly doc?: ExistingDoc<Content> | null;
}

/** A row as it was mapped. */
export interface MappedRow<Content extends object = object, Key = Json, Value = Loose>
  extends ViewRow<Content, Key, Value> {
  /** The document for which it was emitted. */
  readonly id: string;
}

export interface ViewResult<Content extends object = object, Key = Json, Value = Loose> {
  /** How many rows the whole view has. Absent from reduced results, and so is `offset`. */
  readonly total_rows?: number;
  readonly offset?: number;
  readonly rows: readonly ViewRow<Content, Key, Value>[];
  readonly update_seq?: Seq;
}

/** The answer of a view that was certainly not reduced. */
export interface MappedResult<Content extends object = object, Key = Json, Value = Loose>
  extends ViewResult<Content, Key, Value> {
  readonly rows: readonly MappedRow<Content, Key, Value>[];
}

/** A Mango selector: fields with conditions, and operators with a leading `$`. */
export type Selector = { [field: string]: unknown };
export type SortField = string | { readonly [field: string]: 'asc' | 'desc' };

export interface IndexFields {
  fields: readonly SortField[];
  /** Default: made of the fields, as is that of the design document. */
  name?: string | undefined;
  /** The design document that it is put into, with or without `_design/`. */
  ddoc?: string | undefined;
  type?: 'json' | undefined;
  /** Only documents that match are in the index; it is used only where `use_index` names it. */
  partial_filter_selector?: Selector | undefined;
}
export interface CreateIndexRequest {
  index: IndexFields;
  name?: string | undefined;
  ddoc?: string | undefined;
  type?: 'json' | undefined;
}
export interface CreateIndexResult {
  readonly result: 'created' | 'exists';
  /** `_design/…` */
  readonly id: string;
  readonly name: string;
}
export interface IndexDescription {
  /** `null` for `_all_docs`. */
  readonly ddoc: string | null;
  readonly name: string;
  readonly type: 'json' | 'special';
  readonly def: {
    readonly fields: readonly { readonly [field: string]: 'asc' | 'desc' }[];
    readonly partial_filter_selector?: Selector;
  };
}
export interface IndexList {
  readonly total_rows: number;
  readonly indexes: readonly IndexDescription[];
}

export interface FindRequest extends CallOptions {
  selector: Selector;
  /** The paths that the answer has. Default: whole documents. */
  fields?: readonly string[] | undefined;
  /** Documents that lack one of these fields are left out. */
  sort?: readonly SortField[] | undefined;
  /** At most so many matching documents. Default 25. */
  limit?: number | undefined;
  /** Matching documents left out at the start. A `bookmark` goes on for less. */
  skip?: number | undefined;
  /** `'ddoc'`, `'ddoc/name'` or `['ddoc', 'name']`. */
  use_index?: string | readonly string[] | undefined;
  /** The `bookmark` of an earlier answer, to go on after it. */
  bookmark?: string | undefined;
  /** Adds `execution_stats`: what was read, and how long it took. */
  execution_stats?: boolean | undefined;
  /** As for views: `false` queries an index as it stands, `'lazy'` also brings it up to date afterwards. Default true. */
  update?: boolean | 'lazy' | undefined;
  /** CouchDB's option for its shards: sent to a server, and without effect here. */
  stable?: boolean | undefined;
  /** Losing leaves, in `_conflicts` of each document. */
  conflicts?: boolean | undefined;
}
export interface ExecutionStats {
  readonly total_keys_examined: number;
  readonly total_docs_examined: number;
  readonly total_quorum_docs_examined: number;
  readonly results_returned: number;
  readonly execution_time_ms: number;
}
export interface FindResult<Content extends object = object> {
  /** Whole documents, or what `fields` left of them. */
  readonly docs: readonly (ExistingDoc<Content> & Record<string, Loose>)[];
  /** Says so when no index served. */
  readonly warning?: string;
  readonly bookmark?: string;
  readonly execution_stats?: ExecutionStats;
}
export interface Explanation {
  readonly dbname: string;
  readonly index: IndexDescription;
  readonly selector: Selector;
  readonly range?: { readonly start_key: unknown; readonly end_key: unknown };
  readonly [more: string]: unknown;
}

export interface ViewInfo {
  readonly name: string;
  readonly view_index: {
    readonly signature: string;
    readonly update_seq: Seq;
    readonly updater_running: boolean;
    readonly [more: string]: unknown;
  };
}

/** What a database with indexes offers in addition to `Database`. */
export interface Queries<Content extends object = object> {
  /** @throws not_found, query_parse_error, bad_request */
  query(view: string | MapFunction | ViewSource, options?: ViewOptions): Promise<ViewResult<Content>>;
  /** Several queries of one stored view, answered in order. CouchDB's `queries`. */
  queries?(
    view: string,
    queries: readonly ViewOptions[],
    options?: CallOptions,
  ): Promise<ViewResult<Content>[]>;
  /** Drops the indexes that no design document defines any more. */
  viewCleanup(options?: CallOptions): Promise<{ readonly ok: true }>;
  /** What `_design/name/_info` says. */
  viewInfo?(ddoc: string, options?: CallOptions): Promise<ViewInfo>;
  createIndex(request: CreateIndexRequest | IndexFields, options?: CallOptions): Promise<CreateIndexResult>;
  getIndexes(options?: CallOptions): Promise<IndexList>;
  deleteIndex(
    index: { readonly ddoc: string | null; readonly name: string; readonly type?: string | undefined },
    options?: CallOptions,
  ): Promise<{ readonly ok: true }>;
  find(request: FindRequest): Promise<FindResult<Content>>;
  explain(request: FindRequest): Promise<Explanation>;
}
