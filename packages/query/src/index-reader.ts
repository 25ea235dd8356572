/**
 * What queries need of an index, and what whoever maintains indexes offers: the line between Mango's planner and the
 * rows of views. Keys are the emitted JSON; their order is CouchDB's (`collate`).
 */
import type { CallOptions, Json, MapFunction, Seq } from '@settledb/core';

/** What an index holds. Definitions of equal `id` are the same index, whoever asks. */
export interface IndexDefinition {
  /** A hash of all that decides the rows: the map's source or fields, and its options. */
  readonly id: string;
  readonly map: MapFunction;
}

export interface IndexRow {
  readonly id: string;
  readonly key: Json;
  readonly value: Json;
}

/** Rows from a key to a key. A bound that is absent is no bound; `null` is one. */
export interface IndexRange {
  readonly from?: { readonly key: Json; readonly id?: string; readonly inclusive: boolean };
  readonly to?: { readonly key: Json; readonly id?: string; readonly inclusive: boolean };
}

export interface IndexReadOptions extends CallOptions {
  readonly descending?: boolean;
  readonly skip?: number;
  readonly limit?: number;
  /** `true` (default): brought up to date first. `false`: as it stands. `'lazy'`: as it stands, then brought up to date. */
  readonly update?: boolean | 'lazy';
}

export interface IndexAnswer {
  readonly rows: readonly IndexRow[];
  /** Rows in the whole index. */
  readonly total_rows: number;
  /** The seq the index stood at. */
  readonly update_seq: Seq;
}

export interface IndexReader {
  /** Rows of several ranges from one state of the index, one answer a range. */
  read(
    index: IndexDefinition,
    ranges: readonly IndexRange[],
    options?: IndexReadOptions,
  ): Promise<IndexAnswer[]>;
}
