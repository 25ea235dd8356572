/**
 * Changes a revision tree: merging a path, stemming.
 *
 * A merge adds the path's revisions and descent to the known ones: a union, so before stemming the order of merges
 * cannot matter (I3). The usual cases (an edit of a leaf, a new branch, a path known already) are handled on the
 * chains; a path that adds something new about known revisions goes through the graph.
 */
import type { Chain, RevPath, RevTree } from './chain';
import { holderOf, ownerOf, treeOf } from './chain';
import { formatRev } from './revision';
import { allRevs, hasRev, isDeleted, tipAt } from './tree';
import type { Node } from './tree-graph';
import { addPath, chainsOf, graphOf, newestFirst, parentsOf, without } from './tree-graph';
import { indexOf, moveIndex } from './tree-index';

/** How a path relates to a tree. `inner`: its newest revision was known, but something about it or its ancestors was not. */
export type MergeResult = 'new leaf' | 'new branch' | 'inner' | 'known';

export interface Merged {
  /** The same object when the result is `known`. */
  readonly tree: RevTree;
  readonly result: MergeResult;
  /** Revisions that `tree` had before and stemming dropped. */
  readonly forgotten: readonly string[];
}

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
  if (tree === undefined) return { tree: stem(treeOf(path), limit).tree, result: 'new leaf', forgotten: [] };
  const known = firstKnown(tree, path);
  if (known === 0) return mergeKnown(tree, path, limit);
  const joins = known < path.hashes.length;
  if (joins && !tellsNothingNew(tree, path, known)) return mergeByGraph(tree, path, limit, 'new');
  const generation = path.generation - known;
  const parent = joins ? tipAt(tree, generation, path.hashes[known]!) : -1;
  const grown = parent < 0 ? branch(tree, path, known) : extend(tree, path, known, parent);
  moveIndex(tree, grown, parent < 0 ? tree.chains.length : parent);
  const { tree: stemmed, forgotten } = stem(grown, limit);
  return {
    tree: stemmed,
    result: parent < 0 ? 'new branch' : 'new leaf',
    // A long path may bring ancestors that are not kept.
    forgotten: known > limit ? forgotten.filter((rev) => hasRev(tree, rev)) : forgotten,
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

function mergeKnown(tree: RevTree, path: RevPath, limit: number): Merged {
  const leaf = tipAt(tree, path.generation, path.hashes[0]!) >= 0;
  const flagKnown = leaf || !path.deleted || isDeleted(tree, formatRev(path.generation, path.hashes[0]!));
  if (flagKnown && tellsNothingNew(tree, path, 0)) return { tree, result: 'known', forgotten: [] };
  return mergeByGraph(tree, path, limit, leaf ? 'leaf' : 'inner');
}

function mergeByGraph(tree: RevTree, path: RevPath, limit: number, head: 'new' | 'leaf' | 'inner'): Merged {
  const graph = graphOf(tree.chains);
  const before = chainsOf(graph);
  const leavesBefore = before.filter((chain) => chain.tip);
  addPath(graph, path.generation, path.hashes);
  if (path.deleted && head !== 'leaf') graph.get(formatRev(path.generation, path.hashes[0]!))!.deleted = true;
  const { tree: merged } = stem({ chains: chainsOf(graph) }, limit);
  if (head !== 'new' && JSON.stringify(before) === JSON.stringify(merged.chains))
    return { tree, result: 'known', forgotten: [] };
  const covered = leavesBefore.some(
    ({ generation, hashes }) => graph.get(formatRev(generation, hashes[0]!))!.children > 0,
  );
  const result = head !== 'new' ? 'inner' : covered ? 'new leaf' : 'new branch';
  return { tree: merged, result, forgotten: allRevs(tree).filter((rev) => !hasRev(merged, rev)) };
}

/**
 * Forgets revisions that are `limit` generations or more above every leaf that descends from them.
 *
 * @param limit generations kept on each branch, ≥ 1
 */
export function stem(tree: RevTree, limit: number): { tree: RevTree; forgotten: readonly string[] } {
  const [chain] = tree.chains;
  if (tree.chains.length > 1)
    return spread(tree) < limit ? { tree, forgotten: [] } : stemByGraph(tree, limit);
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
function spread(tree: RevTree): number {
  const index = indexOf(tree);
  if (index !== undefined) return index.newest - index.oldest;
  let newest = 0;
  let oldest = Number.POSITIVE_INFINITY;
  for (const { generation, hashes } of tree.chains) {
    newest = Math.max(newest, generation);
    oldest = Math.min(oldest, generation - hashes.length + 1);
  }
  return newest - oldest;
}

function stemByGraph(tree: RevTree, limit: number): { tree: RevTree; forgotten: readonly string[] } {
  const graph = graphOf(tree.chains);
  const nearestLeaf = new Map<Node, number>();
  const dropped = new Set<Node>();
  for (const node of newestFirst(graph)) {
    // Children come first and have noted their nearest leaf; a node without such a note is a leaf.
    const leaf = nearestLeaf.get(node) ?? node.generation;
    if (leaf - node.generation >= limit) dropped.add(node);
    for (const parent of parentsOf(node)) {
      nearestLeaf.set(parent, Math.min(leaf, nearestLeaf.get(parent) ?? leaf));
    }
  }
  if (dropped.size === 0) return { tree, forgotten: [] };
  return {
    tree: { chains: chainsOf(without(graph, dropped)) },
    forgotten: [...dropped].map((node) => node.rev),
  };
}
