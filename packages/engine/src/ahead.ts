/**
 * Reading ahead, for journals where loading costs mostly the storage's turn. What a call lacks is loaded together with pages and
 * blocks that it does not need: none for the first two calls, then twice as many each time. So a database that has room in memory is
 * all there after a few such calls, and of one that was merely opened for a document no more has been read. What has no room is not
 * read ahead.
 *
 * Where the manifest names the blocks of a table's rows, those are read with the rows' pages, and no others: hardly anybody wants the
 * texts of past revisions, of which there are, until compaction, as many as documents.
 */
import type { BlockCache } from './block-cache';
import type { BlockUse } from './block-use';
import { type Directory, orderOf, type TableState } from './directory';
import { type Fences, ORDER_PAGES_MAX } from './fences';
import { isTail } from './journal';
import { type Decoder, decoderFor, PAGES_LOADED_MAX } from './page';
import { blocksIn } from './runs';
import { PAGE_GROUPS, type StoredPage } from './stored-page';

/** A call that lacks more than this reads much anyway. */
const LACKING_MAX = 4;
/** Pages, and blocks, read ahead at a time: some 2 ms together with what is lacking. */
const AHEAD_MAX = 8;
/**
 * Of rows with texts, such as documents, more pages are read ahead: one row and its text answer a get, and the rows of 100,000 have room.
 * They have up to 650 pages if ids are random, as pages are then a half to two thirds full.
 */
const TEXT_PAGES_MAX = (PAGES_LOADED_MAX * 3) / 4;

interface Memory {
  readonly directory: Directory;
  readonly pages: BlockCache<StoredPage>;
  readonly texts: BlockCache<string>;
  readonly use: BlockUse;
}

/** Where something that a call lacks belongs: to the page with the number `at`. */
interface Place {
  readonly table: TableState;
  readonly order: number;
  readonly fences: Fences;
  readonly at: number;
}

type Decoders = Map<number, Decoder>;

export class Ahead {
  #calls = 0;

  /**
   * What to load besides `needed`; it does no harm if it is not there.
   * @param decoders those of the pages among `needed`; those of further pages are added
   */
  of(memory: Memory, needed: readonly number[], decoders: Decoders): number[] {
    if (needed.length > LACKING_MAX) return [];
    const count = Math.min(AHEAD_MAX, Math.floor(2 ** (this.#calls++ - 2)));
    if (count === 0) return [];
    const place = placeOf(memory.directory, needed);
    return [...blocksOf(memory, place, needed, count), ...pagesOf(memory, place, count, decoders)];
  }
}

/** The place of the first page among `needed`, otherwise of the first block that the manifest names for a page. */
function placeOf({ tables }: Directory, needed: readonly number[]): Place | undefined {
  let found: Place | undefined;
  for (const table of tables.values()) {
    for (let order = 0; order < table.layout.orders.length; order++) {
      const { fences } = orderOf(table, order);
      if (fences === undefined) continue; // in blocks: too large to be read ahead
      const page = fences.ids.findIndex((id) => needed.includes(id));
      if (page >= 0) return { table, order, fences, at: page };
      const at = fences.runs?.findIndex((runs) => blocksIn(runs).some((id) => needed.includes(id))) ?? -1;
      if (at >= 0) found ??= { table, order, fences, at };
    }
  }
  return found;
}

function blocksOf(
  { use, texts }: Memory,
  place: Place | undefined,
  needed: readonly number[],
  count: number,
): number[] {
  const blocks: number[] = [];
  if (use.characters > texts.limit) return blocks;
  for (const id of named(place) ?? use.sizes.keys()) {
    if (blocks.length >= count) break;
    if (isTail(id) || texts.peek(id) !== undefined) continue;
    if (!needed.includes(id) && !blocks.includes(id)) blocks.push(id);
  }
  return blocks;
}

/** The blocks of the rows, beginning with those at the place, if the manifest names any. */
function named(place: Place | undefined): number[] | undefined {
  if (place?.fences.runs === undefined) return undefined;
  const blocks = around(place.fences.runs, place.at).flatMap(blocksIn);
  return blocks.length === 0 ? undefined : blocks;
}

/** Pages of the same order, beginning at the place. */
function pagesOf({ pages }: Memory, place: Place | undefined, count: number, decoders: Decoders): number[] {
  const found: number[] = [];
  if (place === undefined) return found;
  const ofTexts = place.order === 0 && place.table.layout.textFields.length > 0;
  const max = ofTexts ? TEXT_PAGES_MAX : ORDER_PAGES_MAX;
  const hasRoom = pages.length + count * PAGE_GROUPS <= pages.limit;
  if (place.fences.ids.length > max || !hasRoom) return found;
  for (const id of around(place.fences.ids, place.at)) {
    if (found.length >= count) break;
    if (decoders.has(id) || pages.get(id) !== undefined) continue;
    decoders.set(id, decoderFor(place.table.layout, place.order));
    found.push(id);
  }
  return found;
}

/** The list from `at` on, followed by what comes before it. */
const around = <T>(list: readonly T[], at: number): T[] => [...list.slice(at), ...list.slice(0, at)];
