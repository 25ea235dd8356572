/**
 * The order of view keys beside PouchDB's own (`pouchdb-collate`), as an oracle: over any two keys both say the same.
 *
 * Where we follow CouchDB instead of PouchDB: `-0` is 0 (PouchDB sorts it so, too). Where both differ from CouchDB, which orders text
 * by ICU, see docs/decisions/0002-collation.md. Objects are ordered by their members as they come, in all three.
 */
import { compareKeys, toKey } from '@settledb/core';
import fc from 'fast-check';
import { collate } from 'pouchdb-collate';
import { describe, expect, it } from 'vitest';

const scalar = fc.oneof(
  fc.constantFrom(null, false, true, 0, -0, 1, -1, '', 'a', 'A', 'b', '\u0000', '\u0001', '\ufff0', '1'),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string({ unit: 'binary', maxLength: 4 }),
);
const { key } = fc.letrec<{ key: unknown }>((tie) => ({
  key: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie('key'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', ''), tie('key'), { maxKeys: 3, noNullPrototype: true }),
  ),
}));

describe('the order of keys', () => {
  it('is that of pouchdb-collate', () => {
    fc.assert(
      fc.property(key, key, (a, b) => {
        const theirs = Math.sign(collate(a, b));
        expect(Math.sign(compareKeys(a, b)) + 0).toBe(theirs + 0);
        const [left, right] = [toKey(a), toKey(b)];
        expect(left < right ? -1 : left > right ? 1 : 0).toBe(theirs + 0);
      }),
      { numRuns: 5_000 },
    );
  });

  it('is that of pouchdb-collate for near keys, which random ones seldom are', () => {
    fc.assert(
      fc.property(fc.array(scalar, { maxLength: 3 }), scalar, scalar, (list, a, b) => {
        for (const [left, right] of [
          [
            [...list, a],
            [...list, b],
          ],
          [list, [...list, a]],
          [
            { a: list, b: a },
            { a: list, b },
          ],
          [{ a: list }, { a: list, b: a }],
          [[[a]], [[b]]],
        ])
          expect(Math.sign(compareKeys(left, right)) + 0).toBe(Math.sign(collate(left, right)) + 0);
      }),
      { numRuns: 3_000 },
    );
  });
});
