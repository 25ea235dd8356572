/**
 * A page as it is stored and kept in memory: groups of {@link GROUP_ROWS} rows, each parsed when it is first looked into.
 *
 *   [["g","n"],[3400,3391,3406]]   first keys of the groups but the first, and the lengths of all
 *   [columns of a … f]             a line each
 *   [columns of g … m]
 *   [columns of n … z]
 *
 * When the directory is larger than memory most look-ups want one row of a page: making all 256 took 60 µs and more, and collecting
 * them as long again. A page of at most a group's rows is that group alone, as are pages of manifests of format 1, however long.
 *
 * Where a journal reads parts of blocks, such a look-up loads the first line and a group, a fifth of the page, and keeps the line: the
 * next one reads only a group. Groups that are soon looked into again are kept (`page-parts.ts`). Pages of manifests of format 2 have
 * only the keys in the first line, and are loaded whole.
 */
import { type SortKey, upperBound } from '@settledb/core';
import type { Page } from './page';

/** Parsing a group takes some 8 µs, and its first key adds 3 % to its length. */
export const GROUP_ROWS = 32;
/** Groups of a page: the weight of a page in memory. */
export const PAGE_GROUPS = 8;
/**
 * Characters of a group, at most, of those that count as one: groups of documents have 3,000 to 5,000. A longer one weighs as several,
 * so the pages in memory have 64 Mi characters at most, however long the keys are.
 */
const GROUP_LENGTH = 8 * 1024;
/** A page whose first line is longer is loaded whole: seven keys of 200 characters fit, and documents' take a third of it. */
export const HEAD_LENGTH = 1_536;
/** The weight of a first line beside the groups that were loaded: keys of 7 rows instead of 32, and no columns. */
const HEAD_WEIGHT = 1 / 8;

/** Which rows of a page are looked for: from key to key (absent: no bound); at most `rows` from the first. */
export interface Span {
  readonly lower?: SortKey | undefined;
  readonly upper?: SortKey | undefined;
  readonly rows?: number;
}

type Head = readonly [keys: SortKey[], lengths: number[]];

export class StoredPage<P extends Page = Page> {
  readonly #keys: readonly SortKey[];
  /** Groups: texts until they are parsed; until loaded, absent or a number: when they were last {@link lend}ed. */
  readonly #groups: (P | string | number | undefined)[];
  readonly #decode: ((text: string) => P) | undefined;
  /** Where each group begins in the text of the page, and where the last ends; for pages of which some were not loaded. */
  readonly #places: readonly number[] | undefined;
  #lacking = 0;
  /** Characters of what was loaded. */
  #length: number;
  /** Made for one call: not to be kept. */
  isLent = false;

  /**
   * @param length characters of the first line and the groups, as far as they are there
   * @param decode parses groups that are texts
   */
  constructor(
    keys: readonly SortKey[],
    groups: (P | string | number | undefined)[],
    length: number,
    decode?: (text: string) => P,
    places?: readonly number[],
  ) {
    this.#keys = keys;
    this.#groups = groups;
    this.#length = length;
    this.#decode = decode;
    this.#places = places;
    for (const group of groups) if (isAbsent(group)) this.#lacking++;
    if (groups.length === 1) this.group(0);
  }

  get isWhole(): boolean {
    return this.#lacking === 0;
  }

