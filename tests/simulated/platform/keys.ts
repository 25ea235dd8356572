/** IndexedDB's keys: which values are some, their order, and ranges of them. */

export type Key = number | string | readonly Key[];

/** @throws DataError unless it is one of those that are simulated: numbers, texts, lists of both */
export function checkKey(key: unknown): Key {
  if (typeof key === 'string' || (typeof key === 'number' && !Number.isNaN(key))) return key;
  if (Array.isArray(key)) return key.map(checkKey);
  throw new DOMException('This is no key', 'DataError');
}

/** Numbers before texts before lists. */
const rank = (key: Key): number => (typeof key === 'number' ? 0 : typeof key === 'string' ? 1 : 2);

export function compareKeys(a: Key, b: Key): number {
  if (typeof a === 'object' && typeof b === 'object') {
    for (let i = 0; i < Math.min(a.length, b.length); i++) {
      const order = compareKeys(a[i]!, b[i]!);
      if (order !== 0) return order;
    }
    return a.length - b.length;
  }
  const order = rank(a) - rank(b);
  if (order !== 0) return order;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** As `IDBKeyRange`. */
export class KeyRange {
  readonly lower: Key | undefined;
  readonly upper: Key | undefined;
  readonly lowerOpen: boolean;
  readonly upperOpen: boolean;

  private constructor(lower: unknown, upper: unknown, lowerOpen: boolean, upperOpen: boolean) {
    this.lower = lower === undefined ? undefined : checkKey(lower);
    this.upper = upper === undefined ? undefined : checkKey(upper);
    this.lowerOpen = lowerOpen;
    this.upperOpen = upperOpen;
    if (this.lower === undefined || this.upper === undefined) return;
    const order = compareKeys(this.lower, this.upper);
    if (order > 0 || (order === 0 && (lowerOpen || upperOpen)))
      throw new DOMException('The lower key is greater than the upper key', 'DataError');
  }

  static bound(lower: unknown, upper: unknown, lowerOpen = false, upperOpen = false): KeyRange {
    return new KeyRange(lower, upper, lowerOpen, upperOpen);
  }

  static lowerBound(lower: unknown, open = false): KeyRange {
    return new KeyRange(lower, undefined, open, false);
  }

  static upperBound(upper: unknown, open = false): KeyRange {
    return new KeyRange(undefined, upper, false, open);
  }

  static only(key: unknown): KeyRange {
    return new KeyRange(key, key, false, false);
  }

  /** What is asked for by a key, a range, or nothing, which stands for all. */
  static of(query: unknown): KeyRange {
    if (query instanceof KeyRange) return query;
    return query === undefined || query === null
      ? new KeyRange(undefined, undefined, false, false)
      : KeyRange.only(query);
  }

  isAfterStart(key: Key): boolean {
    if (this.lower === undefined) return true;
    const order = compareKeys(key, this.lower);
    return order > 0 || (order === 0 && !this.lowerOpen);
  }

  isBeforeEnd(key: Key): boolean {
    if (this.upper === undefined) return true;
    const order = compareKeys(key, this.upper);
    return order < 0 || (order === 0 && !this.upperOpen);
  }
}
