/**
 * The fences of an order as a rewrite makes them. Those of many pages lie in blocks of their own: a block with no changed page stays
 * as it is, and what lies between two such blocks is cut anew.
 */
import type { SortKey } from '@settledb/core';
import { blockCuts, PAGE_LENGTH } from './cuts';
import { type FenceBlocks, type Fences, noFences, rowsOf } from './fences';
import { lengthOf } from './layout';
import type { Runs } from './runs';

export class NewFences {
  readonly #isOfRows: boolean;
  readonly #wholeMax: number;
  readonly #put: (fences: Fences) => Promise<number>;
  /** Fences of the pages since the last block that stayed. */
  #made: Fences;
  /** Characters of their keys. */
  #length = 0;
  readonly #blocks: FenceBlocks = { ...noFences(), pages: [] };

  /**
   * @param wholeMax fences of more pages lie in blocks, as do those of long keys
   * @param put writes a block @returns its id
   */
  constructor(isOfRows: boolean, wholeMax: number, put: (fences: Fences) => Promise<number>) {
    this.#isOfRows = isOfRows;
    this.#wholeMax = wholeMax;
    this.#put = put;
    this.#made = this.#none();
  }

  /** Adds the next page. @param runs given for pages of rows */
  add(key: SortKey, id: number, count: number, runs: Runs = 0): void {
    const { keys, ids, counts } = this.#made;
    keys.push(key);
    ids.push(id);
    counts.push(count);
    this.#made.runs?.push(runs);
    this.#length += lengthOf(key);
  }

  /** The next pages are those of a block that stays as it is. */
  async keep({ keys, ids, counts, pages }: FenceBlocks, number: number): Promise<void> {
    await this.#cut();
    this.#addBlock(keys[number]!, ids[number]!, counts[number]!, pages[number]!);
  }

  /** Nothing follows. Fences of a database that was never large stay together, so that opening it needs nothing but the manifest. */
  async end(): Promise<Fences | FenceBlocks> {
    const isShort = this.#made.ids.length <= this.#wholeMax && this.#length <= PAGE_LENGTH;
    if (this.#blocks.ids.length === 0 && isShort) return this.#made;
    await this.#cut();
    return this.#blocks;
  }

  async #cut(): Promise<void> {
    const { keys, ids, counts, runs } = this.#made;
    this.#made = this.#none();
    this.#length = 0;
    for (const [from, to] of blockCuts(ids.length, (at) => lengthOf(keys[at]))) {
      const block: Fences = {
        keys: keys.slice(from, to),
        ids: ids.slice(from, to),
        counts: counts.slice(from, to),
        ...(runs && { runs: runs.slice(from, to) }),
      };
      this.#addBlock(keys[from]!, await this.#put(block), rowsOf(block), to - from);
    }
  }

  #addBlock(key: SortKey, id: number, rows: number, pages: number): void {
    this.#blocks.keys.push(key);
    this.#blocks.ids.push(id);
    this.#blocks.counts.push(rows);
    this.#blocks.pages.push(pages);
  }

  #none(): Fences {
    return this.#isOfRows ? noRowFences() : noFences();
  }
}

/** Not `noFences()` with a field added: in Node 20 each such object has its own form, and V8 discards what it made for the last. */
const noRowFences = (): Fences & { readonly runs: Runs[] } => ({
  keys: [],
  ids: [],
  counts: [],
  runs: [],
});
