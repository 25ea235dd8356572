/**
 * A compaction where there is no room for one: it puts everything that it makes before it drops anything, and a full storage takes
 * nothing. So dead blocks are dropped first, for which nothing is put. Then the rows whose texts lie in mostly dead blocks are written
 * again as they are, by ordinary commits: these take less than the blocks give back, which are then dead. So a little room becomes
 * more, until there is enough for pages.
 */
import { isQuotaExceeded } from '@settledb/core';
import type { Aside } from './aside';
import { isMostlyDead } from './block-use';
import type { Rewritable } from './checkpoint';
import { BLOCKS_PER_COMMIT, isTail } from './journal';
import { COMPACTION, rewrite, type Scope } from './rewrite';
import { type Keys, rowsIn, writeAgain } from './rows-in';

/** Only pages that changed, and no texts, so that records of the log, and what a crash left, can be dropped for the least room. */
const PAGES: Scope = { full: false, sweeps: true, tails: false, makesRoom: true };
/** Blocks with a smaller dead share are left to a compaction that has room: moving four texts to free one takes long. */
const DEAD_SHARE = 1 / 5;
/** Characters of a commit for each row written again, doubled: they stay until there is room for pages. */
const ROW_LENGTH = 400;
/** Blocks emptied by one commit, of about 100 KB each: one if that is refused, more if it is not. */
const BLOCKS_AT_ONCE = 4;
const BLOCKS_AT_ONCE_MAX = 16;
/** Live characters in the blocks whose rows are looked for at a time: their keys are kept, some 100 bytes a row. */
const LOOKED_FOR_MAX = 32 * 1024 * 1024;

/**
 * Compacts as far as there is room.
 *
 * @param refusal the error with which the whole compaction was refused
 * @throws `refusal` if there was no room for anything
 */
export async function compactInPieces(
  store: Rewritable,
  aside: Aside,
  signal: AbortSignal | undefined,
  refusal: unknown,
): Promise<void> {
  const pieces = new Pieces(store, signal);
  const isEased = await pieces.make();
  const isThere = (scope: Scope): Promise<boolean> => unlessFull(rewrite(store, scope, aside, signal));
  if (await isThere(PAGES)) {
    // The texts of the log, now covered by a manifest, are blocks like others.
    await pieces.make();
    await isThere(COMPACTION);
  } else if (!isEased) throw refusal;
}

class Pieces {
  readonly #store: Rewritable;
  readonly #signal: AbortSignal | undefined;
  readonly #gone = new Set<number>();
  /** Blocks looked at already: their rows were written again, if that was worthwhile and there was room. */
  readonly #left = new Set<number>();
  #atOnce = BLOCKS_AT_ONCE;

  constructor(store: Rewritable, signal: AbortSignal | undefined) {
    this.#store = store;
    this.#signal = signal;
  }

  /** Empties as many blocks as there is room for. @returns whether any block was dropped */
  async make(): Promise<boolean> {
    await this.#dropDead();
    for (let isFull = false; !isFull; ) {
      const blocks = this.#partlyDead();
      if (blocks.length === 0) break;
      const { rows, image } = this.#store;
      const found = await rowsIn(rows, image.layout, new Set(blocks), this.#signal);
      const worthwhile = blocks.filter((block) => this.#gives(block, found.get(block)!)); // it was looked for
      for (const block of blocks) this.#left.add(block);
      isFull = !(await this.#leave(worthwhile, found));
    }
    return this.#gone.size > 0;
  }

  /** @returns whether there was room for all of them */
  async #leave(blocks: readonly number[], found: ReadonlyMap<number, Keys>): Promise<boolean> {
    for (let from = 0; from < blocks.length; ) {
      const some = blocks.slice(from, from + this.#atOnce);
      const keys = some.map((block) => found.get(block)!); // it was looked for
      if (await unlessFull(writeAgain(this.#store.rows, keys, this.#signal))) {
        await this.#dropDead();
        from += some.length;
        this.#atOnce = Math.min(this.#atOnce * 2, BLOCKS_AT_ONCE_MAX);
      } else if (this.#atOnce === 1) return false;
      else this.#atOnce = 1;
    }
    return true;
  }

  /** Whether writing the block's rows again makes more room than it takes. */
  #gives(block: number, rows: Keys): boolean {
    const use = this.#store.image.use.sizes.get(block);
    if (use === undefined || isMostlyDead(use)) return use !== undefined;
    let count = 0;
    for (const keys of rows.values()) count += keys.length;
    return use.dead > count * ROW_LENGTH;
  }

  /** Partly dead blocks, those with the least live text first; as many as are looked for at a time. */
  #partlyDead(): number[] {
    const blocks: { id: number; live: number }[] = [];
    for (const [id, use] of this.#store.image.use.sizes)
      if (use.dead > use.size * DEAD_SHARE && !this.#stays(id) && !this.#left.has(id))
        blocks.push({ id, live: use.size - use.dead });
    blocks.sort((a, b) => a.live - b.live);
    let length = 0;
    const end = blocks.findIndex(({ live }, i) => {
      length += live;
      return i > 0 && length > LOOKED_FOR_MAX;
    });
    return (end < 0 ? blocks : blocks.slice(0, end)).map(({ id }) => id);
  }

  /** Drops blocks in which nothing is in use as of the last commit, without waiting for a manifest that says so. */
  async #dropDead(): Promise<void> {
    const { image, follower } = this.#store;
    const drop: number[] = [];
    for (const [id, { size, dead }] of image.use.sizes) if (dead >= size && !this.#stays(id)) drop.push(id);
    if (drop.length === 0 || !(await follower.rewrite({ drop }, image.position))) return;
    for (const id of drop) this.#gone.add(id);
  }

  /** The block is gone already, or cannot be dropped: the record of a commit that no manifest covers is the commit itself. */
  #stays(id: number): boolean {
    return this.#gone.has(id) || (isTail(id) && id > this.#store.image.through * BLOCKS_PER_COMMIT);
  }
}

/** @returns whether `work` was done, and not refused for lack of room */
async function unlessFull(work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (isQuotaExceeded(error)) return false;
    throw error;
  }
}
