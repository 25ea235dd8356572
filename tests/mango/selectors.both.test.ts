/**
 * All operators at random, in all combinations, against a literal reading of them; and what the planner takes selectors for
 * against what they match.
 */
import { compareKeys, compileSelector, type ExistingDoc, fieldAt } from '@settledb/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Conjunction, type Constraint, conjunctionOf } from '../../packages/query/src/mango/constraint';
import { formulaOf } from '../../packages/query/src/mango/formula';
import { normalizeSelector, withIdRule } from '../../packages/query/src/mango/normalize';
import { naiveMatches } from './naive-selector';
import { documents, selectors } from './support';

const RUNS = { numRuns: 3000 };
const exact = (selector: Record<string, unknown>) => withIdRule(normalizeSelector(selector));

describe('a selector at random', () => {
  it('matches what a literal reading of it matches', () => {
    fc.assert(
      fc.property(selectors, documents, (selector, docs) => {
        const matches = compileSelector(exact(selector));
        for (const doc of docs) expect(matches(doc)).toBe(naiveMatches(selector, doc));
      }),
      RUNS,
    );
  });

  it('means the same in its normal form', () => {
    fc.assert(
      fc.property(selectors, documents, (selector, docs) => {
        const [one, other] = [compileSelector(selector), compileSelector(normalizeSelector(selector))];
        for (const doc of docs) expect(other(doc)).toBe(one(doc));
        expect(normalizeSelector(normalizeSelector(selector))).toEqual(normalizeSelector(selector));
      }),
      RUNS,
    );
  });

  it('is met only by documents within its constraints', () => {
    fc.assert(
      fc.property(selectors, documents, (selector, docs) => {
        const formula = formulaOf(exact(selector));
        const { fields, ors } = conjunctionOf(formula);
        for (const doc of docs.filter(compileSelector(exact(selector)))) {
          for (const constraint of fields.values()) expect(isWithin(constraint, doc as never)).toBe(true);
          for (const branches of ors)
            expect(branches.some((branch) => mayMeet(branch, doc as never))).toBe(true);
        }
      }),
      RUNS,
    );
  });
});

function mayMeet({ fields }: Conjunction, doc: ExistingDoc<object>): boolean {
  return [...fields.values()].every((constraint) => isWithin(constraint, doc));
}

function isWithin({ path, absent, values, elements }: Constraint, doc: ExistingDoc<object>): boolean {
  const value = fieldAt(doc, path);
  if (absent) return value === undefined;
  if (value === undefined) return false;
  const among = (intervals: typeof values, key: unknown): boolean =>
    intervals.some(({ from, to }) => {
      const low = from === undefined ? 1 : compareKeys(key, from.key);
      const high = to === undefined ? -1 : compareKeys(key, to.key);
      return (low > 0 || (low === 0 && from!.inclusive)) && (high < 0 || (high === 0 && to!.inclusive));
    });
  if (!among(values, value)) return false;
  if (elements === undefined || among(elements.plain, value)) return true;
  return Array.isArray(value) && value.some((each) => among(elements.elements, each));
}
