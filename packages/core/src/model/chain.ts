/**
 * The revision tree of a document, as a set of chains; the tree is their union.
 *
 *   1-a ─ 2-b ─ 3-c        chains  3: c b a
 *           └ 3-d                  3: d b   (joined: its last revision, 2-b, belongs to another chain)
 *
 * A revision is its generation *and* hash: one hash at two generations is two revisions. Nearly all trees are one chain, so
 * a look-up is a comparison per chain; wide trees have a map (tree-index.ts). What chains do not show directly, a graph does (tree-graph.ts).
 *
 * Foreign or damaged histories may give one revision two parents. Both are kept, or else the order of arrival would matter;
 * the extra parent hangs on a chain that is not a tip: `child, parent, …`. Ancestry follows the greater parent.
 */
import { placesOf } from './tree-index';

/** A revision with its ancestors: `hashes[0]` at `generation`, newest first. At least one, at most `generation` of them. */
export interface RevPath {
  readonly generation: number;
  readonly hashes: readonly string[];
  /** Whether `hashes[0]` is a tombstone. */
  readonly deleted: boolean;
}

/** A line of descent within a tree. */
export interface Chain {
  /** Generation of `hashes[0]`. */
  readonly generation: number;
  /** Newest first. */
  readonly hashes: readonly string[];
  /** Generations, newest first, at which this chain holds a tombstone. */
  readonly deleted: readonly number[];
  /** Whether `hashes[0]` is a leaf. If not, it is a child from another chain, for which this chain gives a further parent. */
  readonly tip: boolean;
  /** Whether the last revision belongs to another chain, from which this one branches off. */
  readonly joined: boolean;
}

/** Immutable; made by {@link singleton}, {@link merge} and {@link unpackTree} only. Never empty. */
export interface RevTree {
  readonly chains: readonly Chain[];
}

/** A tree of one path. */
export function treeOf({ generation, hashes, deleted }: RevPath): RevTree {
  return {
    chains: [{ generation, hashes, deleted: deleted ? [generation] : [], tip: true, joined: false }],
  };
}

/** True when the chain, including its joint, holds the revision. */
export function holds(chain: Chain, generation: number, hash: string): boolean {
  const at = chain.generation - generation;
  return at >= 0 && chain.hashes[at] === hash;
}

/** Some chain that holds the revision. */
export function holderOf(tree: RevTree, generation: number, hash: string): Chain | undefined {
  const places = placesOf(tree);
  if (places !== undefined) return tree.chains[places.get(`${generation}-${hash}`) ?? -1];
  for (const chain of tree.chains) if (holds(chain, generation, hash)) return chain;
  return undefined;
}

/** The chain that holds the revision together with its parent, if it has one: not the one that holds it only as a joint. */
export function ownerOf(tree: RevTree, generation: number, hash: string): Chain | undefined {
  const owns = (chain: Chain): boolean =>
    holds(chain, generation, hash) &&
    (!chain.joined || chain.generation - generation < chain.hashes.length - 1);
  const first = holderOf(tree, generation, hash);
  return first === undefined || owns(first) ? first : tree.chains.find(owns);
}
