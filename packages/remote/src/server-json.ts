/** JSON as a server takes it: UTF-8, and no number that would silently become another. */
import { badRequest } from '@settledb/core';

/**
 * Numbers that may be larger than any there is: 210 digits and an exponent of two are not. Two patterns, of which the second looks
 * where numbers begin only: as one, from any digit on, they took longer than the parser.
 */
const HUGE_EXPONENT = /[eE]\+?\d{3}/;
const MANY_DIGITS = /(?:^|[:,[\s-])\d{210}/;

/** @throws bad_request; also for numbers that would silently become another value */
export function parseJson(text: string): unknown {
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

function holdsInfinity(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === Infinity || value === -Infinity;
  return Object.values(value).some(holdsInfinity);
}

/** A byte order mark is kept, and is then no JSON; CouchDB refuses it as well. Texts are whole: one decoder serves all. */
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
