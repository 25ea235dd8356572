/**
 * A revision tree as a graph into which paths are merged one after another. A merge costs what it adds or drops, however large the
 * tree: what needs a graph once (foreign ancestors, many branches, stemming) is mostly done again and again in one write.
 */
import type { RevPath, RevTree } from './chain';
import { formatRev } from './revision';
import { type Added, addPath, chainsOf, drop, type Graph, graphOf, type Node } from './tree-graph';
import type { Merged } from './tree-merge';
import { measure, measureAdded } from './tree-stem';

/** What a merge did. */
export interface Grown extends Omit<Merged, 'tree'> {
  /** Whether a leaf is one no longer. */
  readonly covers: boolean;
}

const KNOWN: Grown = { result: 'known', forgotten: [], covers: false };

export class GrowingGraph {
  readonly #graph: Graph;
  readonly #limit: number;
  #newest = 0;
  #oldest = Number.POSITIVE_INFINITY;
  #isMeasured = false;

  /** @param limit as {@link merge} takes it */
  constructor(tree: RevTree, limit: number) {
    this.#graph = graphOf(tree.chains);
    this.#limit = limit;
    for (const { generation, hashes } of tree.chains) this.#note(generation, hashes.length);
  }

  #note(generation: number, length: number): void {
    this.#newest = Math.max(this.#newest, generation);
    this.#oldest = Math.min(this.#oldest, generation - length + 1);
  }

  has(rev: string): boolean {
    return this.#graph.has(rev);
  }

  isLeaf(rev: string): boolean {
    return this.#graph.get(rev)?.children.length === 0;
  }

  /** As it is now. */
  toTree(): RevTree {
    return { chains: chainsOf(this.#graph) };
  }

  merge({ generation, hashes, deleted }: RevPath): Grown {
    const rev = formatRev(generation, hashes[0]!);
    const isNew = !this.has(rev);
    const wasLeaf = this.isLeaf(rev);
    const added: Added = { nodes: new Set(), links: [] };
    addPath(this.#graph, generation, hashes, added);
    const { nodes, links } = added;
    const head = this.#graph.get(rev)!; // added, if it was not there
    const ends = deleted && !wasLeaf && !head.deleted;
    if (ends) head.deleted = true;
    if (!isNew && links.length === 0 && !ends) return KNOWN;
    const covers = links.some(({ parent }) => parent.children.length === 1 && !nodes.has(parent));
    this.#note(generation, hashes.length);
    const dropped = this.stem(added);
    const forgotten = [...dropped].filter((node) => !nodes.has(node)).map((node) => node.rev);
    if (isNew) return { result: covers ? 'new leaf' : 'new branch', forgotten, covers };
    // Older ancestors than are kept tell nothing.
    const stays = links.some(({ child, parent }) => !dropped.has(child) && !dropped.has(parent));
    return stays || ends || forgotten.length > 0 ? { result: 'inner', forgotten, covers } : KNOWN;
  }

  /** Drops what is too far above its leaves. @param added since the last time */
  stem(added?: Added): ReadonlySet<Node> {
    // Most trees do not reach so far that anything could be dropped.
    if (!this.#isMeasured && this.#newest - this.#oldest < this.#limit) return new Set();
    const measured = this.#isMeasured && added ? measureAdded(added) : measure(this.#graph);
    this.#isMeasured = true;
    const dropped = new Set<Node>();
    for (const node of measured) if (node.nearest - node.generation >= this.#limit) dropped.add(node);
    drop(this.#graph, dropped);
    return dropped;
  }
}
