/** The length of a document as JSON, without making that JSON: it is asked for every document that is transferred. */

/** A document nested deeper cannot be written as JSON: engines do that by recursion, and bear some thousands of levels. */
const DEEPEST = 3000;
/** A number, a boolean or null, and a comma. */
const SCALAR = 8;

/** In characters, about: escapes are not counted. @returns `undefined` when `value` is nested too deep to be written */
export function lengthOf(value: unknown, depth = 0): number | undefined {
  if (typeof value === 'string') return value.length + 3;
  if (typeof value !== 'object' || value === null) return SCALAR;
  if (depth > DEEPEST) return undefined;
  return Array.isArray(value) ? lengthOfList(value, depth) : lengthOfMembers(value, depth);
}

function lengthOfMembers(value: object, depth: number): number | undefined {
  let length = 3;
  for (const key in value) {
    const one = lengthOf((value as Record<string, unknown>)[key], depth + 1);
    if (one === undefined) return undefined;
    length += one + key.length + 3;
  }
  return length;
}

function lengthOfList(list: readonly unknown[], depth: number): number | undefined {
  let length = 3;
  for (let i = 0; i < list.length; i++) {
    const one = lengthOf(list[i], depth + 1);
    if (one === undefined) return undefined;
    length += one;
  }
  return length;
}
