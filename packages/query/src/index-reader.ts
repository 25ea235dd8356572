/**
 * What queries need of an index, and what the maintainer of indexes offers: the line between Mango's planner and the
 * rows of views. Keys are the emitted JSON; their order is CouchDB's (`collate`).
 */
import { type CallOptions, isGroup, type Json, type MapFunction, type Seq } from '@settledb/core';

/** What an index holds. Definitions of equal `id` are the same index. */
export interface IndexDefinition {
  /** A hash of everything that decides the rows: the map's source or fields, and its options. */
  readonly id: string;
  readonly map: MapFunction;
  /** The map does not change documents and keeps nothing of them: several maps may be given the same one. */
  readonly pure?: true;
  /** The keys that the map would emit for a document of this content, without values; `undefined`: only the map can tell. */
  readonly keysIn?: ((body: string) => readonly Json[] | undefined) | undefined;
  /** For messages. */
  readonly name?: string | undefined;
  /** When it is brought up to date without a query. Default: `idle`, once it was queried in this context. */
  readonly policy?: IndexPolicy | undefined;
}

/**
 * `lazy`: when it is queried. `idle`: soon after writes, when they pause. `eager`: as soon as something is written. No write
 * waits for it. An index that nobody queries becomes `lazy` after a while, until somebody does.
 */
export type IndexPolicy = 'lazy' | 'idle' | 'eager';

export const isPolicy = (value: unknown): value is IndexPolicy =>
  value === 'lazy' || value === 'idle' || value === 'eager';

/** A design document's setting for its indexes: `options.update`; or, as in CouchDB, `autoupdate: false`, which is `lazy`. */
export function policyOf(ddoc: object): IndexPolicy | undefined {
  const { autoupdate, options } = ddoc as { readonly autoupdate?: unknown; readonly options?: unknown };
  const update = isGroup(options) ? options.update : undefined;
  if (isPolicy(update)) return update;
  return autoupdate === false ? 'lazy' : undefined;
}

export interface IndexRow {
  readonly id: string;
  readonly key: Json;
  readonly value: Json;
}

/** A key with all its rows, or the rows of one document in it. */
export interface IndexBound {
  readonly key: Json;
  readonly id?: string;
  readonly inclusive: boolean;
}

/** Rows from one key to another. An absent bound does not limit; `null` is a bound. */
export interface IndexRange {
  readonly from?: IndexBound;
  readonly to?: IndexBound;
}

export interface IndexReadOptions extends CallOptions {
  readonly descending?: boolean;
  readonly limit?: number;
  /** `true` (default): brought up to date first. `false`: as it stands. `'lazy'`: as it stands, then brought up to date. */
  readonly update?: boolean | 'lazy';
}

export interface IndexAnswer {
  readonly rows: readonly IndexRow[];
  /** The seq up to which the index had every change. */
  readonly update_seq: Seq;
}

export interface IndexReader {
  /** Rows of several ranges from one state of the index, one answer for each range. */
  read(
    index: IndexDefinition,
    ranges: readonly IndexRange[],
    options?: IndexReadOptions,
  ): Promise<IndexAnswer[]>;
}
