/** How much of each block of texts is in use. Lengths count texts, not the commas between them. */
import { isTail } from './journal';

/** Dead texts are worth work, unasked, if they are more than this share of all texts: so a database takes about twice what it needs, … */
const DEAD_SHARE = 1 / 2;
/** … and more than this many characters. A small database may take 4 MB more than it needs. */
export const DEAD_LENGTH_MIN = 4 * 1024 * 1024;

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
  /** Characters freed since the manifest, except in tails: those are counted with their commits. */
  #freed = 0;
  readonly #sizes = new Map<number, Use>();
  #stored: StoredUse | undefined;
  /** Changes since, until somebody asks; no more than the commits between two checkpoints bring. */
  #later: (() => void)[] = [];

  constructor(stored?: StoredUse) {
    this.characters = stored?.characters ?? 0;
    this.#stored = stored;
  }

  /** Characters that died since the manifest, and take room until the next one; 0 while they are not worth work. */
  get deadLength(): number {
    const freed = this.#freed;
    return freed > DEAD_LENGTH_MIN && freed > this.characters * DEAD_SHARE ? freed : 0;
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
    if (!isTail(id)) this.#freed += length;
    if (this.#stored === undefined) this.#free(id, length);
    else this.#later.push(() => this.#free(id, length));
  }

  #free(id: number, length: number): void {
    const use = this.#sizes.get(id);
    if (use !== undefined) use.dead += length;
  }

  /** @param isCounted which blocks */
  totals(isCounted: (use: Readonly<Use>) => boolean = () => true): { live: number; dead: number } {
    let live = 0;
    let dead = 0;
    for (const use of this.sizes.values()) {
      if (!isCounted(use)) continue;
      live += use.size - use.dead;
      dead += use.dead;
    }
    return { live, dead };
  }
}
