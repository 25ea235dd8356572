/** `_view`: options, and answers whose rows are written as they are taken. */
import {
  badRequest,
  type Json,
  type Queries,
  queryParseError,
  toKey,
  type ViewKey,
  type ViewOptions,
  type ViewRow,
  withDocs,
} from '@settledb/core';
import type { Answer } from './server-answer';
import { readObject } from './server-body';
import type { DatabaseContext } from './server-context';
import { Options } from './server-options';
import type { Query } from './server-query';
import { rowsWithData } from './server-row-data';
import { beginning, FIRST, lineOf, type Text, written } from './server-rows';
import { gatheredResponse, type List, MAX_QUERIES, severalResponse } from './server-several';
import { isObject } from './wire';

/** Numbers are numbers here. */
type Asked = ViewOptions & { readonly skip?: number | undefined; readonly limit?: number | undefined };

/** @param several whether the path asks for several lists, as a body with `queries` does */
export async function view(
  context: DatabaseContext,
  queries: Queries,
  name: string,
  several: boolean,
): Promise<Answer> {
  const { query, request, server } = context;
  const body = request.method === 'POST' ? await readObject(request, { limit: server.limits.request }) : {};
  if (!several && body.queries === undefined)
    return gatheredResponse(
      lineOf(viewText(context, queries, name, viewOptions(query, inQuery(query, body)))),
    );
  if (!Array.isArray(body.queries)) throw badRequest('`queries` member must be an array.');
  if (body.queries.length > MAX_QUERIES) throw badRequest(`At most ${MAX_QUERIES} queries at a time`);
  const all = body.queries.map((each: unknown) => {
    if (!isObject(each)) throw badRequest('A query must be an object');
    return viewOptions(query, each);
  });
  // One by one, not by `queries.queries`: each list is sent before the next is made.
  async function* lists(): AsyncGenerator<List, void, void> {
    for (const options of all) yield viewText(context, queries, name, options);
  }
  return severalResponse(lists());
}

/**
 * One list. A key may be repeated, and many rows may name one document: neither the rows of a repeated key nor more than a few documents
 * are held at a time.
 */
async function* viewText(
  { database, request }: DatabaseContext,
  queries: Queries,
  name: string,
  options: Asked,
): Text {
  const { signal } = request;
  const { include_docs, keys, skip = 0, limit = Number.POSITIVE_INFINITY } = options;
  const rest = { ...options, signal };
  const ordered = keys && inOrder(keys, options);
  const distinct = ordered && isExpandable(options) ? distinctOf(ordered) : ordered;
  const isRepeated = distinct?.length !== keys?.length;
  // What is wrong with the options as they are: for instance two keys without `group`, or documents of a reduced view.
  if (isRepeated || include_docs) await queries.query(name, { ...rest, limit: 0 });
  const bare = { ...rest, include_docs: false };
  const room = isRepeated
    ? { keys: inOrder(distinct!, options), skip: 0, limit: options.limit && skip + limit }
    : {};
  const { rows, ...about } = await queries.query(name, { ...bare, ...room });
  yield beginning(isRepeated && 'offset' in about ? { ...about, offset: skip } : about);
  const all = isRepeated ? repeated(rows, ordered!, options) : rows;
  if (!include_docs) yield* written(all, true);
  else {
    const { attachments, ...stubs } = rest;
    let areFirst = true;
    for (const some of portions(all as Iterable<Required<ViewRow>>, attachments === true ? 1 : FIRST)) {
      const found = await withDocs(database, some, stubs);
      yield* attachments === true ? rowsWithData(database, found, areFirst, rest) : written(found, areFirst);
      areFirst = false;
    }
  }
  yield ']}';
}

/** Descending also takes the list of keys from its end. */
const inOrder = (keys: readonly Json[], { descending }: ViewOptions): readonly Json[] =>
  descending ? [...keys].reverse() : keys;

/** Whether rows belong to a key that is asked for. Groups of less than whole keys are one for each, so they can be repeated. */
const isExpandable = ({ group_level, reduce }: ViewOptions): boolean =>
  group_level === undefined || reduce === false;

function distinctOf(keys: readonly Json[]): Json[] {
  return [...new Map(keys.map((key) => [toKey(key), key])).values()];
}

/** The rows of distinct keys as those of `keys`, cut by `skip` and `limit`. @param keys in the order of the answer */
function* repeated(
  rows: readonly ViewRow[],
  keys: readonly Json[],
  { skip = 0, limit = Number.POSITIVE_INFINITY }: Asked,
): Generator<ViewRow, void, void> {
  const byKey = new Map<string, ViewRow[]>();
  for (const row of rows) {
    const key = toKey(row.key);
    const others = byKey.get(key);
    if (others === undefined) byKey.set(key, [row]);
    else others.push(row);
  }
  let before = skip;
  let left = limit;
  for (const key of keys) {
    const found = byKey.get(toKey(key)) ?? [];
    for (let at = Math.min(before, found.length); at < found.length; at++) {
      if (left-- <= 0) return;
      yield found[at]!;
    }
    before = Math.max(before - found.length, 0);
  }
}

function* portions<T>(items: Iterable<T>, size: number): Generator<T[], void, void> {
  let some: T[] = [];
  for (const item of items) {
    some.push(item);
    if (some.length < size) continue;
    yield some;
    some = [];
  }
  if (some.length > 0) yield some;
}

/** For a view, unlike `_all_docs`, an option in the URL wins over the same option in the body. */
const inQuery = (query: Query, body: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(body).filter(([name]) => query.text(name) === undefined));

/** @throws query_parse_error, bad_request */
function viewOptions(query: Query, body: Readonly<Record<string, unknown>>): Asked {
  const options = new Options(query, body);
  const keys = options.json('keys');
  if (keys !== undefined && !Array.isArray(keys)) throw badRequest('`keys` member must be an array.');
  const update = options.text('update');
  if (update !== undefined && !['true', 'false', 'lazy'].includes(update))
    throw queryParseError(`Invalid value for \`update\`.`);
  const stale = options.text('stale');
  if (stale !== undefined && stale !== 'ok' && stale !== 'update_after')
    throw queryParseError('Invalid value for `stale`.');
  return {
    key: options.json('key') as ViewKey,
    keys: keys as readonly never[] | undefined,
    startkey: options.json('startkey', 'start_key') as ViewKey,
    endkey: options.json('endkey', 'end_key') as ViewKey,
    startkey_docid: options.text('startkey_docid', 'start_key_doc_id'),
    endkey_docid: options.text('endkey_docid', 'end_key_doc_id'),
    inclusive_end: options.flag('inclusive_end'),
    descending: options.flag('descending'),
    limit: options.count('limit'),
    skip: options.count('skip'),
    reduce: options.flag('reduce'),
    group: options.flag('group'),
    group_level: options.count('group_level'),
    include_docs: options.flag('include_docs'),
    conflicts: options.flag('conflicts'),
    attachments: options.flag('attachments'),
    update_seq: options.flag('update_seq'),
    ...(update === undefined ? {} : { update: update === 'lazy' ? update : update === 'true' }),
    ...(stale === undefined ? {} : { stale }),
  };
}
