/** Which selectors a server runs for users who are not server administrators: a document is tested in one go, which nothing can stop. */
import { badRequest, EFFORT, type Effort } from '@settledb/core';
import { isServerAdmin } from './server-access';
import type { Context } from './server-context';
import { AMONG, DocEffort, WITHIN } from './server-effort';
import { membersOf } from './server-json';
import { refusePatterns, takePatterns } from './server-regex';

/**
 * Conditions on elements in one request. Each may be tested on each element, and a list may have millions: 20,000 conditions on 50,000
 * elements blocked the server for minutes. Any number of values in an `$in` are one condition, and take no longer than one.
 */
const MAX_ON_ELEMENTS = 500;

/** Go through the elements, or the names of an object. */
const ON_ELEMENTS: ReadonlySet<string> = new Set([...AMONG, ...WITHIN]);

/**
 * Makes a selector of a request such that it may be run.
 *
 * @returns options to be given with it @throws bad_request for what the server does not run for this user
 */
export function takeSelector(context: Context, selector: unknown): { readonly [EFFORT]?: Effort } {
  if (isServerAdmin(context.user)) return {};
  checkOnElements(context, selector);
  const effort = new DocEffort();
  takePatterns(context, selector, effort);
  return { [EFFORT]: effort };
}

/** @throws bad_request for what the server does not store for this user, in selectors anywhere in `value`, a definition of indexes */
export function checkSelectors(context: Context, value: unknown): void {
  checkOnElements(context, value);
  refusePatterns(context, value);
}

function checkOnElements({ user }: Context, value: unknown): void {
  if (isServerAdmin(user) || conditionsOnElements(value) <= MAX_ON_ELEMENTS) return;
  throw badRequest(
    `This server takes no more than ${MAX_ON_ELEMENTS} conditions on the elements of lists at a time: say $in where it is one of many values`,
  );
}

/** How many there are: the operators themselves, and what stands within them. */
function conditionsOnElements(value: unknown): number {
  let count = 0;
  const within: unknown[] = [];
  for (const [name, inner] of membersOf(value, ON_ELEMENTS)) {
    if (!ON_ELEMENTS.has(name)) continue;
    count++;
    if (!AMONG.has(name)) within.push(inner);
  }
  for (const _ of membersOf(within, AMONG)) count++;
  return count;
}
