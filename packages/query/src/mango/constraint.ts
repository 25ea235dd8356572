/**
 * What a selector demands of each field separately, derived from its formula: whether it exists, and with which values.
 */
import { isGroup, type Selector } from '@settledb/core';
import { type FieldTest, type Formula, formulaOf } from './formula';
import { ALL, type Intervals, intersect, isAll, NONE, pointOf, union } from './interval';
import { operatorOf, points, scalars, spansOf } from './spans';

/** Rows of single elements of a list which, together with the plain rows, have all documents of a test. */
interface ElementAccess {
  readonly plain: Intervals;
  readonly elements: Intervals;
  /** Of the elements ({@link narrowness}). */
  readonly narrowness: number;
}

export interface Constraint {
  readonly path: readonly string[];
  /** The field may only be absent: then no index on it has the document. */
  readonly absent: boolean;
  /** Otherwise it exists, with one of these values. */
  readonly values: Intervals;
  /** Finds the same documents by the elements of lists. */
  readonly elements?: ElementAccess;
}

/** Constraints that all hold, by {@link pathKey}, and besides, one of the branches of each "or". */
export interface Conjunction {
  readonly fields: ReadonlyMap<string, Constraint>;
  readonly ors: readonly (readonly Conjunction[])[];
}

/**
 * Intervals of one field that are narrowed further. Each of many conditions on it may add one, and is compared with all of them:
 * 5,000 took 12 s.
 */
const MAX_NARROWED = 64;

/** Paths as keys of maps: names may hold any character. */
export const pathKey = (path: readonly string[]): string => JSON.stringify(path);

export function conjunctionOf(formula: Formula): Conjunction {
  const fields = new Map<string, Constraint>();
  const ors: (readonly Conjunction[])[] = [];
  collect(formula, fields, ors);
  return { fields, ors };
}

/** Both hold. */
export function joinedWith(one: Conjunction, other: Conjunction): Conjunction {
  const fields = new Map(one.fields);
  for (const constraint of other.fields.values()) add(fields, constraint);
  return { fields, ors: [...one.ors, ...other.ors] };
}

function collect(formula: Formula, fields: Map<string, Constraint>, ors: (readonly Conjunction[])[]): void {
  if (formula.kind === 'test') add(fields, constraintOf(formula));
  else if (formula.kind === 'and') for (const part of formula.parts) collect(part, fields, ors);
  else {
    const branches = formula.parts.map(conjunctionOf);
    ors.push(branches);
    for (const constraint of commonTo(branches)) add(fields, constraint);
  }
}

function constraintOf(test: FieldTest): Constraint {
  const { path, operator, value, negated } = test;
  if (operator === '$exists') return { path, absent: value === negated, values: ALL };
  const elements = elementAccessOf(test);
  return { path, absent: false, values: spansOf(test), ...(elements && { elements }) };
}

/** Another way to find the documents of a test that looks into lists. */
function elementAccessOf(test: FieldTest): ElementAccess | undefined {
  const { value } = test;
  const name = operatorOf(test);
  if (name === '$in') return access(points(value as unknown[]), scalars(value as unknown[]));
  if (name === '$all') {
    const first = points((value as unknown[]).slice(0, 1));
    return access(first, first); // As an element; and a list that is given alone may be the whole value.
  }
  if (name !== '$elemMatch' || !isGroup(value)) return undefined;
  const element = conjunctionOf(formulaOf(value as Selector)).fields.get('[]');
  return element && access(element.values);
}

const access = (elements: Intervals, plain = NONE): ElementAccess => ({
  plain,
  elements,
  narrowness: narrowness(elements),
});

/** What holds for any branch: fields that every branch constrains, with the values of all branches. */
function commonTo(branches: readonly Conjunction[]): Constraint[] {
  const common: Constraint[] = [];
  for (const [key, { path }] of branches[0]?.fields ?? []) {
    const all: Constraint[] = [];
    for (const { fields } of branches) {
      const each = fields.get(key);
      if (each === undefined || each.absent) break;
      all.push(each);
    }
    if (all.length < branches.length) continue;
    common.push({ path, absent: false, values: union(all.flatMap(({ values }) => values)) });
  }
  return common;
}

function add(fields: Map<string, Constraint>, next: Constraint): void {
  const key = pathKey(next.path);
  const known = fields.get(key);
  fields.set(key, known === undefined ? next : merged(known, next));
}

function merged(one: Constraint, other: Constraint): Constraint {
  const values = narrowed(one.values, other.values);
  const elements = better(one.elements, other.elements);
  return {
    path: one.path,
    absent: one.absent || other.absent,
    values,
    ...(elements && { elements }),
  };
}

/** Intervals that hold all that is in both. */
function narrowed(some: Intervals, others: Intervals): Intervals {
  if (some.length <= MAX_NARROWED) return intersect(some, others);
  return others.length < some.length && narrowness(others) === 3 ? others : some;
}

/** Each has all documents; single values are likely to have fewer. */
function better(one: ElementAccess | undefined, other: ElementAccess | undefined): ElementAccess | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return other.narrowness > one.narrowness ? other : one;
}

/** How much intervals leave out: 0 nothing, 1 one side, 2 both sides, 3 all but single values. */
export function narrowness(intervals: Intervals): number {
  if (isAll(intervals)) return 0;
  if (intervals.every((each) => pointOf(each) !== undefined)) return 3;
  return intervals[0]?.from !== undefined && intervals.at(-1)?.to !== undefined ? 2 : 1;
}

/** The only value that a field can have, if it is constrained to one. */
export function fixedValue(constraint: Constraint | undefined): ReturnType<typeof pointOf> {
  if (constraint?.values.length !== 1) return undefined;
  return pointOf(constraint.values[0]!);
}
