/** The answers of the server itself: `/`, `/_up`, `/_uuids`, `/_all_dbs`, `/_dbs_info`. */
import { badRequest, isDatabaseError, uuid } from '@settledb/core';
import { isDatabaseName } from './names';
import { requireServerAdmin } from './server-access';
import { type Answer, jsonResponse } from './server-answer';
import { readObject, upTo } from './server-body';
import type { Context } from './server-context';
import { describe } from './server-databases';
import { isOurs, toWireError } from './server-errors';
import { log } from './server-hooks';
import { SETTINGS_DATABASE } from './server-settings';

/** Most uuids in one request, as in CouchDB. */
const MAX_UUIDS = 1000;
/** Most databases described at a time when they are named, as in CouchDB. */
const MAX_INFOS = 100;

export function welcome({ server }: Context): Answer {
  return jsonResponse(200, {
    couchdb: 'Welcome',
    version: '3.5.0',
    uuid: server.uuid,
    features: [],
    vendor: { name: 'settledb', version: server.version },
  });
}

export function up(): Answer {
  return jsonResponse(200, { status: 'ok', seeds: {} });
}

export function uuids({ query }: Context): Answer {
  const text = query.text('count') ?? '1';
  if (!/^\d{1,10}$/.test(text)) throw badRequest('count must be a positive integer');
  if (Number(text) > MAX_UUIDS) throw badRequest('count parameter too large');
  const list = Array.from({ length: Number(text) }, () => uuid());
  return jsonResponse(200, { uuids: list }, { 'cache-control': 'no-cache', pragma: 'no-cache' });
}

export async function allDatabases(context: Context): Promise<Answer> {
  requireServerAdmin(context);
  return jsonResponse(200, await listNames(context));
}

/** The names that the range of the query picks. */
async function listNames({ server, query }: Context): Promise<string[]> {
  const descending = query.flag('descending') === true;
  const start = query.json('startkey') ?? query.json('start_key');
  const end = query.json('endkey') ?? query.json('end_key');
  const [low, high] = descending ? [end, start] : [start, end];
  let names = (await server.databases.list()).filter(
    (name) =>
      name !== SETTINGS_DATABASE &&
      (typeof low !== 'string' || name >= low) &&
      (typeof high !== 'string' || name <= high),
  );
  if (descending) names = names.reverse();
  const skip = query.count('skip') ?? 0;
  const limit = query.count('limit') ?? names.length;
  return names.slice(skip, skip + limit);
}

export async function databasesInfo(context: Context): Promise<Answer> {
  requireServerAdmin(context);
  return jsonResponse(200, await describeAll(context, await listNames(context)));
}

export async function postDatabasesInfo(context: Context): Promise<Answer> {
  requireServerAdmin(context);
  const { keys } = await readObject(context.request, upTo(context.server, 'document'));
  if (keys === undefined) throw badRequest('`keys` member must exist.');
  if (!Array.isArray(keys)) throw badRequest('`keys` member must be an array.');
  if (keys.length > MAX_INFOS) throw badRequest('too_many_keys');
  return jsonResponse(200, await describeAll(context, keys));
}

async function describeAll(context: Context, names: readonly unknown[]): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (const key of names) rows.push(await rowOf(context, key));
  return rows;
}

/** A database that cannot be opened has an error in its row: it must not hide the others. */
async function rowOf(context: Context, key: unknown): Promise<object> {
  if (typeof key !== 'string' || !isDatabaseName(key)) return { key, error: 'not_found' };
  try {
    const info = await describe(context, key);
    return info === undefined ? { key, error: 'not_found' } : { key, info };
  } catch (failure) {
    if (!isDatabaseError(failure)) throw failure;
    if (isOurs(failure)) log(context.server.logger, `_dbs_info of ${key} failed`, failure);
    const { error, reason } = toWireError(failure);
    return { key, error, reason };
  }
}

/** Paths that browsers ask the server for, and which would otherwise be looked up as databases. */
export function favicon(): Answer {
  // Not `public`, as CouchDB's is: an answer may renew a cookie, which a cache before the server would give to others.
  const headers = { 'content-type': 'text/plain', 'cache-control': 'private, max-age=31536000' };
  return new Response('Not found.', { status: 404, headers });
}
