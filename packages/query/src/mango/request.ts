/** The request of a `find`: checked, with defaults, and with what follows from it. */
import {
  badRequest,
  checkedUpdate,
  checkSelector,
  compileSelector,
  type ExistingDoc,
  effortIn,
  type FindRequest,
  isGroup,
  type Selector,
  show,
} from '@settledb/core';
import { designId } from '../design';
import { type Bookmark, invalidBookmark, NO_BOOKMARK, readBookmark } from './bookmark';
import { checkFields, invalid, type SortPath, sortPathsOf } from './fields';
import type { IndexField } from './mango-index';
import { normalizeSelector, withIdRule } from './normalize';
import { type Project, projection } from './project';

/** Documents answered without a `limit`, as in CouchDB and PouchDB. */
export const DEFAULT_LIMIT = 25;

export interface Find {
  readonly request: FindRequest;
  /** Normalized. */
  readonly selector: Selector;
  /** The same with the rule of `_id`: what is planned and tested. */
  readonly exact: Selector;
  readonly matches: (doc: ExistingDoc<object>) => boolean;
  readonly sort: readonly SortPath[];
  readonly sortFields: readonly IndexField[];
  readonly limit: number;
  readonly skip: number;
  readonly project: Project;
  readonly bookmark: Bookmark | undefined;
  readonly useIndex: UseIndex | undefined;
}

export interface UseIndex {
  /** `_design/…`, perhaps with `/name` behind it; `null` for `_all_docs`. */
  readonly ddoc: string | null;
  readonly name?: string | undefined;
}

/** @throws DatabaseError 400 for whatever is wrong in it */
export function checkRequest(request: FindRequest): Find {
  if (!isGroup(request)) throw badRequest('You must provide search parameters to find()');
  if (request.selector === undefined) throw invalid('missing_required_key', 'Missing required key: selector');
  checkedUpdate({ update: request.update });
  const selector = normalizeSelector(checkSelector(request.selector));
  const exact = withIdRule(selector);
  const sortFields = request.sort === undefined ? [] : checkFields(request.sort);
  return {
    request,
    selector,
    exact,
    matches: compileSelector(exact, effortIn(request)),
    sort: sortPathsOf(sortFields),
    sortFields,
    limit: count('limit', request.limit, DEFAULT_LIMIT),
    skip: count('skip', request.skip, 0),
    project: projection(request.fields),
    bookmark: bookmarkOf(request.bookmark),
    useIndex: useIndexOf(request.use_index),
  };
}

function count(name: string, given: unknown, otherwise: number): number {
  if (given === undefined) return otherwise;
  if (Number.isInteger(given) && (given as number) >= 0) return given as number;
  throw invalid(`invalid_${name}_value`, `Invalid value for ${name}: ${show(given)}`);
}

function bookmarkOf(given: unknown): Bookmark | undefined {
  // As in CouchDB, null is no bookmark either.
  if (given === undefined || given === null || given === '') return undefined;
  if (given === NO_BOOKMARK) throw invalidBookmark(given);
  return readBookmark(given);
}

function useIndexOf(given: unknown): UseIndex | undefined {
  // As in CouchDB, null and an empty list name no index; as in PouchDB, neither does an empty text.
  if (given === undefined || given === null || given === '') return undefined;
  const [ddoc, name, ...more] = Array.isArray(given) ? given : [given];
  if (Array.isArray(given) && given.length === 0) return undefined;
  const wellFormed =
    typeof ddoc === 'string' && (name === undefined || typeof name === 'string') && more.length === 0;
  if (!wellFormed) throw invalid('invalid_index_name', `Invalid index name: ${show(given)}`);
  if (ddoc === '_all_docs') return { ddoc: null };
  return { ddoc: designId(ddoc), name };
}
