/** Walks keys in order, from bound to bound. */
import { lowerBound, type SortKey, upperBound } from '@settledb/core';

/** A range in sort keys; bounds may be absent. */
export interface Bounds {
  readonly lower?: SortKey | undefined;
  readonly lowerOpen?: boolean;
  readonly upper?: SortKey | undefined;
  readonly upperOpen?: boolean;
}

/** A cursor over sorted keys within bounds, forwards or backwards. */
export class Walk {
  at: number;
  readonly #end: number;
  readonly #step: 1 | -1;
  readonly #keys: readonly SortKey[];

  constructor(keys: readonly SortKey[], { lower, lowerOpen, upper, upperOpen }: Bounds, reverse: boolean) {
    let first = 0;
    let end = keys.length;
    // Most pages of a long range lie within it, and mostly no recent key does: one comparison each instead of a search.
    if (lower !== undefined && end > 0 && !(keys[0]! > lower))
      first = (lowerOpen ? upperBound : lowerBound)(keys, lower);
    if (upper !== undefined && end > first && !(keys[end - 1]! < upper))
      end = keys[first]! > upper ? first : (upperOpen ? lowerBound : upperBound)(keys, upper);
    this.#keys = keys;
    this.#step = reverse ? -1 : 1;
    this.at = reverse ? end - 1 : first;
    this.#end = reverse ? first - 1 : end;
  }

  /** How many keys are left. */
  get length(): number {
    return Math.abs(this.#end - this.at);
  }

  get more(): boolean {
    return this.at !== this.#end;
  }

  get key(): SortKey {
    return this.#keys[this.at] as SortKey;
  }

  step(): void {
    this.at += this.#step;
  }

  after(key: SortKey): boolean {
    return this.#step === 1 ? this.key > key : this.key < key;
  }
}
