/** Descent within a revision tree. */
import type { RevTree } from './chain';
import { holderOf, ownerOf } from './chain';
import { byRank, type Leaf } from './leaf';
import { generationOf, hashOf } from './revision';
import { hasRev, leafOf, leaves, tipAt } from './tree';
import { type Graph, graphOf } from './tree-graph';
import { indexOf } from './tree-index';

/** A call may ask for many revisions of one tree. */
const graphs = new WeakMap<RevTree, Graph>();

function graphBeside(tree: RevTree): Graph {
  const graph = graphs.get(tree) ?? graphOf(tree.chains);
  graphs.set(tree, graph);
  return graph;
}

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
  const first = graphBeside(tree).get(rev);
  if (first === undefined) return undefined;
  const ids: string[] = [];
  for (let node: typeof first | undefined = first; node !== undefined; node = node.parent)
    ids.push(node.hash);
  return { start: first.generation, ids };
}

const hasExtraParents = (tree: RevTree): boolean =>
  indexOf(tree)?.isTangled ?? tree.chains.some((chain) => !chain.tip);

/**
 * Leaves that descend from `rev`, by rank; `rev` itself if it is a leaf; none if it is unknown.
 *
 * @param seen given for several revisions of a tree, nothing that they share is passed twice, so later ones may lack leaves of earlier
 *   ones
 */
export function leavesBelow(tree: RevTree, rev: string, seen = new Set<object>()): Leaf[] {
  if (tree.chains.length === 1) return hasRev(tree, rev) ? leaves(tree) : [];
  const tip = tree.chains[tipAt(tree, generationOf(rev), hashOf(rev))];
  if (tip !== undefined) return [leafOf(tip)];
  const first = graphBeside(tree).get(rev);
  const found: Leaf[] = [];
  const waiting = first === undefined ? [] : [first];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    const { generation, hash, deleted, children } = node;
    if (children.length === 0) found.push({ rev: node.rev, generation, hash, deleted });
    for (const child of children) waiting.push(child);
  }
  return found.sort(byRank);
}
