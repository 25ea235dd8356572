/**
 * `_bulk_get`, and what to do with servers that do not have it (CouchDB 1.x, some proxies): a GET for each revision.
 */
import {
  type BulkGetOptions,
  type BulkGetRequest,
  type BulkGetResult,
  badRequest,
  invalidIdType,
  isDatabaseError,
  type OpenRevsRow,
  parseRev,
} from '@settledb/core';
import * as check from './client-check';
import type { Http } from './client-http';
import { encodeDocId, isDotId, isObject } from './wire';

/** GETs under way at a time: what browsers allow to one host. */
const CONCURRENT_GETS = 6;

/** Connections whose server was found to have no `_bulk_get`: it is not asked twice. */
const WITHOUT = new WeakSet<Http>();

type Requested = BulkGetRequest['docs'][number];
type Result<Content extends object> = BulkGetResult<Content>['results'][number];

export async function bulkGetOver<Content extends object>(
  http: Http,
  docs: readonly Requested[],
  options: BulkGetOptions,
): Promise<BulkGetResult<Content>> {
  if (WITHOUT.has(http)) return oneByOne<Content>(http, docs, options);
  const { revs, latest, attachments, signal } = options;
  const query = {
    revs: revs || undefined,
    latest: latest || undefined,
    attachments: attachments || undefined,
  };
  for (const entry of docs) checkRequested(entry);
  // Only what the protocol knows: an entry may be a row of another answer.
  const asked = docs.map(({ id, rev, atts_since }) => ({ id, rev, atts_since }));
  const ids = asked.map(({ id }) => id);
  try {
    const answer = await http.json({
      method: 'POST',
      path: '/_bulk_get',
      query,
      body: { docs: asked },
      signal,
    });
    return check.checkBulkGet<Content>(answer, ids);
  } catch (error) {
    if (!(await lacksBulkGet(http, error, signal))) throw error;
    WITHOUT.add(http);
    return oneByOne<Content>(http, docs, options);
  }
}

/** @throws bad_request */
function checkRequested(entry: unknown): void {
  if (!isObject(entry)) throw badRequest('Each of `docs` must be an object with an id');
  if (typeof entry.id !== 'string' || entry.id === '') throw invalidIdType();
  if (entry.rev !== undefined) parseRev(entry.rev);
}

/** 404 may also mean that the database is gone, and then every single GET would find its document "missing". */
async function lacksBulkGet(http: Http, error: unknown, signal: AbortSignal | undefined): Promise<boolean> {
  if (!isDatabaseError(error)) return false;
  if (error.status === 405 || error.status === 501) return true;
  if (error.status !== 404) return false;
  await http.json({ method: 'GET', path: '', signal });
  return true;
}

async function oneByOne<Content extends object>(
  http: Http,
  docs: readonly Requested[],
  options: BulkGetOptions,
): Promise<BulkGetResult<Content>> {
  const results: Result<Content>[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < docs.length) {
      const i = next++;
      results[i] = await getOne<Content>(http, docs[i]!, options);
    }
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENT_GETS, docs.length) }, work));
  return { results };
}

async function getOne<Content extends object>(
  http: Http,
  { id, rev }: Requested,
  { revs, latest, attachments, signal }: BulkGetOptions,
): Promise<Result<Content>> {
  const missing = { error: { id, rev: rev ?? 'undefined', error: 'not_found', reason: 'missing' } };
  // No URL can carry it; it is not fetched as something else.
  if (isDotId(id)) return { id, docs: [{ error: { ...missing.error, error: 'bad_request', reason: 'id' } }] };
  try {
    const answer = await http.json({
      method: 'GET',
      path: `/${encodeDocId(id)}`,
      query: {
        open_revs: rev === undefined ? undefined : JSON.stringify([rev]),
        revs: revs || undefined,
        latest: latest || undefined,
        attachments: attachments || undefined,
      },
      signal,
      docId: id,
    });
    const rows: OpenRevsRow<Content>[] =
      rev === undefined
        ? [{ ok: check.checkDoc<Content>(answer, id) }]
        : check.checkOpenRevs<Content>(answer, id);
    return { id, docs: rows.map((row) => ('ok' in row ? { ok: row.ok } : missing)) };
  } catch (error) {
    // A document alone may be missing or forbidden; anything else is a failure of the whole.
    if (!isDatabaseError(error) || ![403, 404].includes(error.status)) throw error;
    return { id, docs: [{ error: { ...missing.error, error: error.name, reason: error.reason } }] };
  }
}
