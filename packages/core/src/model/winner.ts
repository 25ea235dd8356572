/** Which leaf of a tree a database shows: the one that {@link outranks} the others, in whatever order they came. */

import type { RevTree } from './chain';
import { type Leaf, outranks } from './leaf';
import { leafOf, leaves } from './tree';

/** The leaf that stands for the document; a tombstone only when there is no live one. */
export function winner(tree: RevTree): Leaf {
  let best: Leaf | undefined;
  for (const chain of tree.chains) {
    if (!chain.tip) continue;
    const leaf = leafOf(chain);
    if (best === undefined || outranks(leaf, best)) best = leaf;
  }
  return best!; // every tree has a leaf
}

/** Live leaves that lose, best first. */
export function conflicts(tree: RevTree): Leaf[] {
  return leaves(tree).filter((leaf, rank) => rank > 0 && !leaf.deleted);
}

/** Tombstones that lose, best first. */
export function deletedConflicts(tree: RevTree): Leaf[] {
  return leaves(tree).filter((leaf, rank) => rank > 0 && leaf.deleted);
}
