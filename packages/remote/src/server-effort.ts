/**
 * How much a selector of somebody else may ask of one document, which is tested in one go: nothing can stop that, and all others wait.
 *
 * What a test does is counted while it does it, in steps of some 50 ns. So the bound does not depend on how busy the machine is, and is met only
 * where a very large document meets very many conditions, or a pattern that was made for it.
 */
import { badRequest, type Effort } from '@settledb/core';

/** Steps for one document: about a second. A list of a million numbers may have some twenty conditions on its elements. */
const MAX_STEPS = 20_000_000;
/** Steps for a value within a list or an object that is compared: keys are made of it. */
const STEPS_OF_INNER = 8;
/** As how many values the member of an object counts: to list the names of a large one takes half a µs for each. */
const VALUES_OF_MEMBER = 3;
/** Characters that are compared in a step. */
const LENGTH_OF_STEP = 8;

/** Go through a list with a set of values. */
export const AMONG: ReadonlySet<string> = new Set(['$in', '$nin', '$all']);
/** Go through the elements of a list, or the names of an object, with conditions. */
export const WITHIN: ReadonlySet<string> = new Set(['$elemMatch', '$allMatch', '$keyMapMatch']);

export class DocEffort implements Effort {
  #left = 0;
  #doc: object = {};
  /** Of lists and objects within the document: many conditions may ask for one. */
  readonly #sizes = new WeakMap<object, number>();
  readonly #names = new WeakMap<object, number>();

  begin(doc: object): void {
    this.#left = MAX_STEPS;
    this.#doc = doc;
  }

  /** @throws bad_request if there were too many */
  readonly spend = (steps: number): void => {
    this.#left -= steps;
    if (this.#left < 0) throw tooMuch(this.#doc);
  };

  of(operator: string, given: unknown): (value: unknown) => void {
    // What is asked of elements and names is counted with each of them.
    if (WITHIN.has(operator)) return (value) => this.spend(1 + this.#stepsOfNames(value));
    const comparesInner = AMONG.has(operator)
      ? Array.isArray(given) && given.some(isNested)
      : isNested(given) && operator !== '$mod';
    if (comparesInner)
      return (value) => this.spend(1 + (isNested(value) ? STEPS_OF_INNER * this.#sizeOf(value) : 0));
    return (value) => this.spend(1 + (AMONG.has(operator) && Array.isArray(value) ? value.length : 0));
  }

  #stepsOfNames(value: unknown): number {
    if (!isNested(value) || Array.isArray(value)) return 0;
    return STEPS_OF_INNER * VALUES_OF_MEMBER * known(this.#names, value, () => Object.keys(value).length);
  }

  #sizeOf(value: object): number {
    return known(this.#sizes, value, () => this.#count(value));
  }

  /** The values in it, long texts as several. Looking at them is counted, too. */
  #count(value: object): number {
    let size = 0;
    const open: unknown[] = [value];
    while (open.length > 0) {
      const each = open.pop();
      const values = isNested(each) ? Object.values(each) : [];
      const own = values.length * (Array.isArray(each) ? 1 : VALUES_OF_MEMBER);
      const steps = 1 + own + (typeof each === 'string' ? each.length / LENGTH_OF_STEP : 0);
      size += steps;
      this.spend(steps);
      for (const inner of values) if (isNested(inner) || typeof inner === 'string') open.push(inner);
    }
    return size;
  }
}

const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null;

function known(counts: WeakMap<object, number>, value: object, count: () => number): number {
  const found = counts.get(value) ?? count();
  counts.set(value, found);
  return found;
}

function tooMuch(doc: object): Error {
  const { _id } = doc as { readonly _id?: unknown };
  return badRequest(
    `The selector asks for too much of the document ${JSON.stringify(_id)}: this server tests one for about a second`,
  );
}
