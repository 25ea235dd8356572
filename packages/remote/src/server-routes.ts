/**
 * Which function answers which path and method. Names are looked up in maps: `/__proto__` is a name like any other.
 */

import {
  badRequest,
  type Database,
  isDatabaseError,
  isLocalId,
  isReservedId,
  notFound,
  reservedId,
} from '@settledb/core';
import { checkDatabaseName } from './names';
import { enterDatabase, isServerAdmin, requireServerAdmin } from './server-access';
import { type Answer, methodNotAllowed } from './server-answer';
import { deleteAttachment, getAttachment, putAttachment } from './server-attachments';
import { USERS_DATABASE } from './server-auth';
import { bulkDocs, missingRevs, revsDiff } from './server-bulk';
import { bulkGet } from './server-bulk-get';
import { changes, postChanges } from './server-changes';
import {
  type Context,
  type DatabaseContext,
  type DatabaseRoute,
  type Methods,
  methods,
  type Route,
  type UsedDatabase,
} from './server-context';
import {
  compact,
  compactViews,
  configure,
  createDatabase,
  databaseInfo,
  destroyDatabase,
  ensureFullCommit,
  putRevsLimit,
  putSecurity,
  revsLimit,
  security,
  temporaryView,
} from './server-databases';
import { copyDoc, deleteDoc, getDoc, postDoc, putDoc } from './server-docs';
import { explain, find } from './server-find';
import {
  allDocs,
  allDocsQueries,
  designDocs,
  designDocsQueries,
  localDocs,
  localDocsQueries,
} from './server-lists';
import { purge, purgedInfos, purgedInfosLimit, putPurgedInfosLimit } from './server-purge';
import {
  createIndex,
  deleteIndex,
  deleteIndexes,
  designRoute,
  listIndexes,
  viewCleanup,
} from './server-queries';
import { activeTasks, replicate } from './server-replicate';
import type { ServerRequest } from './server-request';
import { allDatabases, databasesInfo, favicon, postDatabasesInfo, up, uuids, welcome } from './server-root';
import { login, logout, session } from './server-session';
import { dropLost, releasedAfter, useDatabase } from './server-uses';

const ROOT = new Map<string, Methods<Route>>([
  ['', methods({ GET: welcome, HEAD: welcome })],
  ['_up', methods({ GET: up, HEAD: up })],
  ['_uuids', methods({ GET: uuids })],
  ['_all_dbs', methods<Route>({ GET: allDatabases, HEAD: allDatabases })],
  ['_dbs_info', methods<Route>({ GET: databasesInfo, POST: postDatabasesInfo, HEAD: databasesInfo })],
  ['_session', methods<Route>({ GET: session, POST: login, DELETE: logout, HEAD: session })],
  ['_active_tasks', methods<Route>({ GET: activeTasks, HEAD: activeTasks })],
  ['_replicate', methods<Route>({ POST: replicate })],
  ['favicon.ico', methods<Route>({ GET: favicon })],
]);

const OF_SERVER: Methods<Route> = methods<Route>({ PUT: createDatabase, DELETE: destroyDatabase });
const OF_DATABASE: Methods<DatabaseRoute> = methods<DatabaseRoute>({
  GET: databaseInfo,
  HEAD: databaseInfo,
  POST: postDoc,
});

const reading = (answer: DatabaseRoute): Methods<DatabaseRoute> =>
  methods<DatabaseRoute>({ GET: answer, HEAD: answer, POST: answer });
const posted = (answer: DatabaseRoute): Methods<DatabaseRoute> => methods<DatabaseRoute>({ POST: answer });

const COMPACT_VIEWS = methods({ POST: compactViews });

const DATABASE = new Map<string, Methods<DatabaseRoute>>([
  ['_all_docs', reading(allDocs)],
  ['_all_docs/queries', posted(allDocsQueries)],
  ['_design_docs', reading(designDocs)],
  ['_design_docs/queries', posted(designDocsQueries)],
  ['_local_docs', reading(localDocs)],
  ['_local_docs/queries', posted(localDocsQueries)],
  ['_bulk_docs', posted(bulkDocs)],
  ['_bulk_get', posted(bulkGet)],
  ['_changes', methods<DatabaseRoute>({ GET: changes, POST: postChanges, HEAD: changes })],
  ['_compact', posted(compact)],
  ['_ensure_full_commit', posted(ensureFullCommit)],
  ['_explain', posted(explain)],
  ['_find', posted(find)],
  ['_index', methods<DatabaseRoute>({ GET: listIndexes, POST: createIndex })],
  ['_index/_bulk_delete', posted(deleteIndexes)],
  ['_missing_revs', posted(missingRevs)],
  ['_purge', posted(purge)],
  ['_purged_infos', methods<DatabaseRoute>({ GET: purgedInfos, HEAD: purgedInfos })],
  ['_purged_infos_limit', methods<DatabaseRoute>({ PUT: putPurgedInfosLimit, GET: purgedInfosLimit })],
  ['_revs_diff', posted(revsDiff)],
  ['_revs_limit', methods<DatabaseRoute>({ PUT: putRevsLimit, GET: revsLimit })],
  ['_security', methods<DatabaseRoute>({ PUT: putSecurity, GET: security })],
  ['_temp_view', posted(temporaryView)],
  ['_view_cleanup', posted(viewCleanup)],
]);

const DOCUMENT = methods<(context: DatabaseContext, id: string) => Promise<Answer>>({
  DELETE: deleteDoc,
  GET: getDoc,
  HEAD: getDoc,
  PUT: putDoc,
  COPY: copyDoc,
});

