/** What reading the documents of a plan takes and returns, and how many are read at a time. */
import {
  type CallOptions,
  type Database,
  type DocRow,
  type ExistingDoc,
  type Json,
  readSize,
  type Seq,
} from '@settledb/core';
import type { IndexReader } from '../index-reader';
import type { WantedText } from './texts';

export interface Source {
  readonly database: Pick<Database, 'name' | 'allDocs'>;
  readonly reader: IndexReader;
}

/** A place in the order of a plan. */
export interface Place {
  /** The key of the row; `null` in the order of ids. */
  readonly key: Json;
  readonly id: string;
}

export interface ReadOptions extends CallOptions {
  readonly update?: boolean | 'lazy' | undefined;
  readonly conflicts?: boolean | undefined;
  /** Texts that every matching document has. */
  readonly texts?: readonly WantedText[] | undefined;
  /** Number of documents that suffices if all of them match. */
  readonly wanted: number;
  /** Goes on behind this place. */
  readonly after?: Place | undefined;
}

export interface Found {
  readonly key: Json;
  readonly doc: ExistingDoc<object>;
}

/** How much was examined, and the seqs of the states that answered. */
export interface Tally {
  keys: number;
  docs: number;
  readonly seqs: Set<Seq>;
}

/** Documents in memory at a time: at 1 KB each a megabyte. */
const MAX_BATCH = 1_000;
/** If the first batch did not suffice, many documents do not match. */
const MIN_BATCH = 32;

/** First as many as are wanted, which usually suffices; then more and more. */
export function* batchSizes(wanted: number): Generator<number, never> {
  for (let size = firstBatch(wanted); ; size = nextBatch(size)) yield size;
}

export const firstBatch = (wanted: number): number => Math.min(wanted, MAX_BATCH);
export const nextBatch = (size: number, max = MAX_BATCH): number =>
  Math.min(Math.max(size * 2, MIN_BATCH), max);
/** As {@link nextBatch}, after so many rows, of which these were read with their texts. */
export const nextBatchAfter = (size: number, count: number, rows: readonly (DocRow | undefined)[]): number =>
  nextBatch(size, readSize(count, rows, MAX_BATCH));
