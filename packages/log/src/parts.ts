/** Decides when texts of a block are read without the rest of it. */

/** Blocks with frames up to this many bytes are always read whole. */
const BYTES_MIN = 16 * 1024;
/**
 * Texts of a block that are read one by one before the whole block is read, which costs as much as ten of them (12 µs and 130): so
 * scattered reads never cost more than twice the best. If all blocks have room in memory: one.
 */
const BEFORE_WHOLE = 10;
/**
 * … if no more than this many texts are read meanwhile: ten of each of 400 blocks, about what memory keeps. In a database that is much
 * larger every block sooner or later has its tenth text read, and would be evicted long before ten more were saved.
 */
const MEANWHILE_MAX = 4_096;
/** Texts wanted at once: the engine notes no more of them singly. */
const AT_ONCE_MAX = 8;
/** Blocks that are counted, at some 100 bytes each: enough for gigabytes of log. */
const COUNTED_MAX = 100_000;

interface Count {
  texts: number;
  /** When the first of them was read, counted in texts of all blocks. */
  since: number;
}

export class Parts {
  /** Counts for blocks that have not been read whole since. */
  readonly #counts = new Map<number, Count>();
  #now = 0;

  /** Notes that `count` texts are wanted. @returns false when it is time to read the whole block */
  take(block: number, count: number, bytes: number, haveRoom: boolean): boolean {
    if (bytes < BYTES_MIN || count > AT_ONCE_MAX) return false;
    this.#now += count;
    const counted = this.#countOf(block);
    counted.texts += count;
    return counted.texts <= (haveRoom ? 1 : BEFORE_WHOLE);
  }

  #countOf(block: number): Count {
    const before = this.#counts.get(block);
    if (before !== undefined) {
      if (this.#now - before.since > MEANWHILE_MAX) {
        before.texts = 0;
        before.since = this.#now;
      }
      return before;
    }
    if (this.#counts.size >= COUNTED_MAX) this.#counts.clear();
    const count = { texts: 0, since: this.#now };
    this.#counts.set(block, count);
    return count;
  }

  /** The block is now read whole. */
  forget(block: number): void {
    this.#counts.delete(block);
  }
}
