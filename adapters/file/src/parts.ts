/** When texts of a block are read without the rest of it. */

/** Frames of blocks up to so many bytes are always read whole. */
const BYTES_MIN = 16 * 1024;
/**
 * Texts of a block that are read one by one before it is read whole, which costs as much as ten of them (12 µs and 130): so reads
 * here and there never cost more than twice the best. Where all blocks have room in memory, one.
 */
const BEFORE_WHOLE = 10;
/** Wanted at once: the engine notes no more of them by themselves. */
const AT_ONCE_MAX = 8;
/** Blocks that are counted, at some 50 bytes: gigabytes of log. */
const COUNTED_MAX = 100_000;

export class Parts {
  /** Texts read of a block since it was last read whole. */
  readonly #counts = new Map<number, number>();

  /** Notes that `count` texts are wanted. @returns false when it is time to read the block */
  take(block: number, count: number, bytes: number, haveRoom: boolean): boolean {
    const sum = (this.#counts.get(block) ?? 0) + count;
    this.#counts.delete(block);
    if (bytes < BYTES_MIN || count > AT_ONCE_MAX || sum > (haveRoom ? 1 : BEFORE_WHOLE)) return false;
    if (this.#counts.size >= COUNTED_MAX) this.#counts.clear();
    this.#counts.set(block, sum);
    return true;
  }
}
