/**
 * Which patterns of `$regex` a server runs for which users.
 *
 * JavaScript matches patterns by trying, and cannot be stopped: `(a+)+$` on forty letters blocks the thread, and so the whole server,
 * for good. So patterns of those who are no server administrators are matched by {@link LinearRegExp}.
 */
import { badRequest } from '@settledb/core';
import { NotLinear } from './linear-program';
import { LinearRegExp } from './linear-regexp';
import { isServerAdmin } from './server-access';
import type { Context } from './server-context';
import type { DocEffort } from './server-effort';
import { membersOf } from './server-json';

/** `safe`: in time that grows no more than the text does; `any`: as JavaScript does; `none`. */
export type RegexPolicy = 'safe' | 'any' | 'none';
export const REGEX_POLICIES: readonly unknown[] = ['safe', 'any', 'none'];

/** Characters of a pattern. People hardly write longer ones. */
const MAX_PATTERN = 1_000;
/** Patterns in one request: each is tried on each document. */
const MAX_PATTERNS = 100;
/** What they are compared with is data, also if it has a member of that name. */
const VALUES: ReadonlySet<string> = new Set([
  '$eq',
  '$ne',
  '$lt',
  '$lte',
  '$gt',
  '$gte',
  '$in',
  '$nin',
  '$all',
]);
/** Options of the whole pattern at its front, as in CouchDB's. */
const OPTIONS = /^\(\?([ims]+)\)/;

/**
 * Puts what takes linear time in the place of each `$regex` in `value`, which is the request's own.
 * @throws bad_request for one that the server does not run for this user
 */
export function takePatterns({ user, server }: Context, value: unknown, effort: DocEffort): void {
  if (server.regex === 'any' || isServerAdmin(user)) return;
  let count = 0;
  for (const [name, pattern, holder] of membersOf(value, VALUES)) {
    if (name !== '$regex' || typeof pattern !== 'string') continue;
    if (server.regex === 'none') throw refused('This server takes no $regex');
    if (++count > MAX_PATTERNS)
      throw refused(`This server takes no more than ${MAX_PATTERNS} $regex at a time`);
    holder[name] = linear(pattern, effort);
  }
}

/** The same for what is stored, and run by others later, as text. @throws bad_request for any pattern */
export function refusePatterns({ user, server }: Context, value: unknown): void {
  if (server.regex === 'any' || isServerAdmin(user)) return;
  for (const [name] of membersOf(value, VALUES))
    if (name === '$regex') throw refused('This server stores no $regex of others than its administrators');
}

/** @returns the text itself if it is no pattern, which is reported when it is run */
function linear(text: string, effort: DocEffort): LinearRegExp | string {
  if (text.length > MAX_PATTERN) throw notTaken(text, `it is longer than ${MAX_PATTERN} characters`);
  const [start = '', options = ''] = OPTIONS.exec(text) ?? [];
  try {
    return new LinearRegExp(text.slice(start.length), [...new Set(options)].join(''), effort.spend);
  } catch (error) {
    if (error instanceof NotLinear) throw notTaken(text, error.message);
    return text;
  }
}

const notTaken = (pattern: string, why: string): Error =>
  refused(`This server does not take the $regex ${JSON.stringify(pattern.slice(0, 100))}: ${why}`);

const refused = (why: string): Error => badRequest(`${why}: see its option \`regex\``);
