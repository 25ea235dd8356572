/** A revision tree that takes the edits of one write, one after another. */
import type { RevPath, RevTree } from './chain';
import type { Leaf } from './leaf';
import { hasRev, isLeaf } from './tree';
import { GrowingGraph, type Grown } from './tree-growth';
import { COST, FEW } from './tree-index';
import { type Merged, mergeByChains } from './tree-merge';
import { winner } from './winner';

/**
 * Merges one path of revisions into a tree, and stems it.
 *
 * @param tree `undefined` for a document that is new: the path is then a `new leaf`
 * @param limit most generations kept on a branch (`revs_limit`), ≥ 1
 *
 * Pure: `tree` is not changed. Whether a revision is a tombstone is settled by the first path that tells; a later one cannot change a
 * leaf.
 */
export function merge(tree: RevTree | undefined, path: RevPath, limit: number): Merged {
  const growing = new GrowingTree(tree, limit);
  const { result, forgotten } = growing.merge(path);
  return { tree: growing.tree, result, forgotten };
}

export class GrowingTree {
  readonly #limit: number;
  /** Chains that there were, and one for each path since: at least as many as there are, unless stemming cuts one in two. */
  branches: number;
  /** `undefined`: there is none yet, or the graph is ahead of it. */
  #tree: RevTree | undefined;
  /** Made when it is first needed, or pays; from then on it takes all edits. */
  #graph: GrowingGraph | undefined;
  /** The winner of `of`: edits that are refused leave the tree as it is, and each may ask. */
  #winner: { readonly of: RevTree; readonly leaf: Leaf } | undefined;
  /** Chains that were copied and compared so far. */
  #work = 0;

  /** Both as {@link merge} takes them. */
  constructor(tree: RevTree | undefined, limit: number) {
    this.#tree = tree;
    this.#limit = limit;
    this.branches = tree?.chains.length ?? 0;
  }

  /** As it is now. Not to be asked for before there is one, like all below. */
  get tree(): RevTree {
    this.#tree ??= this.#graph!.toTree(); // which is ahead
    return this.#tree;
  }

  /** As it is now: see {@link winner}. */
  get winner(): Leaf {
    const of = this.tree;
    if (this.#winner?.of !== of) this.#winner = { of, leaf: winner(of) };
    return this.#winner.leaf;
  }

  has(rev: string): boolean {
    return this.#graph?.has(rev) ?? hasRev(this.tree, rev);
  }

  isLeaf(rev: string): boolean {
    return this.#graph?.isLeaf(rev) ?? isLeaf(this.tree, rev);
  }

  /** As {@link merge} does. */
  merge(path: RevPath): Grown {
    this.branches++;
    return this.#mergeByChains(path) ?? this.#mergeByGraph(path);
  }

  #mergeByChains(path: RevPath): Grown | undefined {
    if (this.#graph !== undefined) return undefined;
    const before = this.#tree;
    const chains = before?.chains ?? [];
    if (chains.length > FEW) {
      const revs = chains.reduce((sum, { hashes }) => sum + hashes.length, 0);
      if (this.#work > COST * revs) return undefined;
      this.#work += chains.length * path.hashes.length;
    }
    const merged = mergeByChains(before, path, this.#limit);
    if (merged === undefined) return undefined;
    const { tree, result, forgotten } = merged;
    this.#tree = tree;
    return { result, forgotten, covers: before !== undefined && result === 'new leaf' };
  }

  #mergeByGraph(path: RevPath): Grown {
    this.#graph ??= new GrowingGraph(this.tree, this.#limit);
    const grown = this.#graph.merge(path);
    if (grown.result !== 'known') this.#tree = undefined;
    return grown;
  }
}
