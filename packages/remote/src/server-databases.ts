/** A database as a whole: made, described, compacted, destroyed. */
import { badRequest, type Database, forbidden, notFound, notImplemented } from '@settledb/core';
import { checkSecurity, requireAdmin, requireServerAdmin } from './server-access';
import { type Answer, failure, jsonResponse } from './server-answer';
import { USERS_DATABASE } from './server-auth';
import { checkJsonType, readJson, upTo } from './server-body';
import type { Context, DatabaseContext, ServerState } from './server-context';
import { log } from './server-hooks';
import type { Task } from './server-replicate';
import { seqText } from './server-seq';
import { DEFAULT_SECURITY } from './server-settings';
import { withDatabase } from './server-uses';
import { encodePart } from './wire';

/** ms that a request waits for a compaction. A longer one goes on, and `compact_running` says so. */
const COMPACT_WAIT_MS = 2_000;

export async function createDatabase(context: Context): Promise<Answer> {
  requireServerAdmin(context);
  const { server, segments, origin, query } = context;
  // There is one shard, whatever is asked; but a value that cannot be a number of shards is refused.
  for (const option of ['q', 'n', 'w', 'r']) {
    const value = query.text(option);
    if (value !== undefined && !/^[1-9]\d{0,3}$/.test(value))
      throw badRequest(`The \`${option}\` value should be a positive integer.`);
  }
  if (!['true', 'false', undefined].includes(query.text('partitioned')))
    throw badRequest('Invalid `partitioned` parameter');
  if (query.flag('partitioned') === true) throw notImplemented('Partitioned databases are not offered');
  const name = segments[0]!;
  if (!(await server.databases.create(name))) {
    throw failure(412, 'file_exists', 'The database could not be created, the file already exists.');
  }
  return jsonResponse(201, { ok: true }, { location: `${origin}/${encodePart(name)}` });
}

export async function destroyDatabase(context: Context): Promise<Answer> {
  requireServerAdmin(context);
  const { server, segments, query } = context;
  if (query.text('rev') !== undefined) {
    throw badRequest(
      'You tried to DELETE a database with a ?=rev parameter. Did you mean to DELETE a document instead?',
    );
  }
  const name = segments[0]!;
  const destroy = () => server.databases.destroy(name);
  if (!(await server.settings.forgetWith(name, destroy, () => isLeft(server, name))))
    throw notFound('Database does not exist.');
  return jsonResponse(200, { ok: true });
}

/** Whether the database is still there, as far as that can be told. */
const isLeft = async ({ databases }: ServerState, name: string): Promise<boolean> =>
  (await withDatabase(databases, name, async () => true).catch(() => true)) === true;

export async function databaseInfo(context: DatabaseContext): Promise<Answer> {
  return jsonResponse(200, await describeOpen(context, context.name, context.database));
}

/** The answer to `GET /name`; undefined if there is no such database. */
export async function describe(context: Context, name: string): Promise<object | undefined> {
  return withDatabase(context.server.databases, name, (database) => describeOpen(context, name, database));
}

async function describeOpen({ server }: Context, name: string, database: Database): Promise<object> {
  const info = await database.info();
  return {
    instance_start_time: await startTime(database),
    db_name: name,
    purge_seq: String(info.purge_seq ?? 0),
    update_seq: seqText(info.update_seq),
    sizes: info.sizes ?? { file: 0, external: 0, active: 0 },
    props: {},
    doc_del_count: info.doc_del_count ?? 0,
    doc_count: info.doc_count,
    disk_format_version: 1,
    compact_running: server.compactions.has(name),
    cluster: { q: 1, n: 1, w: 1, r: 1 },
  };
}

export async function compact(context: DatabaseContext): Promise<Answer> {
  requireAdmin(context);
  const { name, server, request } = context;
  checkJsonType(request);
  const running = server.compactions.get(name) ?? startCompaction(server, name);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const enough = new Promise((resolve) => {
    timer = setTimeout(resolve, COMPACT_WAIT_MS);
  });
  await Promise.race([running, enough]).finally(() => clearTimeout(timer));
  return jsonResponse(202, { ok: true });
}

/** `_compact/ddoc`. Indexes lie in their database and are compacted with it: this only answers whether the design document exists. */
export async function compactViews(context: DatabaseContext, ddoc: string): Promise<Answer> {
  requireAdmin(context);
  checkJsonType(context.request);
  await context.database.get(`_design/${ddoc}`);
  return jsonResponse(202, { ok: true });
}

