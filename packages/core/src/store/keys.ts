/**
 * Keys of rows and their order: numbers, then strings by UTF-16 code unit, then arrays element by element, as in
 * IndexedDB. Inside a store every key of one order is a {@link SortKey}: compared by `<`, never taken apart.
 */

export type KeyPart = string | number | readonly [];
/** A row's key. `[]` as an element sorts above every string and number: `[id, []]` is the end of all keys under `id`. */
export type Key = string | number | readonly KeyPart[];
/** The range of all keys that begin with these parts. */
export const under = (...parts: (string | number)[]): { readonly gte: Key; readonly lte: Key } => ({
  gte: parts,
  lte: [...parts, []],
});

/** A key in the form by which the engine sorts. All keys of one order have one type, so `<` is their order. */
export type SortKey = string | number;

/** The first position whose key is not less than `key`. */
export function lowerBound(keys: readonly SortKey[], key: SortKey): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first position whose key is greater than `key`. */
export function upperBound(keys: readonly SortKey[], key: SortKey): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

const NUMBER = '1';
const STRING = '2';
const LAST = '3';
/** Sorts below every escaped character, so that a prefix sorts first. */
const END = '\u0000\u0000';

/** The form by which `key` sorts: strings and numbers are themselves, arrays become one string. */
export function sortKey(key: Key): SortKey {
  if (typeof key !== 'object') return key;
  let text = '';
  for (const value of key) text += part(value);
  return text;
}

/** The sort key of `[...key, []]`, given that of the array `key`. */
export const endOfAll = (key: string): string => key + LAST;

function part(value: KeyPart): string {
  if (typeof value === 'string') return STRING + escaped(value) + END;
  if (typeof value !== 'number') return LAST;
  if (!Number.isInteger(value) || value < 0 || value >= COUNTS_KEPT) return NUMBER + sortableNumber(value);
  COUNTS[value] ??= NUMBER + sortableNumber(value);
  return COUNTS[value];
}

/** Small counts whose form is kept, since they are parts of many keys. */
const COUNTS_KEPT = 64;
const COUNTS: string[] = [];

function escaped(text: string): string {
  const at = text.indexOf('\u0000');
  if (at < 0) return text;
  // Most keys of views have their only U+0000 at the end.
  return at === text.length - 1 ? `${text}\u0001` : text.replaceAll('\u0000', '\u0000\u0001');
}

const bits = new DataView(new ArrayBuffer(8));

/** 16 hex digits that sort as the number does: IEEE 754 bits, sign flipped, negative ones inverted. */
function sortableNumber(value: number): string {
  bits.setFloat64(0, value === 0 ? 0 : value);
  let high = bits.getUint32(0);
  let low = bits.getUint32(4);
  if (high & 0x8000_0000) {
    high = ~high >>> 0;
    low = ~low >>> 0;
  } else {
    high = (high | 0x8000_0000) >>> 0;
  }
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0');
}
