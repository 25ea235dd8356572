/**
 * The values for which an operator can be true, as intervals of keys. Always a superset: the planner only must not lose
 * documents, since every document found is tested with the whole selector.
 */
import { compareJson, type Json, normalizeKey } from '@settledb/core';
import type { FieldTest } from './formula';
import { ALL, type Interval, type Intervals, intersect, NONE, point, union } from './interval';

/** The first values of the types, in the order of keys: null, booleans, numbers, strings, lists, objects. */
const FIRST_STRING = '';
const FIRST_LIST: Json = [];
const FIRST_OBJECT: Json = {};

const from = (key: Json, inclusive = true): Interval => ({ from: { key, inclusive } });
const to = (key: Json, inclusive = false): Interval => ({ to: { key, inclusive } });
const between = (low: Interval, high: Interval): Intervals => [{ from: low.from!, to: high.to! }];

const TYPES: ReadonlyMap<unknown, Intervals> = new Map<unknown, Intervals>([
  ['null', [point(null)]],
  ['boolean', between(from(false), to(true, true))],
  ['number', between(from(true, false), to(FIRST_STRING))],
  ['string', between(from(FIRST_STRING), to(FIRST_LIST))],
  ['array', between(from(FIRST_LIST), to(FIRST_OBJECT))],
  ['object', [from(FIRST_OBJECT)]],
]);
const ofType = (name: string): Intervals => TYPES.get(name) as Intervals;
export const STRINGS = ofType('string');

export function points(values: readonly unknown[]): Intervals {
  const keys = values.map(normalizeKey).sort(compareJson);
  return keys.filter((key, at) => at === 0 || compareJson(keys[at - 1], key) !== 0).map(point);
}
/** `$in` tests the elements of a list, not the list. */
export const scalars = (values: readonly unknown[]): Intervals =>
  points(values.filter((each) => !Array.isArray(each)));

/** By operator; those that do not limit the value are absent. */
const SPANS: ReadonlyMap<string, (value: never) => Intervals> = new Map<string, (value: never) => Intervals>([
  ['$eq', (value: unknown) => points([value])],
  ['$gt', (value: unknown) => [from(normalizeKey(value), false)]],
  ['$gte', (value: unknown) => [from(normalizeKey(value))]],
  ['$lt', (value: unknown) => [to(normalizeKey(value))]],
  ['$lte', (value: unknown) => [to(normalizeKey(value), true)]],
  ['$in', (list: unknown[]) => (list.length === 0 ? NONE : union([...scalars(list), ...ofType('array')]))],
  ['$type', (name: string) => ofType(name)],
  ['$all', (list: unknown[]) => (list.length === 0 ? NONE : ofType('array'))],
  ['$size', () => ofType('array')],
  ['$elemMatch', () => ofType('array')],
  ['$allMatch', () => ofType('array')],
  ['$keyMapMatch', () => ofType('object')],
  ['$mod', () => ofType('number')],
  ['$beginsWith', (text: string) => textsFrom(text)],
  ['$regex', (regex: string | RegExp) => textsFrom(literalStart(regex))],
]);

/** The operators whose negation is an operator again; any other negation only says that the field exists. */
const OPPOSITE: ReadonlyMap<string, string> = new Map([
  ['$gt', '$lte'],
  ['$gte', '$lt'],
  ['$lt', '$gte'],
  ['$lte', '$gt'],
  ['$ne', '$eq'],
  ['$nin', '$in'],
]);

/** The operator that a test amounts to. */
export const operatorOf = ({ operator, negated }: FieldTest): string | undefined =>
  negated ? OPPOSITE.get(operator) : operator;

/** The values for which the test may be true. */
export function spansOf(test: FieldTest): Intervals {
  const { value } = test;
  const spans = SPANS.get(operatorOf(test) ?? '');
  return spans === undefined ? ALL : spans(value as never);
}

/** Strings that begin with `start`. */
function textsFrom(start: string): Intervals {
  const strings = ofType('string');
  const next = following(start);
  return next === undefined ? intersect(strings, [from(start)]) : between(from(start), to(next));
}

/** The first string after all that begin with `start`. */
function following(start: string): string | undefined {
  for (let at = start.length - 1; at >= 0; at--) {
    const unit = start.charCodeAt(at);
    if (unit < 0xffff) return start.slice(0, at) + String.fromCharCode(unit + 1);
  }
  return undefined;
}

/** What every text that matches begins with, as far as that is obvious. */
function literalStart(regex: string | RegExp): string {
  const source = typeof regex === 'string' ? regex : regex.source;
  const flags = typeof regex === 'string' ? '' : regex.flags;
  if (/[imuv]/.test(flags) || source.includes('|')) return '';
  const literal = /^\^([\w \-/:@,;=#%&!~'"<>\u00c0-\uffff]*)(.?)/s.exec(source);
  if (literal === null) return '';
  const [, text = '', next = ''] = literal;
  // A character before a quantifier may be absent.
  return /[*?{+]/.test(next) ? text.slice(0, -1) : text;
}
