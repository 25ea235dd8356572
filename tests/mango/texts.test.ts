/** A document that matches a selector is never passed over because of its text, however its JSON is written. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { normalizeSelector } from '../../packages/query/src/mango/normalize';
import { mayMatch, textsIn } from '../../packages/query/src/mango/texts';
import { matches } from '../support/matches';
import { documents, indexableSelectors, selectors } from './support';

/** The same value, with some letters said by number, as any writer of JSON may. */
const escaped = (text: string): string =>
  text.replace(
    /"([^"\\])/g,
    (_, letter: string) => `"\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const bodyOf = ({ _id, ...content }: { _id: string }): string => JSON.stringify(content);

it('for any selector', () => {
  fc.assert(
    fc.property(documents, fc.oneof(selectors, indexableSelectors), (docs, selector) => {
      const texts = textsIn(normalizeSelector(selector as never));
      for (const doc of docs) {
        if (!matches(selector as never, { _rev: '1-a', ...doc } as never)) continue;
        expect(mayMatch(bodyOf(doc), texts)).toBe(true);
        expect(mayMatch(escaped(bodyOf(doc)), texts)).toBe(true);
      }
    }),
    { numRuns: 300 },
  );
});

it('for equal texts, whatever is in them', () => {
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('"', '\\', '/', '\u2028', '\ud800'),
  );
  fc.assert(
    fc.property(text, fc.constantFrom('a', 'a.b', '\\_a', 'a\\.b'), (value, name) => {
      const texts = textsIn(normalizeSelector({ [name]: value }));
      for (const doc of [{ a: value }, { a: { b: value } }, { _a: value }, { 'a.b': value }])
        expect(matches({ [name]: value }, doc) && !mayMatch(JSON.stringify(doc), texts)).toBe(false);
    }),
  );
});

it('and what is not there is passed over', () => {
  const texts = textsIn(
    normalizeSelector({ type: 'note', n: 5, $and: [{ of: { $eq: 'me' } }], $or: [{ x: 'y' }] }),
  );
  expect(texts).toEqual([
    { value: 'note', text: 'note"', name: 'type"' },
    { value: 'me', text: 'me"', name: 'of"' },
  ]);
  expect(mayMatch('{"type":"note","n":5,"of":"me"}', texts)).toBe(true);
  expect(mayMatch('{"type":"note","n":5,"of":"you"}', texts)).toBe(false);
  // There, but elsewhere.
  expect(mayMatch('{"type":"me","n":5,"of":"note"}', texts)).toBe(false);
  expect(mayMatch('{"in":{"type":"note"},"of":"me"}', texts)).toBe(false);
});
