import type { RevTree } from './chain';
import { chainsOf, drop, graphOf, type Node, parentsOf } from './tree-graph';

/**
 * Removes a leaf, with the ancestors that no other leaf descends from (purge).
 *
 * @returns the rest, if any, and what was removed, newest first; `undefined` when `rev` is not a leaf of this tree
 */
export function removeLeaf(
  tree: RevTree,
  rev: string,
): { tree: RevTree | undefined; removed: string[] } | undefined {
  const graph = graphOf(tree.chains);
  const leaf = graph.get(rev);
  if (leaf === undefined || leaf.children.length > 0) return undefined;
  const dropped = new Set([leaf]);
  const left = new Map<Node, number>(); // children that stay
  for (const node of dropped) {
    for (const parent of parentsOf(node)) {
      const rest = (left.get(parent) ?? parent.children.length) - 1;
      left.set(parent, rest);
      if (rest === 0) dropped.add(parent);
    }
  }
  drop(graph, dropped);
  const removed = [...dropped].map((node) => node.rev);
  return { tree: graph.size === 0 ? undefined : { chains: chainsOf(graph) }, removed };
}
