/** The pages and texts that a synchronous look-up lacks, for the caller that loads them and asks again. */
import type { TextRef } from '@settledb/core';
import type { Decoder } from './page';
import type { WantedPage } from './page-parts';
import type { Span, StoredPage } from './stored-page';

/** Texts of one block that are noted singly. If more are wanted, the whole block is. */
const PARTS_MAX = 8;

/**
 * Pages and texts that a look-up lacked, and what was loaded for it, kept until the call is done. Nearly every call lacks
 * nothing, so the collections are made only when something is missing.
 */
export class Wanted {
  #pages: Map<number, WantedPage> | undefined;
  #blocks: Map<number, TextRef[]> | undefined;
  #loadedPages: Map<number, StoredPage> | undefined;
  #loadedBlocks: Map<number, string> | undefined;
  #loadedParts: Map<string, string> | undefined;
  #hints: Set<number> | undefined;

  get any(): boolean {
    return this.#pages !== undefined || this.#blocks !== undefined;
  }

  /** @param span the rows wanted; absent, or if different ones are wanted too: all */
  wantPage(id: number, decoder: Decoder, span?: Span): void {
    this.#pages ??= new Map();
    const before = this.#pages.get(id);
    const isOther = before !== undefined && !isSame(before.span, span);
    this.#pages.set(id, { decoder, span: isOther ? undefined : span });
  }

  /** The number of pages and blocks. */
  get count(): number {
    return (this.#pages?.size ?? 0) + (this.#blocks?.size ?? 0);
  }

  wantText(block: number, at: number, length: number): void {
    this.#blocks ??= new Map();
    const parts = this.#blocks.get(block);
    if (parts === undefined) this.#blocks.set(block, [{ block, at, length }]);
    else if (parts.length <= PARTS_MAX) parts.push({ block, at, length });
  }

  /** Most likely wanted next: loaded with what is wanted; it does no harm if it is not there. */
  hintBlock(id: number): void {
    this.#hints ??= new Set();
    this.#hints.add(id);
  }

  page(id: number): StoredPage | undefined {
    return this.#loadedPages?.get(id);
  }

  block(id: number): string | undefined {
    return this.#loadedBlocks?.get(id);
  }

  part(block: number, at: number): string | undefined {
    return this.#loadedParts?.get(`${block} ${at}`);
  }

  /** What is wanted, for blocks their texts (or more than {@link PARTS_MAX} of them); from now on nothing is wanted. */
  take(): {
    pages: [number, WantedPage][];
    blocks: [number, readonly TextRef[]][];
    hints: number[];
  } {
    const hints = [...(this.#hints ?? [])].filter((id) => !this.#blocks?.has(id));
    const taken = { pages: [...(this.#pages ?? [])], blocks: [...(this.#blocks ?? [])], hints };
    this.#pages = undefined;
    this.#blocks = undefined;
    this.#hints = undefined;
    return taken;
  }

  get pagesGiven(): number {
    return this.#loadedPages?.size ?? 0;
  }

  givePage(id: number, page: StoredPage): void {
    this.#loadedPages ??= new Map();
    this.#loadedPages.set(id, page);
  }

  giveBlock(id: number, text: string): void {
    this.#loadedBlocks ??= new Map();
    this.#loadedBlocks.set(id, text);
  }

  givePart({ block, at }: TextRef, text: string): void {
    this.#loadedParts ??= new Map();
    this.#loadedParts.set(`${block} ${at}`, text);
  }
}

const isSame = (a: Span | undefined, b: Span | undefined): boolean =>
  a?.lower === b?.lower && a?.upper === b?.upper && a?.rows === b?.rows;
