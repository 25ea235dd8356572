/**
 * Revision trees against a model: a set of revisions and a set of parent links, merged by union. `wild` histories draw any
 * parent for any revision, so that one revision has several; `honest` ones fix each revision's parent, as databases do.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RevPath, RevTree } from '../../packages/core/src/model';
import {
  allRevs,
  ancestry,
  conflicts,
  deletedConflicts,
  formatRev,
  hasRev,
  isDeleted,
  isLeaf,
  isOneChain,
  leaves,
  leavesBelow,
  merge,
  outranks,
  packTree,
  removeLeaf,
  singleton,
  stem,
  unpackTree,
  winner,
} from '../../packages/core/src/model';

const ALL = Number.MAX_SAFE_INTEGER;

/** Deletedness belongs to the revision. */
const dead = (generation: number, hash: string): boolean => (generation + hash.charCodeAt(0)) % 3 === 0;

const hash = fc.constantFrom('a', 'b', 'c');

const wild: fc.Arbitrary<RevPath> = fc
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

const paths = fc.oneof(
  fc.array(wild, { minLength: 1, maxLength: 12 }),
  fc.array(honest, { minLength: 1, maxLength: 12 }),
);

function mergeAll(list: readonly RevPath[], limit = ALL): RevTree {
  let tree: RevTree | undefined;
  for (const path of list) tree = merge(tree, path, limit).tree;
  return tree!;
}

interface Model {
  revs: Set<string>;
  parents: Map<string, Set<string>>;
  dead: Set<string>;
}

