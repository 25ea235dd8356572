/**
 * The contract between the database and whatever keeps its rows: strictly serialisable one-shot reads and writes
 * (https://jepsen.io/consistency/models/strict-serializable) over a few ordered tables of flat rows.
 *
 * A write reads what it names, decides synchronously, and commits its decision: all of it or nothing. A plan cannot
 * await, so no transaction can lapse during it, and after losing a race against another tab it is simply planned again.
 */
import type { DatabaseError } from '../model/errors';
import type { Key, KeyPart, SortKey } from './keys';

/**
 * A long field (a document's JSON) by reference: where its text lies, not the text. Rows that are found hold references unless the
 * query asked for `texts`. A plan may put a reference it found into another row, which moves no text. One text belongs to one
 * row: a plan that puts a reference elsewhere deletes or changes the row in which it found it.
 */
export interface TextRef {
  readonly block: number;
  readonly at: number;
  readonly length: number;
}
export type Text = string | TextRef;

/** The form of the rows of one table. `fields` lists all of them, in the order in which they are stored. */
export interface TableSchema {
  /** The field, or fields, that make the primary key. */
  readonly key: string | readonly string[];
  readonly fields: readonly string[];
  /** Other orders: name → the field, or fields, by which it sorts. Values must be unique within the table. */
  readonly orders?: { readonly [order: string]: string | readonly string[] };
  /** Fields whose values are texts kept by reference. */
  readonly texts?: readonly string[];
}
export type Schema = { readonly [table: string]: TableSchema };

/** Row types by table name. Every field is a string, number, boolean, {@link Text} or absent. */
export type Tables = { [table: string]: object };

export interface Range {
  readonly gt?: Key;
  readonly gte?: Key;
  readonly lt?: Key;
  readonly lte?: Key;
}

/** Rows by primary key: one answer per key, in order, `undefined` if there is none. */
export interface KeysQuery<N> {
  readonly from: N;
  readonly keys: readonly Key[];
  /** Long fields to fill in as strings: all, or those named. Default: references; `false`: references are not needed either. */
  readonly texts?: boolean | readonly string[];
}
/** Rows of a range, in the order `by` (default: the primary key). */
export interface RangeQuery<N> {
  readonly from: N;
  readonly range: Range;
  readonly by?: string;
  readonly reverse?: boolean;
  readonly skip?: number;
  readonly limit?: number;
  readonly texts?: boolean | readonly string[];
}
/** The number of rows in a range, in the order `by` (default: the primary key), without reading them. */
export interface CountQuery<N> {
  readonly from: N;
  readonly count: Range;
  readonly by?: string;
}
export type Query<T extends Tables> = {
  [N in keyof T & string]: KeysQuery<N> | RangeQuery<N> | CountQuery<N>;
}[keyof T & string];

type Found<T extends Tables, Q> =
  Q extends KeysQuery<infer N extends keyof T>
    ? (T[N] | undefined)[]
    : Q extends RangeQuery<infer N extends keyof T>
      ? T[N][]
      : Q extends CountQuery<unknown>
        ? number
        : never;
export type FoundAll<T extends Tables, Q extends readonly unknown[]> = {
  -readonly [I in keyof Q]: Found<T, Q[I]>;
};

/** Later writes of one plan win over earlier ones to the same key. */
export type Write<T extends Tables> = {
  [N in keyof T & string]: {
    readonly into: N;
    readonly put?: readonly T[N][];
    readonly delete?: readonly Key[];
    /** The plan knows that no row has the key of any in `put`, so none is looked for. If there is one, its texts are never freed. */
    readonly fresh?: boolean;
  };
}[keyof T & string];

export interface Plan<T extends Tables, R> {
  /** A plan may write nothing: no commit is made, and the answer is `value`. */
  readonly writes: readonly Write<T>[];
  /** Places of content that rows in `writes` are the first to name. The write rejects `content_gone` if one was swept meanwhile. */
  readonly places?: readonly string[];
  readonly value: R;
}

/** `strict`: acknowledged when the disk has it. `relaxed`: when the operating system or browser has it. */
export type Durability = 'strict' | 'relaxed';

/**
 * Bytes of content in one piece: the length of every chunk of a place but the last, so the chunk of a byte is found by division.
 * Stored places depend on it, so it may never change. Under 1 MB, which every browser stores without special treatment.
 */
export const CHUNK_BYTES = 512 * 1024;

/**
 * Where content lies beside the rows: chunks of bytes by place. A row names a place; a place that no row names is dropped. No place is
 * used twice, so a row once found names these bytes or none.
 */
export interface Blobs {
  /**
   * Stores `chunks` at a new place, as durable as asked when it answers; a small content may be held back until it is named.
   * A write then names the place (`Plan.places`), or it is dropped; until `release` or `drop` nobody here takes it for a leftover.
   * @param chunks of {@link CHUNK_BYTES}, the last one shorter; taken one at a time. They are neither changed nor kept
   * @returns the place
   */
  put(
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options?: { readonly durability?: Durability | undefined },
  ): Promise<string>;
  /** `undefined`: there is no such chunk, or no longer. @throws corrupt when it is not what was put */
  get(place: string, index: number): Promise<Uint8Array | undefined>;
  /** From now on a row names the place, or it may be swept. */
  release(place: string): void;
  drop(places: readonly string[]): Promise<void>;
  /**
   * Drops what no row names and nobody is about to name: leftovers of crashed writers.
   * @param named reads the places that rows name
   * @returns false, having done nothing, while others, whose plans are not known, have the database open, or write all the time
   */
  sweep(named: () => Promise<ReadonlySet<string>>): Promise<boolean>;
}

