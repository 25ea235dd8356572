/** Which chain has a revision, for trees of so many chains that a comparison with each would be quadratic in sum. */
import type { RevTree } from './chain';
import { formatRev } from './revision';

/** With no more chains than this, comparing is faster than a map. */
export const FEW = 16;
/** Comparisons that cost as much as putting a revision into the map. */
export const COST = 8;

interface TreeIndex {
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
  index = { isTangled: false, debt: 0, places: undefined };
  for (const { tip, hashes } of tree.chains) {
    if (!tip) index.isTangled = true;
    index.debt += COST * hashes.length;
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
  index.places = placesIn(tree);
  return index.places;
}

function placesIn({ chains }: RevTree): Map<string, number> {
  const places = new Map<string, number>();
  for (let place = 0; place < chains.length; place++) {
    const { generation, hashes } = chains[place]!;
    for (let at = 0; at < hashes.length; at++) {
      const rev = formatRev(generation - at, hashes[at]!);
      if (!places.has(rev)) places.set(rev, place);
    }
  }
  return places;
}