  /** For a whole page {@link PAGE_GROUPS}, unless its keys are long. */
  get weight(): number {
    const groups = this.isWhole ? PAGE_GROUPS : this.#groups.length - this.#lacking + HEAD_WEIGHT;
    return Math.max(groups, this.#length / GROUP_LENGTH);
  }

  /** Whether the rows of `span` are in memory. */
  has(span?: Span): boolean {
    if (this.#lacking === 0) return true;
    const { first, last } = this.span(span);
    for (let i = first; i <= last; i++) if (isAbsent(this.#groups[i])) return false;
    return true;
  }

  /** The group that `key` falls into, if it is in this page; `undefined`: it was not loaded. */
  around(key: SortKey): P | undefined {
    return this.group(upperBound(this.#keys, key));
  }

  /** The groups that may hold keys from `lower` to `upper` (absent: no bound), in order; {@link has} must say that they are loaded. */
  within(lower?: SortKey, upper?: SortKey): P[] {
    const { first, last } = this.span({ lower, upper });
    const groups: P[] = [];
    for (let i = first; i <= last; i++) groups.push(this.group(i)!);
    return groups;
  }

  /** The numbers of the groups that may hold rows of `span`. */
  span({ lower, upper, rows }: Span = {}): { first: number; last: number } {
    const first = lower === undefined ? 0 : upperBound(this.#keys, lower);
    const last = upper === undefined ? this.#keys.length : upperBound(this.#keys, upper);
    if (rows === undefined) return { first, last };
    return { first, last: Math.min(last, first + Math.ceil((rows - 1) / GROUP_ROWS)) };
  }

  /** The group of the row at a position within the whole page, and its position in the group. Only for a whole page. */
  place(at: number): [P, number] {
    const number = this.#keys.length === 0 ? 0 : Math.floor(at / GROUP_ROWS);
    return [this.group(number)!, at - number * GROUP_ROWS];
  }

  /** `undefined`: it was not loaded. */
  group(number: number): P | undefined {
    const group = this.#groups[number];
    if (isAbsent(group)) return undefined;
    if (typeof group !== 'string') return group;
    const made = this.#decode!(group); // given if there are texts
    this.#groups[number] = made;
    return made;
  }

  /** A key that falls into group `number`. */
  keyOf(number: number): SortKey | undefined {
    return this.#keys[number - 1];
  }

  /** The part of the page's text from the first to the last group of `span` that was not loaded. */
  lacking(span: Span): { readonly at: number; readonly length: number } | undefined {
    const { first, last } = this.#missing(span);
    if (first > last) return undefined;
    const at = this.#places![first]!; // given if groups are absent
    return { at, length: this.#places![last + 1]! - 1 - at };
  }

  /** Takes in the text that was {@link lacking}. */
  add(text: string, span: Span): void {
    const { first } = this.#missing(span);
    for (const [i, line] of text.split('\n').entries()) {
      if (!isAbsent(this.#groups[first + i])) continue;
      this.#groups[first + i] = line;
      this.#length += line.length;
      this.#lacking--;
    }
  }

  /**
   * Notes that what is {@link lacking} is being loaded.
   * @returns this page if it was loaded before, at most `within` ago, so that keeping it is worthwhile; otherwise a copy for one call
   */
  lend(span: Span, now: number, within: number): StoredPage<P> {
    if (this.isLent) return this;
    const { first, last } = this.#missing(span);
    let isSoon = true;
    for (let i = first; i <= last; i++) {
      const before = this.#groups[i];
      if (!isAbsent(before)) continue;
      isSoon &&= now - (before ?? Number.NEGATIVE_INFINITY) <= within;
      this.#groups[i] = now;
    }
    if (isSoon) return this;
    const copy = new StoredPage(this.#keys, this.#groups.slice(), this.#length, this.#decode, this.#places);
    copy.isLent = true;
    return copy;
  }

  #missing(span: Span): { first: number; last: number } {
    let { first, last } = this.span(span);
    while (first <= last && !isAbsent(this.#groups[first])) first++;
    while (first <= last && !isAbsent(this.#groups[last])) last--;
    return { first, last };
  }
}

const isAbsent = (group: Page | string | number | undefined): group is number | undefined =>
  group === undefined || typeof group === 'number';

export function decodePage<P extends Page>(text: string, decode: (text: string) => P): StoredPage<P> {
  // JSON as written here has no line breaks.
  const lines = text.split('\n');
  const head = lines.length === 1 ? [] : (JSON.parse(lines.shift()!) as Head | SortKey[]);
  return new StoredPage(hasLengths(head) ? head[0] : head, lines, text.length, decode);
}

/**
 * A page none of whose groups was loaded.
 * @param text its first {@link HEAD_LENGTH} characters
 * @returns `undefined` if they do not say where its groups are
 */
export function decodeHead<P extends Page>(
  text: string,
  decode: (text: string) => P,
): StoredPage<P> | undefined {
  const end = text.indexOf('\n');
  if (end < 0) return undefined;
  const head = JSON.parse(text.slice(0, end)) as Head | SortKey[];
  if (!hasLengths(head)) return undefined;
  const [keys, lengths] = head;
  const places = [end + 1];
  for (const length of lengths) places.push(places.at(-1)! + length + 1);
  return new StoredPage(
    keys,
    lengths.map(() => undefined),
    end,
    decode,
    places,
  );
}

const hasLengths = (head: Head | SortKey[]): head is Head => Array.isArray(head[0]);
