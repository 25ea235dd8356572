/**
 * Queries of a plain shape, as most are: fields compared with single values, `{ role: 'admin', score: { $gte: 10 } }`. If two
 * differ only in those values, their plans differ only in bounds, so one plan is made for each shape.
 */
import { comparisons, type FindRequest, fieldPath, isGroup, type Json } from '@settledb/core';
import type { IndexDefinition, IndexRange } from '../index-reader';
import { exactRange, pathsOf, rangeWithin } from './access';
import { orderName } from './choose';
import { pathKey } from './constraint';
import { ALL, type Interval } from './interval';
import { definitionOf } from './mango-index';
import type { Plan } from './planner';
import { type Project, projectedPaths } from './project';
import type { Find } from './request';

type Comparison = '$eq' | '$gt' | '$gte' | '$lt' | '$lte';
const COMPARISONS: ReadonlySet<string> = new Set<Comparison>(['$eq', '$gt', '$gte', '$lt', '$lte']);

interface Condition {
  readonly name: string;
  readonly operator: Comparison;
}

export interface Shape {
  /** Equal for queries that differ only in {@link values}. */
  readonly key: string;
  readonly conditions: readonly Condition[];
  readonly values: readonly Json[];
}

/** No operators, no escapes, no fields of the database (`_id` is planned by its own rules), and not {@link END}. */
const PLAIN_NAME = /^[^_$\\\0][^\\\0]*$/;
const END = '\0';

/** @returns undefined for queries of any other shape, and for invalid ones */
export function shapeOf(request: FindRequest): Shape | undefined {
  if (!isGroup(request) || !isGroup(request.selector)) return undefined;
  const { selector } = request;
  const conditions: Condition[] = [];
  const values: Json[] = [];
  let key = '';
  for (const name of Object.keys(selector)) {
    let operator = '$eq';
    let value = selector[name];
    if (isGroup(value)) {
      const [only, ...more] = Object.keys(value);
      if (only === undefined || more.length > 0 || !COMPARISONS.has(only)) return undefined;
      operator = only;
      value = value[only];
    }
    if (!isSingle(value) || !PLAIN_NAME.test(name)) return undefined;
    conditions.push({ name, operator: operator as Comparison });
    values.push(value);
    // An equality adds only the field's name: for most queries that is the whole key, and no text has to be made.
    const part = operator === '$eq' ? name : name + END + operator;
    key = key === '' ? part : key + END + END + part;
  }
  const rest = restOf(request);
  return rest === undefined ? undefined : { key: key + rest, conditions, values };
}

/** What else a plan depends on, as text. @returns undefined if it is invalid */
function restOf({ sort, fields, use_index }: FindRequest): string | undefined {
  if (sort === undefined && fields === undefined && use_index === undefined) return '';
  if (!isListOf(sort, isSortField) || !isListOf(fields, isString)) return undefined;
  if (!isString(use_index) && !isListOf(use_index, isString)) return undefined;
  return END + END + END + JSON.stringify([sort, fields, use_index]);
}

function isSingle(value: unknown): value is Json {
  return typeof value === 'string' || value === null || typeof value === 'boolean' || Number.isFinite(value);
}

const isString = (value: unknown): boolean => typeof value === 'string';
const isListOf = (value: unknown, isOne: (each: unknown) => boolean): boolean =>
  value === undefined || (Array.isArray(value) && value.every(isOne));

function isSortField(given: unknown): boolean {
  if (typeof given === 'string') return true;
  const values = isGroup(given) ? Object.values(given) : [];
  return values.length === 1 && isString(values[0]);
}

/** What all queries of a shape have in common. */
export interface Prepared {
  readonly definition: IndexDefinition;
  readonly order: string;
  readonly descending: boolean;
  /** For each leading field of the index by which rows are found: the place of its condition; -1: any value will do. */
  readonly leading: readonly number[];
  /** Number of fields of the index. */
  readonly length: number;
  /** By condition. */
  readonly tests: readonly Test[];
  /** Places of the tests that rows of the range need not fulfil. */
  readonly open: readonly number[];
  /** Fields that must exist besides, for a place in the order. */
  readonly present: readonly Covered[];
  readonly project: Project;
  /** All fields of the index are held to single values, and nothing else is asked: all rows have the same key. */
  readonly isPoint: boolean;
  /** Set if rows of the index have all that is tested and answered. */
  readonly covering: Covering | undefined;
}

