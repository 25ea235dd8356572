/** What a filter function says of a document, the same for databases here and behind a URL. */
import { badRequest, thrownText } from '../model/errors';
import { isPromise } from '../model/kinds';
import type { ExistingDoc } from '../model/types';
import type { FilterFunction } from './database';

type Doc = ExistingDoc<Record<string, unknown>>;

/** @throws bad_request when the function throws, or is async: a promise counts as true, and every document would pass */
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
