/**
 * When to rewrite: checkpoints by themselves once reading the log on opening would cost more than it should, compaction when
 * asked or when most of the texts are dead. What is done is in `rewrite.ts`.
 */
import { closed, corrupt } from '@settledb/core';
import type { Follower } from './follower';
import type { Image } from './image';
import type { Journal } from './journal';
import { Overtaken, rewrite } from './rewrite';

/** A checkpoint is considered from this many commits on: reading 256 small records back costs about 3 ms. */
const COMMITS_MIN = 256;
/** … or rows: parsing 2,000 costs about 2 ms. */
const ROWS_MIN = 2048;
/** A checkpoint writes about one page a changed row at worst, so it waits until an eighth of the rows changed, … */
const CHANGED_SHARE = 1 / 8;
/** … but not beyond this many commits (20–30 ms of opening) */
const COMMITS_MAX = 2048;
/** … or rows held outside pages. */
const ROWS_MAX = 65_536;
/** Texts are compacted unasked when more than half of at least this many characters is dead. */
const DEAD_LENGTH_MIN = 4 * 1024 * 1024;
/** ms between the write that made it due and the checkpoint, so that a burst is not disturbed. */
const DELAY = 100;

export interface Rewritable {
  readonly journal: Journal;
  readonly image: Image;
  readonly follower: Follower;
  /** Runs `work` when no write of this context is under way, and lets none begin until it is done. */
  inTurn<R>(work: () => Promise<R>): Promise<R>;
}

export class Checkpointer {
  readonly #store: Rewritable;
  readonly #automatic: boolean;
  readonly #stopping = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: Promise<void> | undefined;
  /** After a failure, no unasked attempt before this commit. */
  #notBefore = 0;

  constructor(store: Rewritable, automatic: boolean) {
    this.#store = store;
    this.#automatic = automatic;
  }

  /** Called after each write: sees to it that a checkpoint that is due happens soon. */
  consider(): void {
    if (
      !this.#automatic ||
      this.#timer !== undefined ||
      this.#running !== undefined ||
      this.#stopping.signal.aborted
    )
      return;
    if (!isDue(this.#store.image, this.#notBefore)) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#run(false, this.#stopping.signal).then(
        () => this.consider(),
        () => this.#putOff(),
      );
    }, DELAY);
    unref(this.#timer);
  }

  /** Everything: all pages, all blocks that are mostly dead, leftovers. */
  async compact(signal: AbortSignal | undefined): Promise<void> {
    while (this.#running !== undefined) await this.#running.catch(() => undefined);
    const signals = [this.#stopping.signal, ...(signal === undefined ? [] : [signal])];
    await this.#run(true, AbortSignal.any(signals));
  }

  /** Ends what is under way; `finish`: unless a checkpoint is due, which then is made so that the next opening is quick. */
  async stop(finish: boolean): Promise<void> {
    clearTimeout(this.#timer);
    this.#stopping.abort(closed());
    await this.#running?.catch(() => undefined);
    if (!finish || !this.#automatic || !isDue(this.#store.image, this.#notBefore)) return;
    await this.#run(false, undefined).catch(() => undefined); // The log has everything; only the next opening is slower.
  }

  #run(full: boolean, signal: AbortSignal | undefined): Promise<void> {
    const running = this.#rewrite(full, signal).finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  async #rewrite(full: boolean, signal: AbortSignal | undefined): Promise<void> {
    const { journal, image, follower } = this.#store;
    await journal.exclusively(async () => {
      if (journal.shared) await follower.catchUp();
      // Another context may have made the checkpoint that was due here.
      if (!full && !isDue(image, this.#notBefore)) return;
      const { live, dead } = image.use.totals();
      const everything = full || (dead > live && dead > DEAD_LENGTH_MIN);
      await this.#unlessOvertaken(() => rewrite(this.#store, everything, signal));
      await journal.vacuum?.({ force: full, signal });
    });
  }

  /** Another context rewrote the storage, which `exclusively` should not let happen: then that is the rewrite. */
  async #unlessOvertaken(work: () => Promise<void>): Promise<void> {
    const { image, follower } = this.#store;
    const { epoch } = image;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error;
      await follower.catchUp();
      if (image.epoch === epoch)
        throw corrupt('a block that the directory names is not in the storage', error);
    }
  }

  #putOff(): void {
    this.#notBefore = this.#store.image.n + COMMITS_MIN;
  }
}

function isDue(image: Image, notBefore: number): boolean {
  if (image.n < notBefore) return false;
  const commits = image.n - image.through;
  let recent = 0;
  for (const { rows } of image.directory.tables.values()) recent += rows.recent.size;
  // Asked after each write: what is counted page by page only when it matters.
  if (commits < COMMITS_MIN && recent < ROWS_MIN) return false;
  let stored = 0;
  for (const { rows } of image.directory.tables.values()) {
    for (const count of rows.fences.counts) stored += count;
  }
  return recent >= stored * CHANGED_SHARE || commits >= COMMITS_MAX || recent >= ROWS_MAX;
}

/** A timer must not keep a Node process alive; browsers' timers are numbers and cannot. */
function unref(timer: unknown): void {
  if (typeof timer === 'object' && timer !== null && 'unref' in timer) (timer as { unref(): void }).unref();
}
