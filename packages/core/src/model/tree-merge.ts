/**
 * Changing a revision tree: merging a path, stemming, removing a leaf.
 *
 * A merge adds the path's revisions and descent to the set of those known: a union, so before stemming the order of merges
 * cannot matter (I3). What nearly always happens (an edit of a leaf, a new branch, a path known already) is done on the
 * chains; the rest, a path that tells something new about what is known, goes through the graph.
 */
import type { Chain, RevPath, RevTree } from './chain';
import { holderOf, holds, ownerOf, treeOf } from './chain';
import { formatRev } from './revision';
import { allRevs, hasRev } from './tree';
import type { Node } from './tree-graph';
import { addPath, chainsOf, graphOf, newestFirst, parentsOf, without } from './tree-graph';

/** What a path was to a tree. `inner`: its newest revision was known, but something about it or its ancestors was not. */
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
 * Pure: `tree` is not changed. Whether a revision is a tombstone is as first told; a later telling cannot change a leaf.
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
  const { tree: stemmed, forgotten } = stem(grown, limit);
  return {
    tree: stemmed,
    result: parent < 0 ? 'new branch' : 'new leaf',
    // A long path may bring ancestors that do not stay.
    forgotten: known > limit ? forgotten.filter((rev) => hasRev(tree, rev)) : forgotten,
  };
}

/** Index of the newest revision of the path that the tree has; the length of the path when it has none. */
function firstKnown(tree: RevTree, { generation, hashes }: RevPath): number {
  let at = 0;
  while (at < hashes.length && holderOf(tree, generation - at, hashes[at]!) === undefined) at++;
  return at;
}

/** True when the tree has all of the path from index `from` on, and its descent too. */
function tellsNothingNew(tree: RevTree, { generation, hashes }: RevPath, from: number): boolean {
  let at = from;
  while (at < hashes.length - 1) {
    const chain = ownerOf(tree, generation - at, hashes[at]!);
    if (chain === undefined) return false;
    let index = chain.generation - (generation - at);
    const start = at;
    while (
      at < hashes.length - 1 &&
      index < chain.hashes.length - 1 &&
      chain.hashes[index + 1] === hashes[at + 1]
    ) {
      at++;
      index++;
    }
    if (at === start) return false; // another parent than this chain's, or the chain ends
  }
  return true;
}

function tipAt(tree: RevTree, generation: number, hash: string): number {
  return tree.chains.findIndex(
    (chain) => chain.tip && chain.generation === generation && chain.hashes[0] === hash,
  );
}

function extend(tree: RevTree, path: RevPath, length: number, index: number): RevTree {
  const chain = tree.chains[index]!; // found by tipAt
  const grown: Chain = {
    ...chain,
    generation: path.generation,
    hashes: [...path.hashes.slice(0, length), ...chain.hashes],
    deleted: path.deleted ? [path.generation, ...chain.deleted] : chain.deleted,
  };
  return { chains: tree.chains.map((other, at) => (at === index ? grown : other)) };
}

function branch(tree: RevTree, path: RevPath, known: number): RevTree {
  const joined = known < path.hashes.length;
  const [chain] = treeOf({ ...path, hashes: path.hashes.slice(0, known + 1) }).chains;
  return { chains: [...tree.chains, { ...chain!, joined }] };
}

function mergeKnown(tree: RevTree, path: RevPath, limit: number): Merged {
  const leaf = tipAt(tree, path.generation, path.hashes[0]!) >= 0;
  const flagKnown = leaf || !path.deleted || isTombstone(tree, path);
  if (flagKnown && tellsNothingNew(tree, path, 0)) return { tree, result: 'known', forgotten: [] };
  return mergeByGraph(tree, path, limit, leaf ? 'leaf' : 'inner');
}

const isTombstone = (tree: RevTree, { generation, hashes }: RevPath): boolean =>
  tree.chains.some((chain) => holds(chain, generation, hashes[0]!) && chain.deleted.includes(generation));

function mergeByGraph(tree: RevTree, path: RevPath, limit: number, head: 'new' | 'leaf' | 'inner'): Merged {
  const graph = graphOf(tree.chains);
  const before = chainsOf(graph);
  const leavesBefore = before.filter((chain) => chain.tip);
  addPath(graph, path.generation, path.hashes);
  if (path.deleted && head !== 'leaf') graph.get(formatRev(path.generation, path.hashes[0]!))!.deleted = true;
  const { tree: merged } = stem({ chains: chainsOf(graph) }, limit);
  if (head !== 'new' && sameChains(before, merged.chains)) return { tree, result: 'known', forgotten: [] };
  const covered = leavesBefore.some(
    ({ generation, hashes }) => graph.get(formatRev(generation, hashes[0]!))!.children > 0,
  );
  const result = head !== 'new' ? 'inner' : covered ? 'new leaf' : 'new branch';
  return { tree: merged, result, forgotten: allRevs(tree).filter((rev) => !hasRev(merged, rev)) };
}

function sameChains(some: readonly Chain[], others: readonly Chain[]): boolean {
  return (
    some.length === others.length &&
    some.every((chain, at) => {
      const other = others[at]!; // of equal length
      return (
        chain.generation === other.generation &&
        chain.tip === other.tip &&
        chain.joined === other.joined &&
        sameItems(chain.hashes, other.hashes) &&
        sameItems(chain.deleted, other.deleted)
      );
    })
  );
}

function sameItems<T>(some: readonly T[], others: readonly T[]): boolean {
  return some.length === others.length && some.every((item, at) => item === others[at]);
}

/**
 * Forgets what is `limit` generations or more above every leaf that descends from it.
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
function spread({ chains }: RevTree): number {
  let newest = 0;
  let oldest = Number.POSITIVE_INFINITY;
  for (const { generation, hashes } of chains) {
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
    // Children come first and have told; who was told nothing is a leaf.
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

/**
 * Takes a leaf out, with the ancestors that no other leaf descends from (purge).
 *
 * @returns the rest, if any, and what was removed, newest first; `undefined` when `rev` is no leaf of this tree
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
