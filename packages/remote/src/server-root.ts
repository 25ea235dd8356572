/** The answers of the server itself: `/`, `/_up`, `/_uuids`, `/_all_dbs`, `/_session`. */
import { badRequest, uuid } from '@settledb/core';
import type { Context } from './server-context';
import { jsonResponse } from './server-http';

/** Most uuids of one request, as in CouchDB. */
const MAX_UUIDS = 1000;

export function welcome({ server }: Context): Response {
  return jsonResponse(200, {
    couchdb: 'Welcome',
    version: '3.5.0',
    uuid: server.uuid,
    features: [],
    vendor: { name: 'settledb', version: server.version },
  });
}

export function up(): Response {
  return jsonResponse(200, { status: 'ok', seeds: {} });
}

export function uuids({ query }: Context): Response {
  const text = query.text('count') ?? '1';
  if (!/^\d{1,10}$/.test(text)) throw badRequest('count must be a positive integer');
  if (Number(text) > MAX_UUIDS) throw badRequest('count parameter too large');
  const list = Array.from({ length: Number(text) }, () => uuid());
  return jsonResponse(200, { uuids: list }, { 'cache-control': 'no-cache', pragma: 'no-cache' });
}

export async function allDatabases({ server, query }: Context): Promise<Response> {
  const descending = query.flag('descending') === true;
  const start = query.json('startkey') ?? query.json('start_key');
  const end = query.json('endkey') ?? query.json('end_key');
  const [low, high] = descending ? [end, start] : [start, end];
  let names = (await server.databases.list()).filter(
    (name) => (typeof low !== 'string' || name >= low) && (typeof high !== 'string' || name <= high),
  );
  if (descending) names = names.reverse();
  const skip = query.count('skip') ?? 0;
  const limit = query.count('limit') ?? names.length;
  return jsonResponse(200, names.slice(skip, skip + limit));
}

export function session({ user }: Context): Response {
  return jsonResponse(200, {
    ok: true,
    userCtx: { name: user ?? null, roles: user === undefined ? [] : ['_admin'] },
    info: {
      authentication_handlers: ['default'],
      ...(user === undefined ? {} : { authenticated: 'default' }),
    },
  });
}
