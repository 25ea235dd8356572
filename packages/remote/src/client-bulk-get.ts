/**
 * `_bulk_get`, and what to do with servers that do not have it (CouchDB 1.x, some proxies): a GET for each revision.
 */
import {
  type BulkGetOptions,
  type BulkGetRequest,
  type BulkGetResult,
  bulkGetRefusal,
  type ExistingDoc,
  generationOf,
  hashOf,
  isDatabaseError,
  isObject,
  type Leaf,
  type OpenRevsRow,
  outranks,
  type Rev,
  SPLIT,
} from '@settledb/core';
import { parseJson } from './client-answer';
import { resultsApart } from './client-apart';
import { partsOrJson, resultsOf, rowOf } from './client-bulk-parts';
import { type Call, flag } from './client-call';
import * as check from './client-check';
import { isForeign } from './client-error';
import type { Http } from './client-http';
import type { ReceiveOptions } from './client-parts';
import { receiveDoc } from './client-receive';
import { encodeDocId, isDotId } from './wire';

/** GETs under way at a time: what browsers allow to one host. */
const CONCURRENT_GETS = 6;

/** Connections whose server turned out to have no `_bulk_get`: it is not asked for it again. */
const WITHOUT = new WeakSet<Http>();

type Requested = BulkGetRequest['docs'][number];
type Result<Content extends object> = BulkGetResult<Content>['results'][number];

/**
 * A senseless entry gets an error and is not sent: CouchDB may fail the whole request for it (if its id is a number), and JSON may
 * leave out what is senseless, such as a revision that is a function.
 */
export async function bulkGetOver<Content extends object>(
  http: Http,
  docs: readonly Requested[],
  options: BulkGetOptions & ReceiveOptions,
): Promise<BulkGetResult<Content>> {
  const refusals = docs.map((entry) => (isAskable(entry) ? undefined : bulkGetRefusal(entry)));
  const sound = docs.filter((_, i) => refusals[i] === undefined);
  const { results } =
    sound.length > 0 || docs.length === 0
      ? withWinners(sound, await ask<Content>(http, sound, options))
      : { results: [] as Result<Content>[] };
  if (sound.length === docs.length) return { results };
  // One result for each entry, in order; a server may have merged those of one document.
  const isInOrder = results.length === sound.length;
  let at = 0;
  const merged = refusals.flatMap((refusal): Result<Content>[] => {
    if (refusal !== undefined) return [{ id: refusal.error.id, docs: [refusal] }];
    return isInOrder ? [results[at++]!] : [];
  });
  return { results: isInOrder ? merged : [...results, ...merged] };
}

/** Where no revision was asked for, servers answer all leaves, deleted ones too; what is wanted is the winner. */
function withWinners<Content extends object>(
  docs: readonly Requested[],
  { results }: BulkGetResult<Content>,
): BulkGetResult<Content> {
  if (results.length !== docs.length) return { results };
  return { results: results.map((result, i) => (docs[i]!.rev === undefined ? winnerOf(result) : result)) };
}

function winnerOf<Content extends object>(result: Result<Content>): Result<Content> {
  const { id, docs } = result;
  const leaves = docs.flatMap((row) => ('ok' in row ? [row.ok] : []));
  if (leaves.length === 0) return result;
  const ok = leaves.reduce((best, leaf) => (outranks(leafOf(leaf), leafOf(best)) ? leaf : best));
  const gone = { id, rev: 'undefined', error: 'not_found', reason: 'deleted' };
  return { id, docs: [ok._deleted ? { error: gone } : { ok }] };
}

const leafOf = ({ _rev, _deleted }: ExistingDoc): Leaf => ({
  rev: _rev,
  generation: generationOf(_rev),
  hash: hashOf(_rev),
  deleted: _deleted === true,
});

/** The server reports anything else that is wrong with an entry. */
const isAskable = (entry: unknown): boolean =>
  isObject(entry) &&
  typeof entry.id === 'string' &&
  entry.id !== '' &&
  !isLost(entry.rev) &&
  !isLost(entry.atts_since);

const isLost = (value: unknown): boolean => typeof value === 'function' || typeof value === 'symbol';

