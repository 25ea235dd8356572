/** The counters of one replication while it runs. */
import type { FeedError, Seq } from '@settledb/core';
import {
  afterRetry,
  type Counters,
  MOST_ERRORS,
  OVER,
  type Phase,
  type ReplicationChange,
  type ReplicationResult,
  type ReplicationStatus,
  type Retried,
} from './counters';
import type { AnyDoc, FailedRow } from './peer';
import { Watched } from './watch';

export class Progress extends Watched {
  readonly #startTime = new Date().toISOString();
  #read = 0;
  #written = 0;
  #failures = 0;
  #errors: FailedRow[] = [];
  #lengthRead = 0;
  #length = 0;
  #phase: Phase = 'connecting';
  /** Rows of changes that were read but not acknowledged, and those that come after them. */
  #underWay = 0;
  #after: number | undefined;
  /** `undefined` until something was acknowledged. */
  lastSeq: Seq | undefined;
  /** As of the last acknowledged batch; exact where the source says it. */
  pending: number | undefined;
  attempts = 0;
  error: unknown;
  /** Length of the documents that are being written; and how many of their streams the target waits for just now. */
  sending = 0;
  streamsAwaited = 0;

  get phase(): Phase {
    return this.#phase;
  }

  set phase(phase: Phase) {
    this.#phase = phase;
    this.changed();
  }

  get over(): boolean {
    return OVER.has(this.#phase);
  }

  begin(): void {
    this.attempts++;
    this.#underWay = 0;
    this.#after = undefined;
    this.phase = 'connecting';
  }

  /** Rows of changes were read. @param after how many come after them, as the source or the difference of its numbers says */
  saw(rows: number, after: number | undefined): void {
    this.#underWay += rows;
    this.#after = after;
    this.changed();
  }

  acknowledged(rows: number): void {
    this.#underWay -= rows;
    this.changed();
  }

  fetched(length: number): void {
    this.#lengthRead += length;
    this.changed();
  }

  /** Revisions were written, or denied for good. */
  wrote(read: number, written: number, length: number): void {
    this.#read += read;
    this.#written += written;
    this.#length += length;
    this.changed();
  }

  denied(row: FailedRow): void {
    this.#failures++;
    if (this.#errors.length < MOST_ERRORS) this.#errors.push(row);
    this.changed();
  }

  retried(again: Retried): void {
    const errors = afterRetry(this.#errors, again);
    this.#failures += errors.length - this.#errors.length;
    this.#errors = errors;
    this.#written += again.written;
    this.changed();
  }

  change(docs: readonly AnyDoc[]): ReplicationChange {
    const pending = this.pending === undefined ? {} : { pending: this.pending };
    return { ok: true, ...this.#counters(), docs, ...pending };
  }

  /** @param lost see `Failure` */
  result(status: ReplicationResult['status'], lost = 0): ReplicationResult {
    const counters = this.#counters();
    return {
      ok: status !== 'aborting',
      ...counters,
      docs_read: counters.docs_read + lost,
      doc_write_failures: counters.doc_write_failures + lost,
      end_time: new Date().toISOString(),
      status,
    };
  }

  status(): ReplicationStatus {
    const { phase, attempts, error } = this;
    return {
      phase,
      ...this.#counters(),
      pending: this.#after === undefined ? undefined : this.#underWay + this.#after,
      bytes_read: this.#lengthRead,
      bytes_written: this.#length,
      attempts,
      error: error as FeedError | undefined,
    };
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
