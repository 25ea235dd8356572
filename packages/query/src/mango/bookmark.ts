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

/** URL-safe base64 of JSON. */
export function writeBookmark({ order, key, id }: Bookmark): string {
  if (known.order !== order) known = { order, start: base64Of(`[${JSON.stringify(order)},`) };
  return known.start + base64Of(JSON.stringify([key, id]).slice(1));
}

function base64Of(text: string): string {
  let bytes = text;
  if (!/^[\0-\x7f]*$/.test(text)) {
    bytes = '';
    for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  }
  // JSON is padded with spaces instead of base64 with `=`: so pieces can be joined, and there is hardly ever anything to replace.
  const padded = bytes.padEnd(Math.ceil(bytes.length / 3) * 3);
  const base64 = btoa(padded);
  return /[+/]/.test(base64) ? base64.replaceAll('+', '-').replaceAll('/', '_') : base64;
}

/** @throws DatabaseError 400 `invalid_bookmark` */
export function readBookmark(given: unknown): Bookmark {
  try {
    const bytes = atob(String(given).replaceAll('-', '+').replaceAll('_', '/'));
    const text = new TextDecoder().decode(Uint8Array.from(bytes, (each) => each.charCodeAt(0)));
    const [order, key, id] = JSON.parse(text);
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
