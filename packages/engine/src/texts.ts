/**
 * Long fields: texts that lie in blocks.
 *
 * A block is JSON texts joined by commas. One text is a slice of it, which costs no copy; so a block is kept whole.
 */
import type { TextRef } from '@settledb/core';
import { BLOCKS_PER_COMMIT, type Block } from './journal';

/** Characters of one segment. Blocks above 64 KiB read back twice as fast per document as smaller ones (storage.md). */
const SEGMENT_LENGTH = 96 * 1024;
/** Commits with more long fields than this cut them into segments, so that reading the log does not read them. */
export const TAIL_TEXTS_MAX = 32;
/** … or with more characters than this. */
export const TAIL_LENGTH_MAX = 64 * 1024;
/** Default bound of the cache, in characters: bodies of about 100,000 documents of 300 bytes. */
export const TEXT_CACHE_LENGTH = 32 * 1024 * 1024;

export const isTail = (block: number): boolean => block > 0 && block % BLOCKS_PER_COMMIT === 0;

/**
 * Packs texts into blocks one after the other. Blocks become twice as long after each `doubleAfter` of them, for those who have
 * a limited number of ids.
 */
export class Segments {
  readonly blocks: Block[] = [];
  /** By block, its id and the lengths of its texts together, which is without the commas between them. */
  readonly sizes: [id: number, size: number][] = [];
  readonly #nextId: () => number;
  readonly #doubleAfter: number;
  #lengthMax: number;
  #texts: string[] = [];
  #length = 0;
  #id: number;

  constructor(
    nextId: () => number,
    lengthMax: number = SEGMENT_LENGTH,
    doubleAfter: number = Number.POSITIVE_INFINITY,
  ) {
    this.#nextId = nextId;
    this.#lengthMax = lengthMax;
    this.#doubleAfter = doubleAfter;
    this.#id = nextId();
  }

  add(text: string): TextRef {
    const at = this.place(text);
    // Its fields in an order of its own: block ids of a rewrite are large, and of objects of one form V8 keeps every number in a box
    // once a few were: 48 bytes for each row that is recent.
    return { at, block: this.#id, length: text.length };
  }

  /** @returns where in the block under way the text is now */
  place(text: string): number {
    if (this.#length > 0 && this.#length + text.length > this.#lengthMax) this.flush();
    const at = this.#length;
    this.#texts.push(text);
    this.#length += text.length + 1;
    return at;
  }

  /** The block under way. */
  get id(): number {
    return this.#id;
  }

  /** Ends the block under way. */
  flush(): void {
    if (this.#texts.length === 0) return;
    this.blocks.push({ id: this.#id, text: this.#texts.join(',') });
    this.sizes.push([this.#id, this.#length - this.#texts.length]);
    if (this.blocks.length % this.#doubleAfter === 0) this.#lengthMax *= 2;
    this.#texts = [];
    this.#length = 0;
    this.#id = this.#nextId();
  }
}
