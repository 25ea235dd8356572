/** Which chain has a revision, for trees of so many chains that a comparison with each would be quadratic in sum. */
import type { Chain, RevTree } from './chain';
import { formatRev } from './revision';

/** With no more chains than this, comparing is faster than a map. */
const FEW = 16;
/** Comparisons that cost as much as putting a revision into the map. */
const COST = 8;

interface TreeIndex {
  newest: number;
  oldest: number;
  /** Whether some revision has several parents. */
  isTangled: boolean;
  /** Comparisons until the map pays: for a few look-ups in long histories it does not. */
  debt: number;
  /** By revision: the first chain that holds it. A joint belongs to an earlier chain, so there it is beside its parent. */
  places: Map<string, number> | undefined;
}

/** Beside the trees, since they are compared and packed by what they hold. */
const indexes = new WeakMap<RevTree, TreeIndex>();

/** `undefined`: the tree has few chains. */
export function indexOf(tree: RevTree): TreeIndex | undefined {
  if (tree.chains.length <= FEW) return undefined;
  let index = indexes.get(tree);
  if (index !== undefined) return index;
  index = { newest: 0, oldest: Number.POSITIVE_INFINITY, isTangled: false, debt: 0, places: undefined };
  for (const chain of tree.chains) {
    note(index, chain);
    index.debt += COST * chain.hashes.length;
  }
  indexes.set(tree, index);
  return index;
}

/** `undefined`: comparing with each chain is as good. */
export function placesOf(tree: RevTree): ReadonlyMap<string, number> | undefined {
  const index = indexOf(tree);
  if (index === undefined || index.places !== undefined) return index?.places;
  index.debt -= tree.chains.length;
  if (index.debt > 0) return undefined;
  index.places = new Map();
  for (let place = 0; place < tree.chains.length; place++) {
    const chain = tree.chains[place]!;
    add(index.places, chain, place, chain.hashes.length);
  }
  return index.places;
}

/**
 * Of a tree that differs from `before` in one chain, which is new or has become longer at its head. The index moves: `before` gets
 * another one if it is asked again. So a list of many edits makes one index, not one for each.
 */
export function moveIndex(before: RevTree, after: RevTree, place: number): void {
  const index = indexes.get(before);
  if (index === undefined) return;
  indexes.delete(before);
  const chain = after.chains[place]!;
  note(index, chain);
  if (index.places !== undefined)
    add(index.places, chain, place, chain.hashes.length - (before.chains[place]?.hashes.length ?? 0));
  indexes.set(after, index);
}

function note(index: TreeIndex, { generation, hashes, tip }: Chain): void {
  index.newest = Math.max(index.newest, generation);
  index.oldest = Math.min(index.oldest, generation - hashes.length + 1);
  if (!tip) index.isTangled = true;
}

/** @param count of its newest revisions that are to be added */
function add(places: Map<string, number>, { generation, hashes }: Chain, place: number, count: number): void {
  for (let at = 0; at < count; at++) {
    const rev = formatRev(generation - at, hashes[at]!);
    if (!places.has(rev)) places.set(rev, place);
  }
}
