/** The order of keys, which the engine compares as texts or numbers and never takes apart. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { endOfAll, type KeyPart, sortKey } from '../../packages/core/src/store/keys';

const rank = (part: KeyPart): number => (typeof part === 'number' ? 0 : typeof part === 'string' ? 1 : 2);

/** Numbers, then strings by code unit, then `[]`; element by element, and a prefix first. */
function order(a: readonly KeyPart[], b: readonly KeyPart[]): number {
  for (const [i, one] of a.entries()) {
    const other = b[i];
    if (other === undefined) return 1;
    if (rank(one) !== rank(other)) return rank(one) - rank(other);
    if (one < other) return -1;
    if (one > other) return 1;
  }
  return a.length - b.length;
}

it('is that of numbers of either sign, of texts with any characters, and of what comes before them', () => {
  const number = fc.oneof(
    fc.double({ noNaN: true }),
    fc.integer(),
    fc.constantFrom(0, -0, 1, -1, 63, 64, 2 ** 53),
  );
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('a', '\u0000', '\u0001') }),
  );
  const last = fc.constant<KeyPart>([]);
  const part: fc.Arbitrary<KeyPart> = fc.oneof(number, text, last);
  const key = fc.array(part, { maxLength: 3 });
  fc.assert(
    fc.property(key, key, (a, b) => {
      const [one, other] = [sortKey(a) as string, sortKey(b) as string];
      expect(Math.sign(order(a, b))).toBe(one < other ? -1 : one > other ? 1 : 0);
      if (!Array.isArray(b[0])) expect(endOfAll(one) > sortKey([...a, ...b])).toBe(true);
    }),
    { numRuns: 3_000 },
  );
});
