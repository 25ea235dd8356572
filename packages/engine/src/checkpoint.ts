/**
 * Decides when to rewrite. Checkpoints are made unasked once reading the log on opening would cost more than it should, and sooner if
 * they cost little and nothing is being written; compaction happens when asked for, or when most of the texts are dead. The work
 * itself is in `rewrite-alone.ts`.
 */
import { afterTimer, closed, type Store, type Tables, unref, untilAborted, withEither } from '@settledb/core';
import type { Follower } from './follower';
import type { Image } from './image';
import type { Journal } from './journal';
import { COMMITS_MIN, IDLE_COMMITS_MIN, isLong, isReadSlowly, LENGTH_MAX, lengthOf } from './log-length';
import { rewriteAlone } from './rewrite-alone';
import type { Turn } from './turn';
import { isWorthwhile } from './worthwhile';

/** A checkpoint writes at worst about one page per changed row, so it waits until an eighth of the rows has changed, … */
const CHANGED_SHARE = 1 / 8;
/** … but no longer than this many commits (20–30 ms of opening) */
const COMMITS_MAX = 2048;
/** … or rows held outside pages. */
const ROWS_MAX = 65_536;
/** While writes go on, a checkpoint that is due waits for them to end, but no longer than this many commits, … */
const BUSY_COMMITS_MIN = 1024;
/** … then for this many times as long as the last one took: they are to take little of the time, however small the writes are, … */
const REST = 8;
/** … but no longer than this many commits (0.2 s of opening, and only if the writing was cut off) … */
const BUSY_COMMITS_MAX = 16_384;
/** … or rows: so an index of 10,000 rows is built without writing its first pages five times (20 ms of opening). */
const BUSY_ROWS_MAX = 16_384;
/** … if they are at least this share of the rows in pages: where ids are random, all pages are written anew. */
const BUSY_SHARE = 1 / 2;
/** … or characters: keys take about twice as much in memory, and go on to grow while the checkpoint is made, as dead texts do. */
const BUSY_LENGTH_MAX = 32 * 1024 * 1024;
/** ms without a write after which a due checkpoint is made. */
const DELAY = 100;
/** ms without a write after which a checkpoint may write more pages, so that the next opening does not have to read a long log. */
const QUIET_DELAY = 5_000;
/** A compaction asked for while another context rewrites the storage looks again every this many ms, … */
const OTHERS_MS = 50;
/** … this many times, for a minute: then the dead room is left to the next one. A frozen tab may hold the place for hours. */
const OTHERS_LOOKS_MAX = 1_200;
/**
 * As {@link DELAY}, for data that ends with the process: it is hardly ever opened again, and the work would delay what comes next. Not
 * if there are dead texts, which take memory: 1.2 GB came within two seconds.
 */
const DELAY_TRANSIENT = 2_000;

export interface Rewritable {
  readonly journal: Journal;
  readonly image: Image;
  readonly follower: Follower;
  readonly turn: Pick<Turn, 'over'>;
  /** Access to its rows. */
  readonly rows: Pick<Store<Tables>, 'read' | 'write'>;
  /** Runs `work` when no write of this context is running, and lets none begin until it is done. */
  inTurn<R>(work: () => Promise<R>): Promise<R>;
}

export class Checkpointer {
  readonly #store: Rewritable;
  readonly #automatic: boolean;
  /** Aborted first: nothing more begins unasked, and callers are no longer given way. Then `#stopping` ends everything. */
  readonly #ending = new AbortController();
  readonly #stopping = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Of the timer, ms. */
  #delay = 0;
  /** See {@link QUIET_DELAY}. */
  #quietTimer: ReturnType<typeof setTimeout> | undefined;
  /** While what runs may write more pages, unless something is written: the last commit when it began. */
  #quietAt: number | undefined;
  /** That was not worthwhile, or failed: it is not tried again before this commit. */
  #quietNotBefore = 0;
  #running: Promise<boolean> | undefined;
  /** Whether what runs is a checkpoint, not a compaction. */
  #isCheckpoint = false;
  /** After a failure, no unasked attempt before this commit. */
  #notBefore = 0;
  /** A checkpoint was found not to be worthwhile: it is not considered again before this commit. */
  #idleNotBefore = 0;
  /** ms, by `performance.now`: while writes go on, no checkpoint before this. */
  #restsUntil = 0;

  constructor(store: Rewritable, automatic: boolean) {
    this.#store = store;
    this.#automatic = automatic;
    this.#awaitQuiet();
  }

