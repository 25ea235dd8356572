/** A tree that takes many paths one after another: against a model, and how much work that is. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DocFold } from '../../packages/core/src/database/doc-fold';
import type { ReplicatedEdit } from '../../packages/core/src/database/edits';
import {
  ancestry,
  formatRev,
  GrowingTree,
  isDeleted,
  leaves,
  leavesBelow,
  merge,
  type RevPath,
} from '../../packages/core/src/model';
import {
  ALL,
  allRevs,
  type Model,
  modelAncestry,
  modelBelow,
  modelKept,
  modelLeaves,
  modelOf,
  wild,
} from './tree-model';
import { workOf } from './work';

/** Near and far histories, and roots enough for a tree of many chains. */
const path: fc.Arbitrary<RevPath> = fc.oneof(
  { weight: 4, arbitrary: wild },
  { weight: 1, arbitrary: wild.map((near) => ({ ...near, generation: near.generation + 20 })) },
  {
    weight: 2,
    arbitrary: fc
      .integer({ min: 0, max: 40 })
      .map((n) => ({ generation: 1, hashes: [`r${n}`], deleted: false })),
  },
);

const snapshot = ({ revs, parents, dead }: Model): string =>
  JSON.stringify([
    [...revs].sort(),
    [...revs].sort().map((rev) => [...parents.get(rev)!].sort()),
    [...dead].sort(),
  ]);

/** What a merge means, said plainly. Changes the model. */
function mergeModel(model: Model, told: RevPath, limit: number) {
  const before = snapshot(model);
  const revs = new Set(model.revs);
  const leavesBefore = modelLeaves(model);
  const [head] = told.hashes.map((hash) => formatRev(told.generation, hash));
  const other = modelOf([{ ...told, deleted: told.deleted && !leavesBefore.includes(head!) }]);
  for (const rev of other.revs) {
    model.revs.add(rev);
    model.parents.set(rev, new Set([...(model.parents.get(rev) ?? []), ...other.parents.get(rev)!]));
  }
  for (const rev of other.dead) model.dead.add(rev);
  if (snapshot(model) === before) return { result: 'known', forgotten: [], covers: false };
  const leavesAfter = new Set(modelLeaves(model));
  const covers = leavesBefore.some((leaf) => !leavesAfter.has(leaf));
  const kept = new Set(modelKept(model, limit));
  for (const rev of [...model.revs]) if (!kept.has(rev)) forget(model, rev);
  if (snapshot(model) === before) return { result: 'known', forgotten: [], covers: false };
  const forgotten = [...revs].filter((rev) => !kept.has(rev)).sort();
  return { result: revs.has(head!) ? 'inner' : covers ? 'new leaf' : 'new branch', forgotten, covers };
}

function forget(model: Model, rev: string): void {
  model.revs.delete(rev);
  model.dead.delete(rev);
  model.parents.delete(rev);
  for (const parents of model.parents.values()) parents.delete(rev);
}

