/**
 * How far below a node its nearest leaf is, which decides what stemming forgets. It is measured once for a graph, and then follows what
 * paths add: only ancestors of what is new are looked at.
 */
import { type Added, type Graph, type Node, newestFirst, parentsOf } from './tree-graph';

/** @returns the nodes that were measured: all */
export function measure(graph: Graph): Node[] {
  const nodes = newestFirst(graph); // children come first
  for (const node of nodes) node.nearest = node.children.length === 0 ? node.generation : nearestBelow(node);
  return nodes;
}

/** Measures what was added to a graph that was measured before it. @returns at least all nodes that are new or whose leaf is another */
export function measureAdded({ nodes, links }: Added): Set<Node> {
  const changed = new Set(nodes);
  for (const { child, parent } of links) {
    const before = parent.nearest;
    const isFirst = parent.children.length === 1; // it was a leaf, and measured as one
    parent.nearest = isFirst ? child.nearest : Math.min(before, child.nearest);
    if (parent.nearest !== before) tellAncestors(parent, before, changed);
  }
  return changed;
}

/** From the newest on, since a parent is one generation older than its child: so each has heard of all its children before it tells. */
function tellAncestors(first: Node, before: number, changed: Set<Node>): void {
  const queue = [{ node: first, before }];
  for (const { node, before } of queue) {
    changed.add(node);
    for (const parent of parentsOf(node)) {
      const told = parent.nearest;
      if (node.nearest < told) parent.nearest = node.nearest;
      else if (before === told) parent.nearest = nearestBelow(parent, told);
      if (parent.nearest !== told) queue.push({ node: parent, before: told });
    }
  }
}

/** @param least no child has less: where it is found, the search ends */
function nearestBelow(node: Node, least = 0): number {
  let nearest = Number.POSITIVE_INFINITY;
  for (const child of node.children) {
    nearest = Math.min(nearest, child.nearest);
    if (nearest <= least) break;
  }
  return nearest;
}
