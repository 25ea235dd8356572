/**
 * What has changed since the checkpoint, for one order of one table: values by key, and the keys in order.
 *
 * Keys are sorted when a range is asked for, not when they are set: a bulk write sets ten thousand and sorts once; keys that
 * come in rising order (seqs) are never sorted at all. `null` stands for "gone", and hides what a directory page says.
 *
 * New rows that come in order, as when an index is built, are kept as they came until they are asked for, and then beside their
 * keys: hashing long keys takes as long as everything else that a commit does with them. The same goes for values of numbers that only
 * rise, such as seqs: an entry of a map takes 110 bytes while it grows.
 *
 * What a commit does to an order other than the primary one is put off until that order is asked for: nobody asks for the rows of a
 * document while an index is built. No more is put off than the commits between two checkpoints.
 */
import { lowerBound, type SortKey } from '@settledb/core';

/** Up to this many new keys are inserted one by one (a move of memory each); more are sorted together. */
const INSERT_SINGLY_MAX = 16;
/** Fewer than this are set one by one: each run is merged with all that is there. */
const RUN_MIN = 64;

interface Run<Value> {
  readonly keys: readonly SortKey[];
  readonly values: readonly Value[];
}

/** A run of its own, shared with nobody. */
interface Merged<Value> {
  readonly keys: SortKey[];
  readonly values: Value[];
}

export class Recent<Value> {
  /** The values that were set. */
  #values = new Map<SortKey, Value | null>();
  #sorted: SortKey[] = [];
  /** The values that were added, by place in `#sorted`; `undefined` for those in the map. Absent while there are none. */
  #beside: (Value | undefined)[] | undefined;
  /** Keys set or added since, and not in `#sorted` yet. */
  #added: SortKey[] = [];
  #runs: Run<Value>[] = [];
  /** How many keys were added and not set since. */
  #besideCount = 0;
  #putOff: (() => void)[] = [];

