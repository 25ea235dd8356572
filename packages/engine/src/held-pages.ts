/** The pages, and the fences in blocks, that are in memory; those that are not become wanted. */
import type { SortKey } from '@settledb/core';
import type { BlockCache } from './block-cache';
import { FENCES_DECODER, type Fences, type OrderState, type PageSpan, pageSpan, partSpan } from './fences';
import type { Decoder } from './page';
import type { Span, StoredPage } from './stored-page';
import type { Bounds } from './walk';
import type { Wanted } from './wanted';

/** A scan of at most this many rows is assumed to need less than a page. */
const FEW_ROWS = 64;

/** Where a scan met something that is not in memory: a page, by its number in a part, or the part itself. */
interface Lacking {
  readonly part: number;
  readonly number: number;
  /** The keys needed begin here. */
  readonly lower: SortKey | undefined;
  readonly bounds: Bounds;
  readonly reverse: boolean;
  /** Rows needed from here on; those of the whole scan if that is not known. */
  readonly expected: number;
}

export class HeldPages {
  readonly pages: BlockCache<StoredPage>;

  constructor(pages: BlockCache<StoredPage>) {
    this.pages = pages;
  }

  /** The fences of a part of an order. @returns `undefined` if they are not in memory */
  fences(state: OrderState<unknown>, part: number, wanted?: Wanted): Fences | undefined {
    const { blocks } = state;
    if (blocks === undefined) return state.fences;
    const id = blocks.ids[part]!;
    const block = wanted?.page(id) ?? this.pages.get(id);
    if (block === undefined) wanted?.wantPage(id, FENCES_DECODER);
    return block?.group(0) as Fences | undefined;
  }

  /** A page by its number among fences, or what is in memory of it. */
  at({ ids }: Fences, number: number, wanted: Wanted): StoredPage | undefined {
    const id = ids[Math.max(number, 0)]!;
    return wanted.page(id) ?? this.pages.get(id);
  }

  /** As {@link at}, with at least the rows of `span`, or all rows without one. */
  with(
    fences: Fences,
    number: number,
    decoder: Decoder,
    wanted: Wanted,
    span?: Span,
  ): StoredPage | undefined {
    const page = this.at(fences, number, wanted);
    if (page?.has(span)) return page;
    wanted.wantPage(fences.ids[Math.max(number, 0)]!, decoder, span);
    return undefined;
  }

  /**
   * Asks in one go for the pages that a scan is going to need, so that it does not stop at each; and for twice as many as before if
   * those were not enough, for instance because most of their entries were deleted. Of a single page it asks only for the groups that
   * it needs.
   */
  wantMore(state: OrderState<unknown>, from: Lacking, decoder: Decoder, wanted: Wanted): void {
    const { part, number, lower, bounds, reverse, expected } = from;
    const { upper } = bounds;
    const parts = partSpan(state, bounds);
    const step = reverse ? -1 : 1;
    const given = wanted.pagesGiven;
    // If a page was given and its group did not suffice, asks for the groups after it: the key may lie behind all that the first has.
    const few =
      !reverse && given <= 1 && expected <= FEW_ROWS
        ? { lower, upper, rows: given === 0 ? expected : FEW_ROWS }
        : undefined;
    let rows = 0;
    let pages = 0;
    for (let p = part; isIn(parts, p) && (rows < expected || pages < given); p += step) {
      const fences = this.fences(state, p, wanted);
      if (fences === undefined) {
        rows += state.blocks!.counts[p]!; // only fences in blocks may be out of memory
        pages += state.blocks!.pages[p]!;
        continue;
      }
      const span = pageSpan(fences, bounds);
      let at = reverse ? span.last : span.first;
      if (p === part) at = number;
      const isOnly = p === part && !isIn(span, at + step) && !isIn(parts, p + step);
      const only = isOnly ? { lower, upper } : undefined;
      for (; isIn(span, at) && (rows < expected || pages < given); at += step) {
        this.with(fences, at, decoder, wanted, (pages === 0 && few) || only);
        rows += fences.counts[at]!;
        pages++;
      }
    }
  }
}

const isIn = ({ first, last }: PageSpan, at: number): boolean => at >= first && at <= last;
