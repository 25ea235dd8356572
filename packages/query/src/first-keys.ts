/**
 * The keys beyond which no row can be among the first `count`: rows that a map emits beyond them are skipped before anything else is
 * done with them. Some more keys than wanted are kept, and cut down from time to time.
 */
import { fromKey, type Json } from '@settledb/core';
import type { RowFilter } from './map';

/** Keys kept for each one wanted: cutting down sorts, so it should be rare. */
const SPARE = 4;

export class FirstKeys {
  readonly #count: number;
  readonly #descending: boolean;
  #keys: string[] = [];
  /** The last key that counts. Rows with that very key do too, because then their ids decide. */
  #bound: string | undefined;
  #boundKey: Json | undefined;

  /** @param count rows wanted, at least one */
  constructor(count: number, descending: boolean) {
    this.#count = count;
    this.#descending = descending;
  }

  /** Lets through only those rows of `wanted` that may be among the first. */
  filter(wanted: RowFilter['row']): RowFilter {
    return {
      key: (key) => this.#mayCount(key),
      row: (key, id) => wanted(key, id) && !this.#isBeyond(key),
      // Not before: the rows of a map that throws are withdrawn.
      made: (rows) => {
        for (let i = 0; i < rows.length; i++) this.#add(rows[i]!.key);
      },
    };
  }

  /** False only for numbers and texts beyond a bound of the same type: everything else is compared as text. */
  #mayCount(key: unknown): boolean {
    const bound = this.#boundKey;
    if (typeof key === 'number') {
      if (typeof bound !== 'number' || !Number.isFinite(key)) return true;
    } else if (typeof key !== 'string' || typeof bound !== 'string') return true;
    return this.#descending ? key >= bound : key <= bound;
  }

  #isBeyond(key: string): boolean {
    return this.#bound !== undefined && (this.#descending ? key < this.#bound : key > this.#bound);
  }

  #add(key: string): void {
    if (this.#isBeyond(key)) return;
    this.#keys.push(key);
    if (this.#keys.length >= this.#count * SPARE) this.#cut();
  }

  #cut(): void {
    this.#keys.sort();
    if (this.#descending) this.#keys.reverse();
    this.#keys.length = this.#count;
    const bound = this.#keys[this.#count - 1] as string; // There are that many.
    if (bound === this.#bound) return;
    this.#bound = bound;
    this.#boundKey = fromKey(bound);
  }
}
