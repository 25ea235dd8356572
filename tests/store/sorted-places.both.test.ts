/** Keys put in order by numbers made of their characters: as by comparing them, whatever they are made of. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { placesInOrder } from '../../packages/engine/src/sorted-places';

type Key = string | number;

const compared = (keys: readonly Key[]): number[] =>
  keys.map((_, i) => i).sort((a, b) => (keys[a]! < keys[b]! ? -1 : keys[a]! > keys[b]! ? 1 : a - b));

/** Few letters, so that texts are equal, begin alike, or are the beginnings of others. */
const alike = fc.string({
  unit: fc.constantFrom('\0', 'a', 'b', '\xff', '\u0100', '\ud800', '\uffff'),
  maxLength: 9,
});
const latin = fc.string({ unit: fc.constantFrom('\0', 'a', 'b', '\xff'), maxLength: 12 });
const texts = fc
  .tuple(fc.constantFrom('', 'note:', 'x'.repeat(70)), fc.oneof(alike, latin, fc.string(), fc.uuid()))
  .map((parts) => parts.join(''));

describe('places in order', () => {
  it('are those found by comparing, equal keys as they came', () => {
    const lists = fc.oneof(
      fc.array(texts, { maxLength: 400, size: 'max' }),
      fc.array(latin, { maxLength: 400, size: 'max' }),
    );
    fc.assert(
      fc.property(lists, (keys) => {
        expect(placesInOrder(keys)).toEqual(compared(keys));
      }),
      { numRuns: 300 },
    );
  });

  it('of numbers are those of their size', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), (keys) => {
        expect(placesInOrder(keys)).toEqual(compared(keys));
      }),
    );
  });

  it('are found for ten thousand ids, equal texts, and texts that each begin the next', () => {
    const hex = (i: number): string => ((i * 2654435761) >>> 0).toString(16).padStart(8, '0');
    const lists = [
      Array.from({ length: 10_000 }, (_, i) => `${hex(i)}-${i}`),
      Array.from({ length: 10_000 }, (_, i) => `doc-${String((i * 7919) % 10_000).padStart(6, '0')}`),
      Array.from({ length: 10_000 }, (_, i) => `${i % 7}-${hex(i % 100)}`),
      Array.from({ length: 3_000 }, () => 'the same'),
      Array.from({ length: 3_000 }, (_, i) => 'a'.repeat((i * 1301) % 3_000)),
    ];
    for (const keys of lists) expect(placesInOrder(keys)).toEqual(compared(keys));
  });
});
