/**
 * The operators of Mango selectors that look at one value: each checks its argument, and makes a test. The messages are
 * PouchDB's, to the letter. Tests get values that exist; only `$exists` gets `undefined`.
 */
import { compareJson, toKey } from './collate';
import { badRequest, type DatabaseError } from './errors';
import { isObject } from './kinds';
import { normalizeKey } from './normalize-key';
import type { Json } from './types';

export type Test = (value: unknown) => boolean;
/** The conditions in an object as a test; `undefined` if it has none. */
export type Nested = (value: unknown) => Test | undefined;
type Operator = (given: unknown, nested: Nested) => Test;

const TYPES = ['null', 'boolean', 'number', 'string', 'array', 'object'];

const compared =
  (holds: (order: number) => boolean): Operator =>
  (given) => {
    const wanted = normalizeKey(given);
    return (value) => holds(compareJson(value, wanted));
  };

/** Operators that compare two values: each tests the order of the value found relative to the one given. */
export const comparisons: ReadonlyMap<string, (order: number) => boolean> = new Map([
  ['$eq', (order) => order === 0],
  ['$ne', (order) => order !== 0],
  ['$gt', (order) => order > 0],
  ['$gte', (order) => order >= 0],
  ['$lt', (order) => order < 0],
  ['$lte', (order) => order <= 0],
]);

/** By name, `$` included. `$and`, `$or`, `$nor`, `$not` are the selector's own. */
export const operators: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ...[...comparisons].map(([name, holds]) => [name, compared(holds)] as const),
  ['$exists', exists],
  ['$type', ofType],
  ['$in', (given) => among('$in', given)],
  ['$nin', (given) => not(among('$nin', given))],
  ['$all', holdsAll],
  ['$size', ofSize],
  ['$mod', remainder],
  ['$regex', likeRegex],
  ['$beginsWith', beginsWith],
  ['$elemMatch', someElement],
  ['$allMatch', everyElement],
  ['$keyMapMatch', someKey],
]);

/** 400: `Query operator $in must be an array. Received string: a`. */
export function invalidOperator(name: string, rule: string, given: unknown): DatabaseError {
  return badRequest(`Query operator ${name} ${rule}. Received ${described(given)}`);
}

/** Type and value. The type of null is left out (sic): the message has always read so. */
function described(given: unknown): string {
  if (given === null) return ': null';
  const type = Array.isArray(given) ? 'array' : typeof given;
  return `${type}: ${type === 'array' || type === 'object' ? JSON.stringify(given, null, '\t') : String(given)}`;
}

const not =
  (test: Test): Test =>
  (value) =>
    !test(value);

function exists(given: unknown): Test {
  if (typeof given !== 'boolean') throw invalidOperator('$exists', 'must be a boolean', given);
  return (value) => (value !== undefined) === given;
}

function ofType(given: unknown): Test {
  if (typeof given !== 'string' || !TYPES.includes(given)) {
    const supported = '"null", "boolean", "number", "string", "array", or "object"';
    throw invalidOperator('$type', `must be a string. Supported values: ${supported}`, given);
  }
  return (value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value) === given;
}

function listOf(name: string, given: unknown): Json[] {
  if (!Array.isArray(given)) throw invalidOperator(name, 'must be an array', given);
  return given.map(normalizeKey);
}

/** A list or an object. */
export const isNested = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** Distinct values, found without a look at each: ids that were collected may be tens of thousands. */
export class Values {
  readonly #plain = new Set<unknown>();
  /** Lists and objects, by their keys. */
  readonly #nested = new Set<string>();

  constructor(values: readonly Json[] = []) {
    for (const value of values) this.add(value);
  }

  get size(): number {
    return this.#plain.size + this.#nested.size;
  }

  add(value: unknown): void {
    if (isNested(value)) this.#nested.add(toKey(value));
    else this.#plain.add(value ?? null);
  }

  has(value: unknown): boolean {
    if (isNested(value)) return this.#nested.size > 0 && this.#nested.has(toKey(value));
    return this.#plain.has(value ?? null);
  }
}