function startCompaction(server: ServerState, name: string): Promise<unknown> {
  const task: Task = {
    type: 'database_compaction',
    about: { database: name },
    startedAt: Date.now(),
    updatedAt: Date.now(),
    progress: {},
    cancel: new AbortController(),
  };
  server.tasks.add(task);
  // A use of its own, because it may take longer than the request.
  const compacted = withDatabase(server.databases, name, (database) => database.compact());
  const work = compacted.finally(() => {
    server.compactions.delete(name);
    server.tasks.delete(task);
  });
  server.compactions.set(name, work);
  const began = performance.now();
  // The request hears of a failure while it waits.
  work.catch((error: unknown) => {
    if (performance.now() - began >= COMPACT_WAIT_MS && !server.isClosing)
      log(server.logger, `The compaction of ${name} failed`, error);
  });
  return work;
}

/** Every answered write is already as durable as it can be: nothing is left to do. */
export async function ensureFullCommit({ request, database }: DatabaseContext): Promise<Answer> {
  checkJsonType(request);
  return jsonResponse(201, { ok: true, instance_start_time: await startTime(database) });
}

/**
 * When the database was made: by this replicators see that another database has taken its place. In ms, unlike CouchDB 3's seconds,
 * because that may happen within a second. Digits only: clients in typed languages read it as a whole number. `0`, as before
 * CouchDB 3, if the database's id does not begin with its time (it was made by an early release, or is not ours).
 */
async function startTime(database: Database): Promise<string> {
  const [, time] = DATED_ID.exec(await database.id()) ?? [];
  return time === undefined ? '0' : String(Number.parseInt(time, 16));
}

/** 32 digits of a UUID version 7 of the years 2004 to 2039. */
const DATED_ID = /^(01[0-9a-f]{10})7[0-9a-f]{19}$/;

/** A database that can change its limit, as `LocalDatabase` can. */
interface Limited {
  setRevsLimit(limit: number): Promise<void>;
}

export async function revsLimit({ database }: DatabaseContext): Promise<Answer> {
  const { revs_limit } = await database.info();
  return jsonResponse(200, typeof revs_limit === 'number' ? revs_limit : 1000);
}

export async function putRevsLimit(context: DatabaseContext): Promise<Answer> {
  requireAdmin(context);
  const limit = await readLimit(context);
  if (!canLimit(context.database)) throw notImplemented('This database has a limit of its own');
  const { server, name, database } = context;
  await server.settings.change(name, (before) => ({ ...before, revs_limit: limit }), database);
  await context.database.setRevsLimit(limit);
  return jsonResponse(200, { ok: true });
}

const canLimit = (database: Database): database is Database & Limited =>
  typeof (database as Partial<Limited>).setRevsLimit === 'function';

/** Gives a database that was opened anew the settings made for it. */
export async function configure({ server }: Context, name: string, database: Database): Promise<void> {
  const { revs_limit } = await server.settings.of(name);
  if (revs_limit !== undefined && canLimit(database)) await database.setRevsLimit(revs_limit);
  server.configured.add(database);
}

async function readLimit({ request, server }: DatabaseContext): Promise<number> {
  const limit = await readJson(request, { ...upTo(server, 'document'), mustBeJson: false });
  if (typeof limit !== 'number' || !Number.isSafeInteger(limit) || limit < 1)
    throw badRequest('`revs_limit` must be a whole number, 1 or more');
  return limit;
}

export async function security({ server, name }: DatabaseContext): Promise<Answer> {
  const { security: kept = DEFAULT_SECURITY } = await server.settings.of(name);
  return jsonResponse(200, kept);
}

export async function putSecurity(context: DatabaseContext): Promise<Answer> {
  requireAdmin(context);
  const { server, name, database, request } = context;
  if (name === USERS_DATABASE) throw forbidden("You can't edit the security object of the user database.");
  const value = checkSecurity(await readJson(request, { ...upTo(server, 'document'), mustBeJson: false }));
  await server.settings.change(name, (before) => ({ ...before, security: value }), database);
  return jsonResponse(200, { ok: true });
}

export function temporaryView(): Answer {
  throw failure(410, 'gone', 'Temporary views are not supported in CouchDB');
}
