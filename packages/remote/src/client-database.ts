/** Requests about the database as a whole: who it is, what it holds, its making, upkeep and end. */
import {
  type CallOptions,
  checkInterval,
  type DatabaseInfo,
  isDatabaseError,
  isMissing,
  isSeq,
  notFound,
  type Rev,
  sleep,
  unlessMissing,
} from '@settledb/core';
import { parseJson } from './client-answer';
import * as check from './client-check';
import { badResponse, isForeign } from './client-error';
import type { Http } from './client-http';
import { getCall, readDoc } from './client-read';

/** ms between two looks at a compaction that the server still has under way. */
const COMPACT_INTERVAL_MS = 200;

/** What remote databases give as their `adapter`. */
export const ADAPTER = 'http';

/** A database that exists already is no error. */
export async function create(http: Http): Promise<void> {
  try {
    check.checkOk(await http.json({ method: 'PUT', path: '' }), 'the creation');
  } catch (error) {
    // Another client created it meanwhile.
    if (!isDatabaseError(error) || error.status !== 412) throw error;
  }
}

/** The server's uuid and the database's path. If the server does not say its uuid, or may not be asked, the URL takes its place. */
export async function identify(http: Http, signal: AbortSignal | undefined): Promise<string> {
  const { database, path } = http.target;
  let text = '';
  try {
    text = await http.text({ method: 'GET', base: 'root', path: '', signal });
    const { uuid: server } = check.checkObject(parseJson(text, http.target.name), 'the welcome');
    return typeof server === 'string' && server !== '' ? `${server}/${path}` : database;
  } catch (error) {
    // Only lasting errors count: a passing one (5xx, no connection) must not change the id, on which checkpoints depend.
    if (!isDatabaseError(error)) throw error;
    if ([403, 404, 405].includes(error.status)) return database;
    if (error.name !== 'bad_response' || beginsAsWelcome(text)) throw error;
    // Not JSON: an app's page at the root, with the databases on its own origin; or a login page in front of everything, as in hotels.
    await readInfo(http, { signal }).catch(unlessMissing);
    return database;
  }
}

/** Then the rest was lost on the way: the next one may be whole. */
const beginsAsWelcome = (text: string): boolean => text.trimStart().startsWith('{');

export async function readInfo(http: Http, { signal }: CallOptions): Promise<DatabaseInfo> {
  const answer = check.checkObject(await http.json({ method: 'GET', path: '', signal }), 'the information');
  check.readSeq(answer, 'update_seq');
  check.readSeq(answer, 'purge_seq');
  const { db_name, update_seq, doc_count } = answer;
  if (typeof doc_count !== 'number' || !isSeq(update_seq)) {
    throw badResponse('the information lacks doc_count or update_seq');
  }
  return {
    ...answer,
    db_name: typeof db_name === 'string' ? db_name : decodeURIComponent(http.target.path),
    doc_count,
    update_seq,
    host: http.target.name,
    adapter: ADAPTER,
    auto_compaction: false,
  };
}

export async function compact(
  http: Http,
  { signal, interval }: CallOptions & { readonly interval?: number },
): Promise<{ ok: true }> {
  checkInterval(interval);
  check.checkOk(await http.json({ method: 'POST', path: '/_compact', body: {}, signal }), 'the compaction');
  while ((await readInfo(http, { signal })).compact_running === true)
    await sleep(interval ?? COMPACT_INTERVAL_MS, signal);
  return { ok: true };
}

export async function purge(
  http: Http,
  id: string,
  rev: Rev,
  { signal }: CallOptions,
): Promise<{ ok: true; deletedRevs: Rev[]; documentWasRemovedCompletely: boolean }> {
  const answer = await http.json({
    method: 'POST',
    path: '/_purge',
    body: { [id]: [rev] },
    signal,
    docId: id,
  });
  const deletedRevs = check.checkPurged(answer, id);
  if (deletedRevs.length === 0) throw notFound('missing', id);
  const all = { open_revs: 'all', signal } as const;
  const left = (await readDoc(http, id, getCall(id, all), all).catch(unlessMissing)) ?? [];
  return { ok: true, deletedRevs, documentWasRemovedCompletely: Array.isArray(left) && left.length === 0 };
}

/** A database that does not exist counts as destroyed. */
export async function destroy(http: Http, { signal }: CallOptions): Promise<void> {
  try {
    check.checkOk(await http.json({ method: 'DELETE', path: '', signal }), 'the deletion');
  } catch (error) {
    // A proxy without its server answers 404 as well, and the database is still there.
    if (!isMissing(error) || isForeign(error)) throw error;
  }
}