export interface CallOptions {
  /** Aborts the call with the signal's reason. A write that was already handed to the storage may still be done. */
  signal?: AbortSignal | undefined;
}

export interface WriteOptions extends CallOptions {
  readonly durability?: Durability | undefined;
  /** A full storage keeps some room for such writes. */
  readonly makesRoom?: MakesRoom | undefined;
}

/** The write frees more than it takes: with the next compaction (`later`), or as a part of one (`now`). */
export type MakesRoom = 'later' | 'now';

/** Must not throw, nor call the store. */
export type RowsWatcher = (keys: readonly SortKey[] | undefined) => void;

export interface Store<T extends Tables> {
  readonly blobs: Blobs;

  /** Answers all `queries` from one snapshot, which holds every commit acknowledged anywhere before the call. */
  read<const Q extends readonly Query<T>[]>(queries: Q, options?: CallOptions): Promise<FoundAll<T, Q>>;

  /**
   * As `read`, but at once, if everything needed is in memory, or some of it in a storage that answers at once, and no other context
   * can have written; otherwise `undefined`.
   * Saves the promise if the caller has one of its own anyway.
   */
  readNow<const Q extends readonly Query<T>[]>(queries: Q): FoundAll<T, Q> | undefined;

  /**
   * The row at a primary key, as `readNow` would answer it with these `texts`; `undefined` also if there is none. Saves the lists
   * around it.
   */
  rowNow<N extends keyof T & string>(from: N, key: Key, texts: readonly string[]): T[N] | undefined;

  /**
   * One field of the rows whose primary keys begin with `under`, at most `limit` of them, in order, if they lie together in memory
   * and no other context can have written; otherwise `undefined`. Saves the rows.
   */
  fieldNow<N extends keyof T & string, F extends keyof T[N]>(
    from: N,
    field: F,
    under: readonly KeyPart[],
    limit: number,
  ): T[N][F][] | undefined;

  /**
   * Shows whether anything was committed: as long as it is the same, `readNow` answers the same rows. `undefined` if that is not
   * known, because other contexts may have written.
   */
  stateNow(): number | undefined;

  /**
   * What a call should wait for before it is answered at once, if such calls have gone on for long: others then have their turn. Until
   * it resolves, `readNow` and its like answer nothing. `undefined`: no need to wait.
   */
  pause?(): Promise<void> | undefined;

  /**
   * Runs `work` at once; what it asks of `read` and `readNow` before it returns is answered from what opening has read, without
   * checking what others have committed since. For calls made before opening had read it.
   */
  asOpened?<R>(work: () => R): R;

  /**
   * Answers `queries`, calls `plan` with the answers, and commits what it returns: all of it or nothing.
   * `plan` is synchronous and pure; it may be called again after a lost race. If it throws, nothing is written and
   * the call rejects with the same error.
   */
  write<const Q extends readonly Query<T>[], R>(
    queries: Q,
    plan: (found: FoundAll<T, Q>) => Plan<T, R>,
    options?: WriteOptions,
  ): Promise<R>;

  /**
   * As `write`, but at once, if all that is needed is in memory, nothing else is being written and the storage takes it without
   * waiting; otherwise `undefined`, and nothing was written. Throws what `write` would reject with.
   */
  writeNow?<const Q extends readonly Query<T>[], R>(
    queries: Q,
    plan: (found: FoundAll<T, Q>) => Plan<T, R>,
    durability?: Durability | undefined,
  ): { readonly value: R } | undefined;

  /**
   * Calls `listener` after each commit that becomes visible here, this context's own and others' alike (those when heard of: a hint,
   * possibly late), and once with `destroyed` or `lost` when the storage is taken away from the store.
   * @returns the way to stop listening
   */
  watch(listener: (event: StoreEvent) => void): () => void;

  /**
   * Calls `changed` with the keys of the rows of `table` that a commit, from this context or another, wrote or removed, before
   * anything is answered from it; without keys if any row may have changed. It lasts as long as the store.
   */
  watchRows(table: keyof T & string, changed: RowsWatcher): void;

  /** Rewrites the storage so that dead data takes no room. It works in slices, while reads and writes go on. */
  compact(options?: CallOptions): Promise<void>;

  /** Sizes for people and tests; nothing depends on them. */
  stats(): StoreStats;

  /**
   * Waits for running writes, then closes the storage. Later calls reject `closed`.
   * @param discard it will be removed next: nothing is done to make the next opening quick
   */
  close(discard?: boolean): Promise<void>;
}

export type StoreEvent =
  | { readonly type: 'commit' }
  /** `evicted`: the storage itself took it away. */
  | { readonly type: 'destroyed'; readonly evicted?: true }
  /** Newer code changes the layout: calls are refused with `cause`, and so is opening it again. */
  | { readonly type: 'lost'; readonly cause: DatabaseError };

export interface StoreStats {
  readonly commits: number;
  readonly epoch: number;
  /** Rows held in memory apart from directory pages. */
  readonly recentRows: number;
  readonly pages: number;
  readonly pagesLoaded: number;
  /** Characters of long fields kept in memory, and their bound. */
  readonly cachedTextLength: number;
  readonly cachedTextLimit: number;
  readonly liveTextLength: number;
  readonly deadTextLength: number;
}
