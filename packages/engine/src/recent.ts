/**
 * What changed since the checkpoint, for one order of one table: values by key, and the keys in order.
 *
 * Keys are sorted when a range is asked for, not when they are set: a bulk write sets ten thousand and sorts once; keys that
 * come in rising order (seqs) are never sorted at all. `null` stands for "gone", hiding what a directory page says.
 *
 * What a commit does to an order beside the primary one is put off until that order is asked for: nobody asks for the rows of a
 * document while an index is built. No more is put off than commits lie between two checkpoints.
 */
import type { SortKey } from '@settledb/core';

/** Up to this many new keys are put in place one by one (a move of memory each); more are sorted together. */
const INSERT_SINGLY_MAX = 16;

export class Recent<Value> {
  #values = new Map<SortKey, Value | null>();
  #sorted: SortKey[] = [];
  #added: SortKey[] = [];
  #putOff: (() => void)[] = [];

  get values(): ReadonlyMap<SortKey, Value | null> {
    if (this.#putOff.length > 0) this.#catchUp();
    return this.#values;
  }

  get size(): number {
    return this.values.size;
  }

  /** Does `work`, which calls `set`, when this order is next asked for. All changes of an order are made so, or none. */
  later(work: () => void): void {
    this.#putOff.push(work);
  }

  #catchUp(): void {
    const works = this.#putOff;
    this.#putOff = [];
    for (const work of works) work();
  }

  set(key: SortKey, value: Value | null): void {
    const before = this.#values.size;
    this.#values.set(key, value);
    if (this.#values.size === before) return;
    const last = this.#sorted.at(-1);
    if (this.#added.length === 0 && (last === undefined || key > last)) this.#sorted.push(key);
    else this.#added.push(key);
  }

  /** Takes out what is as it was: a checkpoint has it now. @param keys in order; `values[i]` belongs to `keys[i]` */
  forget(keys: readonly SortKey[], values: readonly (Value | null)[]): void {
    const left: SortKey[] = [];
    const kept = new Map<SortKey, Value | null>();
    let at = 0;
    for (const key of this.keys()) {
      const value = this.#values.get(key) as Value | null;
      while (at < keys.length && (keys[at] as SortKey) < key) at++;
      if (keys[at] === key && values[at] === value) continue;
      left.push(key);
      kept.set(key, value);
    }
    this.#sorted = left;
    this.#values = kept;
  }

  clear(): void {
    this.#values.clear();
    this.#putOff = [];
    this.#sorted = [];
    this.#added = [];
  }

  /** All keys in order. Not to be changed, and good until the next `set`. */
  keys(): readonly SortKey[] {
    if (this.#putOff.length > 0) this.#catchUp();
    if (this.#added.length > INSERT_SINGLY_MAX) {
      this.#added.sort(compare);
      this.#sorted = merge(this.#sorted, this.#added);
    } else {
      for (const key of this.#added) this.#sorted.splice(lowerBound(this.#sorted, key), 0, key);
    }
    this.#added = [];
    return this.#sorted;
  }
}

const compare = (a: SortKey, b: SortKey): number => (a < b ? -1 : a > b ? 1 : 0);

function merge(a: readonly SortKey[], b: readonly SortKey[]): SortKey[] {
  const merged: SortKey[] = [];
  let i = 0;
  for (const key of b) {
    while (i < a.length && (a[i] as SortKey) < key) merged.push(a[i++] as SortKey);
    merged.push(key);
  }
  while (i < a.length) merged.push(a[i++] as SortKey);
  return merged;
}

/** The first position whose key is not below `key`. */
export function lowerBound(keys: readonly SortKey[], key: SortKey): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as SortKey) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first position whose key is above `key`. */
export function upperBound(keys: readonly SortKey[], key: SortKey): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as SortKey) <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}
