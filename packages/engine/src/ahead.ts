/**
 * Reading ahead, for journals where most of what loading costs is the turn of the storage: with what a call lacks come pages and
 * blocks that it does not: none for the first two, then twice as many each time. So a database that has room in memory is there after a few such calls, and
 * one that was merely opened for a document has read no more than that. What has no room is not read ahead.
 */
import { type Directory, orderOf } from './directory';
import type { Page } from './page';
import { PAGES_LOADED_MAX, type PageCache } from './page-cache';
import { type BlockUse, isTail, type TextCache } from './texts';

/** A call that lacks more than this reads much by itself. */
const LACKING_MAX = 4;
/** Pages, and blocks, at a time: some 2 ms with what is lacking. */
const AHEAD_MAX = 8;
/** Orders of more pages are not read ahead: they would leave little room for those of others. */
const ORDER_PAGES_MAX = PAGES_LOADED_MAX / 4;

interface Memory {
  readonly directory: Directory;
  readonly pages: PageCache;
  readonly texts: TextCache;
  readonly use: BlockUse;
}

type Decoders = Map<number, (text: string) => Page>;

export class Ahead {
  #calls = 0;

  /**
   * What to load besides `needed`; no harm if it is not there.
   * @param decoders of the pages among `needed`; those of further pages are added
   */
  of(memory: Memory, needed: readonly number[], decoders: Decoders): number[] {
    if (needed.length > LACKING_MAX) return [];
    const count = Math.min(AHEAD_MAX, Math.floor(2 ** (this.#calls++ - 2)));
    return [...blocksOf(memory, needed, count), ...pagesOf(memory, count, decoders)];
  }
}

function blocksOf({ use, texts }: Memory, needed: readonly number[], count: number): number[] {
  const { live, dead } = use.totals();
  const blocks: number[] = [];
  if (live + dead > texts.limit) return blocks;
  for (const id of use.sizes.keys()) {
    if (blocks.length >= count) break;
    if (!isTail(id) && !texts.has(id) && !needed.includes(id)) blocks.push(id);
  }
  return blocks;
}

/** Of the order that the first page is of. */
function pagesOf({ directory, pages }: Memory, count: number, decoders: Decoders): number[] {
  const [wanted] = decoders.keys();
  const found: number[] = [];
  for (const table of directory.tables.values()) {
    for (let order = 0; order < table.layout.orders.length; order++) {
      const { ids } = orderOf(table, order).fences;
      if (ids.length > ORDER_PAGES_MAX || !ids.includes(wanted as number)) continue;
      for (const id of ids) {
        if (found.length >= count) return found;
        if (decoders.has(id) || pages.get(id) !== undefined) continue;
        decoders.set(id, pages.decoderFor(table.layout, order));
        found.push(id);
      }
    }
  }
  return found;
}
