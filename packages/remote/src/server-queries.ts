/**
 * Views and indexes over HTTP: `_view`, `_info`, `_index`. The database decides what they mean; for a database without indexes the
 * answer is 501.
 */
import {
  badRequest,
  type CreateIndexRequest,
  type Database,
  notFound,
  notImplemented,
  type Queries,
  queryParseError,
  type ViewKey,
  type ViewOptions,
} from '@settledb/core';
import { requireAdmin } from './server-access';
import { type Answer, failure, jsonResponse, methodNotAllowed } from './server-answer';
import { checkJsonType, readObject } from './server-body';
import type { DatabaseContext, DatabaseRoute } from './server-context';
import { Options } from './server-options';
import type { Query } from './server-query';
import { checkPatterns } from './server-regex';
import { withSeqText } from './server-seq';
import { type List, MAX_QUERIES, severalResponse } from './server-several';
import { isObject, isTexts } from './wire';

/** Indexes that are no longer defined are dropped; a database without any has nothing to drop. */
export const viewCleanup: DatabaseRoute = async (context) => {
  requireAdmin(context);
  checkJsonType(context.request);
  const { database, server } = context;
  await ((await server.queries?.(database)) ?? (database as Partial<Queries>)).viewCleanup?.();
  return jsonResponse(202, { ok: true });
};

/** Indexes deleted by one request. */
const MAX_DELETED = 1_000;

/** @throws not_implemented */
export async function queriesOf({ database, server }: DatabaseContext): Promise<Queries> {
  const queries = (await server.queries?.(database)) ?? (database as Database & Partial<Queries>);
  if (typeof queries.query !== 'function' || typeof queries.find !== 'function')
    throw notImplemented('This server offers no views and no _find');
  return queries as Queries;
}

/** Paths below a design document that begin with `_`. @param path after `_design/name/` */
export async function designRoute(
  context: DatabaseContext,
  ddoc: string,
  path: readonly string[],
): Promise<Answer> {
  const [kind, name, more, ...rest] = path;
  const { method } = context.request;
  if (kind === '_info' && name === undefined)
    return method === 'GET' || method === 'HEAD' ? designInfo(context, ddoc) : methodNotAllowed(['GET']);
  if (
    kind === '_view' &&
    name !== undefined &&
    rest.length === 0 &&
    (more === undefined || more === 'queries')
  ) {
    if (more === 'queries' && method !== 'POST') return methodNotAllowed(['POST']);
    if (!/^(GET|HEAD|POST)$/.test(method)) return methodNotAllowed(['GET', 'HEAD', 'POST']);
    return view(context, `${ddoc}/${name}`, more === 'queries');
  }
  if (/^_(update|show|list|rewrite|search|nouveau|spatial)$/.test(kind!))
    throw notImplemented(`This server does not offer ${kind} of design documents`);
  throw notFound('Document is missing attachment');
}

/** Bytes are not counted, as for databases, and there is no collator. Clients in typed languages refuse an answer that lacks these. */
const UNCOUNTED = { sizes: { file: 0, external: 0, active: 0 }, collator_versions: [] };

async function designInfo(context: DatabaseContext, ddoc: string): Promise<Answer> {
  const { signal } = context.request;
  const queries = await queriesOf(context);
  if (queries.viewInfo === undefined)
    throw notImplemented('This database has no information about its views');
  const { name, view_index } = await queries.viewInfo(ddoc, { signal });
  return jsonResponse(200, { name, view_index: { ...UNCOUNTED, ...view_index } });
}

async function view(context: DatabaseContext, name: string, several: boolean): Promise<Answer> {
  const { query, request, server } = context;
  const queries = await queriesOf(context);
  const { signal } = request;
  const body = request.method === 'POST' ? await readObject(request, { limit: server.limits.request }) : {};
  if (!several && body.queries === undefined)
    return jsonResponse(
      200,
      withSeqText(await queries.query(name, { ...viewOptions(query, inQuery(query, body)), signal })),
    );
  if (!Array.isArray(body.queries)) throw badRequest('`queries` member must be an array.');
  if (body.queries.length > MAX_QUERIES) throw badRequest(`At most ${MAX_QUERIES} queries at a time`);
  const all = body.queries.map((each: unknown) => {
    if (!isObject(each)) throw badRequest('A query must be an object');
    return viewOptions(query, each);
  });
  // One by one, not by `queries.queries`: each list is sent before the next is made.
  async function* lists(): AsyncGenerator<List, void, void> {
    for (const options of all) yield withSeqText(await queries.query(name, { ...options, signal }));
  }
  return severalResponse(lists());
}

/** For a view, unlike `_all_docs`, an option in the URL wins over the same option in the body. */
const inQuery = (query: Query, body: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(body).filter(([name]) => query.text(name) === undefined));

/** @throws query_parse_error, bad_request */
function viewOptions(query: Query, body: Readonly<Record<string, unknown>>): ViewOptions {
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

export const listIndexes: DatabaseRoute = async (context) => {
  const { query, request } = context;
  const { total_rows, indexes } = await (await queriesOf(context)).getIndexes({ signal: request.signal });
  const skip = query.count('skip') ?? 0;
  const limit = query.count('limit') ?? indexes.length;
  return jsonResponse(200, { total_rows, indexes: indexes.slice(skip, skip + limit) });
};

export const createIndex: DatabaseRoute = async (context) => {
  requireAdmin(context);
  const { request, server } = context;
  const body = await readObject(request, { limit: server.limits.document });
  if (body.index === undefined) throw failure(400, 'missing_required_key', 'Missing required key: index');
  // Filters of partial indexes.
  checkPatterns(context, body);
  const index = body as unknown as CreateIndexRequest;
  return jsonResponse(200, await (await queriesOf(context)).createIndex(index, { signal: request.signal }));
};

export const deleteIndexes: DatabaseRoute = async (context) => {
  requireAdmin(context);
  const { request, server } = context;
  const { docids } = await readObject(request, { limit: server.limits.document });
  if (!isTexts(docids) || docids.length > MAX_DELETED) throw badRequest('`docids` must be a list of ids');
  const queries = await queriesOf(context);
  const { indexes } = await queries.getIndexes({ signal: request.signal });
  const success: unknown[] = [];
  const fail: unknown[] = [];
  for (const id of docids) {
    const own = indexes.filter(({ ddoc }) => ddoc === id || ddoc === `_design/${id}`);
    for (const index of own) await queries.deleteIndex(index);
    if (own.length > 0) success.push({ id, ok: true });
    else fail.push({ id, error: 'not_found' });
  }
  return jsonResponse(200, { success, fail });
};

/** `DELETE /db/_index/_design/ddoc/json/name`, with or without `_design`. */
export async function deleteIndex(context: DatabaseContext, path: readonly string[]): Promise<Answer> {
  const [ddoc, type, name, ...rest] = path[0] === '_design' ? path.slice(1) : path;
  if (ddoc === undefined || type === undefined || name === undefined || rest.length > 0) throw notFound();
  if (context.request.method !== 'DELETE') return methodNotAllowed(['DELETE']);
  requireAdmin(context);
  const index = { ddoc: ddoc.startsWith('_design/') ? ddoc : `_design/${ddoc}`, type, name };
  return jsonResponse(200, await (await queriesOf(context)).deleteIndex(index));
}
