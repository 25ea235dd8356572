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
  children: Node[];
  /** Generation of the nearest leaf that descends from it; kept by tree-stem.ts, where it is needed. */
  nearest: number;
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

/** What a path told that a graph did not have. */
export interface Added {
  readonly nodes: Set<Node>;
  /** Newest first. */
  readonly links: { readonly child: Node; readonly parent: Node }[];
}

/** Adds revisions and their descent, but not deletedness. @param hashes newest first @param added notes what is new */
export function addPath(graph: Graph, generation: number, hashes: readonly string[], added?: Added): void {
  let child: Node | undefined;
  for (let at = 0; at < hashes.length; at++) {
    const size = graph.size;
    const node = nodeFor(graph, generation - at, hashes[at]!);
    if (graph.size > size) added?.nodes.add(node);
    if (child !== undefined && link(child, node)) added?.links.push({ child, parent: node });
    child = node;
  }
}

function nodeFor(graph: Graph, generation: number, hash: string): Node {
  const rev = formatRev(generation, hash);
  let node = graph.get(rev);
  if (node === undefined) {
    node = {
      rev,
      generation,
      hash,
      deleted: false,
      parent: undefined,
      others: undefined,
      children: [],
      nearest: generation,
    };
    graph.set(rev, node);
  }
  return node;
}

/** @returns false if they were linked already */
function link(child: Node, parent: Node): boolean {
  if (child.parent === parent || child.others?.includes(parent)) return false;
  parent.children.push(child);
  addParent(child, parent);
  return true;
}

function addParent(child: Node, parent: Node): void {
  const first = child.parent;
  if (first === undefined) {
    child.parent = parent;
    return;
  }
  const isGreater = parent.hash > first.hash;
  if (isGreater) child.parent = parent;
  child.others ??= [];
  child.others.push(isGreater ? first : parent);
}

export function parentsOf(node: Node): Node[] {
  if (node.parent === undefined) return [];
  return node.others === undefined ? [node.parent] : [node.parent, ...node.others];
}

export function newestFirst(graph: Graph): Node[] {
  return [...graph.values()].sort((a, b) => b.generation - a.generation);
}

/** Takes nodes out of the graph. The remaining ones keep their descent as far as it is known. */
export function drop(graph: Graph, dropped: ReadonlySet<Node>): void {
  const stays = (node: Node): boolean => !dropped.has(node);
  const parents = new Set<Node>();
  const children = new Set<Node>();
  for (const node of dropped) {
    graph.delete(node.rev);
    for (const parent of parentsOf(node)) if (stays(parent)) parents.add(parent);
    for (const child of node.children) if (stays(child)) children.add(child);
  }
  for (const parent of parents) parent.children = parent.children.filter(stays);
  for (const child of children) {
    const kept = parentsOf(child).filter(stays);
    child.parent = undefined;
    child.others = undefined;
    for (const parent of kept) addParent(child, parent);
  }
}

/** The graph as chains: leaves from the newest on, each followed down until it meets an earlier chain; then the extra parents. */
export function chainsOf(graph: Graph): Chain[] {
  const nodes = [...graph.values()];
  const seen = new Set<Node>();
  const chains: Chain[] = [];
  for (const leaf of nodes.filter((node) => node.children.length === 0).sort(newest)) {
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
