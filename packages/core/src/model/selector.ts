/**
 * Mango selectors: checks them and compiles each into one test of documents.
 *
 * A condition on an absent field is false, whatever it says, except `$exists: false`. Negation is therefore pushed down
 * to the conditions, as in CouchDB: `$nor: [{ n: 1 }]` is `n: { $ne: 1 }`, which requires an n.
 */
import { compareJson } from './collate';
import { badRequest, DatabaseError } from './errors';
import { isPromise } from './kinds';
import { normalizeKey } from './normalize-key';
import { invalidOperator, isNested, type Nested, operators, type Test, Values } from './operators';
import type { Json } from './types';

/**
 * @returns the selector as JSON has it: without members that are `undefined`, which ask for nothing
 * @throws DatabaseError 400 that names the wrong operator and its argument
 */
export function checkSelector(selector: unknown): Group {
  if (!isGroup(selector)) throw badRequest('Selector must be a JSON object');
  checkNesting(selector, MAX_NESTING);
  const said = withoutAbsent(selector) as Group;
  compileSelector(said);
  return said;
}

/** Counts what it takes to test documents, for servers that test what others ask for. */
export interface Effort {
  /** A document is tested. */
  begin(doc: object): void;
  /** To be called with each value that a condition looks at. It may throw: then the test does. */
  of(operator: string, given: unknown): (value: unknown) => void;
}

/** An option of finds and feeds, besides their selector: an {@link Effort}. */
export const EFFORT = Symbol.for('settledb.effort');

export const effortIn = (options: object): Effort | undefined =>
  (options as { readonly [EFFORT]?: Effort })[EFFORT];

/**
 * The selector as a function. `{}` holds for every document.
 *
 * @throws DatabaseError 400 as {@link checkSelector}
 */
export function compileSelector(selector: object, effort?: Effort): (doc: object) => boolean {
  checkNesting(selector, MAX_NESTING);
  const test = compileGroup(selector as Group, false, effort);
  if (effort === undefined) return test;
  return (doc) => {
    effort.begin(doc);
    return test(doc);
  };
}

/** Most objects and lists within one another in a selector: each is a nested call of the test. */
const MAX_NESTING = 500;

function checkNesting(value: unknown, left: number, name?: string): void {
  if (left === 0) throw badRequest(`Selector is nested deeper than ${MAX_NESTING}`);
  checkSays(value, name);
  if (Array.isArray(value)) for (const each of value) checkNesting(each, left - 1);
  else if (isGroup(value))
    for (const inner of Object.keys(value)) checkNesting(value[inner], left - 1, inner);
}

/**
 * JSON has nothing, or `{}`, for these: where a call or an `await` was forgotten, or `$regex`, all documents or none would be found.
 *
 * @param name of the member that it is
 * @throws DatabaseError 400
 */
export function checkSays(value: unknown, name: string | undefined): void {
  if (value instanceof RegExp && name !== '$regex')
    throw badRequest(`In a selector a pattern is the value of $regex: { $regex: ${value} }`);
  if (typeof value === 'function') throw badRequest('A selector has no functions: give what it answers');
  if (isPromise(value)) throw badRequest('A selector has no promises: await it first');
}

/** Returns the same value if JSON would leave nothing out. */
function withoutAbsent(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(withoutAbsent);
    return items.every((item, i) => item === value[i]) ? value : items;
  }
  if (!isGroup(value)) return value;
  const members = Object.entries(value);
  const said = members
    .filter(([, member]) => member !== undefined)
    .map(([key, member]) => [key, withoutAbsent(member)] as const);
  const isSame = said.length === members.length && said.every(([, member], i) => member === members[i]![1]);
  return isSame ? value : Object.fromEntries(said);
}

type Group = Readonly<Record<string, unknown>>;

/** An object of conditions: not a list, nor a value that JSON writes in its own way (a Date, `Object(1)`). */
export function isGroup(value: unknown): value is Group {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    typeof (value as Group).toJSON !== 'function' &&
    !isBoxed(value)
  );
}

const isBoxed = (value: object): boolean =>
  value instanceof Number || value instanceof String || value instanceof Boolean;

function compileGroup(group: Group, negated: boolean, effort: Effort | undefined): Test {
  const tests = Object.keys(group).map((key) => compileMember(key, group[key], negated, effort));
  return negated ? any(tests) : all(tests);
}

