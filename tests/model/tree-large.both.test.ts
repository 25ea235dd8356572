/** Revision trees that are long, or wide: their work grows with their size, not with its square. */
import { describe, expect, it } from 'vitest';
import {
  ancestry,
  conflicts,
  leaves,
  leavesBelow,
  merge,
  packTree,
  singleton,
  unpackTree,
  winner,
} from '../../packages/core/src/model';
import { ALL, allRevs, stem } from './tree-model';

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
