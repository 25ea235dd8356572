/**
 * The order of view keys: null, booleans, numbers, strings, arrays, objects; and keys as strings that sort the same way.
 *
 * Strings are compared by UTF-16 code unit, as PouchDB does, so that every engine and every store agrees; CouchDB compares
 * them by ICU (docs/decisions/0002-collation.md).
 */
import { normalizeKey } from './normalize-key';
import type { Json } from './types';

/** Negative, 0 or positive, as `a` sorts before, with or after `b`. A total order of all values that {@link normalizeKey} takes. */
export function compareKeys(a: unknown, b: unknown): number {
  return compare(normalizeKey(a), normalizeKey(b));
}

/** As {@link compareKeys}, for a value parsed from JSON, as stored documents are: it is not copied again. */
export function compareJson(value: unknown, json: Json): number {
  return compare(value as Json, json);
}

function compare(a: Json, b: Json): number {
  const rank = rankOf(a);
  const difference = rank - rankOf(b);
  if (difference !== 0) return difference;
  if (rank === NUMBER || rank === STRING) return a! < b! ? -1 : a! > b! ? 1 : 0;
  if (rank === ARRAY) return compareLists(a as Json[], b as Json[]);
  if (rank === OBJECT) return compareLists(members(a), members(b));
  return 0;
}

/** Element by element; a list sorts after its own beginnings. */
function compareLists(a: readonly Json[], b: readonly Json[]): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const order = compare(a[at]!, b[at]!); // `at` is within both
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** Keys and values alternately, in the order of the object. */
function members(value: Json): Json[] {
  const all: Json[] = [];
  // Quicker by an order of magnitude than to flatten entries, where there are hundreds of thousands.
  for (const key of Object.keys(value as object)) all.push(key, (value as Record<string, Json>)[key]!);
  return all;
}

const NULL = 1;
const FALSE = 2;
const TRUE = 3;
const NUMBER = 4;
const STRING = 5;
const ARRAY = 6;
const OBJECT = 7;

function rankOf(value: Json | undefined): number {
  if (value === null || value === undefined) return NULL;
  if (typeof value === 'boolean') return value ? TRUE : FALSE;
  if (typeof value === 'number') return NUMBER;
  if (typeof value === 'string') return STRING;
  return Array.isArray(value) ? ARRAY : OBJECT;
}

/** Ends a value of varying length. Sorts below all that can stand in one, so that a beginning sorts before the whole. */
const END = '\u0000';

/**
 * A string for every key, such that `toKey(a) < toKey(b)` exactly when `compareKeys(a, b) < 0`; only equal keys have equal strings.
 * Well-formed Unicode if the strings in the key are.
 */
export function toKey(value: unknown): string {
  return keyOf(isPlainList(value) ? value : normalizeKey(value));
}

/** A list of the usual kind, which is its own JSON. */
function isPlainList(value: unknown): value is Json[] {
  if (!Array.isArray(value) || 'toJSON' in value) return false;
  for (let at = 0; at < value.length; at++) {
    const item: unknown = value[at];
    if (typeof item === 'string' || typeof item === 'boolean' || item === null) continue;
    if (typeof item !== 'number' || !Number.isFinite(item)) return false;
  }
  return true;
}

function keyOf(value: Json): string {
  if (typeof value === 'number') return NUMBER + sortableNumber(value) + END;
  if (typeof value === 'string') return STRING + escapeText(value) + END;
  const rank = rankOf(value);
  if (rank !== ARRAY && rank !== OBJECT) return String(rank);
  let text = String(rank);
  for (const item of rank === ARRAY ? (value as Json[]) : members(value)) text += keyOf(item);
  return text + END;
}

/** Frees U+0000 for {@link END} and keeps the order: 0 → 1 1, 1 → 1 2. */
function escapeText(text: string): string {
  return /[\u0000\u0001]/.test(text)
    ? text.replace(/[\u0000\u0001]/g, (unit) => (unit === '\u0000' ? '\u0001\u0001' : '\u0001\u0002'))
    : text;
}

