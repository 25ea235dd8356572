/** Requests for reading: one document, and lists of them. */
import {
  type AllDocsOptions,
  type AllDocsResult,
  type Bytes,
  badRequest,
  type ExistingDoc,
  type GetOptions,
  invalidIdType,
  isLocalId,
  isRev,
  notFound,
  type OpenRevsRow,
  parseRev,
  queryParseError,
} from '@settledb/core';
import { receiveDoc } from './client-attachments';
import { bulkGetOver } from './client-bulk-get';
import * as check from './client-check';
import { type Call, formatQuery, type Http } from './client-http';
import { encodeDocId, fromWireError, isDotId, isTexts } from './wire';

/** Characters of a query beyond which the options go into the body: servers and proxies end at 8,000, some at 2,000. */
export const MAX_QUERY_LENGTH = 1_800;

/** @throws bad_request for an id or revisions that are none */
export function getCall(id: string, options: GetOptions): Call {
  if (typeof id !== 'string') throw invalidIdType();
  // Names of the protocol's own (`_all_docs`) and the empty one would be answered, but not with a document.
  if (id === '' || (id.startsWith('_') && !/^_(design|local)\/./s.test(id))) throw notFound('missing', id);
  const { rev, open_revs, latest, signal } = options;
  if (rev !== undefined && !isLocalId(id)) parseRev(rev);
  if (open_revs !== undefined && open_revs !== 'all' && !(isTexts(open_revs) && open_revs.every(isRev))) {
    throw badRequest('`open_revs` must be "all" or a list of revisions');
  }
  // CouchDB takes `rev` with `latest` for the winner; `open_revs` follows the branch that was named.
  const follow = latest === true && rev !== undefined && open_revs === undefined;
  const revs = follow ? [rev] : open_revs;
  return {
    method: 'GET',
    path: `/${encodeDocId(id)}`,
    query: {
      rev: follow ? undefined : rev,
      open_revs: revs === undefined || revs === 'all' ? revs : JSON.stringify(revs),
      latest: latest || undefined,
      revs: options.revs || undefined,
      revs_info: options.revs_info || undefined,
      conflicts: options.conflicts || undefined,
      deleted_conflicts: options.deleted_conflicts || undefined,
      local_seq: options.local_seq || undefined,
      attachments: options.attachments || undefined,
      att_encoding_info: options.att_encoding_info || comesWithData(options) || undefined,
      atts_since: options.atts_since === undefined ? undefined : JSON.stringify(options.atts_since),
    },
    signal,
    docId: id,
  };
}

/** `atts_since` asks for data by itself. */
const comesWithData = ({
  attachments,
  atts_since,
}: Pick<GetOptions, 'attachments' | 'atts_since'>): boolean =>
  attachments === true || atts_since !== undefined;

type Receive = <D extends ExistingDoc | null | undefined>(doc: D) => D;

/** How the data of attachments comes: as it was asked for, and checked. */
async function receiver(options: GetOptions, bytes: Bytes | undefined): Promise<Receive> {
  if (!comesWithData(options)) return (doc) => doc;
  return (doc) => receiveDoc(doc, options, bytes);
}

/** One document, or with `open_revs` the revisions asked for. `call`: of {@link getCall}. */
export async function readDoc<Content extends object>(
  http: Http,
  id: string,
  call: Call,
  options: GetOptions,
  bytes: Bytes | undefined,
): Promise<ExistingDoc<Content> | OpenRevsRow<Content>[]> {
  if (isDotId(id)) return readDotDoc<Content>(http, id, options);
  const receive = await receiver(options, bytes);
  const answer = await http.json(call);
  if (options.open_revs !== undefined)
    return check
      .checkOpenRevs<Content>(answer, id)
      .map((row) => ('ok' in row ? { ok: receive(row.ok) } : row));
  if (call.query?.open_revs === undefined) return receive(check.checkDoc<Content>(answer, id));
  // `rev` with `latest` was asked as `open_revs`: see there.
  const found = check.checkOpenRevs<Content>(answer, id).find((row) => 'ok' in row);
  if (found === undefined) throw notFound('missing', id);
  return receive(found.ok);
}

