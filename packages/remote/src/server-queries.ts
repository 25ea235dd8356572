/**
 * Views and indexes over HTTP: `_view`, `_info`, `_index`. The database decides what they mean; for a database without indexes the
 * answer is 501.
 */
import {
  badRequest,
  type CreateIndexRequest,
  isTexts,
  notFound,
  notImplemented,
  type Queries,
} from '@settledb/core';
import { requireAdmin } from './server-access';
import { type Answer, failure, jsonResponse, methodNotAllowed } from './server-answer';
import { readObject, upTo } from './server-body';
import type { DatabaseContext, DatabaseRoute } from './server-context';
import { checkSelectors } from './server-selector';
import { view } from './server-views';

/** Indexes that are no longer defined are dropped; a database without any has nothing to drop. No content type is asked for, as in CouchDB. */
export const viewCleanup: DatabaseRoute = async (context) => {
  requireAdmin(context);
  await (await offered(context)).viewCleanup?.();
  return jsonResponse(202, { ok: true });
};

/** Indexes deleted by one request. */
const MAX_DELETED = 1_000;

/** What answers queries about the database, as far as it can. */
const offered = async ({ database, server }: DatabaseContext): Promise<Partial<Queries>> =>
  (await server.queries?.(database)) ?? (database as Partial<Queries>);

/** @throws not_implemented */
export async function queriesOf(context: DatabaseContext): Promise<Queries> {
  const queries = await offered(context);
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
    return view(context, await queriesOf(context), `${ddoc}/${name}`, more === 'queries');
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
  const body = await readObject(request, upTo(server, 'document'));
  if (body.index === undefined) throw failure(400, 'missing_required_key', 'Missing required key: index');
  // Filters of partial indexes.
  checkSelectors(context, body);
  const index = body as unknown as CreateIndexRequest;
  return jsonResponse(200, await (await queriesOf(context)).createIndex(index, { signal: request.signal }));
};

export const deleteIndexes: DatabaseRoute = async (context) => {
  requireAdmin(context);
  const { request, server } = context;
  const { docids } = await readObject(request, upTo(server, 'document'));
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
