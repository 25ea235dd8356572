/** Revision trees as they are stored. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isOneChain, packTree, unpackTree } from '../../packages/core/src/model';
import { mergeAll, paths } from './tree-model';

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
    const short = ['42,2:1:b', '42,2:1:b-4:', '42,2:1:bx:'];
    for (const text of ['', 'x', '{}', '9', '09,1:', packed.slice(0, -1), `${packed}0`, ...short]) {
      expect(() => unpackTree(text)).toThrow(/damaged/);
    }
  });
});
