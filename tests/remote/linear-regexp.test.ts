/** A RegExp that takes time in proportion to the text says the same as JavaScript's own. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NotLinear } from '../../packages/remote/src/linear-program';
import { LinearRegExp } from '../../packages/remote/src/linear-regexp';

/** Characters that patterns and texts are made of: in upper and lower case, of words, ends of lines, two halves of one. */
const CHARS = ['a', 'b', 'A', '_', '1', '-', ' ', '\n', '\u2028', 'é', 'ſ', '\u{1F600}'];
const UNITS = [
  ...['a', 'b', 'A', '-', '.', 'é', '\u{1F600}', '\\.', '\\n', '\\u0061', '\\x62', '\\cJ', '\\0', '\\08'],
  ...[
    '\\d',
    '\\W',
    '\\s',
    '\\w',
    '[ab]',
    '[^a\\]]',
    '[]',
    '[^]',
    '[a-z_]',
    '[\\d-]',
    '[(+*)]',
    '{',
    ']',
    '}',
    '\\/',
  ],
];
const PLACES = ['^', '$', '\\b', '\\B', '(?:)', '()'];
const REPEATS = ['*', '+', '?', '*?', '+?', '??', '{2}', '{1,3}', '{0}', '{2,}', '{0,2}?'];

const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(...UNITS, ...PLACES),
    fc.array(tie('pattern'), { maxLength: 4 }).map((all) => all.join('')),
    fc.array(tie('pattern'), { minLength: 1, maxLength: 3 }).map((all) => `(${all.join('|')})`),
    fc
      .tuple(fc.constantFrom('(?:', '('), tie('pattern'), fc.constantFrom(...REPEATS))
      .map(([start, inner, how]) => `${start}${inner})${how}`),
    fc.tuple(fc.constantFrom(...UNITS), fc.constantFrom(...REPEATS)).map(([unit, how]) => `${unit}${how}`),
  ),
}));
const text = fc.array(fc.constantFrom(...CHARS), { maxLength: 8 }).map((all) => all.join(''));
const flags = fc.subarray(['i', 'm', 's']).map((all) => all.join(''));

/** What it takes from a pattern, or why it does not. */
function whyNot(source: string): string | undefined {
  try {
    new LinearRegExp(source, '');
    return undefined;
  } catch (error) {
    if (error instanceof NotLinear) return error.message;
    throw error;
  }
}

describe('a RegExp that takes linear time', () => {
  it('says the same as the one of JavaScript', () => {
    fc.assert(
      fc.property(
        pattern,
        flags,
        fc.array(text, { minLength: 1, maxLength: 6 }),
        (source, options, texts) => {
          fc.pre(whyNot(source) === undefined);
          const linear = new LinearRegExp(source, options);
          const other = new RegExp(source, options);
          expect(texts.map((each) => linear.test(each))).toEqual(texts.map((each) => other.test(each)));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('knows named groups', () => {
    expect(new LinearRegExp('^(?<year>\\d{4})-(?<month>\\d\\d)$', '').test('2026-11')).toBe(true);
  });

  it('is a RegExp', () => {
    const regex = new LinearRegExp('^a.b$', 'is');
    expect(regex).toBeInstanceOf(RegExp);
    expect([regex.source, regex.flags, String(regex)]).toEqual(['^a.b$', 'is', '/^a.b$/is']);
    expect(() => new LinearRegExp('(', '')).toThrow(SyntaxError);
  });

  it.each([
    ['^(a+)+$', false],
    ['(a|aa)+$', false],
    ['a*a*a*a*c', false],
    ['(.*a){12}$', false],
    ['(a?){40}c', false],
    ['(?:a{1,20})+$', false],
    ['((a|b)+|c)*d', false],
    ['(x+x+)+y|b$', true],
  ])('ends where others try for ever: %s', (source, isFound) => {
    expect(new LinearRegExp(source, '').test(`${'a'.repeat(20_000)}b`)).toBe(isFound);
  });

  it('goes on where a text needs more than it remembers', () => {
    const regex = new LinearRegExp('(?:a|b)*a(?:a|b){14}c', '');
    // Some 10,000 situations of 32,768.
    let seed = 1;
    const random = Array.from({ length: 10_000 }, () => {
      seed = (seed * 48_271) % 0x7fffffff;
      return seed % 2 === 0 ? 'a' : 'b';
    }).join('');
    expect(regex.test(random)).toBe(false);
    expect(regex.test(`${random}a${'b'.repeat(14)}c`)).toBe(true);
    expect(regex.test(`${random}b${'b'.repeat(14)}c`)).toBe(false);
    const many = String.fromCharCode(...Array.from({ length: 9_000 }, (_, i) => 0x1000 + i));
    expect([many, `${many}a`].map((each) => regex.test(each))).toEqual([false, false]);
    expect(new LinearRegExp('[^a]{3}b', '').test(`${many}b`)).toBe(true);
  });

  it.each([
    ['(?=a)b', 'looks around'],
    ['a(?!b)', 'looks around'],
    ['(?<=a)b', 'looks around'],
    ['(?<!a)b', 'looks around'],
    ['(a)\\1', 'refers back'],
    ['(?<x>a)\\k<x>', 'refers back'],
    ['a\\c', 'without a letter'],
    ['a{501}', 'too many'],
    ['a'.repeat(500), 'characters are too many'],
    ['a{0,300}', 'too many'],
    ['((a{100}){100}){100}', 'too many'],
    ['(?:(?:(?:){100}){100}){100}', 'too many'],
    ['(?:){1000000000}', 'too many'],
  ])('does not take %s', (source, why) => {
    expect(whyNot(source)).toContain(why);
  });

  it('takes as many steps as people write', () => {
    for (const source of ['a{400}', '^.{0,200}$', `(${'ab|cd|'.repeat(50)}e)+`])
      expect(whyNot(source)).toBeUndefined();
  });
});
