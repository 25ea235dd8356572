/** Lists of fields with directions, as `createIndex` and `sort` take them. */
import { DatabaseError, fieldPath, isGroup, show } from '@settledb/core';
import type { IndexField } from './mango-index';

/** 400 in CouchDB's words. */
export const invalid = (name: string, reason: string): DatabaseError =>
  new DatabaseError({ status: 400, name, reason });

/** @throws DatabaseError 400 `invalid_sort_json`, `invalid_sort_field` */
export function checkFields(list: unknown): IndexField[] {
  if (!Array.isArray(list))
    throw invalid('invalid_sort_json', `Sort must be an array of sort specs, not: ${show(list)}`);
  return list.map(checkField);
}

function checkField(given: unknown): IndexField {
  if (typeof given === 'string' && given !== '') return { name: given, direction: 'asc' };
  const members = isGroup(given) ? Object.entries(given) : [];
  const [entry, ...more] = members.filter(([, direction]) => direction !== undefined);
  if (entry !== undefined && more.length === 0 && entry[0] !== '') {
    const [name, direction] = entry;
    if (direction === 'asc' || direction === 'desc') return { name, direction };
  }
  throw invalid('invalid_sort_field', `Invalid sort field: ${show(given ?? null)}`);
}

/** A path that a sort goes by. */
export interface SortPath {
  readonly path: readonly string[];
  readonly descending: boolean;
}

export const sortPathsOf = (fields: readonly IndexField[]): SortPath[] =>
  fields.map(({ name, direction }) => ({ path: fieldPath(name), descending: direction === 'desc' }));
