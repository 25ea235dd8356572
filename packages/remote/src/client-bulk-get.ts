/**
 * `_bulk_get`, and what to do with servers that do not have it (CouchDB 1.x, some proxies): a GET for each revision.
 */
import {
  type BulkGetOptions,
  type BulkGetRequest,
  type BulkGetResult,
  type Bytes,
  badRequest,
  invalidIdType,
  isDatabaseError,
  type OpenRevsRow,
  type Rev,
  SPLIT,
} from '@settledb/core';
import { parseJson, readText } from './client-answer';
import { resultsApart } from './client-apart';
import { receiveDoc } from './client-attachments';
import * as check from './client-check';
import type { Call, Http } from './client-http';
import type { Received } from './client-parts';
import { receiveParts } from './client-parts';
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
  bytes?: Bytes,
): Promise<BulkGetResult<Content>> {
  if (WITHOUT.has(http)) return oneByOne<Content>(http, docs, options, bytes);
  const { revs, latest, attachments, signal } = options;
  const query = {
    revs: revs || undefined,
    latest: latest || undefined,
    attachments: attachments || undefined,
    att_encoding_info: attachments || options.att_encoding_info || undefined,
  };
  for (const entry of docs) checkRequested(entry);
  // Only what the protocol knows: an entry may be a row of another answer.
  const asked = docs.map(({ id, rev, atts_since }) => ({ id, rev, atts_since }));
  const ids = asked.map(({ id }) => id);
  try {
    const call: Call = { method: 'POST', path: '/_bulk_get', query, body: { docs: asked }, signal };
    if (!attachments) {
      const text = await http.text(call);
      const results = (options as { [SPLIT]?: true })[SPLIT] && resultsApart(text, asked);
      if (results) return { results } as unknown as BulkGetResult<Content>;
      return check.checkBulkGet<Content>(parseJson(text), ids);
    }
    const rows = await withParts(http, { ...call, accept: PARTS_OR_JSON }, options, bytes);
    if (Array.isArray(rows)) return check.checkBulkGet<Content>({ results: resultsOf(asked, rows) }, ids);
    const found = check.checkBulkGet<Content>(rows, ids);
    return {
      results: found.results.map(({ id, docs: each }) => ({
        id,
        docs: each.map((row) => ('ok' in row ? { ok: receiveDoc(row.ok, options, bytes) } : row)),
      })),
    };
  } catch (error) {
    if (!(await lacksBulkGet(http, error, signal))) throw error;
    WITHOUT.add(http);
    return oneByOne<Content>(http, docs, options, bytes);
  }
}

/** Bytes rather than base64, from servers that can. */
const PARTS_OR_JSON = 'multipart/mixed, application/json;q=0.9';

/** @returns the parts of a multipart answer; or the JSON, where the server knows no other form */
async function withParts(
  http: Http,
  call: Call,
  options: BulkGetOptions,
  bytes: Bytes | undefined,
): Promise<Received[] | unknown> {
  const { response, pieces } = await http.open(call);
  const type = response.headers.get('content-type');
  if (!type?.startsWith('multipart/')) return parseJson(await readText(pieces));
  return receiveParts(type, pieces, options, bytes);
}

/** Parts name no request: each goes to the one it answers, by id and revision, or else by id. */
function resultsOf(
  asked: readonly { readonly id: string; readonly rev: Rev | undefined }[],
  rows: readonly Received[],
): unknown[] {
  const left = new Set(rows);
  const take = (fits: (row: Received) => boolean, most = Number.POSITIVE_INFINITY): Received[] => {
    const taken = [...left].filter(fits).slice(0, most);
    for (const row of taken) left.delete(row);
    return taken;
  };
  const exact = asked.map(({ id, rev }) =>
    take((row) => 'doc' in row && row.doc._id === id && row.doc._rev === rev, 1),
  );
  return asked.map(({ id, rev }, i) => {
    const found = [...exact[i]!, ...take((row) => 'doc' in row && row.doc._id === id)];
    const all = found.length > 0 ? found : take((row) => 'other' in row && isAbout(row.other, id, rev), 1);
    return { id, docs: all.map((row) => ('doc' in row ? { ok: row.doc } : { error: errorIn(row.other) })) };
  });
}