const DIGIT_0 = 48;
const bits = new DataView(new ArrayBuffer(8));
const bytes = new Uint8Array(bits.buffer);
/** Two digits for each byte: `toString(16)` of a number that is not a small integer takes longer than all of these (decisions/0011). */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Up to 16 hex digits that sort as the number does: the bits of IEEE 754, made monotonic; zeros at the end are left out. */
function sortableNumber(value: number): string {
  bits.setFloat64(0, value === 0 ? 0 : value);
  const flip = bytes[0]! < 0x80 ? 0 : 0xff;
  if (flip === 0) bytes[0]! ^= 0x80;
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === flip) end--;
  let text = '';
  for (let at = 0; at < end; at++) text += HEX[bytes[at]! ^ flip];
  return text.charCodeAt(text.length - 1) === DIGIT_0 ? text.slice(0, -1) : text;
}

/** The key from which {@link toKey} made `text`. */
export function fromKey(text: string): Json {
  const rank = text.charCodeAt(0) - DIGIT_0;
  // Most keys are a single number, which ends with the text.
  if (rank === NUMBER) return numberOf(text, 1, text.length - 1);
  if (rank === STRING) return unescapeText(text.slice(1, -1));
  return new KeyReader(text).value();
}

/** For the key of an array, the key of its first `length` members; other keys as they are. */
export function truncateKey(text: string, length: number): string {
  return text.charCodeAt(0) - DIGIT_0 === ARRAY ? new KeyReader(text).beginning(length) : text;
}

class KeyReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): Json {
    const rank = this.#text.charCodeAt(this.#at++) - DIGIT_0;
    if (rank === STRING || rank === NUMBER) return this.#untilEnd(rank);
    if (rank === ARRAY) return this.#list();
    if (rank === OBJECT) return objectOf(this.#list());
    return rank === NULL ? null : rank === TRUE;
  }

  beginning(length: number): string {
    this.#at = 1;
    for (let i = 0; i < length && this.#text[this.#at] !== END; i++) this.value();
    return this.#text.slice(0, this.#at) + END;
  }

  #untilEnd(rank: number): Json {
    const text = this.#text;
    const start = this.#at;
    const end = text.indexOf(END, start);
    this.#at = end + 1;
    return rank === NUMBER ? numberOf(text, start, end) : unescapeText(text.slice(start, end));
  }

  #list(): Json[] {
    const list: Json[] = [];
    while (this.#text[this.#at] !== END) list.push(this.value());
    this.#at++;
    return list;
  }
}

function objectOf(members: readonly Json[]): Json {
  const entries: [string, Json][] = [];
  for (let at = 0; at < members.length; at += 2) entries.push([members[at] as string, members[at + 1]!]); // in pairs
  return Object.fromEntries(entries); // defines each member, even one called `__proto__`
}

const unescapeText = (text: string): string =>
  text.includes('\u0001')
    ? text.replace(/\u0001[\u0001\u0002]/g, (pair) => (pair[1] === '\u0001' ? '\u0000' : '\u0001'))
    : text;

/** The number of 8 hex digits beginning at `start`; digits missing before `last` are zeros. */
function digitsFrom(text: string, start: number, last: number): number {
  let value = 0;
  const end = Math.min(start + 8, last);
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    value = (value << 4) | (code > DIGIT_9 ? code - LETTER_A + 10 : code - DIGIT_0);
  }
  return end <= start ? 0 : (value << (4 * (start + 8 - end))) >>> 0;
}

const DIGIT_9 = 57;
const LETTER_A = 97;

function numberOf(text: string, start: number, end: number): number {
  const high = digitsFrom(text, start, end);
  const low = digitsFrom(text, start + 8, end);
  const negative = (high & 0x8000_0000) === 0;
  bits.setUint32(0, high ^ (negative ? 0xffff_ffff : 0x8000_0000));
  bits.setUint32(4, low ^ (negative ? 0xffff_ffff : 0));
  return bits.getFloat64(0);
}
