/**
 * Functions that filter changes, for local and remote databases: their names, and what they say of a document. In design documents they are
 * named `ddoc/name`, or `name` for `name/name`.
 */
import { badRequest, thrownText } from '../model/errors';
import { isPromise } from '../model/kinds';
import type { ExistingDoc } from '../model/types';
import type { FilterFunction } from './database';

export const isFunctionName = (name: unknown): boolean =>
  typeof name === 'string' && /^[^/]+(\/[^/]+)?$/.test(name);

export function functionName(text: string): { readonly ddoc: string; readonly name: string } {
  const [ddoc = '', name = ddoc] = text.split('/');
  return { ddoc, name };
}

/** The name in its long form, which is the same for both. */
export const longName = (name: string): string => (name.includes('/') ? name : `${name}/${name}`);

type Doc = ExistingDoc<Record<string, unknown>>;

/** What a filter says. @throws bad_request when the function throws, or is async: a promise counts as true, and every document would pass */
export function verdict(filter: FilterFunction, doc: Doc, query?: Record<string, unknown>): boolean {
  let said: unknown;
  try {
    said = filter(doc, { query: query ?? {} });
  } catch (error) {
    throw badRequest(`Filter function threw: ${thrownText(error)}`, error);
  }
  if (!isLate(said)) return Boolean(said);
  throw badRequest('Filter function returned a promise: it must say at once whether the document passes');
}

/** Whether a function that should answer at once was async. What its promise comes to does not matter then: nobody need handle it. */
export function isLate(said: unknown): boolean {
  if (!isPromise(said)) return false;
  Promise.resolve(said).catch(() => {});
  return true;
}
