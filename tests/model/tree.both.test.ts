/** Revision trees against a model: merging, stemming, the winner, leaves that are removed. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ancestry,
  conflicts,
  deletedConflicts,
  formatRev,
  hasRev,
  isDeleted,
  isLeaf,
  leaves,
  leavesBelow,
  merge,
  outranks,
  packTree,
  removeLeaf,
  singleton,
  winner,
} from '../../packages/core/src/model';
import {
  ALL,
  allRevs,
  mergeAll,
  modelAncestry,
  modelBelow,
  modelKept,
  modelLeaves,
  modelOf,
  paths,
  picture,
  stem,
  wild,
} from './tree-model';

describe('merging paths into a revision tree', () => {
  it('gives the same beside so many roots that the chains have an index', () => {
    // Roots of their own, above which the histories are what they would be alone.
    const roots = Array.from({ length: 40 }, (_, n) => ({
      generation: 1,
      hashes: [`root${n}`],
      deleted: false,
    }));
    const isOther = (rev: string): boolean => !rev.startsWith('1-root');
    fc.assert(
      fc.property(paths, fc.constantFrom(ALL, 3), (list, limit) => {
        const alone = mergeAll(list, limit);
        const tree = mergeAll([...roots, ...list], limit);
        for (let n = 0; n < 100; n++) expect(hasRev(tree, '1-root39')).toBe(true); // the index is made at the latest now
        expect(hasRev(tree, '9-none')).toBe(false);
        expect(allRevs(tree).filter(isOther).sort()).toEqual(allRevs(alone).sort());
        for (const rev of allRevs(alone)) {
          expect(hasRev(tree, rev)).toBe(true);
          expect(isLeaf(tree, rev)).toBe(isLeaf(alone, rev));
          expect(isDeleted(tree, rev)).toBe(isDeleted(alone, rev));
          expect(ancestry(tree, rev)).toEqual(ancestry(alone, rev));
          expect(leavesBelow(tree, rev)).toEqual(leavesBelow(alone, rev));
        }
        for (const path of list) {
          const again = merge(tree, path, ALL);
          expect(again.result).toBe(merge(alone, path, ALL).result);
          expect(again.tree.chains.length - roots.length).toBe(merge(alone, path, ALL).tree.chains.length);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('gives the union of what the paths tell (model)', () => {
    fc.assert(
      fc.property(paths, (list) => {
        const tree = mergeAll(list);
        const model = modelOf(list);
        expect(allRevs(tree).sort()).toEqual([...model.revs].sort());
        const found = leaves(tree).map((leaf) => leaf.rev);
        expect([...found].sort()).toEqual(modelLeaves(model).sort());
        for (const rev of model.revs) {
          expect(hasRev(tree, rev)).toBe(true);
          expect(isDeleted(tree, rev)).toBe(model.dead.has(rev));
          expect(isLeaf(tree, rev)).toBe(found.includes(rev));
          expect(ancestry(tree, rev)).toEqual({
            start: Number(rev.split('-')[0]),
            ids: modelAncestry(model, rev),
          });
          expect(
            leavesBelow(tree, rev)
              .map((leaf) => leaf.rev)
              .sort(),
          ).toEqual(modelBelow(model, rev).sort());
        }
      }),
      { numRuns: 400 },
    );
  });

  it('gives the same tree in any order, and in any grouping (I3)', () => {
    const shuffled = paths.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    );
    fc.assert(
      fc.property(shuffled, ([list, other]) => {
        expect(picture(mergeAll(other))).toEqual(picture(mergeAll(list)));
      }),
      { numRuns: 300 },
    );
  });

  it('changes nothing when it is repeated, and says so', () => {
    fc.assert(
      fc.property(paths, (list) => {
        const tree = mergeAll(list);
        for (const path of list) {
          const again = merge(tree, path, ALL);
          expect(again.result).toBe('known');
          expect(again.tree).toBe(tree);
          expect(again.forgotten).toEqual([]);
        }
      }),
    );
  });

  it('tells what the path was to the tree', () => {
    fc.assert(
      fc.property(paths, wild, (list, path) => {
        const tree = mergeAll(list);
        const model = modelOf(list);
        const rev = formatRev(path.generation, path.hashes[0]!);
        const { result, tree: merged } = merge(tree, path, ALL);
        const same = JSON.stringify(picture(merged)) === JSON.stringify(picture(tree));
        if (!model.revs.has(rev)) {
          const gone = modelLeaves(model).some((leaf) => !isLeaf(merged, leaf));
          expect(result).toBe(gone ? 'new leaf' : 'new branch');
        } else if (result === 'known') {
          expect(same).toBe(true);
        } else {
          expect(result).toBe('inner');
          expect(merged).not.toBe(tree);
        }
      }),
      { numRuns: 400 },
    );
  });

  it('does not change the tree it is given', () => {
    fc.assert(
      fc.property(paths, wild, (list, path) => {
        const tree = mergeAll(list);
        const before = packTree(tree);
        merge(tree, path, 2);
        stem(tree, 1);
        removeLeaf(tree, winner(tree).rev);
        expect(packTree(tree)).toBe(before);
      }),
    );
  });

  it('keeps two histories apart that never meet', () => {
    const tree = mergeAll([
      { generation: 2, hashes: ['b', 'a'], deleted: false },
      { generation: 9, hashes: ['z', 'y'], deleted: false },
    ]);
    expect(leaves(tree).map((leaf) => leaf.rev)).toEqual(['9-z', '2-b']);
    expect(ancestry(tree, '9-z')).toEqual({ start: 9, ids: ['z', 'y'] });
  });

  it('joins two histories when the missing link arrives', () => {
    const tree = mergeAll([
      { generation: 2, hashes: ['b', 'a'], deleted: false },
      { generation: 5, hashes: ['e', 'd'], deleted: false },
      { generation: 4, hashes: ['d', 'c', 'b'], deleted: false },
    ]);
    expect(leaves(tree).map((leaf) => leaf.rev)).toEqual(['5-e']);
    expect(ancestry(tree, '5-e')).toEqual({ start: 5, ids: ['e', 'd', 'c', 'b', 'a'] });
  });

  it('is not confused by one hash at several generations', () => {
    const tree = mergeAll([
      { generation: 3, hashes: ['x', 'x', 'x'], deleted: false },
      { generation: 3, hashes: ['y', 'z', 'x'], deleted: false },
      { generation: 4, hashes: ['x', 'y', 'z'], deleted: false },
    ]);
    expect(leaves(tree).map((leaf) => leaf.rev)).toEqual(['4-x', '3-x']);
    expect(ancestry(tree, '4-x')).toEqual({ start: 4, ids: ['x', 'y', 'z', 'x'] });
    expect(ancestry(tree, '3-x')).toEqual({ start: 3, ids: ['x', 'x', 'x'] });
  });

  it('says nothing of a revision that it does not have, in one line, with branches, and with two parents', () => {
    const line = { generation: 3, hashes: ['c', 'b', 'a'], deleted: false };
    const branch = { generation: 2, hashes: ['x', 'a'], deleted: false };
    const other = { generation: 3, hashes: ['c', 'x', 'a'], deleted: false };
    for (const paths of [[line], [line, branch], [line, other]]) {
      const tree = mergeAll(paths);
      for (const rev of ['3-q', '4-c', '1-c', '7-a']) {
        expect(ancestry(tree, rev)).toBeUndefined();
        expect(leavesBelow(tree, rev)).toEqual([]);
        expect(hasRev(tree, rev)).toBe(false);
      }
    }
  });

  it('does not revive a tombstone that is told again as living', () => {
    const tree = singleton('1-a', true);
    const again = merge(tree, { generation: 1, hashes: ['a'], deleted: false }, ALL);
    expect(again.result).toBe('known');
    expect(winner(again.tree).deleted).toBe(true);
  });

  it('does not end a leaf that is told again as a tombstone, though the telling has an ancestor more', () => {
    const tree = mergeAll([{ generation: 3, hashes: ['c', 'b'], deleted: false }]);
    const again = merge(tree, { generation: 3, hashes: ['c', 'b', 'a'], deleted: true }, ALL);
    expect(again.result).toBe('inner');
    expect(ancestry(again.tree, '3-c')?.ids).toEqual(['c', 'b', 'a']);
    expect(winner(again.tree).deleted).toBe(false);
  });
});

describe('stemming', () => {
  it('keeps the newest generations of every branch, all leaves, and tells what it forgot', () => {
    fc.assert(
      fc.property(paths, fc.integer({ min: 1, max: 5 }), (list, limit) => {
        const tree = mergeAll(list);
        const { tree: stemmed, forgotten } = stem(tree, limit);
        const revs = allRevs(stemmed).sort();
        expect(revs).toEqual(modelKept(modelOf(list), limit));
        expect(leaves(stemmed)).toEqual(leaves(tree));
        expect([...revs, ...forgotten].sort()).toEqual(allRevs(tree).sort());
        expect(stem(stemmed, limit).forgotten).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('forgets that a revision was a tombstone with the revision, also the first that is forgotten', () => {
    let { tree } = merge(undefined, { generation: 2, hashes: ['b', 'a'], deleted: true }, 2);
    for (const [generation, hashes] of [
      [3, ['c', 'b']],
      [4, ['d', 'c']],
    ] as const) {
      tree = merge(tree, { generation, hashes, deleted: false }, 2).tree;
    }
    expect(packTree(tree)).toBe(packTree(mergeAll([{ generation: 4, hashes: ['d', 'c'], deleted: false }])));
  });

  it('happens in a merge as it does after it', () => {
    fc.assert(
      fc.property(paths, wild, fc.integer({ min: 1, max: 4 }), (list, path, limit) => {
        const tree = stem(mergeAll(list), limit).tree;
        const { tree: merged, forgotten, result } = merge(tree, path, limit);
        expect(picture(merged)).toEqual(picture(stem(merge(tree, path, ALL).tree, limit).tree));
        expect([...forgotten].sort()).toEqual(
          allRevs(tree)
            .filter((rev) => !hasRev(merged, rev))
            .sort(),
        );
        if (result === 'known') expect(merged).toBe(tree);
      }),
      { numRuns: 300 },
    );
  });

  it('answers known when a longer telling of a stemmed history brings nothing that is kept', () => {
    const long = { generation: 9, hashes: [...'ihgfedcba'], deleted: false };
    const tree = merge(undefined, long, 3).tree;
    expect(allRevs(tree)).toHaveLength(3);
    expect(merge(tree, long, 3)).toEqual({ tree, result: 'known', forgotten: [] });
  });
});

describe('the winner', () => {
  it('outranks every other leaf: live, then longer, then by hash', () => {
    fc.assert(
      fc.property(paths, (list) => {
        const tree = mergeAll(list);
        const [first, ...rest] = leaves(tree);
        expect(winner(tree)).toEqual(first);
        for (const leaf of rest) {
          expect(outranks(first!, leaf)).toBe(true);
          expect(outranks(leaf, first!)).toBe(false);
        }
        expect(conflicts(tree)).toEqual(rest.filter((leaf) => !leaf.deleted));
        expect(deletedConflicts(tree)).toEqual(rest.filter((leaf) => leaf.deleted));
      }),
    );
  });

  it('is live when any leaf is, however short', () => {
    const tree = mergeAll([
      { generation: 3, hashes: ['c', 'b', 'a'], deleted: true },
      { generation: 1, hashes: ['x'], deleted: false },
    ]);
    expect(winner(tree).rev).toBe('1-x');
    expect(deletedConflicts(tree).map((leaf) => leaf.rev)).toEqual(['3-c']);
  });
});

describe('removing a leaf', () => {
  it('takes the leaf and the ancestors only it had', () => {
    fc.assert(
      fc.property(paths, (list) => {
        const tree = mergeAll(list);
        const model = modelOf(list);
        for (const rev of model.revs) {
          const answer = removeLeaf(tree, rev);
          if (!isLeaf(tree, rev)) {
            expect(answer).toBeUndefined();
            continue;
          }
          const others = new Set(modelLeaves(model).filter((leaf) => leaf !== rev));
          const stays = [...model.revs].filter((each) =>
            modelBelow(model, each).some((leaf) => others.has(leaf)),
          );
          expect((answer!.tree === undefined ? [] : allRevs(answer!.tree)).sort()).toEqual(stays.sort());
          expect([...answer!.removed, ...stays].sort()).toEqual([...model.revs].sort());
          if (answer!.tree !== undefined) {
            expect(
              leaves(answer!.tree)
                .map((leaf) => leaf.rev)
                .sort(),
            ).toEqual([...others].sort());
          }
        }
      }),
    );
  });
});