function compileMember(key: string, value: unknown, negated: boolean, effort: Effort | undefined): Test {
  switch (key) {
    case '$and':
    case '$or':
    case '$nor': {
      const given = groups(key, value);
      if (key === '$or' && !negated) return any(alternatives(given, effort));
      const negate = key === '$nor' ? !negated : negated;
      const tests = given.map((group) => compileGroup(group, negate, effort));
      return (key === '$or') !== negated ? any(tests) : all(tests);
    }
    case '$not':
      if (!isGroup(value)) throw invalidOperator(key, 'must be an object', value);
      return compileGroup(value, !negated, effort);
    default:
      return (key.startsWith('$') ? compileOperator : compileField)(key, value, negated, effort);
  }
}

/** Values of one field that are asked for by a group each are found without a look at each, as `$in` finds them: they may be thousands. */
function alternatives(given: readonly Group[], effort: Effort | undefined): Test[] {
  const tests: Test[] = [];
  const wanted = new Map<string, Json[]>();
  for (const group of given) {
    const [name, ...more] = Object.keys(group);
    const value = name === undefined || more.length > 0 ? undefined : equalityOf(group[name]);
    if (name === undefined || name.startsWith('$') || value === undefined)
      tests.push(compileGroup(group, false, effort));
    else if (wanted.has(name))
      wanted.get(name)!.push(normalizeKey(value.equal)); // it has
    else wanted.set(name, [normalizeKey(value.equal)]);
  }
  for (const [name, equals] of wanted) {
    const path = fieldPath(name);
    const values = new Values(equals);
    // However many they are, one look finds one of them; a key of what is found is made for lists and objects alone.
    const test = watched(effort?.of('$eq', equals.find(isNested)), (found) => values.has(found));
    tests.push((value) => test(fieldAt(value, path)));
  }
  return tests;
}

/** What a condition on a field says it is equal to, if it says nothing else. */
function equalityOf(condition: unknown): { readonly equal: unknown } | undefined {
  if (!isGroup(condition)) return { equal: condition };
  const operators = Object.keys(condition);
  if (operators.length === 0) return { equal: condition };
  return operators.length === 1 && operators[0] === '$eq' ? { equal: condition.$eq } : undefined;
}

function groups(key: string, value: unknown): readonly Group[] {
  if (!Array.isArray(value)) throw invalidOperator(key, 'must be an array', value);
  const wrong = value.findIndex((item) => !isGroup(item));
  if (wrong >= 0) throw invalidOperator(key, 'must be an array of objects', value[wrong]);
  return value;
}

function compileOperator(key: string, value: unknown, negated: boolean, effort: Effort | undefined): Test {
  const operator = operators.get(key);
  if (operator === undefined) {
    throw new DatabaseError({ status: 400, name: 'invalid_operator', reason: `Invalid operator: ${key}` });
  }
  const nested: Nested = (inner) => (isGroup(inner) ? compileGroup(inner, false, effort) : undefined);
  const test = operator(value, nested);
  if (key === '$exists') return negated ? (found) => !test(found) : test;
  return watched(effort?.of(key, value), (found) => test(found) !== negated);
}

/** A test of values that exist. */
function watched(look: ((value: unknown) => void) | undefined, test: Test): Test {
  return (found) => {
    if (found === undefined) return false;
    look?.(found);
    return test(found);
  };
}

function compileField(name: string, condition: unknown, negated: boolean, effort: Effort | undefined): Test {
  const path = fieldPath(name);
  const test = compileCondition(condition, negated, effort);
  return (value) => test(fieldAt(value, path));
}

/** An object is a group of conditions on the value found; anything else, and `{}`, is equality. */
function compileCondition(condition: unknown, negated: boolean, effort: Effort | undefined): Test {
  if (isGroup(condition) && Object.keys(condition).length > 0)
    return compileGroup(condition, negated, effort);
  const wanted = normalizeKey(condition);
  return watched(effort?.of('$eq', wanted), (found) => (compareJson(found, wanted) === 0) !== negated);
}

/** `a.b` → a, b; `a\.b` → a.b; `\$a` → $a. */
export function fieldPath(name: string): string[] {
  if (!name.includes('\\')) return name.split('.');
  const path: string[] = [];
  let part = '';
  for (const [token] of name.matchAll(/\\[.$\\]|./gs)) {
    if (token === '.') {
      path.push(part);
      part = '';
    } else part += token.length === 2 && token.startsWith('\\') ? token[1] : token;
  }
  path.push(part);
  return path;
}

/** The value at a path; `undefined` if there is none. Own members only; elements of lists by number. */
export function fieldAt(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    if (Array.isArray(found) && name === 'length') return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  return found;
}

const all =
  (tests: readonly Test[]): Test =>
  (value) => {
    for (const test of tests) if (!test(value)) return false;
    return true;
  };

const any =
  (tests: readonly Test[]): Test =>
  (value) => {
    for (const test of tests) if (test(value)) return true;
    return false;
  };
