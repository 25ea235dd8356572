/** What was acknowledged in browsers that end, and must be there in later ones. */
import type { Acknowledged, Found } from './killed-program';

export class Kept {
  /** The last revision of each document. */
  readonly #revs = new Map<string, string>();

  add(acknowledged: Iterable<Acknowledged>): void {
    for (const { id, rev } of acknowledged)
      if (!(generation(this.#revs.get(id)) > generation(rev))) this.#revs.set(id, rev);
  }

  /** Ids and revisions that are not there. What came after one of them was under way when the browser ended. */
  lacking({ revs }: Found): [string, string][] {
    return [...this.#revs].filter(
      ([id, rev]) => revs[id] !== rev && !(generation(revs[id]) > generation(rev)),
    );
  }
}

const generation = (rev: string | undefined): number => Number.parseInt(rev ?? '0', 10);
