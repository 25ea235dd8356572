/** Requests for reading: one document, and lists of them. */
import {
  type AllDocsOptions,
  type AllDocsResult,
  type BulkGetResult,
  badRequest,
  checkAttsSince,
  checkCount,
  type ExistingDoc,
  type GetOptions,
  invalidIdType,
  isLocalId,
  isReservedId,
  isRev,
  isTexts,
  normalizeKeys,
  notFound,
  notImplemented,
  type OpenRevsRow,
  parseRev,
  queryParseError,
  type Rev,
  writtenJson,
} from '@settledb/core';
import { bulkGetOver } from './client-bulk-get';
import { type Call, flag, formatQuery } from './client-call';
import * as check from './client-check';
import type { Http } from './client-http';
import { receiveDoc } from './client-receive';
import { encodeDocId, fromWireError, hasNoUrl } from './wire';

/** Characters of a query beyond which the options go into the body: servers and proxies accept up to 8,000, some only 2,000. */
export const MAX_QUERY_LENGTH = 1_800;

/** @throws bad_request for an invalid id or invalid revisions */
export function getCall(id: string, options: GetOptions): Call {
  if (typeof id !== 'string') throw invalidIdType();
  // The protocol's own names (`_all_docs`) and the empty one would get an answer, but not a document.
  if (id === '' || isReservedId(id)) throw notFound('missing', id);
  const { rev, open_revs, latest, signal } = options;
  const since = checkAttsSince(options.atts_since);
  if (rev !== undefined && !isLocalId(id)) parseRev(rev);
  if (open_revs !== undefined && open_revs !== 'all' && !(isTexts(open_revs) && open_revs.every(isRev))) {
    throw badRequest("open_revs must be 'all' or a list of revisions");
  }
  // CouchDB answers `rev` with `latest` with the winner; `open_revs` follows the branch that was named.
  const follow = Boolean(latest) && rev !== undefined && open_revs === undefined;
  const revs = follow ? [rev] : open_revs;
  return {
    method: 'GET',
    path: `/${encodeDocId(id)}`,
    query: {
      rev: follow ? undefined : rev,
      open_revs: revs === undefined || revs === 'all' ? revs : JSON.stringify(revs),
      latest: flag(latest),
      revs: flag(options.revs),
      revs_info: flag(options.revs_info),
      conflicts: flag(options.conflicts),
      deleted_conflicts: flag(options.deleted_conflicts),
      local_seq: flag(options.local_seq),
      attachments: flag(options.attachments),
      att_encoding_info: flag(options.att_encoding_info || comesWithData(options)),
      atts_since: since && JSON.stringify(since),
    },
    signal,
    docId: id,
  };
}

/** Whether attachments come with their data; `atts_since` asks for it too. */
const comesWithData = ({
  attachments,
  atts_since,
}: Pick<GetOptions, 'attachments' | 'atts_since'>): boolean =>
  Boolean(attachments) || (atts_since ?? undefined) !== undefined;

/** Options that count only where one revision is asked for, not with `open_revs`. */
const OF_ONE = ['conflicts', 'deleted_conflicts', 'local_seq', 'revs_info'] as const;

type Receive = <D extends ExistingDoc | null | undefined>(doc: D) => D;

/** Puts the data of attachments into the form that was asked for, and checks it. */
function receiver({ bytes }: Http, options: GetOptions): Receive {
  return comesWithData(options) ? (doc) => receiveDoc(doc, options, bytes) : (doc) => doc;
}

