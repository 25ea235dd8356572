/** Functions that a program gives the server to call: their answers are checked, and errors of its logger are ignored. */
import { isLate, isTexts } from '@settledb/core';
import type { Person } from './server-auth';

export interface Logger {
  /** Gets one line per request. */
  info?(line: string): void;
  /** Gets the server's own failures, with their cause. */
  error?(line: string, cause: unknown): void;
}

/** Clients are not told what failed where on this machine, so somebody must be. */
const TO_CONSOLE: Logger = { error: (line, cause) => console.error(`settledb: ${line}:`, cause) };

/** Calls the logger. */
export function log(
  logger: Logger = TO_CONSOLE,
  ...said: [info: string] | [error: string, cause: unknown]
): void {
  try {
    const told: unknown = said.length === 1 ? logger.info?.(...said) : logger.error?.(...said);
    isLate(told); // then nobody hears what it comes to
  } catch {
    // Nobody is left to tell, and the work that the line is about was done.
  }
}

/** @returns undefined for `null` too, which many functions return if there is no user. @throws TypeError for anything else */
export function personOf(given: unknown): Person | undefined {
  if (given === undefined || given === null) return undefined;
  const { name, roles } = given as Partial<Person>;
  if (typeof name !== 'string' || !isTexts(roles))
    throw new TypeError(`authenticate must give { name, roles: [] } or undefined, not ${kindOf(given)}`);
  return { name, roles };
}

/** @returns undefined for `null` too. @throws TypeError for a value that cannot be sent */
export function pageOf(given: unknown): Response | undefined {
  if (given === undefined || given === null) return undefined;
  // Not checked by its class, because a program may use another one.
  const page = given as Response;
  if (typeof page.status !== 'number' || typeof page.headers !== 'object')
    throw new TypeError('static must give a Response or undefined');
  if (page.bodyUsed || page.body?.locked)
    throw new TypeError('static gave a Response that was given before: it can be read only once');
  return page;
}

/** Says no more than the type: the value may be a secret. */
const kindOf = (given: unknown): string =>
  typeof given === 'object'
    ? `an object with ${Object.keys(given as object).join(', ') || 'nothing'}`
    : `a ${typeof given}`;
