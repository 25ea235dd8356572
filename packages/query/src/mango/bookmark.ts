/**
 * Bookmarks: where in the order of its answer a `find` stopped, as opaque text.
 *
 * The place is that of the last document, not a count, so that writes between two pages neither repeat a document nor
 * leave one out. Only the plan that made a bookmark can go on from it: the text says which one that was.
 */
import { type Json, show } from '@settledb/core';
import { invalid } from './fields';

export interface Bookmark {
  /** The order that the place is in: the way, its index, the sort. */
  readonly order: string;
  /** The key of the last row, or the sorted values of the last document; `null` in the order of ids. */
  readonly key: Json;
  readonly id: string;
}

/** CouchDB's bookmark when there is no place yet. */
export const NO_BOOKMARK = 'nil';

/** The beginning of bookmarks of one order: half of their text, and usually the same as for the one before. */
let known: { readonly order: string | undefined; readonly start: string } = { order: undefined, start: '' };

/** JSON: base64 around it took a tenth of a find by one key. */
export function writeBookmark({ order, key, id }: Bookmark): string {
  if (known.order !== order) known = { order, start: `[${JSON.stringify(order)},` };
  return `${known.start}${JSON.stringify(key)},${JSON.stringify(id)}]`;
}

/** @throws DatabaseError 400 `invalid_bookmark` */
export function readBookmark(given: unknown): Bookmark {
  try {
    const [order, key, id] = JSON.parse(String(given));
    if (typeof order === 'string' && key !== undefined && typeof id === 'string') return { order, key, id };
  } catch {
    // Not one of our bookmarks: see below.
  }
  throw invalidBookmark(given);
}

/** Rows of indexes by fields have lists as keys, or objects with a list in them. */
export const isRowKey = (key: Json): boolean => typeof key === 'object' && key !== null;

export const invalidBookmark = (given: unknown): Error =>
  invalid('invalid_bookmark', `Invalid bookmark value: ${show(given)}`);