/** One document, or with `open_revs` the revisions asked for. `call`: of {@link getCall}. */
export async function readDoc<Content extends object>(
  http: Http,
  id: string,
  call: Call,
  options: GetOptions,
): Promise<ExistingDoc<Content> | OpenRevsRow<Content>[]> {
  if (hasNoUrl(id, options.rev)) return readDotDoc<Content>(http, id, options);
  const receive = receiver(http, options);
  const answer = await http.json(call);
  if (options.open_revs !== undefined)
    return check
      .checkOpenRevs<Content>(answer, id)
      .map((row) => ('ok' in row ? { ok: receive(row.ok) } : row));
  if (call.query?.open_revs === undefined) return receive(check.checkDoc<Content>(answer, id));
  // `rev` with `latest` was sent as `open_revs`: see getCall.
  const found = check.checkOpenRevs<Content>(answer, id).find((row) => 'ok' in row);
  if (found === undefined) throw notFound('missing', id);
  if (!OF_ONE.some((name) => options[name])) return receive(found.ok);
  const one = { ...options, rev: found.ok._rev, latest: undefined };
  return readDoc<Content>(http, id, getCall(id, one), one);
}

/** Like {@link readDoc}, but always one document. `options`: without `open_revs` and data. */
export async function readOne(http: Http, id: string, options: GetOptions): Promise<ExistingDoc> {
  return (await readDoc(http, id, getCall(id, options), options)) as ExistingDoc;
}

/** A list of documents. `call`: of {@link allDocsCall}. */
export async function readAllDocs<Content extends object>(
  http: Http,
  call: Call,
  options: AllDocsOptions,
): Promise<AllDocsResult<Content>> {
  const { keys, limit, skip } = options;
  // With a limit, servers may count differently what they leave out.
  const rows = (limit ?? skip ?? undefined) === undefined ? keys?.length : undefined;
  const found = check.checkAllDocs<Content>(await http.json(call), rows);
  // With `keys`, CouchDB gives no offset; PouchDB, and a local database, give what was skipped.
  const answer = { ...found, offset: found.offset ?? skip ?? 0 };
  if (!options.include_docs || !options.attachments) return answer;
  const receive = receiver(http, options);
  const received = answer.rows.map((row) => ('doc' in row ? { ...row, doc: receive(row.doc) } : row));
  return { ...answer, rows: received };
}

/** A document whose id no URL can carry, read by requests that have ids in their body. @throws not_implemented */
async function readDotDoc<Content extends object>(
  http: Http,
  id: string,
  options: GetOptions,
): Promise<ExistingDoc<Content> | OpenRevsRow<Content>[]> {
  checkDotOptions(id, options);
  const { rev, revs, open_revs, conflicts, att_encoding_info, signal } = options;
  if (open_revs !== undefined) {
    const listed = open_revs === 'all' ? await readLeaves(http, id, signal) : open_revs;
    const rows = await readDotRevs<Content>(http, id, listed, options);
    return rows.map((row) => ('ok' in row ? { ok: row.ok } : { missing: row.error.rev }));
  }
  const call = allDocsCall({ keys: [id], include_docs: true, conflicts, att_encoding_info, signal });
  const isKnown = rev !== undefined && !conflicts;
  const [row] = isKnown ? [] : check.checkAllDocs<Content>(await http.json(call)).rows;
  const isLive = row !== undefined && 'value' in row && !row.value.deleted;
  const winner = isLive ? check.checkDoc<Content>(row.doc, id) : undefined;
  const asked = rev ?? winner?._rev;
  if (asked === undefined) throw notFound(row !== undefined && 'value' in row ? 'deleted' : 'missing', id);
  if (winner !== undefined && rev === undefined && !revs && !comesWithData(options)) return winner;
  const [found] = await readDotRevs<Content>(http, id, [asked], options);
  if (found === undefined) throw notFound('missing', id);
  if ('error' in found) throw fromWireError(found.error, id);
  return winner?._conflicts === undefined ? found.ok : { ...found.ok, _conflicts: winner._conflicts };
}

/** @throws not_implemented for options that only a request by URL has */
function checkDotOptions(id: string, options: GetOptions): void {
  if (options.open_revs !== undefined) return;
  // The conflicts of one document are known anyway.
  const lacking = OF_ONE.find((name) => options[name] && name !== 'conflicts');
  if (lacking === undefined) return;
  throw notImplemented(`\`${lacking}\` is asked for by URL, and none can name ${JSON.stringify(id)}`);
}

