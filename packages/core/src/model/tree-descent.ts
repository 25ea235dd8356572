/** Descent within a revision tree. */
import type { RevTree } from './chain';
import { holderOf, ownerOf } from './chain';
import type { Leaf } from './leaf';
import { generationOf, hashOf } from './revision';
import { hasRev, leafOf, leaves, tipAt } from './tree';
import { type Graph, graphOf, type Node, newestFirst, parentsOf } from './tree-graph';
import { indexOf } from './tree-index';

/** `rev` and its ancestors, newest first, on its own branch; `undefined` for a revision that the tree does not have. */
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

const hasExtraParents = (tree: RevTree): boolean =>
  indexOf(tree)?.isTangled ?? tree.chains.some((chain) => !chain.tip);

/** Leaves that descend from `rev`, by rank; `rev` itself if it is a leaf; none if it is unknown. */
export function leavesBelow(tree: RevTree, rev: string): Leaf[] {
  if (tree.chains.length === 1) return hasRev(tree, rev) ? leaves(tree) : [];
  const tip = tree.chains[tipAt(tree, generationOf(rev), hashOf(rev))];
  if (tip !== undefined) return [leafOf(tip)];
  const all = leaves(tree);
  const graph = graphOf(tree.chains);
  const below = descendants(graph, rev);
  return all.filter((leaf) => below.has(graph.get(leaf.rev)!)); // a leaf is in the graph
}

/** All nodes that descend from `rev`, itself included. */
function descendants(graph: Graph, rev: string): Set<Node> {
  const found = new Set<Node>();
  const first = graph.get(rev);
  if (first === undefined) return found;
  found.add(first);
  // A parent is one generation older than its child, so going from the oldest on decides each node before its children.
  for (const node of newestFirst(graph).reverse()) {
    if (parentsOf(node).some((parent) => found.has(parent))) found.add(node);
  }
  return found;
}
