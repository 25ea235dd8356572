/** A field found in the text is the one that is found in the document, however its JSON is written; else it is said that it is not told. */
import { fieldAt } from '@settledb/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { definitionOf } from '../../packages/query/src/mango/mango-index';
import { isPlainName, isUnescaped, textField, UNTOLD } from '../../packages/query/src/text-fields';

const NAMES = ['a', 'b', 'ab', 'constructor', 'x1'];
const name = fc.constantFrom(...NAMES, '_a', '__proto__', ',', ':', '{', '"', 'a"', '\\', ' ', '', 'a b');
const text = fc.oneof(fc.constantFrom(...NAMES, '{', '}', '{"a":1', ',"a":2,', '"a"', ' ', ':'), fc.string());
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.constantFrom(true, false, null, 0, 1e21, 5e-324),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
}));
const content = fc
  .array(fc.tuple(name, value), { maxLength: 6 })
  .map((entries) => Object.fromEntries(entries));

/** Ways to write JSON: ours; with space; with a number otherwise than JavaScript writes it; with each field twice. */
const written = fc.tuple(content, fc.constantFrom(0, 1, 2, 3)).map(([doc, how]) => {
  const plain = JSON.stringify(doc);
  if (how === 1) return JSON.stringify(doc, null, 1);
  if (how === 2) return plain.replace(/:(\d+)([,}])/g, ':$1.0E+0$2');
  return how === 3 && plain !== '{}' ? `${plain.slice(0, -1)},${plain.slice(1)}` : plain;
});

describe('a field in the text of a document', () => {
  it('is the one that the document has, or is not told', () => {
    fc.assert(
      fc.property(written, (body) => {
        if (!isUnescaped(body)) return;
        const doc = JSON.parse(body) as object;
        for (const each of NAMES) {
          const found = textField(body, `${each}"`);
          if (found !== UNTOLD) expect(found).toStrictEqual(fieldAt(doc, [each]));
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('is told where a document is written as documents are, and the field is plain', () => {
    fc.assert(
      fc.property(content, (doc) => {
        const body = JSON.stringify(doc);
        if (!isUnescaped(body)) return;
        for (const each of NAMES) {
          const there = fieldAt(doc, [each]);
          const isPlain = typeof there !== 'object' || there === null;
          expect(textField(body, `${each}"`) === UNTOLD).toBe(!isPlain);
        }
      }),
    );
  });

  it('is found in one pass, however often its name occurs within other fields', () => {
    // Read from the beginning for each of them, this took minutes.
    const list = Array.from({ length: 200_000 }, () => ({ a: 1, '{': '}' }));
    expect(textField(JSON.stringify({ list }), 'a"')).toBeUndefined();
    expect(textField(JSON.stringify({ list, a: 2, o: {} }), 'a"')).toBe(2);
    expect(textField(JSON.stringify({ a: 3, b: 'x'.repeat(1_000_000), list }), 'a"')).toBe(3);
  });

  it('is looked for by names that cannot be mistaken', () => {
    expect(NAMES.every(isPlainName)).toBe(true);
    expect(['_a', '__proto__', ',', '"', '\\', '', 'a b', 'a.b', '1', 'é'].some(isPlainName)).toBe(false);
  });
});

describe('keys in the text of a document', () => {
  it('are those that the map emits', () => {
    const fields = fc.uniqueArray(fc.constantFrom('a', 'b', 'ab', 'a.b', '_a'), {
      minLength: 1,
      maxLength: 3,
    });
    fc.assert(
      fc.property(written, fields, (body, names) => {
        const index = definitionOf({
          ddoc: '_design/x',
          name: 'x',
          fields: names.map((each) => ({ name: each, direction: 'asc' })),
        });
        const keys = index.keysIn?.(body);
        if (names.includes('a.b') || names.includes('_a')) expect(keys).toBeUndefined();
        if (keys === undefined) return;
        const emitted: unknown[] = [];
        index.map({ ...JSON.parse(body), _id: 'x', _rev: '1-x' }, (key: unknown) => void emitted.push(key));
        expect(keys).toStrictEqual(emitted);
      }),
      { numRuns: 1_000 },
    );
  });
});