/** The leaves of a document: `_bulk_get` cannot ask for all of them in a way that every server accepts. @throws not_found */
async function readLeaves(http: Http, id: string, signal: AbortSignal | undefined): Promise<Rev[]> {
  const query = { filter: '_doc_ids', style: 'all_docs' };
  const body = { doc_ids: [id] };
  const answer = await http.json({ method: 'POST', path: '/_changes', query, body, signal, docId: id });
  const row = check.checkChanges(answer).results.find((each) => each.id === id);
  if (row === undefined) throw notFound('missing', id);
  return row.changes.map(({ rev }) => rev);
}

async function readDotRevs<Content extends object>(
  http: Http,
  id: string,
  asked: readonly Rev[],
  { revs, latest, attachments, binary, att_encoding_info, atts_since, signal }: GetOptions,
): Promise<BulkGetResult<Content>['results'][number]['docs']> {
  // With an empty list a GET answers all of the data, an entry of `_bulk_get` none.
  const withAll = attachments || atts_since?.length === 0;
  const options = { revs, latest, attachments: withAll, binary, att_encoding_info, signal };
  const docs = asked.map((rev) => ({ id, rev, ...(atts_since && { atts_since }) }));
  const { results } = await bulkGetOver<Content>(http, docs, options);
  return results.flatMap((result) => result.docs);
}

/** @throws query_parse_error, bad_request */
export function allDocsCall(options: AllDocsOptions): Call {
  const { keys, signal } = options;
  checkCount('limit', options.limit);
  checkCount('skip', options.skip);
  const bounds = boundsOf(options);
  const flags = {
    include_docs: flag(options.include_docs),
    conflicts: flag(options.conflicts),
    attachments: flag(options.include_docs && options.attachments),
    att_encoding_info: flag(options.include_docs && (options.att_encoding_info || options.attachments)),
    descending: flag(options.descending),
    inclusive_end: options.inclusive_end === false ? false : undefined,
    update_seq: flag(options.update_seq),
    limit: options.limit,
    skip: options.skip,
  };
  if (keys !== undefined) {
    if (!Array.isArray(keys)) throw badRequest('`keys` must be an array');
    if (Object.values(bounds).some((bound) => bound !== undefined)) {
      throw queryParseError('`keys` is incompatible with `key`, `start_key` and `end_key`');
    }
    return { method: 'POST', path: '/_all_docs', query: flags, body: { keys: normalizeKeys(keys) }, signal };
  }
  const sent = sentBounds(bounds, Boolean(options.descending));
  const texts = Object.entries(sent).map(([name, bound]) => [name, toJson(bound)]);
  const query = { ...flags, ...Object.fromEntries(texts) };
  if (formatQuery(query).length <= MAX_QUERY_LENGTH)
    return { method: 'GET', path: '/_all_docs', query, signal };
  return { method: 'POST', path: '/_all_docs', query: flags, body: sent, signal };
}

type Bounds = { readonly [name in 'key' | 'startkey' | 'endkey']?: unknown };

/** `null` is a bound: only an undefined option gives way to its other name. */
const boundsOf = ({
  key,
  start_key,
  end_key,
  startkey = start_key,
  endkey = end_key,
}: AllDocsOptions): Bounds => ({ key, startkey, endkey });

/**
 * The same rows, by bounds that every server accepts, where a bound is not a text: lists and objects are above all ids, everything
 * else is below them, like `null`.
 */
function sentBounds({ key, startkey, endkey }: Bounds, descending: boolean): Bounds {
  const sent = (bound: unknown): unknown =>
    bound === undefined || typeof bound === 'string' ? bound : isAbove(bound) ? undefined : null;
  if (key !== undefined) return { key: typeof key === 'string' ? key : null };
  // No id is above them.
  if (isAbove(descending ? endkey : startkey)) return { key: null };
  return { startkey: sent(startkey), endkey: sent(endkey) };
}

const isAbove = (bound: unknown): boolean => typeof bound === 'object' && bound !== null;

const toJson = (value: unknown): string | undefined => (value === undefined ? undefined : writtenJson(value));