interface Covering {
  /** What is answered. */
  readonly fields: readonly Covered[];
  /** The last field of the index that is tested or answered. A row in which an earlier field is absent does not suffice. */
  readonly last: number;
}

interface Test extends Covered {
  readonly operator: Comparison;
  /** @param order the comparison of the value found with the given value */
  readonly holds: (order: number) => boolean;
}

/** A field, and its place in the index; -1: `_id`; lower: not in the index. */
interface Covered {
  readonly path: readonly string[];
  readonly at: number;
}

/** @returns undefined if the plan is not the reading of one index in its order */
export function prepare({ conditions }: Shape, asked: Find, plan: Plan): Prepared | undefined {
  if (plan.kind !== 'index' || plan.sorts || plan.access.index.partial !== undefined) return undefined;
  const { index } = plan.access;
  const places = pathsOf(index).map(pathKey);
  const tests = conditions.map(({ name, operator }): Test => {
    const path = fieldPath(name);
    return { operator, holds: comparisons.get(operator)!, path, at: placeOf(path, places) };
  });
  const tested = new Set(tests.map(({ path }) => pathKey(path)));
  const present = asked.sort
    .filter(({ path }) => !tested.has(pathKey(path)))
    .map(({ path }): Covered => ({ path, at: placeOf(path, places) }));
  const leading: number[] = [];
  for (let at = 0; at < places.length; at++) {
    const condition = tests.findIndex((test) => test.at === at);
    if (condition < 0 && !present.some((each) => each.at === at)) break;
    leading.push(condition);
  }
  // An index that begins with `_id`, which has no place among its fields.
  if (leading.length === 0) return undefined;
  // Single values, and the condition after them: the range ends there.
  const last = leading.findIndex((condition) => tests[condition]?.operator !== '$eq');
  const held = last < 0 ? leading : leading.slice(0, last + 1);
  const open = [...tests.keys()].filter((condition) => !held.includes(condition));
  const covering = coveringOf(places, asked, [...tests, ...present]);
  const isHeld = last < 0 && leading.length === places.length && open.length === 0;
  return {
    definition: definitionOf(index),
    order: orderName(asked, plan),
    descending: plan.descending,
    leading,
    length: places.length,
    tests,
    open,
    present,
    project: asked.project,
    isPoint: isHeld && present.length === 0 && covering === undefined,
    covering,
  };
}

/** `undefined` if documents have to be read, for what is tested or for what is answered. */
function coveringOf(
  places: readonly string[],
  { request }: Find,
  tested: readonly Covered[],
): Covering | undefined {
  const fields = projectedPaths(request.fields)?.map(
    (path): Covered => ({ path, at: placeOf(path, places) }),
  );
  if (fields === undefined) return undefined;
  const all = [...tested, ...fields].map(({ at }) => at);
  return all.includes(ELSEWHERE) ? undefined : { fields, last: Math.max(...all) };
}

export const ID = -1;
const ELSEWHERE = -2;

function placeOf(path: readonly string[], places: readonly string[]): number {
  if (path.length === 1 && path[0] === '_id') return ID;
  // Rows know of conflicts, which the documents of an answer show only if they are asked for.
  if (path[0]!.startsWith('_') && path[0] !== '_rev') return ELSEWHERE;
  const at = places.indexOf(pathKey(path));
  return at < 0 ? ELSEWHERE : at;
}

/** The rows that can match: the range that `accessOf` finds for these conditions. */
export function rangeFor({ leading, length, tests }: Prepared, values: readonly Json[]): IndexRange {
  const prefix: Json[] = [];
  for (const condition of leading) {
    const interval = condition < 0 ? ALL[0]! : intervalOf(tests[condition]!.operator, values[condition]!);
    if (interval !== undefined) return rangeWithin(prefix, interval, length);
    prefix.push(values[condition]!);
  }
  return exactRange(prefix, length);
}

/** @returns undefined for the value alone */
function intervalOf(operator: Comparison, key: Json): Interval | undefined {
  switch (operator) {
    case '$eq':
      return undefined;
    case '$gt':
      return { from: { key, inclusive: false } };
    case '$gte':
      return { from: { key, inclusive: true } };
    case '$lt':
      return { to: { key, inclusive: false } };
    default:
      return { to: { key, inclusive: true } };
  }
}
