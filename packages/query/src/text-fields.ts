/**
 * Single fields out of the JSON of a document, without parsing all of it: an index by fields, and a find that reads
 * everything, need one or two of each, which is a tenth of the work.
 *
 * In JSON without escapes, a name of letters and digits between quotes is always a whole text, because what stands between a closing
 * and an opening quote is never only that. So searching for it finds all places where it can be a field; whatever is not plain there
 * is left to a caller that parses the document.
 */
import type { Json } from '@settledb/core';

/** The text does not tell: the document has to be parsed. */
export const UNTOLD = Symbol('untold');

/** Names that {@link textField} can look for. Fields that begin with `_` are not all in the text. */
const PLAIN_NAME = /^[a-z][\w]*$/i;

export const isPlainName = (name: string): boolean => PLAIN_NAME.test(name);

/** Whether {@link textField} may be asked about this JSON of an object. */
export const isUnescaped = (body: string): boolean => body.charCodeAt(0) === OPEN && body.indexOf('\\') < 0;

const SPACE = 32;
const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN = 123;
const CLOSE = 125;
const CLOSE_LIST = 93;

/**
 * The value of a field of the object itself, not of one within it, as `JSON.parse` would give it; `undefined` where there is none.
 *
 * @param body see {@link isUnescaped}
 * @param name a plain one, with the quote behind it
 * @returns {@link UNTOLD} for lists and objects, for a field that occurs twice, and if there are spaces between tokens
 */
export function textField(body: string, name: string): Exclude<Json, object> | undefined | typeof UNTOLD {
  let found = -1;
  let reached: Reached | undefined;
  // Searching for a quote first would take longer: every third or fourth character is one.
  for (let at = body.indexOf(name); at >= 0; at = body.indexOf(name, at + 1)) {
    const place = at - 1;
    if (body.charCodeAt(place) !== QUOTE) continue; // the end of a longer name
    const end = at + name.length;
    const next = body.charCodeAt(end);
    if (next === COMMA || next === CLOSE || next === CLOSE_LIST) continue; // a text of a list, or a value
    if (next !== COLON) return UNTOLD;
    if (reached !== undefined || mayBeWithin(body, place)) {
      reached ??= { at: 0, depth: 0, isText: false };
      if (depthAt(body, place, reached) > 1) continue;
    }
    if (found >= 0) return UNTOLD;
    found = end + 1;
  }
  return found < 0 ? undefined : valueAt(body, found);
}

/** Whether a place where a name begins can be in an object within the object: braces open before it and close behind it. */
function mayBeWithin(body: string, place: number): boolean {
  const open = body.indexOf('{', 1);
  return open >= 0 && open < place && body.indexOf('}', place) !== body.length - 1;
}

/** A place in a text, reached from its beginning. */
interface Reached {
  at: number;
  /** How deep in objects it is. */
  depth: number;
  isText: boolean;
}

/** Reads on to `place`: a text is read once for all of its places. @returns how deep in objects it is there */
function depthAt(body: string, place: number, reached: Reached): number {
  let { depth, isText } = reached;
  for (let at = reached.at; at < place; at++) {
    const code = body.charCodeAt(at);
    if (code === QUOTE) isText = !isText;
    else if (isText)
      continue; // A brace may stand within a text.
    else if (code === OPEN) depth++;
    else if (code === CLOSE) depth--;
  }
  reached.at = place;
  reached.depth = depth;
  reached.isText = isText;
  return depth;
}

function valueAt(body: string, at: number): Exclude<Json, object> | typeof UNTOLD {
  const first = body[at] as string;
  if (first === '"') return body.slice(at + 1, body.indexOf('"', at + 1));
  if (first === 't') return true;
  if (first === 'f') return false;
  if (first === 'n') return null;
  if (first !== '-' && !(first >= '0' && first <= '9')) return UNTOLD;
  for (let end = at + 1; ; end++) {
    const code = body.charCodeAt(end);
    if (code === COMMA || code === CLOSE) return Number(body.slice(at, end));
    if (!(code > SPACE)) return UNTOLD;
  }
}