/** For a list, some element must be among them; the list itself does not count. */
function among(name: string, given: unknown): Test {
  const wanted = new Values(listOf(name, given));
  return (value) => (Array.isArray(value) ? value.some((element) => wanted.has(element)) : wanted.has(value));
}

/** A list that holds all of them; or, where one list alone is given, that list itself, as in CouchDB. */
function holdsAll(given: unknown): Test {
  const list = listOf('$all', given);
  const wanted = new Values(list);
  const whole = list.length === 1 && Array.isArray(list[0]) ? list[0] : undefined;
  return (value) => {
    if (!Array.isArray(value) || wanted.size === 0) return false;
    if (whole !== undefined && compareJson(value, whole) === 0) return true;
    const found = new Values();
    for (const element of value) if (wanted.has(element)) found.add(element);
    return found.size === wanted.size;
  };
}

function ofSize(given: unknown): Test {
  if (!Number.isInteger(given)) throw invalidOperator('$size', 'must be a integer', given);
  return (value) => Array.isArray(value) && value.length === given;
}

function remainder(given: unknown): Test {
  if (!Array.isArray(given)) throw invalidOperator('$mod', 'must be an array', given);
  if (given.length !== 2) {
    const format =
      'must be in the format [divisor, remainder], where divisor and remainder are both integers';
    throw invalidOperator('$mod', format, given);
  }
  const [divisor, rest] = given as [unknown, unknown];
  if (divisor === 0) throw badRequest("Query operator $mod's divisor cannot be 0, cannot divide by zero.");
  if (!Number.isInteger(divisor)) throw invalidOperator("$mod's", 'divisor is not an integer', divisor);
  if (!Number.isInteger(rest)) throw invalidOperator("$mod's", 'remainder is not an integer', rest);
  // `===` takes -0 as 0.
  return (value) => Number.isInteger(value) && (value as number) % (divisor as number) === rest;
}

/** Options at the front, as in `(?i)^a`, which CouchDB's PCRE knows but JavaScript does not. */
const INLINE_FLAGS = /^\(\?([ims]+)\)/;

function likeRegex(given: unknown): Test {
  if (given instanceof RegExp) {
    // With `g` or `y` a RegExp remembers where the last document's match ended, so it is copied. Any other may have a `test` of its own.
    const regex = /[gy]/.test(given.flags)
      ? new RegExp(given.source, given.flags.replace(/[gy]/g, ''))
      : given;
    return (value) => typeof value === 'string' && regex.test(value);
  }
  if (typeof given !== 'string') {
    throw invalidOperator(
      '$regex',
      'must be a string or an instance of a javascript regular expression',
      given,
    );
  }
  const inline = INLINE_FLAGS.exec(given);
  const flags = [...new Set(inline?.[1] ?? '')].join('');
  let regex: RegExp;
  try {
    regex = new RegExp(given.slice(inline?.[0].length ?? 0), flags);
  } catch (cause) {
    throw badRequest(`Query operator $regex must be a regular expression: ${given}`, cause);
  }
  return (value) => typeof value === 'string' && regex.test(value);
}

function beginsWith(given: unknown): Test {
  if (typeof given !== 'string') throw invalidOperator('$beginsWith', 'must be a string', given);
  return (value) => typeof value === 'string' && value.startsWith(given);
}

function someElement(given: unknown, nested: Nested): Test {
  const test = testOf('$elemMatch', given, nested);
  return (value) => Array.isArray(value) && value.some(test);
}

/** Not true for an empty list. */
function everyElement(given: unknown, nested: Nested): Test {
  const test = testOf('$allMatch', given, nested);
  return (value) => Array.isArray(value) && value.length > 0 && value.every(test);
}

function someKey(given: unknown, nested: Nested): Test {
  const test = testOf('$keyMapMatch', given, nested);
  return (value) => isObject(value) && Object.keys(value).some(test);
}

function testOf(name: string, given: unknown, nested: Nested): Test {
  const test = nested(given);
  if (test === undefined) throw invalidOperator(name, 'must be an object', given);
  return test;
}
