/** How much of each block of texts is of use. Lengths count texts, not the commas between them. */

export type BlockSize = readonly [id: number, size: number, dead: number];

/** Of one block. */
export interface Use {
  size: number;
  dead: number;
}

/** Then a compaction moves what is left. */
export const isMostlyDead = ({ size, dead }: Readonly<Use>): boolean => dead * 2 > size;

/** What a manifest says of it: made when somebody looks, as reads do not. */
export interface StoredUse {
  /** Of all blocks. */
  readonly characters: number;
  /** Called once. */
  read(): readonly BlockSize[];
}

export class BlockUse {
  /** About how long all texts are together. */
  characters: number;
  readonly #sizes = new Map<number, Use>();
  #stored: StoredUse | undefined;
  /** What came since, until somebody looks; no more than commits between two checkpoints bring. */
  #later: (() => void)[] = [];

  constructor(stored?: StoredUse) {
    this.characters = stored?.characters ?? 0;
    this.#stored = stored;
  }

  get sizes(): ReadonlyMap<number, Readonly<Use>> {
    const stored = this.#stored;
    if (stored === undefined) return this.#sizes;
    const sizes = stored.read();
    this.#stored = undefined;
    for (const [id, size, dead] of sizes) this.#sizes.set(id, { size, dead });
    for (const change of this.#later) change();
    this.#later = [];
    return this.#sizes;
  }

  add(id: number, size: number, dead = 0): void {
    this.characters += size;
    if (this.#stored === undefined) this.#sizes.set(id, { size, dead });
    else this.#later.push(() => this.#sizes.set(id, { size, dead }));
  }

  free(id: number, length: number): void {
    if (this.#stored === undefined) this.#free(id, length);
    else this.#later.push(() => this.#free(id, length));
  }

  #free(id: number, length: number): void {
    const use = this.#sizes.get(id);
    if (use !== undefined) use.dead += length;
  }

  totals(): { live: number; dead: number } {
    let live = 0;
    let dead = 0;
    for (const use of this.sizes.values()) {
      live += use.size - use.dead;
      dead += use.dead;
    }
    return { live, dead };
  }
}