/** A list of documents. `call`: of {@link allDocsCall}. */
export async function readAllDocs<Content extends object>(
  http: Http,
  call: Call,
  options: AllDocsOptions,
  bytes: Bytes | undefined,
): Promise<AllDocsResult<Content>> {
  const answer = check.checkAllDocs<Content>(await http.json(call));
  if (!options.include_docs || !options.attachments) return answer;
  const receive = await receiver(options, bytes);
  const rows = answer.rows.map((row) => ('doc' in row ? { ...row, doc: receive(row.doc) } : row));
  return { ...answer, rows };
}

/** A document whose id no URL can carry, by the requests that name ids in their body. */
async function readDotDoc<Content extends object>(
  http: Http,
  id: string,
  { rev, revs, latest, open_revs, conflicts, signal }: GetOptions,
): Promise<ExistingDoc<Content> | OpenRevsRow<Content>[]> {
  if (rev === undefined && open_revs === undefined && !revs) {
    const call = allDocsCall({ keys: [id], include_docs: true, conflicts, signal });
    const [row] = check.checkAllDocs<Content>(await http.json(call)).rows;
    if (row === undefined || 'error' in row || row.value.deleted) {
      throw notFound(row !== undefined && 'value' in row ? 'deleted' : 'missing', id);
    }
    return check.checkDoc<Content>(row.doc, id);
  }
  const asked = open_revs === undefined || open_revs === 'all' ? [rev] : open_revs;
  const docs = asked.map((one) => (one === undefined ? { id } : { id, rev: one }));
  const { results } = await bulkGetOver<Content>(http, docs, { revs, latest, signal });
  const rows = results.flatMap((result) => result.docs);
  if (open_revs !== undefined) {
    return rows.map((row) => ('ok' in row ? { ok: row.ok } : { missing: row.error.rev }));
  }
  const [first] = rows;
  if (first === undefined) throw notFound('missing', id);
  if ('error' in first) throw fromWireError(first.error, undefined, id);
  return first.ok;
}

/** @throws query_parse_error, bad_request */
export function allDocsCall(options: AllDocsOptions): Call {
  const { keys, key, signal } = options;
  const startkey = options.startkey ?? options.start_key;
  const endkey = options.endkey ?? options.end_key;
  const flags = {
    include_docs: options.include_docs || undefined,
    conflicts: options.conflicts || undefined,
    attachments: (options.include_docs && options.attachments) || undefined,
    att_encoding_info:
      (options.include_docs && (options.att_encoding_info || options.attachments)) || undefined,
    descending: options.descending || undefined,
    inclusive_end: options.inclusive_end === false ? false : undefined,
    update_seq: options.update_seq || undefined,
    limit: options.limit,
    skip: options.skip,
  };
  if (keys !== undefined) {
    if (!isTexts(keys)) throw queryParseError('`keys` must be a list of strings');
    if ((key ?? startkey ?? endkey) !== undefined) {
      throw queryParseError('`keys` is incompatible with `key`, `start_key` and `end_key`');
    }
    return { method: 'POST', path: '/_all_docs', query: flags, body: { keys }, signal };
  }
  const bounds = { key, startkey, endkey };
  const query = { ...flags, key: toJson(key), startkey: toJson(startkey), endkey: toJson(endkey) };
  if (formatQuery(query).length <= MAX_QUERY_LENGTH)
    return { method: 'GET', path: '/_all_docs', query, signal };
  return { method: 'POST', path: '/_all_docs', query: flags, body: bounds, signal };
}

const toJson = (value: unknown): string | undefined =>
  value === undefined ? undefined : JSON.stringify(value);