  /** `undefined`: the key has not changed. */
  get(key: SortKey): Value | null | undefined {
    this.#catchUp();
    // A long key made anew is hashed for each look-up: not if the map is empty.
    const value = this.#values.size === 0 ? undefined : this.#values.get(key);
    if (value !== undefined || this.#beside === undefined) return value;
    const at = lowerBound(this.#sorted, key);
    return this.#sorted[at] === key ? this.#beside[at] : undefined;
  }

  /** The value for a place in `keys()`. */
  at(place: number): Value | null {
    return this.#beside?.[place] ?? this.#values.get(this.#sorted[place] as SortKey) ?? null;
  }

  /** More, if keys that were gone were added again, until something is asked for: it is read after each write, and puts nothing in order. */
  get size(): number {
    if (this.#putOff.length > 0) this.#catchUp();
    let size = this.#values.size + this.#besideCount;
    for (const { keys } of this.#runs) size += keys.length;
    return size;
  }

  /** Does `work`, which calls `set` and `add`, when this order is next asked for. All changes of an order go this way, or none. */
  later(work: () => void): void {
    this.#putOff.push(work);
  }

  #catchUp(): void {
    if (this.#putOff.length > 0) {
      const works = this.#putOff;
      this.#putOff = [];
      for (const work of works) work();
    }
    if (this.#runs.length > 0) this.#takeRuns();
  }

  set(key: SortKey, value: Value | null): void {
    if (this.#runs.length > 0) this.#takeRuns();
    const last = this.#sorted.at(-1);
    const rises = this.#added.length === 0 && (last === undefined || key > last);
    if (rises && typeof key === 'number' && value !== null) {
      this.#beside ??= this.#sorted.map(() => undefined);
      this.#sorted.push(key);
      this.#beside.push(value);
      this.#besideCount++;
      return;
    }
    const before = this.#values.size;
    this.#values.set(key, value);
    if (this.#values.size === before || this.#isBeside(key)) return;
    if (rises) {
      this.#sorted.push(key);
      this.#beside?.push(undefined);
    } else this.#added.push(key);
  }

  /** Whether `key` was added; from now on it no longer counts as such. */
  #isBeside(key: SortKey): boolean {
    if (this.#beside === undefined) return false;
    const at = lowerBound(this.#sorted, key);
    if (this.#sorted[at] !== key) return false;
    this.#beside[at] = undefined;
    this.#besideCount--;
    return true;
  }

  /** As `set`, for many keys that do not exist, or are gone. @param keys in order, each once; `values[i]` belongs to `keys[i]` */
  add(keys: readonly SortKey[], values: readonly Value[]): void {
    if (keys.length >= RUN_MIN) this.#runs.push({ keys, values });
    else for (let i = 0; i < keys.length; i++) this.set(keys[i] as SortKey, values[i] as Value);
  }

  #takeRuns(): void {
    const runs = this.#runs;
    this.#runs = [];
    this.#insert();
    const { keys, values } = mergedRuns(runs);
    this.#besideCount += keys.length;
    if (this.#sorted.length === 0) {
      this.#sorted = keys;
      this.#beside = values;
      return;
    }
    this.#beside ??= this.#sorted.map(() => undefined);
    this.#merge(keys, values);
  }

  /** @param values those of added keys, which replace what was set */
  #merge(keys: SortKey[], values?: readonly Value[]): void {
    const [sorted, beside] = [this.#sorted, this.#beside];
    const merged: SortKey[] = [];
    const mergedBeside: (Value | undefined)[] = [];
    let at = 0;
    const pass = (): void => {
      if (beside !== undefined) mergedBeside.push(beside[at]);
      merged.push(sorted[at++] as SortKey);
    };
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] as SortKey;
      while (at < sorted.length && (sorted[at] as SortKey) < key) pass();
      if (values !== undefined && sorted[at] === key) {
        at++;
        this.#values.delete(key);
      }
      merged.push(key);
      if (beside !== undefined) mergedBeside.push(values?.[i]);
    }
    while (at < sorted.length) pass();
    this.#sorted = merged;
    if (beside !== undefined) this.#beside = mergedBeside;
  }

  clear(): void {
    this.#values.clear();
    this.#putOff = [];
    this.#sorted = [];
    this.#added = [];
    this.#runs = [];
    this.#beside = undefined;
    this.#besideCount = 0;
  }

  /** All keys in order. Must not be changed; valid until the next `set` or `add`. */
  keys(): readonly SortKey[] {
    this.#catchUp();
    this.#insert();
    return this.#sorted;
  }

  #insert(): void {
    const added = this.#added;
    if (added.length === 0) return;
    this.#added = [];
    if (added.length > INSERT_SINGLY_MAX) {
      this.#merge(typeof added[0] === 'string' ? added.sort() : added.sort(compare)); // without calling a function, if possible
      return;
    }
    for (const key of added) {
      const at = lowerBound(this.#sorted, key);
      this.#sorted.splice(at, 0, key);
      this.#beside?.splice(at, 0, undefined);
    }
  }
}

/** Merges pairs, in the order they came, until one is left: sorting anew would compare by calls, and take twice as long. */
function mergedRuns<Value>(runs: readonly Run<Value>[]): Merged<Value> {
  const [first] = runs;
  if (first !== undefined && runs.length === 1) return { keys: [...first.keys], values: [...first.values] };
  let left = runs;
  let merged: Merged<Value>[] = [];
  do {
    merged = [];
    for (let i = 0; i < left.length; i += 2) merged.push(mergedPair(left[i]!, left[i + 1] ?? EMPTY));
    left = merged;
  } while (merged.length > 1);
  return merged[0]!;
}

const EMPTY: Run<never> = { keys: [], values: [] };

/** No key is in both. */
function mergedPair<Value>(a: Run<Value>, b: Run<Value>): Merged<Value> {
  const keys: SortKey[] = [];
  const values: Value[] = [];
  let [i, k] = [0, 0];
  while (i < a.keys.length || k < b.keys.length) {
    const isFirst = k === b.keys.length || (i < a.keys.length && a.keys[i]! < b.keys[k]!);
    keys.push(isFirst ? a.keys[i]! : b.keys[k]!);
    values.push(isFirst ? a.values[i++]! : b.values[k++]!);
  }
  return { keys, values };
}

const compare = (a: SortKey, b: SortKey): number => (a < b ? -1 : a > b ? 1 : 0);
