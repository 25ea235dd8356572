/** The counters of one replication, and the shapes in which they are shown: change, result, status. */
import type { Seq } from '@settledb/core';
import type { AnyDoc, FailedRow } from './peer';
import { RevSet } from './rev-set';

interface Counters {
  readonly start_time: string;
  /** Revisions fetched from the source. */
  readonly docs_read: number;
  /** Revisions that the target took. */
  readonly docs_written: number;
  /** Revisions that the target refused, and did not take later. */
  readonly doc_write_failures: number;
  /** The first {@link MOST_ERRORS} of those, each with `id`, `rev`, `name`, `status`, `reason`. */
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

const OVER: ReadonlySet<Phase> = new Set(['complete', 'cancelled', 'failed']);

export interface ReplicationStatus extends Counters {
  readonly phase: Phase;
  /**
   * Changes of the source that are not yet at the target, read ones included. Where the source counts by numbers but does
   * not say how many changes are left: at most so many. `undefined` where it does not say anything.
   */
  readonly pending: number | undefined;
  /** Characters of JSON fetched and written, attachments included: about bytes. */
  readonly bytes_read: number;
  readonly bytes_written: number;
  /** Attempts made: more than 1 after failures. */
  readonly attempts: number;
  /** Why it waits, or why it failed. */
  readonly error: unknown;
}

/** Denied documents listed; all are counted. A live replication may run for months. */
const MOST_ERRORS = 1000;

/** Of the denied rows `tried`, only those of `still` are denied now. */
export interface Retried {
  readonly tried: readonly FailedRow[];
  readonly still: readonly FailedRow[];
  readonly written: number;
}

/** By their names: rows that crossed to a page and back are others. */
function afterRetry(errors: readonly FailedRow[], { tried, still }: Retried): FailedRow[] {
  const gone = new RevSet();
  for (const { id, rev = '' } of tried) gone.add(id, rev);
  return [...errors.filter(({ id, rev = '' }) => !gone.has(id, rev)), ...still];
}

/** Failures of an attempt that ends it: shown in its error, not counted for good, since they are tried again. */
export interface LostWork {
  readonly docs_read: number;
  readonly doc_write_failures: number;
}

/** What {@link watch} needs of whatever has a status. */
export interface Watched {
  /** Nothing will change any more. */
  readonly over: boolean;
  /** Calls `hear` with every change from now on. @returns the way to stop that */
  listen(hear: () => void): () => void;
}

/** The status of a replication that runs elsewhere, as it was told last. */
export class StatusBoard implements Watched {
  readonly #listeners = new Set<() => void>();
  #status: ReplicationStatus = { ...new Progress().status(), attempts: 0 };

  get status(): ReplicationStatus {
    return this.#status;
  }

  set status(status: ReplicationStatus) {
    this.#status = status;
    for (const hear of this.#listeners) hear();
  }

  get over(): boolean {
    return OVER.has(this.#status.phase);
  }

  /** It has ended, which its status may not have told: who did the work is lost, or goes on for others. @returns the whole result */
  ended(result: Partial<ReplicationResult>): ReplicationResult {
    const phase = result.status === 'cancelled' ? 'cancelled' : 'complete';
    if (!this.over) this.status = { ...this.#status, phase, error: undefined };
    return this.#result(result, phase);
  }

  /** As {@link ended}, by an error. @returns the counters that go with it, as far as they were told */
  failed(error: unknown): ReplicationResult {
    if (!this.over) this.status = { ...this.#status, phase: 'failed', error };
    return this.#result({}, 'aborting');
  }

  /** Until more is told by who does the work, and has heard of it too. */
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

  listen(hear: () => void): () => void {
    this.#listeners.add(hear);
    return () => this.#listeners.delete(hear);
  }

  #result(given: Partial<ReplicationResult>, status: ReplicationResult['status']): ReplicationResult {
    const { start_time, docs_read, docs_written, doc_write_failures, errors, last_seq } = this.#status;
    const told = { start_time, docs_read, docs_written, doc_write_failures, errors, last_seq };
    const ok = status !== 'aborting';
    return { ok, ...told, end_time: new Date().toISOString(), ...given, status };
  }
}

export class Progress implements Watched {
  readonly #startTime = new Date().toISOString();
  #read = 0;
  #written = 0;
  #failures = 0;
  #errors: FailedRow[] = [];
  #lengthRead = 0;
  #length = 0;
  #phase: Phase = 'connecting';
  /** Rows read of the changes and not acknowledged, and what comes after those. */
  #underWay = 0;
  #after: number | undefined;
  #version = 0;
  readonly #listeners = new Set<() => void>();
  /** `undefined` until anything was acknowledged. */
  lastSeq: Seq | undefined;
  /** Exact, as of the last acknowledged batch, where the source says. */
  pending: number | undefined;
  attempts = 0;
  error: unknown;

  get phase(): Phase {
    return this.#phase;
  }

  set phase(phase: Phase) {
    this.#phase = phase;
    this.#touch();
  }

  /** Goes up with everything that shows. */
  get version(): number {
    return this.#version;
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

  /** Rows of changes were read. @param after what the source, or the difference of its numbers, says comes after them */
  saw(rows: number, after: number | undefined): void {
    this.#underWay += rows;
    this.#after = after;
    this.#touch();
  }

  acknowledged(rows: number): void {
    this.#underWay -= rows;
    this.#touch();
  }

  fetched(length: number): void {
    this.#lengthRead += length;
    this.#touch();
  }

  /** Revisions were written, or denied for good. */
  wrote(read: number, written: number, length: number): void {
    this.#read += read;
    this.#written += written;
    this.#length += length;
    this.#touch();
  }

  denied(row: FailedRow): void {
    this.#failures++;
    if (this.#errors.length < MOST_ERRORS) this.#errors.push(row);
    this.#touch();
  }

  retried(again: Retried): void {
    const errors = afterRetry(this.#errors, again);
    this.#failures += errors.length - this.#errors.length;
    this.#errors = errors;
    this.#written += again.written;
    this.#touch();
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
    const { phase, attempts, error } = this;
    return {
      phase,
      ...this.#counters(),
      pending: this.#after === undefined ? undefined : this.#underWay + this.#after,
      bytes_read: this.#lengthRead,
      bytes_written: this.#length,
      attempts,
      error,
    };
  }

  listen(hear: () => void): () => void {
    this.#listeners.add(hear);
    return () => this.#listeners.delete(hear);
  }

  #touch(): void {
    this.#version++;
    for (const hear of this.#listeners) hear();
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

/** `make()` now, and again when anything has changed since it was taken, until all are over. */
export async function* watch<T>(all: readonly Watched[], make: () => T): AsyncGenerator<T, void> {
  let changed = true;
  let wake: (() => void) | undefined;
  const leaves = all.map((one) =>
    one.listen(() => {
      changed = true;
      wake?.();
    }),
  );
  try {
    for (;;) {
      if (!changed && all.every((one) => one.over)) return;
      if (!changed) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      changed = false;
      yield make();
    }
  } finally {
    for (const leave of leaves) leave();
  }
}
