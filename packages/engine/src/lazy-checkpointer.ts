/**
 * Checkpoints and compaction, whose code is loaded when there is something to rewrite: once a checkpoint is to be considered, or when
 * compaction is asked for. The code then decides when (`checkpoint.ts`).
 */
import { closed, inTime, unref, untilAborted } from '@settledb/core';
import type { Checkpointer, Rewritable } from './checkpoint';
import { COMMITS_MIN, isLong, isReadSlowly } from './log-length';
import { rewriteCode } from './rewrite-code';

/** From the first write that may need the code until it is loaded: what is written at once comes before it. */
const DELAY_MS = 100;
/** Closing waits no longer for the code: a network that stands still may never bring it. The log has everything; the next opening is slower. */
const CLOSING_MS = 2_000;

export class LazyCheckpointer {
  readonly #store: Rewritable;
  readonly #automatic: boolean;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #loading: Promise<Checkpointer> | undefined;
  #loaded: Checkpointer | undefined;
  /** The code could not be loaded: it is not asked for before this commit, unless for a compaction. */
  #notBefore = 0;
  #isEnding = false;
  #isOver = false;

  /** @param automatic makes checkpoints unasked */
  constructor(store: Rewritable, automatic: boolean) {
    this.#store = store;
    this.#automatic = automatic;
    // It waits for a pause, if nothing is written; if the code is not to be had, a write asks again.
    if (automatic && isReadSlowly(store.image)) this.#load().catch(() => {});
  }

  /** Called after each write: makes sure that a due checkpoint happens soon. */
  consider(): void {
    if (this.#loaded !== undefined) this.#loaded.consider();
    else if (this.#timer === undefined && !this.#isEnding && this.#mayBeDue())
      this.#timer = unref(setTimeout(() => this.#begin(), DELAY_MS));
  }

  /** Rewrites everything: all pages, all blocks that are mostly dead, leftovers. */
  async compact(signal: AbortSignal | undefined): Promise<void> {
    const loaded = this.#loaded ?? (await untilAborted(this.#load(), signal));
    await loaded.compact(signal);
  }

  /** Ends what is running. @param finish makes a checkpoint that is due */
  async stop(finish: boolean): Promise<void> {
    this.#isEnding = true;
    clearTimeout(this.#timer);
    if (this.#loaded === undefined && finish && this.#mayBeDue())
      await inTime(this.#load(), CLOSING_MS, closed).catch(() => {});
    this.#isOver = true;
    await this.#loaded?.stop(finish);
  }

  #begin(): void {
    this.#load().then(
      (loaded) => loaded.consider(),
      () => {
        this.#timer = undefined;
        this.#notBefore = this.#store.image.n + COMMITS_MIN;
      },
    );
  }

  #mayBeDue(): boolean {
    const { image } = this.#store;
    return this.#automatic && image.n >= this.#notBefore && isLong(image);
  }

  #load(): Promise<Checkpointer> {
    this.#loading ??= rewriteCode.load().then(
      ({ Checkpointer }) => {
        this.#loaded = new Checkpointer(this.#store, this.#automatic);
        if (this.#isOver) void this.#loaded.stop(false);
        return this.#loaded;
      },
      (error: unknown) => {
        this.#loading = undefined;
        throw error;
      },
    );
    return this.#loading;
  }
}
