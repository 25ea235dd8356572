/** The status of a replication that runs elsewhere, in a worker, as its page shows it. */
import type { FeedError } from '@settledb/core';
import {
  afterRetry,
  MOST_ERRORS,
  OVER,
  type ReplicationResult,
  type ReplicationStatus,
  type Retried,
} from './counters';
import { Progress } from './progress';
import { Watched } from './watch';

/** What adds up where one worker after another does the work. */
const SUMS = ['docs_read', 'docs_written', 'doc_write_failures', 'bytes_read', 'bytes_written'] as const;

/** The status of a replication that runs elsewhere, as last reported. */
export class StatusBoard extends Watched {
  #status: ReplicationStatus = new Progress().status();
  /** As the worker before left it: each counts only its own work, and its denied documents are to be transferred once more too. */
  #before = this.#status;

  get status(): ReplicationStatus {
    return this.#status;
  }

  set status(status: ReplicationStatus) {
    this.#status = status;
    this.changed();
  }

  get over(): boolean {
    return OVER.has(this.#status.phase);
  }

  /**
   * What a worker has counted, with what those before it have. One that goes on with the same replication, since other pages follow it, has
   * counted from its beginning.
   */
  counted<C extends Partial<ReplicationStatus>>(given: C): C {
    const last = this.#status;
    if (given.start_time && given.start_time !== last.start_time) this.#before = last;
    const before = this.#before;
    const total: { -readonly [Key in keyof ReplicationStatus]?: ReplicationStatus[Key] } = { ...given };
    for (const key of SUMS) if (key in given) total[key]! += before[key];
    if (given.errors) total.errors = before.errors.concat(given.errors).slice(0, MOST_ERRORS);
    return total as C;
  }

  /** It has ended, perhaps without a last status: its worker is lost, or goes on for other pages. @returns the whole result */
  ended(result: Partial<ReplicationResult>): ReplicationResult {
    const phase = result.status === 'cancelled' ? 'cancelled' : 'complete';
    if (!this.over) this.status = { ...this.#status, phase, error: undefined };
    return this.#result(this.counted(result), phase);
  }

  /** Like {@link ended}, but with an error. @returns the counters that go with it, as far as they were reported */
  failed(error: unknown): ReplicationResult {
    if (!this.over) this.status = { ...this.#status, phase: 'failed', error: error as FeedError };
    return this.#result({}, 'aborting');
  }

  /** Holds until the worker, which hears of the retry too, reports again: with all that is still denied. */
  retried(again: Retried): void {
    this.#before = retriedOnce(this.#before, { ...again, still: [], written: 0 });
    this.status = retriedOnce(this.#status, again);
  }

  #result(given: Partial<ReplicationResult>, status: ReplicationResult['status']): ReplicationResult {
    const { start_time, docs_read, docs_written, doc_write_failures, errors, last_seq } = this.#status;
    const told = { start_time, docs_read, docs_written, doc_write_failures, errors, last_seq };
    const ok = status !== 'aborting';
    return { ok, ...told, end_time: new Date().toISOString(), ...given, status };
  }
}

function retriedOnce(status: ReplicationStatus, again: Retried): ReplicationStatus {
  const errors = afterRetry(status.errors, again);
  return {
    ...status,
    errors,
    doc_write_failures: status.doc_write_failures + errors.length - status.errors.length,
    docs_written: status.docs_written + again.written,
  };
}
