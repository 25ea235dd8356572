/**
 * What a live replication does about its checkpoints once it has caught up.
 *
 * It writes them down at once after a while of quiet, and of edits that follow one another only the last one's, for all of them: a checkpoint
 * is a read and a write on each side, which the next edit would wait for.
 *
 * And while nothing is to be written it looks whether the target was restored from a backup, or made anew. Of a source the feed breaks when its
 * server ends. Of a target nothing would be asked before the next change, which may be days away, and until then it would lack what it had
 * acknowledged since its backup.
 */
import { unref } from '@settledb/core';
import type { Checkpoints } from './checkpoint';
import type { Progress } from './progress';

/** Between two looks, each one GET of a checkpoint: of 5,000 devices, eight in a second. */
const LOOK_MS = 10 * 60_000;

interface RestInit {
  readonly checkpoints: Checkpoints;
  readonly progress: Progress;
  readonly reading: AbortSignal;
  readonly writing: AbortSignal;
  /** Called when the target was found to be set back. Without it, no look is taken. */
  readonly setBack: (() => void) | undefined;
}

export class Rest {
  readonly #init: RestInit;
  #hasBegun = false;
  #write: ReturnType<typeof setTimeout> | undefined;
  readonly #look: ReturnType<typeof setInterval> | undefined;

  constructor(init: RestInit) {
    this.#init = init;
    if (init.setBack === undefined) return;
    this.#look = setInterval(() => void this.#lookAtTarget(), LOOK_MS);
    unref(this.#look);
  }

  /**
   * Nothing more is to be transferred for now.
   *
   * @param mayWait what follows other edits may be written down later
   * @throws what keeps it from being written down, or did so in the meantime
   */
  async begin(mayWait: boolean): Promise<void> {
    const { checkpoints, writing } = this.#init;
    const left = mayWait && this.#hasBegun ? checkpoints.dueIn : 0;
    this.#hasBegun = true;
    checkpoints.share();
    if (!checkpoints.behind) return;
    if (left <= 0) await checkpoints.flush(writing);
    else if (this.#write === undefined) {
      this.#write = setTimeout(() => void this.#writeNow(), left);
      unref(this.#write);
    }
  }

  end(): void {
    clearTimeout(this.#write);
    clearInterval(this.#look);
  }

  async #writeNow(): Promise<void> {
    const { checkpoints, writing, setBack } = this.#init;
    this.#write = undefined;
    // A database that cannot be reached now is heard of when something is to be transferred: then this is due, and fails there.
    await checkpoints.flush(writing).catch(() => undefined);
    if (checkpoints.replaced) setBack?.();
  }

  async #lookAtTarget(): Promise<void> {
    const { checkpoints, progress, reading, setBack } = this.#init;
    if (progress.phase !== 'idle') return;
    // A target that does not answer now is heard of when something is written.
    await checkpoints.checkTarget(reading).catch(() => undefined);
    if (checkpoints.replaced) setBack?.();
  }
}
