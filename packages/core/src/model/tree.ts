/**
 * Questions about a revision tree: its revisions and its leaves. Nothing here changes a tree (tree-merge.ts does).
 */
import type { Chain, RevTree } from './chain';
import { holderOf, holds, treeOf } from './chain';
import { byRank, type Leaf } from './leaf';
import { formatRev, generationOf, hashOf } from './revision';
import { placesOf } from './tree-index';

/** A tree of one revision without parents. */
export function singleton(rev: string, deleted: boolean): RevTree {
  const generation = generationOf(rev);
  return treeOf({ generation, hashes: [hashOf(rev)], deleted });
}

/** All leaves by rank: the winner first, tombstones last. */
export function leaves(tree: RevTree): Leaf[] {
  const found: Leaf[] = [];
  for (const chain of tree.chains) if (chain.tip) found.push(leafOf(chain));
  return found.length === 1 ? found : found.sort(byRank);
}

export function leafOf({ generation, hashes, deleted }: Chain): Leaf {
  const hash = hashes[0]!; // a chain is never empty
  return { rev: formatRev(generation, hash), generation, hash, deleted: deleted[0] === generation };
}

export function hasRev(tree: RevTree, rev: string): boolean {
  return holderOf(tree, generationOf(rev), hashOf(rev)) !== undefined;
}

export function isLeaf(tree: RevTree, rev: string): boolean {
  return tipAt(tree, generationOf(rev), hashOf(rev)) >= 0;
}

/** The index of the chain that has this leaf; -1 if there is none. */
export function tipAt(tree: RevTree, generation: number, hash: string): number {
  const isTip = (chain: Chain | undefined): boolean =>
    chain?.tip === true && chain.generation === generation && chain.hashes[0] === hash;
  const places = placesOf(tree);
  if (places === undefined) return tree.chains.findIndex(isTip);
  const place = places.get(formatRev(generation, hash)) ?? -1;
  return isTip(tree.chains[place]) ? place : -1;
}

/** True for a tombstone, leaf or not. False for unknown revisions, and for past ones known only as an ancestor. */
export function isDeleted(tree: RevTree, rev: string): boolean {
  const generation = generationOf(rev);
  const hash = hashOf(rev);
  return tree.chains.some((chain) => holds(chain, generation, hash) && chain.deleted.includes(generation));
}
