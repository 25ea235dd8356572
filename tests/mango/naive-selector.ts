/**
 * Selectors read literally, for tests: no compiling, no normal form, one recursion over the selector for each document. Negations
 * move inward until they reach an operator, as in CouchDB.
 */
import { compareKeys, fieldPath } from '@settledb/core';

type Group = Record<string, unknown>;

export function naiveMatches(selector: Group, doc: unknown, negated = false, top = true): boolean {
  const answers = Object.entries(selector).map(([key, given]) => member(key, given, doc, negated, top));
  return negated ? answers.includes(true) : !answers.includes(false);
}

function member(key: string, given: unknown, on: unknown, negated: boolean, top: boolean): boolean {
  if (key === '$not') return naiveMatches(given as Group, on, !negated, top);
  if (key === '$and' || key === '$or' || key === '$nor') {
    const negate = key === '$nor' ? !negated : negated;
    const answers = (given as Group[]).map((each) => naiveMatches(each, on, negate, top));
    return (key === '$or') === negated ? !answers.includes(false) : answers.includes(true);
  }
  if (key.startsWith('$')) return test(key, given, on, negated);
  const found = at(on, fieldPath(key));
  if (top && key === '_id') return onId(given, found, negated);
  const isGroup = typeof given === 'object' && given !== null && !Array.isArray(given);
  if (isGroup && Object.keys(given).length > 0) return naiveMatches(given as Group, found, negated, false);
  return test('$eq', given, found, negated);
}

/** Nothing is below what is no string, and everything above. */
function onId(given: unknown, id: unknown, negated: boolean): boolean {
  if (typeof given !== 'object' || given === null) return (given === id) !== negated;
  const answers = Object.entries(given as Group).map(([operator, wanted]) => {
    if (operator.startsWith('$g') && typeof wanted !== 'string') return !negated;
    if (operator.startsWith('$l') && typeof wanted !== 'string') return negated;
    return test(operator, wanted, id, negated);
  });
  return negated ? answers.includes(true) : !answers.includes(false);
}

function at(value: unknown, path: readonly string[]): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return at((value as Group)[name], rest);
}

function test(operator: string, given: unknown, found: unknown, negated: boolean): boolean {
  if (operator === '$exists') return ((found !== undefined) === given) !== negated;
  return found !== undefined && holds(operator, given, found) !== negated;
}

const equal = (one: unknown, other: unknown): boolean => compareKeys(one, other) === 0;
const inList = (list: unknown, value: unknown): boolean =>
  (list as unknown[]).some((each) => equal(each, value));

/** A list alone in an `$all` may be the value itself. */
const isWhole = ([first, ...more]: readonly unknown[], list: unknown): boolean =>
  more.length === 0 && Array.isArray(first) && equal(first, list);

function holds(operator: string, given: unknown, found: unknown): boolean {
  const order = compareKeys(found, given instanceof RegExp ? null : given);
  const list = Array.isArray(found) ? found : undefined;
  switch (operator) {
    case '$eq':
      return order === 0;
    case '$ne':
      return order !== 0;
    case '$gt':
      return order > 0;
    case '$gte':
      return order >= 0;
    case '$lt':
      return order < 0;
    case '$lte':
      return order <= 0;
    case '$in':
      return (list ?? [found]).some((each) => inList(given, each));
    case '$nin':
      return !(list ?? [found]).some((each) => inList(given, each));
    case '$all':
      return (
        list !== undefined &&
        (given as unknown[]).length > 0 &&
        ((given as unknown[]).every((each) => inList(list, each)) || isWhole(given as unknown[], list))
      );
    case '$size':
      return list?.length === given;
    case '$type':
      return (found === null ? 'null' : list ? 'array' : typeof found) === given;
    case '$mod': {
      const [divisor, rest] = given as [number, number];
      return Number.isInteger(found) && (found as number) % divisor === rest;
    }
    case '$regex':
      return typeof found === 'string' && pattern(given).test(found);
    case '$beginsWith':
      return typeof found === 'string' && found.startsWith(given as string);
    case '$elemMatch':
      return list?.some((each) => naiveMatches(given as Group, each, false, false)) ?? false;
    case '$allMatch':
      return !!list?.length && list.every((each) => naiveMatches(given as Group, each, false, false));
    case '$keyMapMatch':
      return (
        typeof found === 'object' &&
        found !== null &&
        !list &&
        Object.keys(found).some((each) => naiveMatches(given as Group, each, false, false))
      );
    default:
      throw new Error(`no such operator: ${operator}`);
  }
}

function pattern(given: unknown): RegExp {
  if (given instanceof RegExp) return new RegExp(given.source, given.flags.replace(/[gy]/g, ''));
  const text = String(given);
  return text.startsWith('(?i)') ? new RegExp(text.slice(4), 'i') : new RegExp(text);
}