function modelOf(list: readonly RevPath[]): Model {
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

function modelLeaves(model: Model): string[] {
  const inner = new Set([...model.parents.values()].flatMap((parents) => [...parents]));
  return [...model.revs].filter((rev) => !inner.has(rev));
}

function modelAncestry(model: Model, rev: string): string[] {
  const ids = [];
  for (let at: string | undefined = rev; at !== undefined; at = [...model.parents.get(at)!].sort().at(-1)) {
    ids.push(at.split('-')[1]!);
  }
  return ids;
}

function modelBelow(model: Model, rev: string): string[] {
  const reaches = (from: string): boolean => from === rev || [...model.parents.get(from)!].some(reaches);
  return modelLeaves(model).filter(reaches);
}

/** Everything that can be asked of a tree. */
function picture(tree: RevTree) {
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

describe('merging paths into a revision tree', () => {
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
  /** Kept: at most `limit` generations above some leaf that descends from it. */
  const kept = (model: Model, limit: number): string[] => {
    const near = new Set<string>();
    const walk = (rev: string, left: number): void => {
      if (left === 0) return;
      near.add(rev);
      for (const parent of model.parents.get(rev)!) walk(parent, left - 1);
    };
    for (const leaf of modelLeaves(model)) walk(leaf, limit);
    return [...near].sort();
  };

  it('keeps the newest generations of every branch, all leaves, and tells what it forgot', () => {
    fc.assert(
      fc.property(paths, fc.integer({ min: 1, max: 5 }), (list, limit) => {
        const tree = mergeAll(list);
        const { tree: stemmed, forgotten } = stem(tree, limit);
        const revs = allRevs(stemmed).sort();
        expect(revs).toEqual(kept(modelOf(list), limit));
        expect(leaves(stemmed)).toEqual(leaves(tree));
        expect([...revs, ...forgotten].sort()).toEqual(allRevs(tree).sort());
        expect(stem(stemmed, limit).forgotten).toEqual([]);
      }),
      { numRuns: 300 },
    );
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

describe('packing', () => {
  it('brings every tree back', () => {
    fc.assert(
      fc.property(paths, (list) => {
        const tree = mergeAll(list);
        expect(unpackTree(packTree(tree))).toEqual(tree);
      }),
    );
  });

  it('holds any hash, also empty ones and those with separators in them', () => {
    const any = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('', ':', ',', '1,2:', '\u0000', '\ud800'),
    );
    fc.assert(
      fc.property(fc.array(any, { minLength: 1, maxLength: 5 }), any, (hashes, other) => {
        const tree = mergeAll([
          { generation: 7, hashes, deleted: true },
          { generation: 8, hashes: [other, ...hashes], deleted: false },
          { generation: 1, hashes: [other], deleted: true },
        ]);
        expect(unpackTree(packTree(tree))).toEqual(tree);
      }),
    );
  });

  it('shows whether it is one chain', () => {
    const hash = fc.constantFrom('a', 'b', 'c', 'd').map((digit) => digit.repeat(32));
    const path = fc.record({
      generation: fc.integer({ min: 9, max: 12 }),
      hashes: fc.uniqueArray(hash, { minLength: 1, maxLength: 4 }),
      deleted: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(path, { minLength: 1, maxLength: 3 }), (list) => {
        const tree = mergeAll(list);
        const { chains } = tree;
        expect(isOneChain(packTree(tree))).toBe(chains.length === 1 && chains[0]!.tip);
      }),
    );
    fc.assert(
      fc.property(paths, (list) => {
        const tree = mergeAll(list);
        if (isOneChain(packTree(tree))) expect(tree.chains).toHaveLength(1);
      }),
    );
  });

  it('takes 33 characters and little more a revision', () => {
    const hashes = Array.from({ length: 1000 }, (_, n) => String(n).padStart(32, '0'));
    expect(packTree(mergeAll([{ generation: 1000, hashes, deleted: false }])).length).toBeLessThan(32_020);
  });

  it('refuses what was not packed, or was cut', () => {
    const packed = packTree(mergeAll([{ generation: 3, hashes: ['c', 'b', 'a'], deleted: true }]));
    for (const text of ['', 'x', '{}', '9', '09,1:', packed.slice(0, -1), `${packed}0`]) {
      expect(() => unpackTree(text)).toThrow(/damaged/);
    }
  });
});

describe('large trees', () => {
  const LONG = 5000;
  const WIDE = 500;
  const name = (n: number): string => String(n).padStart(32, '0');
  const sibling = (n: number): string => `s${name(n).slice(1)}`;

  it('takes a history of 5,000 revisions edit by edit, at once, and stems it', () => {
    let tree = singleton(`1-${name(1)}`, false);
    for (let n = 2; n <= LONG; n++) {
      const merged = merge(tree, { generation: n, hashes: [name(n), name(n - 1)], deleted: false }, 1000);
      expect(merged.result).toBe('new leaf');
      expect(merged.forgotten).toEqual(n <= 1000 ? [] : [`${n - 1000}-${name(n - 1000)}`]);
      tree = merged.tree;
    }
    const hashes = Array.from({ length: LONG }, (_, at) => name(LONG - at));
    const whole = merge(undefined, { generation: LONG, hashes, deleted: false }, ALL).tree;
    expect(allRevs(whole)).toHaveLength(LONG);
    expect(ancestry(whole, winner(whole).rev)?.ids).toEqual(hashes);
    expect(stem(whole, 1000).tree).toEqual(tree);
    expect(unpackTree(packTree(whole))).toEqual(whole);
  });

  it('takes 500 siblings on a long history, and ends them one by one', () => {
    const hashes = Array.from({ length: LONG }, (_, at) => name(LONG - at));
    let tree = merge(undefined, { generation: LONG, hashes, deleted: false }, ALL).tree;
    for (let n = 0; n < WIDE; n++) {
      const path = { generation: LONG + 1, hashes: [sibling(n), ...hashes], deleted: false };
      expect(merge(tree, path, ALL).result).toBe(n === 0 ? 'new leaf' : 'new branch');
      tree = merge(tree, path, ALL).tree;
    }
    expect(leaves(tree)).toHaveLength(WIDE);
    expect(allRevs(tree)).toHaveLength(LONG + WIDE);
    expect(leavesBelow(tree, `1-${name(1)}`)).toHaveLength(WIDE);
    // What is shared is kept once, so the size grows with the siblings, not with siblings times history.
    expect(packTree(tree).length).toBeLessThan(LONG * 33 + WIDE * 80);
    for (let n = 1; n < WIDE; n++) {
      const path = { generation: LONG + 2, hashes: [`end${n}`, sibling(n)], deleted: true };
      tree = merge(tree, path, ALL).tree;
    }
    expect(conflicts(tree)).toEqual([]);
    expect(winner(tree).rev).toBe(`${LONG + 1}-${sibling(0)}`);
    expect(ancestry(tree, `${LONG + 2}-end7`)?.ids).toEqual(['end7', sibling(7), ...hashes]);
  });

  it('looks at a path a number of times that grows with its length, not with its square', () => {
    const reads = (length: number, siblings: number): number => {
      const hashes = Array.from({ length }, (_, at) => name(length - at));
      let tree = merge(undefined, { generation: length, hashes, deleted: false }, ALL).tree;
      let count = 0;
      const counted = (list: string[]): string[] =>
        new Proxy(list, {
          get(target, key) {
            count++;
            return Reflect.get(target, key);
          },
        });
      for (let n = 0; n < siblings; n++) {
        const path = [sibling(n), ...hashes];
        tree = merge(tree, { generation: length + 1, hashes: counted(path), deleted: false }, ALL).tree;
      }
      // Known; longer than known, below and above; and one that tells a second parent.
      const known = counted([sibling(0), ...hashes]);
      expect(merge(tree, { generation: length + 1, hashes: known, deleted: false }, ALL).result).toBe(
        'known',
      );
      const longer = counted(['x', sibling(1), ...hashes]);
      merge(tree, { generation: length + 2, hashes: longer, deleted: false }, ALL);
      const other = counted([sibling(2), 'other', ...hashes.slice(1)]);
      expect(merge(tree, { generation: length + 1, hashes: other, deleted: false }, ALL).result).toBe(
        'inner',
      );
      return count;
    };
    expect(reads(2000, 5)).toBeLessThan(2.1 * reads(1000, 5));
    expect(reads(1000, 20)).toBeLessThan(4.1 * reads(1000, 5));
  });

  it('takes 500 roots', () => {
    let tree = singleton('1-root0', false);
    for (let n = 1; n < WIDE; n++) {
      tree = merge(tree, { generation: 1, hashes: [`root${n}`], deleted: false }, 1000).tree;
    }
    expect(leaves(tree)).toHaveLength(WIDE);
    expect(winner(tree).rev).toBe('1-root99');
  });
});
