/** Leaves of a revision tree and their rank. */

/** A revision that nobody has edited further: the winner, a conflict, or a tombstone. */
export interface Leaf {
  readonly rev: string;
  readonly generation: number;
  readonly hash: string;
  readonly deleted: boolean;
}

/** CouchDB's rule for winners: live before deleted, then the higher generation, then the higher hash by code unit. */
export function outranks(a: Leaf, b: Leaf): boolean {
  if (a.deleted !== b.deleted) return !a.deleted;
  if (a.generation !== b.generation) return a.generation > b.generation;
  return a.hash > b.hash;
}

/** For sorting: the winner first. No two leaves of a tree have the same rank. */
export const byRank = (a: Leaf, b: Leaf): number => (outranks(a, b) ? -1 : 1);
