/** Many questions about the descent within one tree. */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { followed } from '../../packages/core/src/database/get-history';
import { ancestry, GrowingTree, leaves, leavesBelow, type RevPath } from '../../packages/core/src/model';
import { ALL, allRevs, mergeAll, modelBelow, modelOf, paths } from './tree-model';
import { workOf } from './work';

describe('descent within a tree', () => {
  it('is followed from many revisions as from each of them alone (model)', () => {
    const asked = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { maxLength: 8 });
    fc.assert(
      fc.property(paths, asked, (list, places) => {
        const tree = mergeAll(list);
        const model = modelOf(list);
        const revs = [...allRevs(tree), '99-unknown'];
        const wanted = places.map((place) => revs[Math.floor(place * revs.length)]!);
        const ranked = leaves(tree).map(({ rev }) => rev);
        const alone = wanted.flatMap((rev) => {
          if (!model.revs.has(rev)) return [rev];
          const below = modelBelow(model, rev);
          return ranked.filter((leaf) => below.includes(leaf));
        });
        expect(followed(tree, wanted, true)).toEqual([...new Set(alone)]);
      }),
      { numRuns: 300, seed: 42 },
    );
  });

  const WIDE = 1000;
  const numbers = Array.from({ length: WIDE }, (_, n) => n);
  const twins: RevPath[] = numbers.map((n) => ({
    generation: 3,
    hashes: [`c${n}`, `b${n}`, 'a'],
    deleted: false,
  }));
  const second: RevPath = { generation: 3, hashes: ['c0', 'other'], deleted: false };

  it.each([
    ['branches', twins],
    ['branches, one of which has a second parent', [...twins, second]],
  ])('is looked up in one graph for all revisions of a tree: %s', (_, [first, ...rest]) => {
    const growing = new GrowingTree(mergeAll([first!]), ALL);
    for (const path of rest) growing.merge(path);
    const { tree } = growing;
    const found: unknown[] = [];
    const { entries } = workOf(() => {
      for (const n of numbers) {
        const below = leavesBelow(tree, `2-b${n}`).map(({ rev }) => rev);
        found.push([below, ancestry(tree, `3-c${n}`)?.ids.at(0)]);
      }
    });
    expect(found).toEqual(numbers.map((n) => [[`3-c${n}`], `c${n}`]));
    expect(entries).toBeLessThan(3 * allRevs(tree).length); // one graph and one index
  });

  it('passes what revisions share once', () => {
    const list = numbers.map((n) => ({
      generation: n + 1,
      hashes: [`e${n}`, `e${n - 1}`].slice(0, n + 1),
      deleted: false,
    }));
    const fork = { generation: WIDE, hashes: ['fork', `e${WIDE - 2}`], deleted: false };
    const tree = mergeAll([...list, fork], ALL);
    const visits = vi.spyOn(Set.prototype, 'add');
    const below = followed(
      tree,
      numbers.map((n) => `${n + 1}-e${n}`),
      true,
    );
    const count = visits.mock.calls.length;
    visits.mockRestore();
    expect(below).toEqual([`${WIDE}-fork`, `${WIDE}-e${WIDE - 1}`]);
    expect(count).toBeLessThan(5 * WIDE);
  });
});
