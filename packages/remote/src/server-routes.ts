/**
 * Which function answers which path and method. Names are looked up in maps: `/__proto__` is a name like any other.
 */

import { notFound, reservedId } from '@settledb/core';
import { checkDatabaseName } from './names';
import { allDocs, bulkDocs, bulkGet, missingRevs, postAllDocs, purge, revsDiff } from './server-bulk';
import { changes, postChanges } from './server-changes';
import {
  type Context,
  type DatabaseContext,
  type DatabaseRoute,
  type Methods,
  methods,
  type Route,
} from './server-context';
import {
  compact,
  createDatabase,
  databaseInfo,
  destroyDatabase,
  ensureFullCommit,
  revsLimit,
  security,
} from './server-databases';
import { copyDoc, deleteDoc, getDoc, postDoc, putDoc } from './server-docs';
import { failure, methodNotAllowed } from './server-http';
import { localDocs } from './server-local-docs';
import { allDatabases, session, up, uuids, welcome } from './server-root';

const ROOT = new Map<string, Methods<Route>>([
  ['', methods({ GET: welcome, HEAD: welcome })],
  ['_up', methods({ GET: up, HEAD: up })],
  ['_uuids', methods({ GET: uuids })],
  ['_all_dbs', methods({ GET: allDatabases, HEAD: allDatabases })],
  ['_session', methods({ GET: session })],
]);

const OF_SERVER: Methods<Route> = methods<Route>({ PUT: createDatabase, DELETE: destroyDatabase });
const OF_DATABASE: Methods<DatabaseRoute> = methods<DatabaseRoute>({
  GET: databaseInfo,
  HEAD: databaseInfo,
  POST: postDoc,
});

const DATABASE = new Map<string, Methods<DatabaseRoute>>([
  ['_all_docs', methods<DatabaseRoute>({ GET: allDocs, HEAD: allDocs, POST: postAllDocs })],
  ['_bulk_docs', methods<DatabaseRoute>({ POST: bulkDocs })],
  ['_bulk_get', methods<DatabaseRoute>({ POST: bulkGet })],
  ['_changes', methods<DatabaseRoute>({ GET: changes, POST: postChanges, HEAD: changes })],
  ['_compact', methods<DatabaseRoute>({ POST: compact })],
  ['_ensure_full_commit', methods<DatabaseRoute>({ POST: ensureFullCommit })],
  ['_local_docs', methods<DatabaseRoute>({ POST: localDocs })],
  ['_missing_revs', methods<DatabaseRoute>({ POST: missingRevs })],
  ['_purge', methods<DatabaseRoute>({ POST: purge })],
  ['_revs_diff', methods<DatabaseRoute>({ POST: revsDiff })],
  ['_revs_limit', methods<DatabaseRoute>({ GET: revsLimit })],
  ['_security', methods<DatabaseRoute>({ GET: security })],
]);

const DOCUMENT = methods<(context: DatabaseContext, id: string) => Promise<Response>>({
  DELETE: deleteDoc,
  GET: getDoc,
  HEAD: getDoc,
  PUT: putDoc,
  COPY: copyDoc,
});

/** @throws whatever the route throws, and 404 for paths nobody answers */
export async function route(context: Context): Promise<Response> {
  const { segments, request } = context;
  const [name = '', second] = segments;
  const root = segments.length <= 1 ? ROOT.get(name) : undefined;
  if (root !== undefined) return call(root, request, (answer) => answer(context));
  if (name.startsWith('_') && request.method !== 'PUT') throw notFound('Database does not exist.');
  checkDatabaseName(name);
  if (segments.length === 1 && OF_SERVER.has(request.method)) return OF_SERVER.get(request.method)!(context);
  if (second === undefined && !OF_DATABASE.has(request.method)) {
    return methodNotAllowed(['DELETE', 'GET', 'HEAD', 'POST', 'PUT']);
  }
  return withDatabase(context, name);
}

async function withDatabase(context: Context, name: string): Promise<Response> {
  const { databases } = context.server;
  const database = await databases.open(name);
  if (database === undefined) throw notFound('Database does not exist.');
  try {
    return await ofDatabase({ ...context, name, database });
  } catch (error) {
    if (isLost(error)) databases.drop?.(name, database);
    throw error;
  }
}

/** Closed under us, or poisoned by a failed write: nothing this handle does will work again. */
function isLost(error: unknown): boolean {
  const name = error instanceof Error ? error.name : '';
  return name === 'closed' || name === 'io';
}

async function ofDatabase(context: DatabaseContext): Promise<Response> {
  const { segments, request } = context;
  const [, second, third, ...rest] = segments;
  if (second === undefined) return call(OF_DATABASE, request, (answer) => answer(context));
  if (second === '_design' || second === '_local') {
    if (third === undefined) throw notFound();
    return ofDocument(context, `${second}/${third}`, rest);
  }
  const special = DATABASE.get(second);
  if (special !== undefined && third === undefined)
    return call(special, request, (answer) => answer(context));
  if (special !== undefined) throw notFound();
  if (second.startsWith('_') && !/^_(design|local)\/./.test(second)) {
    if (request.method === 'PUT') throw reservedId();
    throw notFound();
  }
  return ofDocument(context, second, third === undefined ? [] : [third, ...rest]);
}

function ofDocument(context: DatabaseContext, id: string, below: readonly string[]): Promise<Response> {
  const { method } = context.request;
  if (below.length > 0) {
    if (id.startsWith('_local/'))
      throw failure(400, 'bad_request', '_local documents do not accept attachments.');
    // Attachments, views and the like, which this version does not serve: missing for readers, refused to writers.
    if (method === 'GET' || method === 'HEAD') throw notFound('Document is missing attachment');
    throw failure(501, 'not_implemented', 'This server does not offer what lies below a document');
  }
  return call(DOCUMENT, context.request, (answer) => answer(context, id));
}

async function call<R>(
  table: Methods<R>,
  request: Request,
  run: (route: R) => Response | Promise<Response>,
): Promise<Response> {
  const found = table.get(request.method);
  return found === undefined ? methodNotAllowed([...table.keys()]) : run(found);
}
