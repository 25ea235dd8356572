/**
 * Questions to a revision tree: its leaves, who descends from whom. Nothing here changes one (tree-merge.ts does).
 */
import type { Chain, RevTree } from './chain';
import { holderOf, holds, ownerOf, treeOf } from './chain';
import type { Leaf } from './leaf';
import { outranks } from './leaf';
import { formatRev, generationOf, hashOf } from './revision';
import { descendants, graphOf } from './tree-graph';

/** A tree of one revision without parents. */
export function singleton(rev: string, deleted: boolean): RevTree {
  const generation = generationOf(rev);
  return treeOf({ generation, hashes: [hashOf(rev)], deleted });
}

/** All leaves by rank: the winner first, tombstones last. */
export function leaves(tree: RevTree): Leaf[] {
  const found: Leaf[] = [];
  for (const chain of tree.chains) if (chain.tip) found.push(leafOf(chain));
  return found.length === 1 ? found : found.sort((a, b) => (outranks(a, b) ? -1 : 1));
}

function leafOf({ generation, hashes, deleted }: Chain): Leaf {
  const hash = hashes[0]!; // a chain is never empty
  return { rev: formatRev(generation, hash), generation, hash, deleted: deleted[0] === generation };
}

export function hasRev(tree: RevTree, rev: string): boolean {
  return holderOf(tree, generationOf(rev), hashOf(rev)) !== undefined;
}

export function isLeaf(tree: RevTree, rev: string): boolean {
  return tipAt(tree, generationOf(rev), hashOf(rev)) >= 0;
}

/** Which chain has this leaf; -1: none. */
export function tipAt({ chains }: RevTree, generation: number, hash: string): number {
  return chains.findIndex(
    (chain) => chain.tip && chain.generation === generation && chain.hashes[0] === hash,
  );
}

/** True for a tombstone, leaf or not. False for unknown revisions, and past ones known only as somebody's ancestor. */
export function isDeleted(tree: RevTree, rev: string): boolean {
  const generation = generationOf(rev);
  const hash = hashOf(rev);
  return tree.chains.some(
    (chain) =>
      holds(chain, generation, hash) && chain.deleted.length > 0 && chain.deleted.includes(generation),
  );
}

/** `rev` and its ancestors, newest first, on its own branch; `undefined` for a revision the tree does not have. */
export function ancestry(tree: RevTree, rev: string): { start: number; ids: string[] } | undefined {
  const start = generationOf(rev);
  const hash = hashOf(rev);
  if (hasExtraParents(tree)) return ancestryByGraph(tree, rev);
  let chain = holderOf(tree, start, hash);
  if (chain === undefined) return undefined;
  let ids = chain.hashes.slice(chain.generation - start);
  while (chain.joined) {
    const last: string = ids[ids.length - 1]!; // the joint itself
    const generation = start - ids.length + 1;
    chain = ownerOf(tree, generation, last)!; // a joint belongs to some chain
    ids = ids.concat(chain.hashes.slice(chain.generation - generation + 1));
  }
  return { start, ids };
}

function ancestryByGraph(tree: RevTree, rev: string): { start: number; ids: string[] } | undefined {
  const first = graphOf(tree.chains).get(rev);
  if (first === undefined) return undefined;
  const ids: string[] = [];
  for (let node: typeof first | undefined = first; node !== undefined; node = node.parent)
    ids.push(node.hash);
  return { start: first.generation, ids };
}

const hasExtraParents = (tree: RevTree): boolean => tree.chains.some((chain) => !chain.tip);

/** Leaves that descend from `rev`, by rank; itself if it is a leaf; none when it is unknown. */
export function leavesBelow(tree: RevTree, rev: string): Leaf[] {
  const all = leaves(tree);
  if (tree.chains.length === 1) return hasRev(tree, rev) ? all : [];
  if (isLeaf(tree, rev)) return all.filter((leaf) => leaf.rev === rev);
  const graph = graphOf(tree.chains);
  const below = descendants(graph, rev);
  return all.filter((leaf) => below.has(graph.get(leaf.rev)!)); // a leaf is in the graph
}

/** Every revision once, in no particular order. */
export function allRevs(tree: RevTree): string[] {
  const revs: string[] = [];
  for (const { generation, hashes, tip, joined } of tree.chains) {
    const end = joined ? hashes.length - 1 : hashes.length;
    for (let at = tip ? 0 : 1; at < end; at++) revs.push(formatRev(generation - at, hashes[at]!));
  }
  return revs;
}
