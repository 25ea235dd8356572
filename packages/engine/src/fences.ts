/** Where the pages of an order begin, and what else is known of it. */
import { type SortKey, upperBound } from '@settledb/core';
import type { OrderLayout, TableLayout } from './layout';
import { type Decoder, PAGES_LOADED_MAX, type Page } from './page';
import { Recent } from './recent';
import type { Runs } from './runs';
import { StoredPage } from './stored-page';
import type { Bounds } from './walk';

/** For each page: first key, block id, rows. */
export interface Fences {
  readonly keys: SortKey[];
  readonly ids: number[];
  readonly counts: number[];
  /** For pages of rows: where their last long fields lie. Older manifests have none. */
  readonly runs?: Runs[];
}

/**
 * For many pages: the blocks in which their fences lie, each a {@link Fences} as JSON. For each block: first key, block id, rows,
 * pages. So opening, a look-up and a checkpoint read and write the fences of a few hundred pages, however many there are.
 */
export interface FenceBlocks extends Fences {
  readonly pages: number[];
}

/** Orders of more pages are not read ahead, and their fences lie in blocks: they would leave little room for those of other orders. */
export const ORDER_PAGES_MAX = PAGES_LOADED_MAX / 4;
/** Pages whose fences make a block: 10 to 17 KB, which are read and parsed in some 0.1 ms. */
export const FENCES_PER_BLOCK = 256;

/**
 * Fences of up to this many pages lie in the manifest, which each opening reads whole. Rows with texts and one short key, such as
 * documents, are what most databases are opened for: reading theirs, 75 bytes a page, takes less than another turn of the storage.
 * Those of larger orders lie in blocks.
 */
export const fencesWholeMax = ({ keyField, textFields }: TableLayout, order: number): number =>
  order === 0 && keyField >= 0 && textFields.length > 0 ? PAGES_LOADED_MAX : ORDER_PAGES_MAX;

/** Fences that are parsed when they are first asked for. */
export interface StoredFences {
  readonly pages: number;
  /** Rows of all pages. */
  readonly rows: number;
  /** Called once. */
  read(): Fences | FenceBlocks;
}

/** Where rows lie by number, in the pages that have these fences; see `directory.ts`. */
export interface Places {
  readonly fences: Fences;
  readonly low: number;
  readonly at: Int32Array;
}

export class OrderState<Value> {
  readonly layout: OrderLayout;
  readonly recent = new Recent<Value>();
  places?: Places;
  /** The group in which a row was found last, and where: of many keys in order, each mostly is the next one there. */
  near: Page | undefined;
  nearAt = 0;
  /** Known without parsing the fences: page count and rows are asked for after each write. */
  pages = 0;
  rows = 0;
  #fences: Fences | undefined = noFences();
  #blocks: FenceBlocks | undefined;
  #stored: StoredFences | undefined;

  constructor(layout: OrderLayout) {
    this.layout = layout;
  }

  /** `undefined` if they lie in {@link blocks}. */
  get fences(): Fences | undefined {
    if (this.#stored !== undefined) this.fences = this.#stored.read();
    return this.#fences;
  }

  get blocks(): FenceBlocks | undefined {
    if (this.#stored !== undefined) this.fences = this.#stored.read();
    return this.#blocks;
  }

  /** The fences of all pages, or the blocks in which they lie. */
  set fences(fences: Fences | FenceBlocks) {
    this.#blocks = areBlocks(fences) ? fences : undefined;
    this.#fences = this.#blocks === undefined ? fences : undefined;
    this.#stored = undefined;
    this.near = undefined;
    this.pages = pagesOf(fences);
    this.rows = rowsOf(fences);
  }

  /** As setting {@link fences}, but they are parsed when they are first asked for. */
  store(stored: StoredFences): void {
    this.#stored = stored;
    this.near = undefined;
    this.pages = stored.pages;
    this.rows = stored.rows;
  }
}

/** Fences that lie together are a part: those of a block, or all of them. The part that a key falls into. */
export const partAt = ({ blocks }: OrderState<unknown>, key: SortKey): number =>
  blocks === undefined ? 0 : Math.max(upperBound(blocks.keys, key) - 1, 0);

const ONE_PART = { first: 0, last: 0 };

/** The first and the last part that may hold keys within the bounds. */
export const partSpan = ({ blocks }: OrderState<unknown>, bounds: Bounds): PageSpan =>
  blocks === undefined ? ONE_PART : pageSpan(blocks, bounds);

/** Where a page of a part ends, by its number: at the first key of the next. */
export const endOf = (
  { blocks }: OrderState<unknown>,
  part: number,
  { keys }: Fences,
  number: number,
): SortKey | undefined => keys[number + 1] ?? blocks?.keys[part + 1];

export const areBlocks = (fences: Fences): fences is FenceBlocks => 'pages' in fences;

export const noFences = (): Fences => ({ keys: [], ids: [], counts: [] });

export function rowsOf({ counts }: Fences): number {
  let rows = 0;
  for (const count of counts) rows += count;
  return rows;
}

export const pagesOf = (fences: Fences): number =>
  areBlocks(fences) ? fences.pages.reduce((sum, pages) => sum + pages, 0) : fences.ids.length;

export interface PageSpan {
  readonly first: number;
  readonly last: number;
}

/** The first and the last page that may hold keys within the bounds; if there are none the last comes before the first. */
export function pageSpan({ keys }: Fences, { lower, upper }: Bounds): PageSpan {
  const first = lower === undefined ? 0 : Math.max(upperBound(keys, lower) - 1, 0);
  return { first, last: (upper === undefined ? keys.length : upperBound(keys, upper)) - 1 };
}

/** Blocks of fences are kept in memory as pages are. */
export const FENCES_DECODER: Decoder = /* @__PURE__ */ Object.assign(
  (text: string) => new StoredPage([], [JSON.parse(text) as Fences], text.length),
  { head: () => undefined },
);
