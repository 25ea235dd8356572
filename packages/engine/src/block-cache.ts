/** Keeps in memory what lies in blocks, by their ids, up to a bound; the least recently used goes first. */

interface Cached<Value> {
  readonly value: Value;
  readonly length: number;
  used: number;
}

export class BlockCache<Value> {
  readonly limit: number;
  /** The length of all that it holds. */
  length = 0;
  readonly #lengthOf: (value: Value) => number;
  readonly #values = new Map<number, Cached<Value>>();
  #clock = 0;

  constructor(limit: number, lengthOf: (value: Value) => number) {
    this.limit = limit;
    this.#lengthOf = lengthOf;
  }

  get(id: number): Value | undefined {
    const cached = this.#values.get(id);
    if (cached === undefined) return undefined;
    cached.used = ++this.#clock;
    return cached.value;
  }

  /** As {@link get}, but does not count as a use. */
  peek(id: number): Value | undefined {
    return this.#values.get(id)?.value;
  }

  get size(): number {
    return this.#values.size;
  }

  set(id: number, value: Value): void {
    const length = this.#lengthOf(value);
    this.length += length - (this.#values.get(id)?.length ?? 0);
    this.#values.set(id, { value, length, used: ++this.#clock });
    if (this.length > this.limit) this.#evict();
  }

  /** As {@link set}, if there is room within an eighth of the cache: nothing is evicted for it. */
  offer(id: number, value: Value): void {
    if (this.length + this.#lengthOf(value) <= this.limit / 8) this.set(id, value);
  }

  delete(id: number): void {
    const cached = this.#values.get(id);
    if (cached === undefined) return;
    this.#values.delete(id);
    this.length -= cached.length;
  }

  /** Keeps only these. */
  retain(ids: ReadonlySet<number>): void {
    for (const id of this.#values.keys()) if (!ids.has(id)) this.delete(id);
  }

  /** Evicts down to three quarters, so that eviction (a sort) is rare. */
  #evict(): void {
    const byUse = [...this.#values].sort(([, a], [, b]) => a.used - b.used);
    for (const [id] of byUse) {
      if (this.length <= this.limit * 0.75) return;
      this.delete(id);
    }
  }
}
