/** The status of a replication that runs elsewhere, in a worker, as its page shows it. */
import type { FeedError } from '@settledb/core';
import { afterRetry, OVER, type ReplicationResult, type ReplicationStatus, type Retried } from './counters';
import { Progress } from './progress';
import { Watched } from './watch';

/** The status of a replication that runs elsewhere, as last reported. */
export class StatusBoard extends Watched {
  #status: ReplicationStatus = new Progress().status();

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

  /** It has ended, perhaps without a last status: its worker is lost, or goes on for other pages. @returns the whole result */
  ended(result: Partial<ReplicationResult>): ReplicationResult {
    const phase = result.status === 'cancelled' ? 'cancelled' : 'complete';
    if (!this.over) this.status = { ...this.#status, phase, error: undefined };
    return this.#result(result, phase);
  }

  /** Like {@link ended}, but with an error. @returns the counters that go with it, as far as they were reported */
  failed(error: unknown): ReplicationResult {
    if (!this.over) this.status = { ...this.#status, phase: 'failed', error: error as FeedError };
    return this.#result({}, 'aborting');
  }

  /** Holds until the worker, which hears of the retry too, reports again. */
  retried(again: Retried): void {
    const { errors, doc_write_failures, docs_written } = this.#status;
    const left = afterRetry(errors, again);
    this.status = {
      ...this.#status,
      errors: left,
      doc_write_failures: doc_write_failures + left.length - errors.length,
      docs_written: docs_written + again.written,
    };
  }

  #result(given: Partial<ReplicationResult>, status: ReplicationResult['status']): ReplicationResult {
    const { start_time, docs_read, docs_written, doc_write_failures, errors, last_seq } = this.#status;
    const told = { start_time, docs_read, docs_written, doc_write_failures, errors, last_seq };
    const ok = status !== 'aborting';
    return { ok, ...told, end_time: new Date().toISOString(), ...given, status };
  }
}
