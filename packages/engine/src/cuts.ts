/**
 * Where rows are cut into pages, and fences into blocks: by their number, and by their characters if keys are long. A page is stored,
 * read and parsed as one: 250 keys of half a megabyte in one page were more than Chromium stores in a record.
 */
import { FENCES_PER_BLOCK } from './fences';
import { PAGE_ROWS } from './page';

/**
 * Characters of a page of long rows, or of a block of long fences, about: what one request reads in some 10 ms. Longer than it is only
 * what cannot be cut, a row and half of its neighbours.
 */
export const PAGE_LENGTH = 1024 * 1024;

/** The characters of a row, or of a fence, by its number. */
type LengthAt = (at: number) => number;
type Cut = readonly [from: number, to: number];

/** Where to cut `length` rows into pages; without `all`, only whole pages are cut. */
export function chunks(length: number, all: boolean, lengthAt: LengthAt): Cut[] {
  const { sizes, total } = sizesOf(length, PAGE_ROWS, lengthAt);
  const pages = all ? Math.ceil(total / PAGE_ROWS) : Math.floor(total / PAGE_ROWS);
  return cut(sizes, all ? total / pages : PAGE_ROWS, pages);
}

/** Where to cut fences into blocks, of about the same size: what grows at its end, or anywhere within, is seldom cut again. */
export function blockCuts(length: number, lengthAt: LengthAt): Cut[] {
  const { sizes, total } = sizesOf(length, FENCES_PER_BLOCK, lengthAt);
  const blocks = Math.max(Math.round(total / FENCES_PER_BLOCK), 1);
  return cut(sizes, total / blocks, blocks);
}

/** Sizes in short rows, of which a page holds `max`: a long row counts as many. */
function sizesOf(length: number, max: number, lengthAt: LengthAt): { sizes: Float64Array; total: number } {
  const sizes = new Float64Array(length);
  let total = 0;
  for (let at = 0; at < length; at++) {
    sizes[at] = Math.max((lengthAt(at) * max) / PAGE_LENGTH, 1);
    total += sizes[at]!;
  }
  return { sizes, total };
}

/** Each row goes into the page in which its middle falls; those behind the last page are left. */
function cut(sizes: Float64Array, pageSize: number, pages: number): Cut[] {
  const cuts: Cut[] = [];
  let from = 0;
  let page = 0;
  let before = 0;
  for (let at = 0; at < sizes.length; at++) {
    const its = Math.ceil((before + sizes[at]! / 2) / pageSize) - 1;
    if (its !== page && at > from) {
      cuts.push([from, at]);
      from = at;
    }
    if (its >= pages) return cuts;
    page = its;
    before += sizes[at]!;
  }
  if (from < sizes.length) cuts.push([from, sizes.length]);
  return cuts;
}
