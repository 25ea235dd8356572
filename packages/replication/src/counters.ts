/** What a replication counts, and the shapes in which that is shown: change, result, status. */
import type { FeedError, Seq } from '@settledb/core';
import type { AnyDoc, FailedRow } from './peer';

export interface Counters {
  readonly start_time: string;
  /** Revisions fetched from the source. */
  readonly docs_read: number;
  /** Revisions that the target accepted. */
  readonly docs_written: number;
  /** Revisions that the target refused, and did not accept later. */
  readonly doc_write_failures: number;
  /** The first 1,000 of those failures, each with `id`, `rev`, `name`, `status`, `reason`. */
  readonly errors: readonly FailedRow[];
  /** Everything up to here was replicated. */
  readonly last_seq: Seq;
}

export interface ReplicationChange extends Counters {
  readonly ok: true;
  /** The documents written just now. */
  readonly docs: readonly AnyDoc[];
  /** How many changes of the source are still to come, if the source knows. */
  readonly pending?: number;
}

export interface ReplicationResult extends Counters {
  /** `false` in the `result` of an error. */
  readonly ok: boolean;
  readonly status: 'complete' | 'cancelled' | 'aborting';
  readonly end_time: string;
}

/**
 * `connecting`: asking both sides who they are and how far they have come · `transferring` · `idle`: live, and caught up ·
 * `waiting`: until it tries again after a failure · the last three say how it ended.
 */
export type Phase = 'connecting' | 'transferring' | 'idle' | 'waiting' | 'complete' | 'cancelled' | 'failed';

export const OVER: ReadonlySet<Phase> = new Set(['complete', 'cancelled', 'failed']);

export interface ReplicationStatus extends Counters {
  readonly phase: Phase;
  /**
   * Changes of the source that are not yet at the target, including those that were read. If the source counts by numbers but does
   * not say how many changes are left, there are at most so many. `undefined` if it says nothing.
   */
  readonly pending: number | undefined;
  /**
   * Characters of JSON fetched and written, attachments included: about bytes. A document is written as a whole; of one with more than
   * 1 MB of attachments these count as fetched while they come.
   */
  readonly bytes_read: number;
  readonly bytes_written: number;
  /** Attempts made: more than 1 after failures. */
  readonly attempts: number;
  /** Why the replication waits, or why it failed. */
  readonly error: FeedError | undefined;
}

/** Most denied documents listed; all are counted. The bound is needed because a live replication may run for months. */
export const MOST_ERRORS = 1000;

/** Of the denied rows `tried`, only those in `still` remain denied. */
export interface Retried {
  readonly tried: readonly Pick<FailedRow, 'id' | 'rev'>[];
  readonly still: readonly FailedRow[];
  readonly written: number;
}

/** What the transfer of `tried` once more came to: one that was cancelled does not say which of them it got to. */
export const retriedOf = (
  tried: readonly FailedRow[],
  { status, errors, docs_written }: ReplicationResult,
): Retried => ({ tried, still: status === 'cancelled' ? tried : errors, written: docs_written });

/** Rows are compared by id and revision: those that crossed to a page and back are other objects. */
export function afterRetry(errors: readonly FailedRow[], { tried, still }: Retried): FailedRow[] {
  const keyOf = ({ id, rev = '' }: Pick<FailedRow, 'id' | 'rev'>): string => JSON.stringify([id, rev]);
  const gone = new Set(tried.map(keyOf));
  return [...errors.filter((row) => !gone.has(keyOf(row))), ...still];
}