  /** Called after each write: makes sure that a due checkpoint happens soon. */
  consider(): void {
    const { image, journal } = this.#store;
    if (!this.#automatic || this.#running !== undefined || this.#ending.signal.aborted) return;
    const delay = journal.transient === true && image.use.deadLength === 0 ? DELAY_TRANSIENT : DELAY;
    if (this.#timer !== undefined && delay >= this.#delay) return;
    if (!this.#isConsidered()) return;
    const { n } = image;
    if (n < this.#idleNotBefore && !isDue(image)) {
      this.#awaitQuiet();
      return;
    }
    clearTimeout(this.#timer);
    this.#delay = delay;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#running !== undefined) return;
      const paused = image.n === n;
      if (isDue(image) ? paused || isPressing(image, performance.now() < this.#restsUntil) : paused)
        this.#runUnasked();
      else this.consider();
    }, delay);
    unref(this.#timer);
  }

  /**
   * Where changes lie scattered, 25,000 rows of 200,000 make no checkpoint due, and each opening took 60 ms longer for them. So called
   * after opening, and once a checkpoint was found not to be worthwhile.
   */
  #awaitQuiet(): void {
    const { image, journal } = this.#store;
    const { n } = image;
    if (this.#quietTimer !== undefined || n < this.#quietNotBefore || !isReadSlowly(image)) return;
    if (!this.#automatic || journal.transient === true || this.#ending.signal.aborted) return;
    this.#quietTimer = setTimeout(() => {
      this.#quietTimer = undefined;
      if (image.n !== n || this.#timer !== undefined || this.#running !== undefined) this.#awaitQuiet();
      else this.#runUnasked(n);
    }, QUIET_DELAY);
    unref(this.#quietTimer);
  }

  /** @param quietAt see `#quietAt` */
  #runUnasked(quietAt?: number): void {
    const from = performance.now();
    this.#quietAt = quietAt;
    this.#run(false, this.#stopping.signal, this.#ending.signal).then(
      () => {
        const to = performance.now();
        this.#restsUntil = to + (to - from) * REST;
        this.consider();
      },
      () => this.#putOff(quietAt !== undefined),
    );
  }

  /** Rewrites everything: all pages, all blocks that are mostly dead, leftovers. */
  compact(signal: AbortSignal | undefined): Promise<void> {
    return withEither(this.#stopping.signal, signal, (ending) => this.#compact(ending));
  }

  async #compact(ending: AbortSignal): Promise<void> {
    for (let looks = 0; looks < OTHERS_LOOKS_MAX; looks++) {
      while (this.#running !== undefined) await this.#running.catch(() => undefined);
      ending.throwIfAborted();
      if (await this.#run(true, ending)) return;
      await untilAborted(afterTimer(OTHERS_MS), ending);
    }
  }

  /**
   * Ends what is running. `finish`: a checkpoint that is due is made first, so that the next opening is quick; a running one goes on
   * instead of beginning anew, unless it was to be made only while nothing happens.
   */
  async stop(finish: boolean): Promise<void> {
    const makes = finish && this.#automatic;
    this.#ending.abort(closed());
    if (makes && this.#isCheckpoint && this.#quietAt === undefined)
      await this.#running?.catch(() => undefined);
    clearTimeout(this.#timer);
    clearTimeout(this.#quietTimer);
    this.#stopping.abort(closed());
    await this.#running?.catch(() => undefined);
    if (!makes || !this.#isConsidered()) return;
    await this.#run(false, undefined).catch(() => undefined); // the log has everything; only the next opening is slower
  }

  /** @returns false if another context was rewriting, and nothing was done */
  #run(full: boolean, signal: AbortSignal | undefined, ending = signal): Promise<boolean> {
    this.#isCheckpoint = !full;
    // None begins before the last one has ended.
    this.#running = this.#rewrite(full, signal, ending).finally(() => {
      this.#running = undefined;
      this.#quietAt = undefined;
    });
    return this.#running;
  }

  async #rewrite(
    full: boolean,
    signal: AbortSignal | undefined,
    ending: AbortSignal | undefined,
  ): Promise<boolean> {
    const isWanted = async (): Promise<boolean> => full || this.#isWanted();
    return !(await isWanted()) || rewriteAlone(this.#store, full, isWanted, signal, ending);
  }

  #isConsidered(): boolean {
    const { image } = this.#store;
    return image.n >= this.#notBefore && isLong(image);
  }

  async #isWanted(): Promise<boolean> {
    const { image } = this.#store;
    if (!this.#isConsidered()) return false;
    const { n } = image;
    const isQuiet = n === this.#quietAt && !this.#ending.signal.aborted && isReadSlowly(image);
    if (isDue(image) || (await isWorthwhile(this.#store, isQuiet))) return true;
    this.#idleNotBefore = n + IDLE_COMMITS_MIN;
    if (isQuiet) this.#quietNotBefore = n + 1;
    this.#awaitQuiet();
    return false;
  }

  #putOff(wasQuiet: boolean): void {
    // Closing interrupted it: that is not a failure, and what is due then is made.
    if (this.#ending.signal.aborted) return;
    const next = this.#store.image.n + COMMITS_MIN;
    if (wasQuiet) this.#quietNotBefore = next;
    else this.#notBefore = next;
  }
}

function isDue(image: Image): boolean {
  // Rows are counted page by page, so only when it matters.
  if (!isReadSlowly(image)) return false;
  const { commits, rows, length } = lengthOf(image);
  if (commits >= COMMITS_MAX || rows >= ROWS_MAX || length >= LENGTH_MAX) return true;
  return rows >= storedRows(image) * CHANGED_SHARE;
}

function isPressing(image: Image, rests: boolean): boolean {
  const { commits, rows, length } = lengthOf(image);
  if (commits >= (rests ? BUSY_COMMITS_MAX : BUSY_COMMITS_MIN)) return true;
  if (rows >= ROWS_MAX || length >= BUSY_LENGTH_MAX) return true;
  return rows >= BUSY_ROWS_MAX && rows >= storedRows(image) * BUSY_SHARE;
}

function storedRows({ directory }: Image): number {
  let stored = 0;
  for (const { rows } of directory.tables.values()) stored += rows.rows;
  return stored;
}
