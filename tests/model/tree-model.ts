/**
 * A model of revision trees: a set of revisions and a set of parent links, merged by union. `wild` histories draw any parent for any
 * revision, so that one revision has several; `honest` ones fix each revision's parent, as databases do.
 */
import fc from 'fast-check';
import type { RevPath, RevTree } from '../../packages/core/src/model';
import {
  ancestry,
  formatRev,
  isDeleted,
  isLeaf,
  leaves,
  leavesBelow,
  merge,
} from '../../packages/core/src/model';
import { GrowingGraph } from '../../packages/core/src/model/tree-growth';

export const ALL = Number.MAX_SAFE_INTEGER;

/** Stems a tree that was merged with another limit, by its graph. */
export function stem(tree: RevTree, limit: number): { tree: RevTree; forgotten: readonly string[] } {
  const graph = new GrowingGraph(tree, limit);
  const forgotten = [...graph.stem()].map(({ rev }) => rev);
  return { tree: forgotten.length === 0 ? tree : graph.toTree(), forgotten };
}

/** Deletedness belongs to the revision. */
const dead = (generation: number, hash: string): boolean => (generation + hash.charCodeAt(0)) % 3 === 0;

const hash = fc.constantFrom('a', 'b', 'c');

export const wild: fc.Arbitrary<RevPath> = fc
  .record({
    generation: fc.integer({ min: 1, max: 6 }),
    hashes: fc.array(hash, { minLength: 1, maxLength: 6 }),
  })
  .map(({ generation, hashes }) => ({
    generation,
    hashes: hashes.slice(0, generation),
    deleted: dead(generation, hashes[0]!),
  }));

/** The parent of a revision is told by the revision; the path may end anywhere. */
const honest: fc.Arbitrary<RevPath> = fc
  .record({
    generation: fc.integer({ min: 1, max: 8 }),
    seed: fc.integer({ min: 0, max: 80 }),
    length: fc.integer({ min: 1, max: 8 }),
  })
  .map(({ generation, seed, length }) => {
    const hashes: string[] = [];
    for (let at = generation, code = seed; at >= 1 && hashes.length < length; at--) {
      hashes.push(String.fromCharCode(97 + (code % 81)));
      code = Math.floor((code % 81) / 3);
    }
    return { generation, hashes, deleted: dead(generation, hashes[0]!) };
  });

export const paths = fc.oneof(
  fc.array(wild, { minLength: 1, maxLength: 12 }),
  fc.array(honest, { minLength: 1, maxLength: 12 }),
);

export function mergeAll(list: readonly RevPath[], limit = ALL): RevTree {
  let tree: RevTree | undefined;
  for (const path of list) tree = merge(tree, path, limit).tree;
  return tree!;
}

export interface Model {
  revs: Set<string>;
  parents: Map<string, Set<string>>;
  dead: Set<string>;
}

export function modelOf(list: readonly RevPath[]): Model {
  const model: Model = { revs: new Set(), parents: new Map(), dead: new Set() };
  for (const { generation, hashes, deleted } of list) {
    const revs = hashes.map((each, at) => formatRev(generation - at, each));
    if (deleted) model.dead.add(revs[0]!);
    revs.forEach((rev, at) => {
      model.revs.add(rev);
      const parents = model.parents.get(rev) ?? new Set();
      if (at + 1 < revs.length) parents.add(revs[at + 1]!);
      model.parents.set(rev, parents);
    });
  }
  return model;
}

export function modelLeaves(model: Model): string[] {
  const inner = new Set([...model.parents.values()].flatMap((parents) => [...parents]));
  return [...model.revs].filter((rev) => !inner.has(rev));
}

export function modelAncestry(model: Model, rev: string): string[] {
  const ids = [];
  for (let at: string | undefined = rev; at !== undefined; at = [...model.parents.get(at)!].sort().at(-1)) {
    ids.push(at.split('-')[1]!);
  }
  return ids;
}

export function modelBelow(model: Model, rev: string): string[] {
  const reaches = (from: string): boolean => from === rev || [...model.parents.get(from)!].some(reaches);
  return modelLeaves(model).filter(reaches);
}

/** What stemming keeps: at most `limit` generations above some leaf that descends from it. */
export function modelKept(model: Model, limit: number): string[] {
  const near = new Set<string>();
  const walk = (rev: string, left: number): void => {
    if (left === 0) return;
    near.add(rev);
    for (const parent of model.parents.get(rev)!) walk(parent, left - 1);
  };
  for (const leaf of modelLeaves(model)) walk(leaf, limit);
  return [...near].sort();
}

/** Everything that can be asked of a tree. */
export function picture(tree: RevTree) {
  const revs = allRevs(tree).sort();
  return {
    leaves: leaves(tree),
    revs: revs.map((rev) => ({
      rev,
      deleted: isDeleted(tree, rev),
      leaf: isLeaf(tree, rev),
      ancestry: ancestry(tree, rev),
      below: leavesBelow(tree, rev),
    })),
  };
}

/** Every revision once, in no particular order. */
export function allRevs(tree: RevTree): string[] {
  const revs: string[] = [];
  for (const { generation, hashes, tip, joined } of tree.chains) {
    const end = joined ? hashes.length - 1 : hashes.length;
    for (let at = tip ? 0 : 1; at < end; at++) revs.push(formatRev(generation - at, hashes[at]!));
  }
  return revs;
}
