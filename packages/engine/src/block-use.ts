/** How much of each block of texts is in use. Lengths count texts, not the commas between them. */

export type BlockSize = readonly [id: number, size: number, dead: number];

/** The use of one block. */
export interface Use {
  size: number;
  dead: number;
}

/** Whether a compaction moves what is left. */
export const isMostlyDead = ({ size, dead }: Readonly<Use>): boolean => dead * 2 > size;

/** What a manifest says about use: parsed when it is first asked for, which reads do not do. */
export interface StoredUse {
  /** Characters in all blocks. */
  readonly characters: number;
  /** Called once. */
  read(): readonly BlockSize[];
}

export class BlockUse {
  /** The approximate length of all texts together. */
  characters: number;
  readonly #sizes = new Map<number, Use>();
  #stored: StoredUse | undefined;
  /** Changes since, until somebody asks; no more than the commits between two checkpoints bring. */
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
