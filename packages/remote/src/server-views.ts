/** `_view`: options, and answers whose rows are written as they are taken. */
import {
  badRequest,
  type Json,
  type Queries,
  queryParseError,
  toKey,
  type ViewKey,
  type ViewOptions,
  type ViewResult,
  type ViewRow,
  withDocs,
} from '@settledb/core';
import type { Answer } from './server-answer';
import { readObject, upTo } from './server-body';
import type { DatabaseContext } from './server-context';
import { Options } from './server-options';
import { portionsOf } from './server-portions';
import type { Query } from './server-query';
import { rowsWithData, withoutLarge } from './server-row-data';
import { beginning, FIRST, lineOf, written } from './server-rows';
import { AFTER_ROWS, gatheredResponse, severalResponse, type Text } from './server-several';

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
  const body = request.method === 'POST' ? await readObject(request, upTo(server)) : {};
  const list = (options: Asked): Text => viewText(context, queries, name, options);
  if (several || body.queries !== undefined) {
    // What is wrong with the view is said also where nothing is asked of it.
    if (Array.isArray(body.queries) && body.queries.length === 0)
      await queries.queries?.(name, [], { signal: request.signal });
    // One by one, not by `queries.queries`: each list is sent before the next is made.
    return severalResponse(body.queries, (each) => list(viewOptions(query, each)));
  }
  return gatheredResponse(lineOf(list(viewOptions(query, inQuery(query, body)))));
}

/** Keys that are looked up at a time: a request may have millions, which would block the server for as long as a minute. */
const KEYS_AT_ONCE = 1_000;

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
  const { include_docs, keys = [] } = options;
  const rest = { ...options, signal };
  const isSeveral = keys.length > 1;
  // What is wrong with the options as they are: for instance two keys without `group`, or documents of a reduced view.
  if (include_docs || isSeveral)
    await queries.query(name, { ...rest, ...(isSeveral && { keys: keys.slice(0, 2) }), limit: 0 });
  const ask: Ask = (some) => queries.query(name, { ...rest, include_docs: false, ...some });
  const lists = isSeveral ? keyedLists(ask, keys, options) : [await ask({})];
  let isBegun = false;
  let areFirst = true;
  for await (const { rows, ...about } of lists) {
    if (!isBegun) yield beginning(about);
    isBegun = true;
    if (include_docs) {
      for (const some of portions(rows as Iterable<Required<ViewRow>>, FIRST)) {
        const found = await withDocs(database, some, withoutLarge(rest));
        yield* rest.attachments === true
          ? rowsWithData(database, found, areFirst, rest)
          : written(found, areFirst);
        areFirst = false;
      }
    } else
      for (const piece of written(rows, areFirst)) {
        yield piece;
        areFirst &&= piece === '';
      }
  }
  yield AFTER_ROWS;
}

type Ask = (some: ViewOptions) => Promise<ViewResult>;
/** Rows to be read once, before the next list is asked for. */
type Rows = Omit<ViewResult, 'rows'> & { readonly rows: Iterable<ViewRow> };

/** The list of `keys` in parts, each of some keys. What the first says of the view is true of the whole list. */
async function* keyedLists(
  ask: Ask,
  keys: readonly Json[],
  options: Asked,
): AsyncGenerator<Rows, void, void> {
  const { skip = 0, limit = Number.POSITIVE_INFINITY } = options;
  const room: Room = { skip, left: limit };
  for await (const some of portionsOf(inOrder(keys, options), KEYS_AT_ONCE)) {
    const canRepeat = isExpandable(options);
    const asked = inOrder(canRepeat ? distinctOf(some) : some, options);
    const most = options.limit && { limit: room.skip + room.left };
    const { rows, ...about } = await ask({ keys: asked, skip: 0, ...most });
    const all = canRepeat ? repeated(rows, some) : [rows];
    yield { ...about, ...('offset' in about && { offset: skip }), rows: within(room, all) };
    if (room.left <= 0) return;
  }
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

/** The rows of distinct keys as those of each of `keys`, which are in the order of the answer. */
function* repeated(rows: readonly ViewRow[], keys: readonly Json[]): Generator<ViewRow[], void, void> {
  const byKey = new Map<string, ViewRow[]>();
  for (const row of rows) {
    const key = toKey(row.key);
    const others = byKey.get(key);
    if (others === undefined) byKey.set(key, [row]);
    else others.push(row);
  }
  for (const key of keys) yield byKey.get(toKey(key)) ?? [];
}

/** How many rows are still to be left out, and how many to be given. */
interface Room {
  skip: number;
  left: number;
}

function* within(room: Room, groups: Iterable<readonly ViewRow[]>): Generator<ViewRow, void, void> {
  for (const rows of groups) {
    for (let at = Math.min(room.skip, rows.length); at < rows.length; at++) {
      if (room.left <= 0) return;
      room.left--;
      yield rows[at]!;
    }
    room.skip = Math.max(room.skip - rows.length, 0);
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
