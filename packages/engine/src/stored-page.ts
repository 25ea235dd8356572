/**
 * A page as it is stored and kept in memory: groups of {@link GROUP_ROWS} rows, each parsed when a look comes into it.
 *
 *   [["g","n"],[3400,3391,3406]]   first keys of the groups but the first, and the lengths of all
 *   [columns of a … f]             a line each
 *   [columns of g … m]
 *   [columns of n … z]
 *
 * Where the directory is larger than memory most looks want one row of a page: to make all 256 took 60 µs and more, and as long again
 * to collect them. A page of no more rows than a group has is that group alone, as pages of manifests of format 1 are, however long.
 *
 * Where a journal reads parts of blocks, such a look loads the first line and a group, a fifth of the page, and keeps the line: the next one
 * reads a group alone. Groups are kept of what is looked for again soon (`page-parts.ts`). Pages of manifests of format 2 have the keys
 * alone for a first line, and are loaded whole.
 */
import type { SortKey } from '@settledb/core';
import type { Page } from './page';
import { upperBound } from './recent';

/** A group takes some 8 µs, and its first key stands for 3 % of it once more. */
export const GROUP_ROWS = 32;
/** Groups of a page: what one weighs in memory. */
export const PAGE_GROUPS = 8;
/** Characters of a page in which its first line ends, or it is loaded whole: seven keys of 200, or documents' in a third of it. */
export const HEAD_LENGTH = 1_536;
/** What a first line weighs beside the groups that were loaded: keys of 7 rows in place of 32, and no columns. */
const HEAD_WEIGHT = 1 / 8;

/** Which rows of a page are looked for: from a key to a key, absent: no bound; no more than so many from the first. */
export interface Span {
  readonly lower?: SortKey | undefined;
  readonly upper?: SortKey | undefined;
  readonly rows?: number;
}

type Head = readonly [keys: SortKey[], lengths: number[]];

export class StoredPage<P extends Page = Page> {
  readonly #keys: readonly SortKey[];
  /** Texts until they are parsed; until they are loaded absent, or a number: when they were {@link lend}ed last. */
  readonly #groups: (P | string | number | undefined)[];
  readonly #decode: ((text: string) => P) | undefined;
  /** Where each group begins in the text of the page, and where that ends; of a page of which some were not loaded. */
  readonly #places: readonly number[] | undefined;
  #lacking = 0;
  /** For one call: it is not to be kept. */
  isLent = false;

  /** @param decode of those that are texts */
  constructor(
    keys: readonly SortKey[],
    groups: (P | string | number | undefined)[],
    decode?: (text: string) => P,
    places?: readonly number[],
  ) {
    this.#keys = keys;
    this.#groups = groups;
    this.#decode = decode;
    this.#places = places;
    for (const group of groups) if (isAbsent(group)) this.#lacking++;
    if (groups.length === 1) this.group(0);
  }

  get isWhole(): boolean {
    return this.#lacking === 0;
  }

  /** Of a page that is whole {@link PAGE_GROUPS}. */
  get weight(): number {
    return this.isWhole ? PAGE_GROUPS : this.#groups.length - this.#lacking + HEAD_WEIGHT;
  }

  /** Whether the rows of `span` are in memory. */
  has(span?: Span): boolean {
    if (this.#lacking === 0) return true;
    const { first, last } = this.span(span);
    for (let i = first; i <= last; i++) if (isAbsent(this.#groups[i])) return false;
    return true;
  }

  /** The group in which `key` is, if it is in this page; `undefined`: it was not loaded. */
  around(key: SortKey): P | undefined {
    return this.group(upperBound(this.#keys, key));
  }

  /** The groups that may have keys from `lower` to `upper`, in order, absent: no bound; which {@link has} them. */
  within(lower?: SortKey, upper?: SortKey): P[] {
    const { first, last } = this.span({ lower, upper });
    const groups: P[] = [];
    for (let i = first; i <= last; i++) groups.push(this.group(i)!);
    return groups;
  }

  /** The numbers of the groups in which rows of `span` may be. */
  span({ lower, upper, rows }: Span = {}): { first: number; last: number } {
    const first = lower === undefined ? 0 : upperBound(this.#keys, lower);
    const last = upper === undefined ? this.#keys.length : upperBound(this.#keys, upper);
    if (rows === undefined) return { first, last };
    return { first, last: Math.min(last, first + Math.ceil((rows - 1) / GROUP_ROWS)) };
  }

  /** The group of the row at a position among all of the page, and its position there. Of a whole page. */
  place(at: number): [P, number] {
    const number = this.#keys.length === 0 ? 0 : Math.floor(at / GROUP_ROWS);
    return [this.group(number)!, at - number * GROUP_ROWS];
  }

  /** `undefined`: it was not loaded. */
  group(number: number): P | undefined {
    const group = this.#groups[number];
    if (isAbsent(group)) return undefined;
    if (typeof group !== 'string') return group;
    const made = this.#decode!(group); // Given where there are texts.
    this.#groups[number] = made;
    return made;
  }

  /** A key by which group `number` is found. */
  keyOf(number: number): SortKey | undefined {
    return this.#keys[number - 1];
  }

  /** The part of the page's text in which the groups of `span` are that were not loaded: from the first to the last. */
  lacking(span: Span): { readonly at: number; readonly length: number } | undefined {
    const { first, last } = this.#missing(span);
    if (first > last) return undefined;
    const at = this.#places![first]!; // Given where groups are absent.
    return { at, length: this.#places![last + 1]! - 1 - at };
  }

  /** Takes in the text of what is {@link lacking}. */
  add(text: string, span: Span): void {
    const { first } = this.#missing(span);
    for (const [i, line] of text.split('\n').entries()) {
      if (!isAbsent(this.#groups[first + i])) continue;
      this.#groups[first + i] = line;
      this.#lacking--;
    }
  }

  /**
   * Notes that what is {@link lacking} is loaded.
   * @returns this, where that was loaded before and no longer than `within` ago: it is worth keeping; else a copy of this for one call
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
    const copy = new StoredPage(this.#keys, this.#groups.slice(), this.#decode, this.#places);
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
  // JSON has no line ends of its own.
  const lines = text.split('\n');
  const head = lines.length === 1 ? [] : (JSON.parse(lines.shift()!) as Head | SortKey[]);
  return new StoredPage(hasLengths(head) ? head[0] : head, lines, decode);
}

/**
 * A page of which no group was loaded.
 * @param text its first {@link HEAD_LENGTH} characters
 * @returns `undefined` when they do not say where its groups are
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
    decode,
    places,
  );
}

const hasLengths = (head: Head | SortKey[]): head is Head => Array.isArray(head[0]);
