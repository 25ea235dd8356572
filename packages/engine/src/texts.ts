/**
 * Long fields: texts that lie in blocks.
 *
 * A block is JSON texts joined by commas. A text is a slice of the block, which costs no copy; so a block is kept whole.
 */
import type { TextRef } from '@settledb/core';
import type { Block } from './journal';

/** Characters of one segment. Per document, blocks above 64 KiB are read back twice as fast as smaller ones. In IndexedDB three pieces at most. */
const SEGMENT_LENGTH = 97_500;
/** Commits with more long fields than this cut them into segments, so that reading the log does not read them. */
export const TAIL_TEXTS_MAX = 32;
/** … or with more characters than this. */
export const TAIL_LENGTH_MAX = 64 * 1024;
/** Default bound of the cache, in characters: bodies of about 100,000 documents of 300 bytes. */
export const TEXT_CACHE_LENGTH = 32 * 1024 * 1024;

/**
 * Packs texts into blocks one after the other. After each `doubleAfter` blocks their length doubles, for callers with
 * a limited number of ids.
 */
export class Segments {
  readonly blocks: Block[] = [];
  /** For each block its id and the total length of its texts, without the commas between them. */
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
    // Fields in an order of their own: block ids of a rewrite are large, and once some objects of a form held such numbers V8 keeps
    // every one in a box: 48 bytes for each recent row.
    return { at, block: this.#id, length: text.length };
  }

  /** @returns where the text now lies in the current block */
  place(text: string): number {
    if (this.#length > 0 && this.#length + text.length > this.#lengthMax) this.flush();
    const at = this.#length;
    this.#texts.push(text);
    this.#length += text.length + 1;
    return at;
  }

  /** The current block. */
  get id(): number {
    return this.#id;
  }

  /** Ends the current block. */
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
