/** JSON as a server accepts it: UTF-8, and no number that would silently become another. */
import { badRequest, tooLarge } from '@settledb/core';
import { endOfText } from './multipart-order';

/**
 * Whether a text may hold a number too large for JavaScript: it needs 210 digits or an exponent of three digits. Two patterns, of which
 * the second searches only where numbers begin: as one pattern, tried from every digit, they took longer than the parser.
 */
const HUGE_EXPONENT = /[eE]\+?\d{3}/;
const MANY_DIGITS = /(?:^|[:,[\s-])\d{210}/;

/**
 * Objects, lists and members in one text. Each takes up to 100 bytes once it is parsed, and half a µs: 32 MB of `{}` took a GB, and let all
 * others wait for seconds. Documents of 300 bytes with ten members have half of this in 32 MB.
 */
export const MAX_PARTS = 2_000_000;
const [QUOTE, COLON, LIST, OBJECT] = [34, 58, 91, 123];

/** @throws bad_request; also for numbers that would silently become another value; too_large for too many parts */
export function parseJson(text: string): unknown {
  // Nearly all texts are shorter than that many parts, or have so few where strings are not told apart, which takes half as long as parsing at most.
  if (text.length > MAX_PARTS && hasMore(text, false) && hasMore(text, true))
    throw tooLarge(`At most ${MAX_PARTS} objects, lists and members at a time`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw badRequest('invalid UTF-8 JSON', cause);
  }
  if ((HUGE_EXPONENT.test(text) || MANY_DIGITS.test(text)) && holdsInfinity(value))
    throw badRequest('invalid UTF-8 JSON');
  return value;
}

/** Whether it has more than {@link MAX_PARTS}. @param leavesOut what stands in strings */
function hasMore(text: string, leavesOut: boolean): boolean {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === COLON || char === LIST || char === OBJECT) count++;
    else if (leavesOut && char === QUOTE) at = endOfText(text, at);
  }
  return count > MAX_PARTS;
}

function holdsInfinity(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === Infinity || value === -Infinity;
  return Object.values(value).some(holdsInfinity);
}

/**
 * The members of all objects in JSON that may be of any depth, and have lists of millions, each with the object it belongs to.
 * @param closed names of those not gone into
 */
export function* membersOf(
  value: unknown,
  closed: ReadonlySet<string> = new Set(),
): Generator<[name: string, inner: unknown, holder: Record<string, unknown>], void, void> {
  const open: object[] = [];
  const add = (each: unknown): void => {
    if (typeof each === 'object' && each !== null) open.push(each);
  };
  add(value);
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    if (Array.isArray(each)) {
      for (const element of each) add(element);
      continue;
    }
    const holder = each as Record<string, unknown>;
    for (const name of Object.keys(holder)) {
      const inner = holder[name];
      yield [name, inner, holder];
      if (!closed.has(name)) add(inner);
    }
  }
}

/** A byte order mark is kept, and makes the JSON invalid; CouchDB refuses it as well. Texts are whole, so one decoder serves all. */
const STRICT_UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @throws bad_request */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return STRICT_UTF8.decode(bytes);
  } catch (cause) {
    throw badRequest('invalid UTF-8 JSON', cause);
  }
}

/** @throws bad_request */
export function parseUtf8Json(bytes: Uint8Array): unknown {
  return parseJson(decodeUtf8(bytes));
}
