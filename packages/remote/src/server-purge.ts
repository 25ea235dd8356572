/** `_purge`, and the list of what was purged. */
import { badRequest, type Database, isDatabaseError, type Rev } from '@settledb/core';
import { requireAdmin } from './server-access';
import { type Answer, jsonResponse } from './server-answer';
import { readJson, readObject, upTo } from './server-body';
import { checkRevLists } from './server-bulk';
import type { DatabaseContext } from './server-context';
import type { DatabaseSettings } from './server-settings';

/** CouchDB's default for `_purged_infos_limit`, and the largest limit allowed, since the list is one document. */
const DEFAULT_LIMIT = 1_000;
const MAX_LIMIT = 100_000;

/** Characters that the list may have, since each purge writes all of it: some 2,900 purges of one revision each. */
const MAX_LENGTH = 256 * 1024;

export async function purge(context: DatabaseContext): Promise<Answer> {
  requireAdmin(context);
  const { database, request, server, name } = context;
  const body = checkRevLists(await readObject(request, upTo(server)));
  // The list has what was asked for, like CouchDB's, whether or not it was there. So it can be written first: an answer that says what was
  // purged cannot fail any more.
  const infos = Object.entries(body).map(([id, revs]) => ({ id, revs: [...revs].sort() }));
  const noted = (before: DatabaseSettings): DatabaseSettings => ({
    ...before,
    purged_infos: newest([...(before.purged_infos ?? []), ...infos], before.purged_infos_limit),
  });
  await server.settings.change(name, noted, database);
  // A purge reads the whole tree: not for revisions that are not there.
  const missing = await database.revsDiff(body);
  const purged: [string, Rev[]][] = [];
  for (const [id, revs] of Object.entries(body)) {
    const unknown = new Set(missing[id]?.missing);
    const gone: Rev[] = [];
    for (const rev of revs) if (!unknown.has(rev) && (await purgeOne(database, id, rev))) gone.push(rev);
    purged.push([id, gone]);
  }
  return jsonResponse(201, { purge_seq: null, purged: Object.fromEntries(purged) });
}

/** The newest entries of the list, as many as there may be. */
function newest(infos: readonly PurgedInfo[], limit = DEFAULT_LIMIT): PurgedInfo[] {
  let room = MAX_LENGTH;
  let first = infos.length;
  for (; first > Math.max(0, infos.length - limit); first--) {
    room -= JSON.stringify(infos[first - 1]).length;
    if (room < 0) break;
  }
  return infos.slice(first);
}

/** False for a revision that is no leaf: there is nothing to purge then, which is no error here. */
async function purgeOne(database: Database, id: string, rev: Rev): Promise<boolean> {
  try {
    await database.purge(id, rev);
    return true;
  } catch (error) {
    if (isDatabaseError(error) && [400, 404].includes(error.status)) return false;
    throw error;
  }
}

export async function purgedInfos({ server, name }: DatabaseContext): Promise<Answer> {
  const { purged_infos = [] } = await server.settings.of(name);
  const byId = (a: PurgedInfo, b: PurgedInfo): number => (keyOf(a) < keyOf(b) ? -1 : 1);
  return jsonResponse(200, { purged_infos: [...purged_infos].sort(byId) });
}

type PurgedInfo = NonNullable<DatabaseSettings['purged_infos']>[number];
const keyOf = ({ id, revs }: PurgedInfo): string => `${id}\0${revs.join()}`;

export async function purgedInfosLimit({ server, name }: DatabaseContext): Promise<Answer> {
  const { purged_infos_limit = DEFAULT_LIMIT } = await server.settings.of(name);
  return jsonResponse(200, purged_infos_limit);
}

export async function putPurgedInfosLimit(context: DatabaseContext): Promise<Answer> {
  requireAdmin(context);
  const { server, name, database, request } = context;
  const limit = await readJson(request, { ...upTo(server, 'document'), mustBeJson: false });
  if (!Number.isSafeInteger(limit) || (limit as number) < 1 || (limit as number) > MAX_LIMIT)
    throw badRequest('`purged_infos_limit` must be positive integer');
  const limited = (before: DatabaseSettings): DatabaseSettings => ({
    ...before,
    purged_infos_limit: limit as number,
    purged_infos: newest(before.purged_infos ?? [], limit as number),
  });
  await server.settings.change(name, limited, database);
  return jsonResponse(200, { ok: true });
}
