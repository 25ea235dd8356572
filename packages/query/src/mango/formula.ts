/**
 * A selector as tests joined by "and" and "or", negations pushed down to the tests: this is what the planner reads. It must mean the
 * same as core's `compileSelector`, which decides what matches; a difference would lose documents, and a property test looks for one.
 */
import { fieldPath, type Selector } from '@settledb/core';

export type Formula = { readonly kind: 'and' | 'or'; readonly parts: readonly Formula[] } | FieldTest;

/** One operator on one field. Except for `$exists`, it is false for an absent field, negated or not. */
export interface FieldTest {
  readonly kind: 'test';
  /** Empty: the value itself, within `$elemMatch`. */
  readonly path: readonly string[];
  readonly operator: string;
  readonly value: unknown;
  readonly negated: boolean;
}

/** @param selector normalized */
export function formulaOf(selector: Selector, path: readonly string[] = [], negated = false): Formula {
  const parts = Object.entries(selector).map(([key, value]) => member(key, value, path, negated));
  return joined(negated ? 'or' : 'and', parts);
}

function member(key: string, value: unknown, path: readonly string[], negated: boolean): Formula {
  switch (key) {
    case '$and':
    case '$or':
    case '$nor': {
      const negate = key === '$nor' ? !negated : negated;
      const parts = (value as Selector[]).map((each) => formulaOf(each, path, negate));
      return joined((key === '$or') !== negated ? 'or' : 'and', parts);
    }
    case '$not':
      return formulaOf(value as Selector, path, !negated);
    default:
      if (key.startsWith('$')) return { kind: 'test', path, operator: key, value, negated };
      return formulaOf(value as Selector, [...path, ...fieldPath(key)], negated);
  }
}

function joined(kind: 'and' | 'or', parts: readonly Formula[]): Formula {
  return parts.length === 1 ? (parts[0] as Formula) : { kind, parts };
}
