import type { RevTree } from './chain';
import { chainsOf, graphOf, parentsOf, without } from './tree-graph';

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
  if (leaf === undefined || leaf.children > 0) return undefined;
  const dropped = new Set([leaf]);
  for (const node of dropped) {
    for (const parent of parentsOf(node)) if (--parent.children === 0) dropped.add(parent);
  }
  const rest = without(graph, dropped);
  const removed = [...dropped].map((node) => node.rev);
  return { tree: rest.size === 0 ? undefined : { chains: chainsOf(rest) }, removed };
}
