/**
 * Values as JSON text for storing, such that every engine can write, send and read it again.
 */
import { badRequest, type DatabaseError, whyOf } from './errors';

/**
 * Most lists and objects within one another. Some engines write any depth and some overflow their stack at a few thousand, so that
 * one could store a document that another could not send on. CouchDB takes 1,000 and more.
 */
export const MAX_DEPTH = 2000;

/**
 * The JSON text of a value; `undefined` where JSON has none.
 *
 * @throws DatabaseError 400, with the cause, for BigInt, cycles and nesting deeper than {@link MAX_DEPTH}
 */
export function toJson(value: unknown): string | undefined {
  const text = writtenJson(value);
  if (text !== undefined && isTooDeep(text))
    throw unwritable(new RangeError(`nested deeper than ${MAX_DEPTH}`));
  return text;
}

/** As {@link toJson}, for any depth that the engine can write. */
export function writtenJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw unwritable(cause);
  }
}

function unwritable(cause: unknown): DatabaseError {
  return badRequest(`Cannot be written as JSON: ${whyOf(cause)}`, cause);
}

function isTooDeep(text: string): boolean {
  // Cheap tests first: nearly every document is too short, or has too few brackets.
  return (
    text.length > 2 * MAX_DEPTH && count(text, '[') + count(text, '{') > MAX_DEPTH && depth(text) > MAX_DEPTH
  );
}

/** How often a character occurs, in strings or not; stops once it is more than {@link MAX_DEPTH}. */
function count(text: string, character: string): number {
  let found = 0;
  for (
    let at = text.indexOf(character);
    at >= 0 && found <= MAX_DEPTH;
    at = text.indexOf(character, at + 1)
  ) {
    found++;
  }
  return found;
}

/** The nesting of well-formed JSON. */
function depth(text: string): number {
  let deepest = 0;
  let level = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (quoted) {
      if (character === '\\') at++;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === '[' || character === '{') deepest = Math.max(deepest, ++level);
    else if (character === ']' || character === '}') level--;
  }
  return deepest;
}
