/** The records of an object store, in the order of their keys, and about how many bytes they take. */
import { compareKeys, type Key, type KeyRange } from './keys';

interface Entry {
  readonly key: Key;
  readonly value: unknown;
  readonly bytes: number;
}

export class Records {
  readonly #entries: Entry[] = [];
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get(key: Key): unknown {
    return this.#found(key)?.value;
  }

  has(key: Key): boolean {
    return this.#found(key) !== undefined;
  }

  /** @returns takes it back */
  put(key: Key, value: unknown): () => void {
    const at = this.#at(key);
    const before = this.#found(key);
    this.#splice(at, before === undefined ? 0 : 1, [{ key, value, bytes: sizeOf(key) + sizeOf(value) }]);
    return () => this.#splice(this.#at(key), 1, before === undefined ? [] : [before]);
  }

  /** @returns takes it back */
  delete(range: KeyRange): () => void {
    const [from, to] = this.#span(range);
    const gone = this.#splice(from, to - from, []);
    return () => {
      if (gone.length > 0) this.#splice(this.#at(gone[0]!.key), 0, gone);
    };
  }

  in(range: KeyRange): readonly Entry[] {
    return this.#entries.slice(...this.#span(range));
  }

  keys(): Key[] {
    return this.#entries.map(({ key }) => key);
  }

  #found(key: Key): Entry | undefined {
    const entry = this.#entries[this.#at(key)];
    return entry !== undefined && compareKeys(entry.key, key) === 0 ? entry : undefined;
  }

  /** Where the key is, or would be. */
  #at(key: Key): number {
    return this.#first((entry) => compareKeys(entry.key, key) >= 0);
  }

  #span(range: KeyRange): [from: number, to: number] {
    return [
      this.#first(({ key }) => range.isAfterStart(key)),
      this.#first(({ key }) => range.isAfterStart(key) && !range.isBeforeEnd(key)),
    ];
  }

  /** The first for which this is so; it is so for all behind it. */
  #first(isSo: (entry: Entry) => boolean): number {
    let from = 0;
    let to = this.#entries.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (isSo(this.#entries[middle]!)) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  #splice(at: number, count: number, entries: readonly Entry[]): Entry[] {
    const gone = this.#entries.splice(at, count, ...entries);
    for (const { bytes } of entries) this.#bytes += bytes;
    for (const { bytes } of gone) this.#bytes -= bytes;
    return gone;
  }
}

/** About as a browser stores it. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (typeof value !== 'object' || value === null) return 8;
  return Object.values(value).reduce((sum: number, field) => sum + 4 + sizeOf(field), 8);
}
