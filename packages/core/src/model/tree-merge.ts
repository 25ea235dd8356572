/**
 * Changes a revision tree: merging a path, stemming.
 *
 * A merge adds the path's revisions and descent to the known ones: a union, so before stemming the order of merges
 * cannot matter (I3). The usual cases (an edit of a leaf, a new branch, a path known already) are handled on the
 * chains; a path that adds something new about known revisions, and the stemming of branches, go through the graph.
 */
import type { Chain, RevPath, RevTree } from './chain';
import { holderOf, ownerOf, treeOf } from './chain';
import { formatRev } from './revision';
import { hasRev, isDeleted, tipAt } from './tree';
import { indexOf } from './tree-index';

/** How a path relates to a tree. `inner`: its newest revision was known, but something about it or its ancestors was not. */
type MergeResult = 'new leaf' | 'new branch' | 'inner' | 'known';

export interface Merged {
  /** The same object when the result is `known`. */
  readonly tree: RevTree;
  readonly result: MergeResult;
  /** Revisions that `tree` had before and stemming dropped. */
  readonly forgotten: readonly string[];
}

/** As `merge` of tree-growing.ts. `undefined`: that takes the graph. */
export function mergeByChains(tree: RevTree | undefined, path: RevPath, limit: number): Merged | undefined {
  // A tree of one chain is always stemmed.
  if (tree === undefined) return { ...stemByChains(treeOf(path), limit)!, result: 'new leaf', forgotten: [] };
  const known = firstKnown(tree, path);
  if (known === 0) {
    return isKnown(tree, path) ? { tree, result: 'known', forgotten: [] } : undefined;
  }
  const joins = known < path.hashes.length;
  if (joins && !tellsNothingNew(tree, path, known)) return undefined;
  const parent = joins ? tipAt(tree, path.generation - known, path.hashes[known]!) : -1;
  const grown = parent < 0 ? branch(tree, path, known) : extend(tree, path, known, parent);
  const stemmed = stemByChains(grown, limit);
  if (stemmed === undefined) return undefined;
  return {
    tree: stemmed.tree,
    result: parent < 0 ? 'new branch' : 'new leaf',
    // A long path may bring ancestors that are not kept.
    forgotten: known > limit ? stemmed.forgotten.filter((rev) => hasRev(tree, rev)) : stemmed.forgotten,
  };
}

/** Index of the newest revision of the path that the tree has; the length of the path if it has none. */
function firstKnown(tree: RevTree, { generation, hashes }: RevPath): number {
  let at = 0;
  while (at < hashes.length && holderOf(tree, generation - at, hashes[at]!) === undefined) at++;
  return at;
}

/** True when the tree has all of the path from index `from` on, and its descent: each revision beside its parent in some chain. */
function tellsNothingNew(tree: RevTree, { generation, hashes }: RevPath, from: number): boolean {
  let teller: Chain | undefined;
  for (let at = from; at < hashes.length - 1; at++) {
    const tells = (chain: Chain): boolean => {
      const index = chain.generation - generation + at;
      return index >= 0 && chain.hashes[index] === hashes[at] && chain.hashes[index + 1] === hashes[at + 1];
    };
    // Mostly the chain that told the step before; if not, the owner, who tells all but extra parents.
    if (teller !== undefined && tells(teller)) continue;
    teller = indexOf(tree) && ownerOf(tree, generation - at, hashes[at]!);
    if (teller === undefined || !tells(teller)) teller = tree.chains.find(tells);
    if (teller === undefined) return false;
  }
  return true;
}

function extend(tree: RevTree, path: RevPath, length: number, index: number): RevTree {
  const chain = tree.chains[index]!; // found by tipAt
  const grown: Chain = {
    ...chain,
    generation: path.generation,
    hashes: [...path.hashes.slice(0, length), ...chain.hashes],
    deleted: path.deleted ? [path.generation, ...chain.deleted] : chain.deleted,
  };
  const chains = tree.chains.slice();
  chains[index] = grown;
  return { chains };
}

function branch(tree: RevTree, path: RevPath, known: number): RevTree {
  const joined = known < path.hashes.length;
  const [chain] = treeOf({ ...path, hashes: path.hashes.slice(0, known + 1) }).chains;
  return { chains: tree.chains.concat({ ...chain!, joined }) };
}

/** Whether the path, whose newest revision the tree has, tells nothing new. */
function isKnown(tree: RevTree, path: RevPath): boolean {
  const { generation, hashes, deleted } = path;
  const endsNothing =
    !deleted ||
    tipAt(tree, generation, hashes[0]!) >= 0 ||
    isDeleted(tree, formatRev(generation, hashes[0]!));
  return endsNothing && tellsNothingNew(tree, path, 0);
}

interface Stemmed {
  readonly tree: RevTree;
  readonly forgotten: readonly string[];
}

/**
 * Forgets revisions that are `limit` generations or more above every leaf that descends from them.
 *
 * @param limit generations kept on each branch, ≥ 1
 * @returns `undefined`: that takes the graph
 */
function stemByChains(tree: RevTree, limit: number): Stemmed | undefined {
  const [chain] = tree.chains;
  if (tree.chains.length > 1) return spread(tree) < limit ? { tree, forgotten: [] } : undefined;
  const { generation, hashes, deleted } = chain!; // a tree is never empty
  if (hashes.length <= limit) return { tree, forgotten: [] };
  return {
    tree: {
      chains: [
        {
          ...chain!,
          hashes: hashes.slice(0, limit),
          deleted: deleted.filter((at) => generation - at < limit),
        },
      ],
    },
    forgotten: hashes.slice(limit).map((hash, at) => formatRev(generation - limit - at, hash)),
  };
}

/** Generations from the newest to the oldest revision. */
function spread({ chains }: RevTree): number {
  let newest = 0;
  let oldest = Number.POSITIVE_INFINITY;
  for (const { generation, hashes } of chains) {
    newest = Math.max(newest, generation);
    oldest = Math.min(oldest, generation - hashes.length + 1);
  }
  return newest - oldest;
}
