/**
 * A compaction where there is no room for one: it puts all that it makes anew before anything goes, and a storage that is full takes
 * nothing. So what is dead goes first, which puts nothing. Then rows whose texts lie in blocks that are mostly dead are written again
 * as they are, by commits like any others: that takes less than these blocks give back, dead as they are then. So a little room becomes
 * more, until there is enough for pages.
 */
import { isQuotaExceeded } from '@settledb/core';
import type { Aside } from './aside';
import { isMostlyDead } from './block-use';
import type { Rewritable } from './checkpoint';
import { BLOCKS_PER_COMMIT } from './journal';
import { COMPACTION, rewrite, type Scope } from './rewrite';
import { type Keys, rowsIn, writeAgain } from './rows-in';
import { isTail } from './texts';

/** Pages that changed, and no text: so records of the log go for the least. */
const PAGES: Scope = { full: false, tails: false, makesRoom: true };
/** Blocks of which less is dead are left to a compaction that has room: to move four texts for one that goes takes long. */
const DEAD_SHARE = 1 / 5;
/** Characters of a commit for each row that is written again, twice over: they stay until there is room for pages. */
const ROW_LENGTH = 400;
/** Blocks left in one commit, of about 100 KB each: one where that is refused, more where it is not. */
const BLOCKS_AT_ONCE = 4;
const BLOCKS_AT_ONCE_MAX = 16;
/** Characters in use in the blocks whose rows are looked for at a time: their keys are kept, some 100 bytes a row. */
const LOOKED_FOR_MAX = 32 * 1024 * 1024;

/**
 * Compacts as far as there is room.
 *
 * @param refusal of the whole
 * @throws it where there was no room for anything
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
    // What lies in the log, and is covered now, is blocks like others.
    await pieces.make();
    await isThere(COMPACTION);
  } else if (!isEased) throw refusal;
}

class Pieces {
  readonly #store: Rewritable;
  readonly #signal: AbortSignal | undefined;
  readonly #gone = new Set<number>();
  /** Blocks that were looked at: their rows were written again, as far as that is worth while and there was room. */
  readonly #left = new Set<number>();
  #atOnce = BLOCKS_AT_ONCE;

  constructor(store: Rewritable, signal: AbortSignal | undefined) {
    this.#store = store;
    this.#signal = signal;
  }

  /** As many as there is room for. @returns whether any block went */
  async make(): Promise<boolean> {
    await this.#dropDead();
    for (let isFull = false; !isFull; ) {
      const blocks = this.#partlyDead();
      if (blocks.length === 0) break;
      const { rows, image } = this.#store;
      const found = await rowsIn(rows, image.layout, new Set(blocks), this.#signal);
      const worthwhile = blocks.filter((block) => this.#gives(block, found.get(block)!)); // It was looked for.
      for (const block of blocks) this.#left.add(block);
      isFull = !(await this.#leave(worthwhile, found));
    }
    return this.#gone.size > 0;
  }

  /** @returns whether there was room for all */
  async #leave(blocks: readonly number[], found: ReadonlyMap<number, Keys>): Promise<boolean> {
    for (let from = 0; from < blocks.length; ) {
      const some = blocks.slice(from, from + this.#atOnce);
      const keys = some.map((block) => found.get(block)!); // It was looked for.
      if (await unlessFull(writeAgain(this.#store.rows, keys, this.#signal))) {
        await this.#dropDead();
        from += some.length;
        this.#atOnce = Math.min(this.#atOnce * 2, BLOCKS_AT_ONCE_MAX);
      } else if (this.#atOnce === 1) return false;
      else this.#atOnce = 1;
    }
    return true;
  }

  /** Whether to write its rows again makes more room than it takes. */
  #gives(block: number, rows: Keys): boolean {
    const use = this.#store.image.use.sizes.get(block);
    if (use === undefined || isMostlyDead(use)) return use !== undefined;
    let count = 0;
    for (const keys of rows.values()) count += keys.length;
    return use.dead > count * ROW_LENGTH;
  }

  /** Those first of which least is in use; as many as are looked for at a time. */
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

  /** Blocks of which nothing is in use, as of the last commit: without waiting for a manifest that says so. */
  async #dropDead(): Promise<void> {
    const { image, follower } = this.#store;
    const drop: number[] = [];
    for (const [id, { size, dead }] of image.use.sizes) if (dead >= size && !this.#stays(id)) drop.push(id);
    if (drop.length === 0 || !(await follower.rewrite({ drop }, image.position))) return;
    for (const id of drop) this.#gone.add(id);
  }

  /** It is gone already, or cannot go: the record of a commit that no manifest covers is the commit. */
  #stays(id: number): boolean {
    return this.#gone.has(id) || (isTail(id) && id > this.#store.image.through * BLOCKS_PER_COMMIT);
  }
}

/** @returns whether `work` was done, rather than refused for want of room */
async function unlessFull(work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (isQuotaExceeded(error)) return false;
    throw error;
  }
}
