/** The order of keys, against itself (a total order) and against the order of `toKey`'s strings. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareKeys, fromKey, normalizeKey, toKey, truncateKey } from '../../packages/core/src/model';

const number = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 1, -1, 1e21, 1e-7, 5e-324, -5e-324, Number.MAX_VALUE, 2 ** 53, 255, 256, 0.1),
);
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.string({
    unit: fc.constantFrom('\u0000', '\u0001', '\u0002', 'a', 'B', '\ud800', '\udc00', '\uffff'),
    maxLength: 5,
  }),
);
const { key } = fc.letrec<{ key: unknown }>((tie) => ({
  key: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom(null, false, true),
    number,
    text,
    fc.array(tie('key'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', '', '\u0000', '__proto__', 'toJSON2'), tie('key'), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  ),
}));
const sign = Math.sign;

describe('the order of keys', () => {
  it('is total: antisymmetric, transitive, and equal only for equal keys', () => {
    fc.assert(
      fc.property(key, key, key, (a, b, c) => {
        expect(sign(compareKeys(a, b))).toBe(0 - sign(compareKeys(b, a)));
        expect(compareKeys(a, a)).toBe(0);
        const [x, y, z] = [a, b, c].sort(compareKeys);
        expect(compareKeys(x, y)).toBeLessThanOrEqual(0);
        expect(compareKeys(y, z)).toBeLessThanOrEqual(0);
        expect(compareKeys(x, z)).toBeLessThanOrEqual(0);
        const equal = JSON.stringify(normalizeKey(a)) === JSON.stringify(normalizeKey(b));
        expect(compareKeys(a, b) === 0).toBe(equal);
      }),
      { numRuns: 2000 },
    );
  });

  it('is the order of the strings that toKey makes', () => {
    fc.assert(
      fc.property(key, key, (a, b) => {
        const [left, right] = [toKey(a), toKey(b)];
        expect(left < right ? -1 : left > right ? 1 : 0).toBe(sign(compareKeys(a, b)));
      }),
      { numRuns: 5000 },
    );
  });

  it('loses nothing in the strings that toKey makes', () => {
    fc.assert(
      fc.property(key, (value) => {
        expect(JSON.stringify(fromKey(toKey(value)))).toBe(JSON.stringify(normalizeKey(value)));
      }),
      { numRuns: 5000 },
    );
  });

  it('agrees for near numbers and near texts, which random ones seldom are', () => {
    fc.assert(
      fc.property(
        fc.array(number, { maxLength: 3 }),
        fc.array(number, { maxLength: 3 }),
        text,
        text,
        (m, n, a, b) => {
          for (const [left, right] of [
            [m, n],
            [[a], [a, b]],
            [a, a + b],
            [{ [a]: m }, { [a]: n }],
          ] as const) {
            expect(toKey(left) < toKey(right)).toBe(compareKeys(left, right) < 0);
            expect(toKey(left) === toKey(right)).toBe(compareKeys(left, right) === 0);
          }
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('puts the types and their values as CouchDB does', () => {
    const ordered = [
      null,
      false,
      true,
      -1e300,
      -1,
      -0.5,
      0,
      5e-324,
      1e-7,
      0.5,
      1,
      2,
      10,
      1e21,
      '',
      ' ',
      '1',
      'A',
      'a',
      'aa',
      'b',
      [],
      [null],
      [null, 1],
      [1],
      [1, 2],
      [2],
      ['a'],
      ['a', 'b'],
      [[]],
      [{}],
      {},
      { a: null },
      { a: 1 },
      { a: 1, b: 1 },
      { a: 2 },
      { a: {} },
      { b: 1 },
      { b: 1, a: 1 },
      { b: 2 },
    ];
    expect([...ordered].reverse().sort(compareKeys)).toEqual(ordered);
    const keys = ordered.map(toKey);
    expect([...keys].sort((a, b) => (a < b ? -1 : 1))).toEqual(keys);
  });

  it('compares strings by code unit', () => {
    expect(compareKeys('Z', 'a')).toBeLessThan(0);
    expect(compareKeys('é', 'f')).toBeGreaterThan(0);
    expect(compareKeys('\uffff', '\u{1f600}')).toBeGreaterThan(0);
  });
});

describe('a key', () => {
  it('is what JSON makes of it', () => {
    const date = new Date(0);
    expect(normalizeKey(undefined)).toBe(null);
    expect([NaN, Infinity, -Infinity].map(normalizeKey)).toEqual([null, null, null]);
    expect(normalizeKey(-0)).toBe(0);
    expect(normalizeKey(date)).toBe('1970-01-01T00:00:00.000Z');
    expect(normalizeKey([date, undefined, () => 1, -0])).toEqual(['1970-01-01T00:00:00.000Z', null, null, 0]);
    expect(normalizeKey({ a: undefined, b: { c: NaN } })).toEqual({ b: { c: null } });
    expect(normalizeKey(() => 1)).toBe(null);
    expect(normalizeKey(new Date(Number.NaN))).toBe(null);
    expect(toKey(undefined)).toBe(toKey(null));
  });

  it('within a list is what JSON makes of it too', () => {
    for (const odd of [Number.NaN, Number.POSITIVE_INFINITY, undefined])
      expect(toKey([odd])).toBe(toKey([null]));
  });

  it('is cut to its first members, where it has as many', () => {
    for (const [length, first] of [[], [1], [1, ['a']], [1, ['a']]].entries())
      expect(truncateKey(toKey([1, ['a']]), length)).toBe(toKey(first));
  });

  it('may have members with the names of prototypes', () => {
    const odd = JSON.parse('{"__proto__":1}');
    expect(Object.keys(normalizeKey(odd) as object)).toEqual(['__proto__']);
    expect(compareKeys(odd, {})).toBeGreaterThan(0);
  });

  it('is refused when JSON cannot say it', () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    for (const value of [1n, [1n], cycle]) expect(() => toKey(value)).toThrow(/as JSON/);
  });

  it('is well-formed text when its strings are, so that it can be stored as UTF-8', () => {
    const wellFormed = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(wellFormed, number, (word, n) => {
        expect(/\p{Surrogate}/u.test(toKey([word, n, { [word]: n }]))).toBe(false);
      }),
    );
  });
});

it('keys are as they lie in stored indexes, whoever wrote them', () => {
  const stored: [unknown, string][] = [
    [null, '1'],
    [false, '2'],
    [true, '3'],
    [0, '48\0'],
    [-0, '48\0'],
    [1, '4bff\0'],
    [-1, '4400fffffffffffff\0'],
    [1_000, '4c08f4\0'],
    [0.1, '4bfb999999999999a\0'],
    [Number.MAX_VALUE, '4ffefffffffffffff\0'],
    [Number.NaN, '1'],
    ['', '5\0'],
    ['a\0b\u0001', '5a\u0001\u0001b\u0001\u0002\0'],
    [['x', 1, null], '65x\x004bff\x001\0'],
    [{ a: [] }, '75a\x006\0\0'],
    [[Number.POSITIVE_INFINITY, undefined], '611\0'],
  ];
  for (const [key, text] of stored) expect([key, toKey(key)]).toEqual([key, text]);
});
