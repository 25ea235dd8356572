/** Options of queries: checked, and brought into one form. */
import {
  badRequest,
  checkDocIds,
  checkedNumber,
  checkedUpdate,
  compareKeys,
  type DatabaseError,
  isDescending,
  type Json,
  normalizeKeys,
  queryParseError,
  type ViewKey,
  type ViewOptions,
} from '@settledb/core';
import type { IndexRange } from './index-reader';

/** A level at which groups are made by whole keys. */
const EXACT_LEVEL = 999;

export interface QueryPlan {
  /** One, or one for each of `keys`, in the order in which their rows are answered. */
  readonly ranges: readonly IndexRange[];
  readonly byKeys: boolean;
  readonly descending: boolean;
  readonly skip: number;
  readonly limit: number | undefined;
  readonly update: boolean | 'lazy';
  /** See `Grouping`. */
  readonly level: number;
  readonly grouped: boolean;
}

/** @throws DatabaseError 400 `query_parse_error` */
export function planQuery(options: ViewOptions): QueryPlan {
  const given = checkedNumber('group_level', options.group_level) ?? (options.group ? EXACT_LEVEL : 0);
  const level = given >= EXACT_LEVEL ? Number.POSITIVE_INFINITY : given;
  checkDocIds(options);
  const descending = isDescending(options);
  const keys = keysOf(options);
  return {
    ranges: keys === undefined ? [rangeOf(options, descending)] : keyRanges(keys, descending),
    byKeys: keys !== undefined,
    descending,
    skip: checkedNumber('skip', options.skip) ?? 0,
    limit: checkedNumber('limit', options.limit),
    update: checkedUpdate(options),
    level,
    grouped: level > 0,
  };
}

/** @throws DatabaseError 400 for options that a reduced view does not allow */
export function checkReduced(options: ViewOptions, { grouped }: QueryPlan): void {
  if (options.include_docs) throw queryParseError('`include_docs` is invalid for reduce');
  if ((options.keys?.length ?? 0) > 1 && !grouped)
    throw queryParseError('Multi-key fetches for reduce views must use `group=true`');
}

function keysOf(options: ViewOptions): readonly Json[] | undefined {
  const { keys } = options;
  if (keys === undefined) return undefined;
  if (!Array.isArray(keys)) throw badRequest('`keys` member must be an array.');
  for (const name of ['key', 'startkey', 'start_key', 'endkey', 'end_key'] as const)
    if (options[name] !== undefined)
      throw queryParseError('`keys` is incompatible with `key`, `start_key` and `end_key`');
  return normalizeKeys(keys);
}

/** Like CouchDB: descending also takes the list from its end. */
function keyRanges(keys: readonly Json[], descending: boolean): IndexRange[] {
  const ordered = descending ? [...keys].reverse() : keys;
  return ordered.map((key) => ({ from: { key, inclusive: true }, to: { key, inclusive: true } }));
}

function rangeOf(options: ViewOptions, descending: boolean): IndexRange {
  const { key, startkey, start_key, endkey, end_key, startkey_docid, endkey_docid } = options;
  const isKey = key !== undefined;
  // `null` is a key; only `undefined` gives way to the other name.
  const start = bound(isKey ? key : startkey !== undefined ? startkey : start_key, startkey_docid, true);
  const inclusive =
    isKey || (options.inclusive_end !== false && (options.inclusive_end as unknown) !== 'false');
  const end = bound(isKey ? key : endkey !== undefined ? endkey : end_key, endkey_docid, inclusive);
  const [from, to] = descending ? [end, start] : [start, end];
  if (from !== undefined && to !== undefined && compareKeys(from.key, to.key) > 0) throw noRows(descending);
  return { ...(from && { from }), ...(to && { to }) };
}

function bound(key: ViewKey, id: string | undefined, inclusive: boolean): IndexRange['from'] {
  if (key === undefined) return undefined;
  return { key, inclusive, ...(id == null ? {} : { id }) };
}

const noRows = (descending: boolean): DatabaseError =>
  queryParseError(
    `No rows can match your key range, reverse your start_key and end_key or set descending=${!descending}`,
  );
