/**
 * A page as it is stored and kept in memory: groups of {@link GROUP_ROWS} rows, each parsed when a look comes into it.
 *
 *   ["g","n"]                first keys of the groups but the first
 *   [columns of a … f]       a line each
 *   [columns of g … m]
 *   [columns of n … z]
 *
 * Where the directory is larger than memory most looks want one row of a page: to make all 256 took 60 µs and more, and as long again
 * to collect them. A page of no more rows than a group has is that group alone, as pages of manifests of format 1 are, however long.
 */
import type { SortKey } from '@settledb/core';
import type { Page } from './page';
import { upperBound } from './recent';

/** A group takes some 8 µs, and its first key stands for 3 % of it once more. */
export const GROUP_ROWS = 32;

export class StoredPage<P extends Page = Page> {
  readonly #keys: readonly SortKey[];
  /** Texts until they are parsed. */
  readonly #groups: (P | string)[];
  readonly #decode: ((text: string) => P) | undefined;

  /** @param decode of those that are texts */
  constructor(keys: readonly SortKey[], groups: (P | string)[], decode?: (text: string) => P) {
    this.#keys = keys;
    this.#groups = groups;
    this.#decode = decode;
    if (groups.length === 1) this.#group(0);
  }

  /** The group in which `key` is, if it is in this page. */
  around(key: SortKey): P {
    return this.#group(upperBound(this.#keys, key));
  }

  /** The groups that may have keys from `lower` to `upper`, in order; absent: no bound. */
  within(lower?: SortKey, upper?: SortKey): P[] {
    const first = lower === undefined ? 0 : upperBound(this.#keys, lower);
    const last = upper === undefined ? this.#keys.length : upperBound(this.#keys, upper);
    const groups: P[] = [];
    for (let i = first; i <= last; i++) groups.push(this.#group(i));
    return groups;
  }

  /** The group of the row at a position among all of the page, and its position there. */
  place(at: number): [P, number] {
    const number = this.#keys.length === 0 ? 0 : Math.floor(at / GROUP_ROWS);
    return [this.#group(number), at - number * GROUP_ROWS];
  }

  #group(number: number): P {
    const group = this.#groups[number]!;
    if (typeof group !== 'string') return group;
    const made = this.#decode!(group); // Given where there are texts.
    this.#groups[number] = made;
    return made;
  }
}

export function decodePage<P extends Page>(text: string, decode: (text: string) => P): StoredPage<P> {
  // JSON has no line ends of its own.
  const lines = text.split('\n');
  const keys = lines.length === 1 ? [] : (JSON.parse(lines.shift()!) as SortKey[]);
  return new StoredPage(keys, lines, decode);
}