const ATTACHMENT = methods<(context: DatabaseContext, id: string, name: string) => Promise<Answer>>({
  DELETE: deleteAttachment,
  GET: getAttachment,
  HEAD: getAttachment,
  PUT: putAttachment,
});

/**
 * No function that passes a request on is async: a promise for a promise takes 0.7 µs (decisions/0019), and there were five of them.
 *
 * @throws whatever the route throws, and 404 for unknown paths; or rejects with it
 */
export function route(context: Context): Answer | Promise<Answer> {
  const { segments, request } = context;
  const [name = '', second] = segments;
  const root = segments.length <= 1 ? ROOT.get(name) : undefined;
  if (root !== undefined) return call(root, request, (answer) => answer(context));
  if (name.startsWith('_') && name !== USERS_DATABASE && request.method !== 'PUT') {
    requireServerAdmin(context);
    throw notFound('Database does not exist.');
  }
  if (name !== USERS_DATABASE) checkDatabaseName(name);
  if (segments.length === 1 && OF_SERVER.has(request.method)) return OF_SERVER.get(request.method)!(context);
  if (second === undefined && !OF_DATABASE.has(request.method)) {
    return methodNotAllowed(['DELETE', 'GET', 'HEAD', 'POST', 'PUT']);
  }
  return answerOf(context, name);
}

/** The database's answer; the database is in use until the answer is complete. */
async function answerOf(context: Context, name: string): Promise<Answer> {
  if (name === USERS_DATABASE && context.segments[1]?.startsWith('_')) requireServerAdmin(context);
  const used = (await useDatabase(context.server.databases, name)) ?? (await usersDatabase(context, name));
  try {
    // A user who may not enter gets the same answer whether or not the database exists.
    const isAdmin = await enterDatabase(context, name, used !== undefined);
    if (used === undefined) throw notFound('Database does not exist.');
    return releasedAfter(await enter(context, name, used.database, isAdmin), used.release);
  } catch (error) {
    used?.release();
    throw (await wasDestroyed(context, name, error)) ? notFound('Database does not exist.') : error;
  }
}

/** Whether it failed because its database was destroyed meanwhile. One that was only closed can be opened again. */
async function wasDestroyed({ server }: Context, name: string, error: unknown): Promise<boolean> {
  if (!isDatabaseError(error) || error.name !== 'closed') return false;
  // While the server closes, no database can be opened.
  const used = await useDatabase(server.databases, name).catch(() => null);
  used?.release();
  return used === undefined;
}

async function enter(context: Context, name: string, database: Database, isAdmin: boolean): Promise<Answer> {
  try {
    if (!context.server.configured.has(database)) await configure(context, name, database);
    // Field by field: Node 20 takes 1.8 µs for each field added to a spread object (decisions/0019).
    const { request, segments, query, origin, user, address, server } = context;
    return await ofDatabase({
      request,
      segments,
      query,
      origin,
      user,
      address,
      server,
      name,
      database,
      isAdmin,
    });
  } catch (error) {
    dropLost(context.server.databases, name, database, error);
    throw error;
  }
}

/** `_users` is created when an administrator first asks for it. */
async function usersDatabase(context: Context, name: string): Promise<UsedDatabase | undefined> {
  if (name !== USERS_DATABASE || !isServerAdmin(context.user)) return undefined;
  await context.server.databases.create(name);
  return useDatabase(context.server.databases, name);
}

function ofDatabase(context: DatabaseContext): Answer | Promise<Answer> {
  const { segments, request } = context;
  const [, second, third, ...rest] = segments;
  if (second === undefined) return call(OF_DATABASE, request, (answer) => answer(context));
  if (second === '_design' || second === '_local') {
    if (third === undefined) throw notFound();
    return ofDocument(context, `${second}/${third}`, rest);
  }
  if (second === '_compact' && third !== undefined && rest.length === 0)
    return call(COMPACT_VIEWS, request, (answer) => answer(context, third));
  const special = DATABASE.get(third === undefined ? second : `${second}/${third}`);
  if (special !== undefined && rest.length === 0) return call(special, request, (answer) => answer(context));
  if (second === '_index') return deleteIndex(context, segments.slice(2));
  if (DATABASE.has(second)) throw notFound();
  if (isReservedId(second)) {
    if (request.method === 'PUT') throw reservedId();
    throw notFound();
  }
  return ofDocument(context, second, third === undefined ? [] : [third, ...rest]);
}

function ofDocument(
  context: DatabaseContext,
  id: string,
  below: readonly string[],
): Answer | Promise<Answer> {
  if (below[0]?.startsWith('_') && id.startsWith('_design/')) return designRoute(context, id.slice(8), below);
  if (below.length > 0) {
    if (isLocalId(id)) throw badRequest('_local documents do not accept attachments.');
    return call(ATTACHMENT, context.request, (answer) => answer(context, id, below.join('/')));
  }
  return call(DOCUMENT, context.request, (answer) => answer(context, id));
}

function call<R>(
  table: Methods<R>,
  request: ServerRequest,
  run: (route: R) => Answer | Promise<Answer>,
): Answer | Promise<Answer> {
  // HEAD has the route of GET, whether or not it is named: `Allow` has the methods that CouchDB names.
  const found = table.get(request.method) ?? (request.method === 'HEAD' ? table.get('GET') : undefined);
  return found === undefined ? methodNotAllowed([...table.keys()]) : run(found);
}
