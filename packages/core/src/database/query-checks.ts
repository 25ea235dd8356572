/** What every database with views refuses alike, wherever it is. */
import { badRequest } from '../model/errors';
import { isGroup } from '../model/selector';
import type { ViewOptions } from './queries';

/** @throws bad_request where it is no list of options of queries */
export function checkQueries(queries: unknown): asserts queries is readonly ViewOptions[] {
  if (!Array.isArray(queries)) throw badRequest('`queries` member must be an array.');
  if (!queries.every(isGroup)) throw badRequest('A query must be an object');
}

/** Of a design document, without `_design/`. @throws bad_request */
export function designName(ddoc: unknown): string {
  if (typeof ddoc !== 'string') throw badRequest('The name of a design document must be text');
  return ddoc.replace(/^_design\//, '');
}

/**
 * A view by its name: `ddoc/view`, or `name` for `name/name`. All behind the first slash is the view's, as in PouchDB, where no design
 * document with a slash in its name can be asked.
 * @throws bad_request
 */
export function viewName(name: string): { readonly ddoc: string; readonly view: string } {
  const whole = designName(name);
  const slash = whole.indexOf('/');
  const [ddoc, view] = slash < 0 ? [whole, whole] : [whole.slice(0, slash), whole.slice(slash + 1)];
  if (ddoc === '' || view === '') throw badRequest('A query needs the name of a view');
  return { ddoc, view };
}