const errorIn = (other: Record<string, unknown>): object => {
  if (isObject(other.error)) return other.error;
  return typeof other.missing === 'string'
    ? { rev: other.missing, error: 'not_found', reason: 'missing' }
    : other;
};

/** CouchDB does not say of which document it is that it has no such revision. */
function isAbout(other: Record<string, unknown>, id: string, rev: Rev | undefined): boolean {
  const about = isObject(other.error) ? other.error : other;
  if (about.id !== undefined) return about.id === id && (about.rev === rev || rev === undefined);
  return about.rev === rev || about.missing === rev;
}

/** @throws bad_request */
function checkRequested(entry: unknown): void {
  if (!isObject(entry)) throw badRequest('Each of `docs` must be an object with an id');
  if (typeof entry.id !== 'string' || entry.id === '') throw invalidIdType();
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
  bytes: Bytes | undefined,
): Promise<BulkGetResult<Content>> {
  const results: Result<Content>[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < docs.length) {
      const i = next++;
      results[i] = await getOne<Content>(http, docs[i]!, options, bytes);
    }
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENT_GETS, docs.length) }, work));
  return { results };
}

async function getOne<Content extends object>(
  http: Http,
  { id, rev, atts_since }: Requested,
  options: BulkGetOptions,
  bytes: Bytes | undefined,
): Promise<Result<Content>> {
  const { revs, latest, attachments, signal } = options;
  const missing = { error: { id, rev: rev ?? 'undefined', error: 'not_found', reason: 'missing' } };
  // No URL can carry it; it is not fetched as something else.
  if (isDotId(id)) return { id, docs: [{ error: { ...missing.error, error: 'bad_request', reason: 'id' } }] };
  const call: Call = {
    method: 'GET',
    path: `/${encodeDocId(id)}`,
    query: {
      open_revs: rev === undefined ? undefined : JSON.stringify([rev]),
      revs: revs || undefined,
      latest: latest || undefined,
      attachments: attachments || undefined,
      att_encoding_info: attachments || undefined,
      atts_since: attachments && atts_since?.length ? JSON.stringify(atts_since) : undefined,
    },
    signal,
    docId: id,
  };
  try {
    if (attachments && rev !== undefined) {
      const parts = await withParts(http, { ...call, accept: PARTS_OR_JSON }, options, bytes);
      const found = Array.isArray(parts) && parts.every(isReceived) ? parts.map(asOpenRev) : parts;
      const docs = check.checkOpenRevs<Content>(found, id).map((row) =>
        // Of parts the data was checked as it came.
        'ok' in row ? { ok: found === parts ? receiveDoc(row.ok, options, bytes) : row.ok } : missing,
      );
      return { id, docs };
    }
    const answer = await http.json(call);
    const rows: OpenRevsRow<Content>[] =
      rev === undefined
        ? [{ ok: check.checkDoc<Content>(answer, id) }]
        : check.checkOpenRevs<Content>(answer, id);
    if (!attachments) return { id, docs: rows.map((row) => ('ok' in row ? { ok: row.ok } : missing)) };
    return {
      id,
      docs: rows.map((row) => ('ok' in row ? { ok: receiveDoc(row.ok, options, bytes) } : missing)),
    };
  } catch (error) {
    // A document alone may be missing or forbidden, or asked for wrongly; anything else is a failure of the whole.
    if (!isDatabaseError(error) || ![400, 403, 404].includes(error.status)) throw error;
    return { id, docs: [{ error: { ...missing.error, error: error.name, reason: error.reason } }] };
  }
}

const isReceived = (row: unknown): row is Received => isObject(row) && ('doc' in row || 'other' in row);
const asOpenRev = (row: Received): unknown => ('doc' in row ? { ok: row.doc } : row.other);
