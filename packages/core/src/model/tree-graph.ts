/**
 * Revision trees as nodes with parents: for what chains do not show directly. Chains → graph → chains is the identity
 * on trees, and gives equal chains for equal trees. All walks are loops, linear in the number of revisions.
 */
import type { Chain } from './chain';
import { formatRev } from './revision';

export interface Node {
  readonly rev: string;
  readonly generation: number;
  readonly hash: string;
  deleted: boolean;
  /** The parent; if there are several, the greatest. */
  parent: Node | undefined;
  /** Further parents. */
  others: Node[] | undefined;
  children: number;
}

/** By revision. */
export type Graph = Map<string, Node>;

/** The union of the chains. */
export function graphOf(chains: readonly Chain[]): Graph {
  const graph: Graph = new Map();
  for (const { generation, hashes, deleted } of chains) {
    addPath(graph, generation, hashes);
    for (const at of deleted) graph.get(formatRev(at, hashes[generation - at]!))!.deleted = true;
  }
  return graph;
}

/** Adds revisions and their descent, but not deletedness. @param hashes newest first */
export function addPath(graph: Graph, generation: number, hashes: readonly string[]): void {
  let child: Node | undefined;
  for (let at = 0; at < hashes.length; at++) {
    const node = nodeFor(graph, generation - at, hashes[at]!);
    if (child !== undefined) link(child, node);
    child = node;
  }
}

function nodeFor(graph: Graph, generation: number, hash: string): Node {
  const rev = formatRev(generation, hash);
  let node = graph.get(rev);
  if (node === undefined) {
    node = { rev, generation, hash, deleted: false, parent: undefined, others: undefined, children: 0 };
    graph.set(rev, node);
  }
  return node;
}

function link(child: Node, parent: Node): void {
  if (child.parent === parent || child.others?.includes(parent)) return;
  parent.children++;
  if (child.parent === undefined) {
    child.parent = parent;
    return;
  }
  child.others ??= [];
  if (parent.hash > child.parent.hash) {
    child.others.push(child.parent);
    child.parent = parent;
  } else {
    child.others.push(parent);
  }
}

export function parentsOf(node: Node): Node[] {
  if (node.parent === undefined) return [];
  return node.others === undefined ? [node.parent] : [node.parent, ...node.others];
}

export function newestFirst(graph: Graph): Node[] {
  return [...graph.values()].sort((a, b) => b.generation - a.generation);
}

/** The graph of the remaining nodes, with their descent as far as it is known. Consumes `graph`. */
export function without(graph: Graph, dropped: ReadonlySet<Node>): Graph {
  for (const node of dropped) graph.delete(node.rev);
  for (const node of graph.values()) node.children = 0;
  for (const node of graph.values()) {
    const parents = parentsOf(node);
    node.parent = undefined;
    node.others = undefined;
    for (const parent of parents) if (!dropped.has(parent)) link(node, parent);
  }
  return graph;
}

/** The graph as chains: leaves from the newest on, each followed down until it meets an earlier chain; then the extra parents. */
export function chainsOf(graph: Graph): Chain[] {
  const nodes = [...graph.values()];
  const seen = new Set<Node>();
  const chains: Chain[] = [];
  for (const leaf of nodes.filter((node) => node.children === 0).sort(newest)) {
    chains.push(chainFrom(leaf, leaf.parent, true, seen));
  }
  const tangled = nodes.filter((node) => node.others !== undefined).sort(newest);
  for (const child of tangled) {
    for (const parent of [...child.others!].sort(newest)) chains.push(chainFrom(child, parent, false, seen));
  }
  return chains;
}

const newest = (a: Node, b: Node): number =>
  b.generation - a.generation || (a.hash > b.hash ? -1 : a.hash < b.hash ? 1 : 0);

function chainFrom(head: Node, next: Node | undefined, tip: boolean, seen: Set<Node>): Chain {
  const hashes = [head.hash];
  const deleted = tip && head.deleted ? [head.generation] : [];
  let joined = false;
  seen.add(head);
  for (let node = next; node !== undefined && !joined; node = node.parent) {
    hashes.push(node.hash);
    joined = seen.has(node);
    seen.add(node);
    if (!joined && node.deleted) deleted.push(node.generation);
  }
  return { generation: head.generation, hashes, deleted, tip, joined };
}
