/** What every database with views refuses, wherever it is. */
import { badRequest, type DatabaseError, queryParseError } from '../model/errors';
import { isGroup } from '../model/selector';
import { isCount } from './count';
import type { ViewOptions } from './queries';
import { show } from './show';

/** @throws bad_request unless it is a list of query options */
export function checkQueries(queries: unknown): asserts queries is readonly ViewOptions[] {
  if (!Array.isArray(queries)) throw badRequest('`queries` member must be an array.');
  if (!queries.every(isGroup)) throw badRequest('A query must be an object');
}

/** The name of a design document, without `_design/`. @throws bad_request */
export function designName(ddoc: unknown): string {
  if (typeof ddoc !== 'string') throw badRequest('The name of a design document must be text');
  return ddoc.replace(/^_design\//, '');
}

/**
 * A view by its name: `ddoc/view`, or `name` for `name/name`. Everything after the first slash is the view's name, as in PouchDB, so a
 * design document with a slash in its name cannot be queried.
 * @throws bad_request
 */
export function viewName(name: string): { readonly ddoc: string; readonly view: string } {
  const whole = designName(name);
  const slash = whole.indexOf('/');
  const [ddoc, view] = slash < 0 ? [whole, whole] : [whole.slice(0, slash), whole.slice(slash + 1)];
  if (ddoc === '' || view === '') throw badRequest('A query needs the name of a view');
  return { ddoc, view };
}

/** A count, which may be written as text; `undefined` if there is none, as also for `null`. @throws query_parse_error */
export function checkedNumber(name: string, value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (isCount(number)) return number;
  throw noNumber(name, value);
}

export const noNumber = (name: string, value: unknown): DatabaseError =>
  queryParseError(`Invalid value for integer: \`${name}\` must be a whole number from 0, not ${show(value)}`);

/** What `update` and `stale` together ask of a view or a find. @throws query_parse_error */
export function checkedUpdate({ stale, update }: Pick<ViewOptions, 'stale' | 'update'>): boolean | 'lazy' {
  if (update !== undefined && update !== null && typeof update !== 'boolean' && update !== 'lazy')
    throw queryParseError(`Invalid value for \`update\`: ${show(update)}`);
  if (stale === undefined || stale === null) return update ?? true;
  if (stale === 'ok') return false;
  if (stale === 'update_after') return 'lazy';
  throw queryParseError(`Invalid value for \`stale\`: ${show(stale)}`);
}

/**
 * Whether a stored view is to be reduced; `undefined` if not given. It has no other reduce than its own, here or behind a URL: if that
 * answered in place of another one, a program would take one number for another.
 * @throws query_parse_error
 */
export function checkedReduce({ reduce }: Pick<ViewOptions, 'reduce'>): boolean | undefined {
  if (reduce === undefined || reduce === null) return undefined;
  if (typeof reduce === 'boolean') return reduce;
  if (reduce === 'true' || reduce === 'false') return reduce === 'true';
  throw queryParseError(
    `Invalid value for \`reduce\`: of a stored view it is true or false, not ${show(reduce)}`,
  );
}

/** Checks where, among equal keys, a view begins and ends. @throws query_parse_error */
export function checkDocIds(options: Pick<ViewOptions, 'startkey_docid' | 'endkey_docid'>): void {
  for (const name of ['startkey_docid', 'endkey_docid'] as const) {
    const value: unknown = options[name];
    if (value !== undefined && value !== null && typeof value !== 'string')
      throw queryParseError(`\`${name}\` should be a string`);
  }
}

/** Any truthy value, as in PouchDB, except text that says the contrary. */
export const isDescending = ({ descending }: Pick<ViewOptions, 'descending'>): boolean =>
  Boolean(descending) && (descending as unknown) !== 'false';
