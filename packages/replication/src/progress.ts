/** The counters of one replication, and the shapes in which they are shown: change, result, status. */
import type { Seq } from '@settledb/core';
import type { AnyDoc, FailedRow } from './peer';

interface Counters {
  readonly start_time: string;
  /** Revisions fetched from the source. */
  readonly docs_read: number;
  /** Revisions that the target took. */
  readonly docs_written: number;
  /** Revisions that the target refused. */
  readonly doc_write_failures: number;
  /** The first {@link MOST_ERRORS} of those, each with `id`, `name`, `status`, `reason`. */
  readonly errors: readonly FailedRow[];
  /** Everything up to here was replicated. */
  readonly last_seq: Seq;
}

export interface ReplicationChange extends Counters {
  readonly ok: true;
  /** Written just now. */
  readonly docs: readonly AnyDoc[];
  /** Changes of the source yet to come, where it knows. */
  readonly pending?: number;
}

export interface ReplicationResult extends Counters {
  /** `false` in the `result` of an error. */
  readonly ok: boolean;
  readonly status: 'complete' | 'cancelled' | 'aborting';
  readonly end_time: string;
}

/**
 * `connecting`: asking both sides who they are and how far they came · `transferring` · `idle`: a live one that is caught up ·
 * `waiting`: to try again after a failure · the last three are how it ended.
 */
export type Phase = 'connecting' | 'transferring' | 'idle' | 'waiting' | 'complete' | 'cancelled' | 'failed';

export interface ReplicationStatus extends Counters {
  readonly phase: Phase;
  /** Changes of the source yet to come; `undefined` where it does not say. */
  readonly pending: number | undefined;
  /** Characters of JSON written, attachments included: about bytes. */
  readonly bytes_written: number;
  /** Attempts made: more than 1 after failures. */
  readonly attempts: number;
  /** Why it waits, or why it failed. */
  readonly error: unknown;
}

/** Denied documents listed; all are counted. A live replication may run for months. */
const MOST_ERRORS = 1000;

/** Failures of an attempt that ends it: shown in its error, not counted for good, since they are tried again. */
export interface LostWork {
  readonly docs_read: number;
  readonly doc_write_failures: number;
}

export class Progress {
  readonly #startTime = new Date().toISOString();
  #read = 0;
  #written = 0;
  #failures = 0;
  readonly #errors: FailedRow[] = [];
  #length = 0;
  phase: Phase = 'connecting';
  /** `undefined` until anything was acknowledged. */
  lastSeq: Seq | undefined;
  pending: number | undefined;
  attempts = 0;
  error: unknown;

  /** Revisions were written, or denied for good. */
  wrote(read: number, written: number, length: number): void {
    this.#read += read;
    this.#written += written;
    this.#length += length;
  }

  denied(row: FailedRow): void {
    this.#failures++;
    if (this.#errors.length < MOST_ERRORS) this.#errors.push(row);
  }

  change(docs: readonly AnyDoc[]): ReplicationChange {
    const pending = this.pending === undefined ? {} : { pending: this.pending };
    return { ok: true, ...this.#counters(), docs, ...pending };
  }

  result(status: ReplicationResult['status'], lost?: LostWork): ReplicationResult {
    const counters = this.#counters();
    return {
      ok: status !== 'aborting',
      ...counters,
      docs_read: counters.docs_read + (lost?.docs_read ?? 0),
      doc_write_failures: counters.doc_write_failures + (lost?.doc_write_failures ?? 0),
      end_time: new Date().toISOString(),
      status,
    };
  }

  status(): ReplicationStatus {
    const { phase, pending, attempts, error } = this;
    return { phase, ...this.#counters(), pending, bytes_written: this.#length, attempts, error };
  }

  #counters(): Counters {
    return {
      start_time: this.#startTime,
      docs_read: this.#read,
      docs_written: this.#written,
      doc_write_failures: this.#failures,
      errors: [...this.#errors],
      last_seq: this.lastSeq ?? 0,
    };
  }
}
