/** Revision ids: their form, and what the hash depends on. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatRev,
  generationOf,
  isRev,
  MAX_GENERATION,
  nextRev,
  parseRev,
  revHash,
  uuid,
} from '../../packages/core/src/model';

describe('a revision id', () => {
  it('is a generation, one dash and a hash', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: MAX_GENERATION }),
        fc.string({ unit: 'binary' }),
        (generation, text) => {
          const hash = text.replaceAll('-', '').replaceAll(/[\n\r\u2028\u2029]/g, '');
          const rev = formatRev(generation, hash);
          expect(parseRev(rev)).toEqual({ generation, hash });
          expect(generationOf(rev)).toBe(generation);
        },
      ),
    );
  });

  it('is refused in any other form', () => {
    const wrong = [
      '',
      '-',
      '-x',
      '1',
      'a-b',
      '1-a-b',
      '0-a',
      '01-a',
      '+1-a',
      '1e3-a',
      ' 1-a',
      '1000000000000000-a',
      '9007199254740991-a',
      '9007199254740992-a',
      5,
      null,
      undefined,
      {},
      ['1-a'],
      Object('1-a'),
    ];
    for (const rev of wrong) {
      expect(isRev(rev)).toBe(false);
      expect(() => parseRev(rev)).toThrow(
        expect.objectContaining({ status: 400, message: 'Invalid rev format' }),
      );
    }
  });
});

describe('the hash of an edit', () => {
  const edit = fc.tuple(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.option(fc.string({ maxLength: 10 }), { nil: undefined }),
    fc.boolean(),
    fc.string({ unit: 'binary', maxLength: 60 }),
  );

  it('is 32 hex digits, equal for equal edits and for no others', () => {
    fc.assert(
      fc.property(edit, edit, (one, other) => {
        expect(revHash(...one)).toMatch(/^[0-9a-f]{32}$/);
        expect(revHash(...one) === revHash(...other)).toBe(
          JSON.stringify(one) === JSON.stringify(other) && one[1] === other[1],
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('keeps id, parent and body apart', () => {
    const hashes = [
      revHash('ab', undefined, false, '{}'),
      revHash('a', 'b', false, '{}'),
      revHash('', 'ab', false, '{}'),
      revHash('ab', '', false, '{}'),
      revHash('ab', undefined, true, '{}'),
      revHash('a', undefined, false, 'b{}'),
      revHash('ab{}', undefined, false, ''),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  it('changes everywhere when one bit of the edit changes', () => {
    const bit = (hash: string, at: number) => (Number.parseInt(hash[at >> 2]!, 16) >> (at & 3)) & 1;
    const flips = new Array(128).fill(0);
    let pairs = 0;
    for (let length = 0; length < 64; length++) {
      const body = 'x'.repeat(length);
      for (let at = 0; at < length; at += 3) {
        const other = `${body.slice(0, at)}y${body.slice(at + 1)}`;
        const [left, right] = [revHash('a', undefined, false, body), revHash('a', undefined, false, other)];
        for (let n = 0; n < 128; n++) flips[n] += bit(left, n) ^ bit(right, n);
        pairs++;
      }
    }
    // Each of the 128 bits flips in about half of the pairs (n = 693; six standard deviations are 0.114).
    for (const count of flips) expect(Math.abs(count / pairs - 0.5)).toBeLessThan(0.12);
  });

  it('does not collide in any half over many small edits', () => {
    const left = new Set<string>();
    const right = new Set<string>();
    for (let n = 0; n < 100_000; n++) {
      const hash = revHash(String(n % 100), undefined, false, `{"n":${Math.floor(n / 100)}}`);
      left.add(hash.slice(0, 16));
      right.add(hash.slice(16));
    }
    expect(left.size).toBe(100_000);
    expect(right.size).toBe(100_000);
  });

  it('never changes: replicas of different versions must agree', () => {
    expect(nextRev('a', undefined, false, '{}')).toBe('1-7e993307b34cebdf3d8cba84d02c6220');
    expect(nextRev('a', '1-x', false, '{"text":"grüße 💩 \\ud83d"}')).toBe(
      '2-da1d0ec8586603fdb8745ca975ec4da4',
    );
    expect(nextRev('_design/a', '9-', true, `{"long":"${'0123456789'.repeat(50)}"}`)).toBe(
      '10-e04a1d263d0745c9c2baaf4f6c069a09',
    );
  });

  it('does not depend on how the engine holds the text', () => {
    const whole = 'aé💩bcdefghijklmnopqrstuvwxyz'.repeat(4);
    let pieces = '';
    for (const unit of whole) pieces += unit;
    expect(revHash('i', undefined, false, pieces)).toBe(revHash('i', undefined, false, whole));
    expect(revHash('i', undefined, false, `x${whole}`.slice(1))).toBe(revHash('i', undefined, false, whole));
  });

  it('is the same after a generation of any length', () => {
    for (const parent of ['1-x', '8-x', '9-x', '10-x', '99999-x']) {
      const hash = revHash('a', parent, false, '{}');
      expect(nextRev('a', parent, false, '{}')).toBe(`${generationOf(parent) + 1}-${hash}`);
    }
  });

  it('counts the generation on from the parent', () => {
    expect(generationOf(nextRev('a', undefined, false, '{}'))).toBe(1);
    expect(generationOf(nextRev('a', '41-x', true, '{}'))).toBe(42);
  });
});

describe('uuid', () => {
  it('is 32 hex digits, another one each time', () => {
    const ids = new Set(Array.from({ length: 1000 }, uuid));
    expect(ids.size).toBe(1000);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
  });
});