async function ask<Content extends object>(
  http: Http,
  docs: readonly Requested[],
  options: BulkGetOptions & ReceiveOptions,
): Promise<BulkGetResult<Content>> {
  if (WITHOUT.has(http)) return oneByOne<Content>(http, docs, options);
  const { revs, latest, attachments, signal } = options;
  const withData = Boolean(attachments) || docs.some(asksForData);
  const query = {
    // Where a part may be of another revision than was asked for, its ancestry tells which request it answers.
    revs: flag(revs || (attachments && latest)),
    latest: flag(latest),
    attachments: flag(attachments),
    att_encoding_info: flag(withData || options.att_encoding_info),
  };
  // Only the fields that the protocol has: an entry may be a row of another answer.
  const asked = docs.map(({ id, rev, atts_since }) => ({ id, rev, atts_since: atts_since ?? undefined }));
  const ids = asked.map(({ id }) => id);
  try {
    const call: Call = { method: 'POST', path: '/_bulk_get', query, body: { docs: asked }, signal };
    if (!withData) {
      const text = await http.text(call);
      const results = (options as { [SPLIT]?: true })[SPLIT] && resultsApart(text, asked);
      if (results) return { results } as unknown as BulkGetResult<Content>;
      return check.checkBulkGet<Content>(parseJson(text), ids);
    }
    // Multipart answers bring all of the data: they are for callers who want all of it.
    const answer = await partsOrJson(http, call, options, Boolean(attachments));
    const { parts } = answer;
    const found = check.checkBulkGet<Content>(
      parts ? { results: resultsOf(asked, parts, Boolean(latest)) } : answer.json,
      ids,
    );
    const receive = (doc: ExistingDoc<Content>): ExistingDoc<Content> => {
      if (!revs) delete doc._revisions;
      // In a multipart answer the data was checked as it arrived.
      return parts ? doc : receiveDoc(doc, options, http.bytes);
    };
    return {
      results: found.results.map(({ id, docs: each }) => ({
        id,
        docs: each.map((row) => ('ok' in row ? { ok: receive(row.ok) } : row)),
      })),
    };
  } catch (error) {
    if (!(await lacksBulkGet(http, error, signal))) throw error;
    // A proxy may answer so while the server behind it is replaced.
    if (!isForeign(error)) WITHOUT.add(http);
    return oneByOne<Content>(http, docs, options);
  }
}

/** Whether the entry itself asks for data: of the attachments that its reader lacks. An empty list asks for nothing, as in CouchDB. */
const asksForData = ({ atts_since: since }: { readonly atts_since?: readonly Rev[] | undefined }): boolean =>
  (since ?? []).length > 0;

/** A 404 may also mean that the database is gone; then every single GET would report its document as "missing". */
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
      results[i] = await getOne<Content>(http, docs[i]!, options).catch((error: unknown) => {
        next = docs.length; // The call has failed: nobody reads what the others would bring.
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENT_GETS, docs.length) }, work));
  return { results };
}

async function getOne<Content extends object>(
  http: Http,
  { id, rev, atts_since }: Requested,
  options: BulkGetOptions,
): Promise<Result<Content>> {
  const { revs, latest, signal } = options;
  const attachments = options.attachments || asksForData({ atts_since });
  const missing = { error: { id, rev: rev ?? 'undefined', error: 'not_found', reason: 'missing' } };
  // No URL can carry the id; nothing else must be fetched in its place.
  if (isDotId(id)) return { id, docs: [{ error: { ...missing.error, error: 'bad_request', reason: 'id' } }] };
  const call: Call = {
    method: 'GET',
    path: `/${encodeDocId(id)}`,
    query: {
      open_revs: rev === undefined ? undefined : JSON.stringify([rev]),
      revs: flag(revs),
      latest: flag(latest),
      attachments: flag(attachments),
      att_encoding_info: flag(attachments || options.att_encoding_info),
      atts_since: asksForData({ atts_since }) ? JSON.stringify(atts_since) : undefined,
    },
    signal,
    docId: id,
  };
  try {
    const answer = await partsOrJson(http, call, options, attachments && rev !== undefined);
    const found = answer.parts ? answer.parts.map(rowOf) : answer.json;
    const rows: OpenRevsRow<Content>[] =
      rev === undefined
        ? [{ ok: check.checkDoc<Content>(found, id) }]
        : check.checkOpenRevs<Content>(found, id);
    // In a multipart answer the data was checked as it arrived.
    const receive = (doc: ExistingDoc<Content>): ExistingDoc<Content> =>
      attachments && !answer.parts ? receiveDoc(doc, options, http.bytes) : doc;
    return { id, docs: rows.map((row) => ('ok' in row ? { ok: receive(row.ok) } : missing)) };
  } catch (error) {
    // One document may be missing, forbidden or wrongly asked for; any other error means that the whole request fails.
    if (!isDatabaseError(error) || ![400, 403, 404].includes(error.status)) throw error;
    // No database says that it is missing: a dump might leave it out.
    if (error.status === 404 && isForeign(error)) throw error;
    return { id, docs: [{ error: { ...missing.error, error: error.name, reason: error.reason } }] };
  }
}