describe('a tree that grows', () => {
  it('knows a path again whichever of several parents it tells', () => {
    const tree = new GrowingTree(undefined, ALL);
    const told = ['x', 'y', 'z'].map((parent) => ({ generation: 2, hashes: ['c', parent], deleted: false }));
    for (const path of told) tree.merge(path);
    const before = tree.tree;
    expect(told.map((path) => tree.merge(path).result)).toEqual(['known', 'known', 'known']);
    expect(tree.tree).toEqual(before);
  });

  it('is after each path what the model is: known, forgotten and covered revisions, leaves, descent', () => {
    fc.assert(
      fc.property(
        fc.array(path, { minLength: 2, maxLength: 50 }),
        fc.constantFrom(1, 2, 3, 4, 10, ALL),
        fc.integer({ min: 1, max: 10 }),
        (list, limit, often) => {
          const first = merge(undefined, list[0]!, limit).tree;
          const tree = new GrowingTree(first, limit);
          const model = modelOf([list[0]!]);
          for (const rev of [...model.revs]) if (!allRevs(first).includes(rev)) forget(model, rev);
          list.slice(1).forEach((told, at) => {
            const { forgotten, ...merged } = tree.merge(told);
            expect({ ...merged, forgotten: [...forgotten].sort() }).toEqual(mergeModel(model, told, limit));
            // Asking for the tree must not matter to what follows.
            if (at % often > 0) return;
            expect(allRevs(tree.tree).sort()).toEqual([...model.revs].sort());
            expect(tree.winner).toEqual(leaves(tree.tree)[0]);
            expect(tree.winner).toBe(tree.winner); // not looked for again
          });
          const ends = modelLeaves(model).sort();
          expect(allRevs(tree.tree).sort()).toEqual([...model.revs].sort());
          expect(revsOf(leaves(tree.tree))).toEqual(ends);
          for (const rev of model.revs) {
            expect(tree.has(rev)).toBe(true);
            expect(tree.isLeaf(rev)).toBe(ends.includes(rev));
            expect(isDeleted(tree.tree, rev)).toBe(model.dead.has(rev));
            expect(ancestry(tree.tree, rev)?.ids).toEqual(modelAncestry(model, rev));
            expect(revsOf(leavesBelow(tree.tree, rev))).toEqual(modelBelow(model, rev).sort());
          }
          expect(tree.has('9-none') || tree.isLeaf('9-none')).toBe(false);
        },
      ),
      { numRuns: 150, seed: 42 },
    );
  });

  const revsOf = (list: readonly { readonly rev: string }[]): string[] => list.map(({ rev }) => rev).sort();
});

describe('the work of folding the edits of one document', () => {
  const edit = (generation: number, ...hashes: string[]): ReplicatedEdit => ({
    kind: 'replicated',
    id: 'd',
    rev: formatRev(generation, hashes[0]!),
    path: { generation, hashes, deleted: false },
    body: '{}',
  });
  const many = (count: number, make: (n: number) => ReplicatedEdit): ReplicatedEdit[] =>
    Array.from({ length: count }, (_, n) => make(n));

  const fold = (edits: readonly ReplicatedEdit[]) =>
    workOf(() => {
      const folding = new DocFold('d', undefined, [], { revsLimit: 1000, autoCompaction: false });
      edits.forEach((each, seq) => {
        folding.replicate(each, seq + 1);
      });
      folding.finish();
    });

  it.each<[string, (n: number) => ReplicatedEdit[]]>([
    ['a revision with many parents', (n) => many(n, (i) => edit(3, 'a', `p${i}`))],
    ['many revisions with a second parent', (n) => many(n, (i) => edit(3, `c${i}`, 'a', `p${i}`))],
    ['many far roots', (n) => [edit(1, 'a'), ...many(n, (i) => edit(5000, `r${i}`))]],
    ['many roots', (n) => many(n, (i) => edit(1, `r${i}`))],
    [
      'a long branch beside another',
      (n) => [edit(1, 'a'), ...many(n, (i) => edit(i + 2, `e${i + 1}`, `e${i}`))],
    ],
  ])('grows with the edits, not with their square: %s', (_, edits) => {
    const [half, whole] = [fold(edits(1500)), fold(edits(3000))];
    expect(whole.entries).toBeLessThan(2.5 * half.entries);
    expect(whole.copied).toBeLessThan(2.5 * half.copied + 1000);
  });

  it('makes neither graph nor index for one leaf, or for a few', () => {
    expect(fold(many(50, (n) => edit(n + 1, `e${n}`, ...(n === 0 ? [] : [`e${n - 1}`])))).entries).toBe(0);
    expect(fold(many(50, (n) => edit(2 + (n >> 3), `e${n}`, n < 8 ? 'root' : `e${n - 8}`))).entries).toBe(0);
  });
});
