/** What ends an attempt, and single documents that do so. */
import type { FailedRev } from './fetcher';
import { RevSet } from './rev-set';
import type { Run } from './transfer';

/** Attempts in a row that may fail for the same reason: a revision that cannot be fetched or is not accepted. */
const DOCUMENT_TRIES = 10;

/** Why an attempt ended early. */
export class Failure {
  readonly error: unknown;
  /** Single documents failed, while both peers are in order: whether none of them is tried again. Undefined for any other reason. */
  readonly givesUp: boolean | undefined;
  /** Revisions read and not written: shown in the error, but not counted for good, since they are tried again. */
  readonly lost: number;

  constructor(error: unknown, lost = 0, givesUp?: boolean) {
    this.error = error;
    this.lost = lost;
    this.givesUp = givesUp;
  }
}

/**
 * So many documents that fail in a row, with none between them that the target takes, are not to blame themselves. A block that is lost
 * in the source's storage has some thousands of small ones.
 */
const IN_A_ROW_MAX = 10_000;

/**
 * The documents that fail by themselves in an attempt: nothing is acknowledged from the first on. Their neighbours in the batch are
 * written. If there will be another attempt, this one ends with the batch; if not, it goes on with all that is behind, so that one
 * document that is damaged at the source, or never accepted, keeps nothing else back.
 */
export class Failures {
  readonly #run: Run;
  /** Of the first batch that had any. */
  readonly #first: FailedRev[] = [];
  #inARow = 0;
  /** It goes on after the batch that had these. */
  #goesOn = false;
  /** Documents that the target did not write. */
  lost = 0;

  constructor(run: Run) {
    this.#run = run;
  }

  get none(): boolean {
    return this.#first.length === 0;
  }

  add(failed: readonly FailedRev[]): void {
    this.#inARow += failed.length;
    if (!this.#goesOn) for (const each of failed) this.#first.push(each);
  }

  /** The target took documents, or refused them for good. */
  took(): void {
    this.#inARow = 0;
  }

  /** @throws Failure if any failed, unless the attempt goes on */
  endBatch(): void {
    if (this.none) return;
    this.#goesOn ||= !this.#run.settings.retry || triesOf(this.#first, this.#run) >= DOCUMENT_TRIES;
    if (!this.#goesOn || this.#inARow > IN_A_ROW_MAX) this.end();
  }

  /** @throws Failure if any failed */
  end(): void {
    if (!this.none) throw new Failure(this.#first[0]?.error, this.lost, this.#goesOn);
  }
}

/** Attempts that failed for the same revision. A document edited between two attempts fails anew: the next may find it at rest. */
function triesOf(failed: readonly FailedRev[], run: Run): number {
  const again = failed.some(({ id, rev }) => run.failed.has(id, rev));
  run.failed = RevSet.of(failed);
  run.documentTries = again ? run.documentTries + 1 : 1;
  return run.documentTries;
}
