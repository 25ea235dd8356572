/**
 * One document: GET, HEAD, PUT, DELETE, COPY, and POST to the database. `_design/` and `_local/` ones too.
 *
 * The revision that an edit is based on may stand in the body, in `?rev=` or in If-Match; they must agree.
 */
import {
  badRequest,
  conflict,
  type Database,
  type Doc,
  type ExistingDoc,
  type GetOptions,
  isLocalId,
  isLocalRev,
  isObject,
  isRev,
  isTexts,
  notFound,
  type OpenRevsRow,
  type Rev,
  type RowSource,
  uuid,
  type Written,
} from '@settledb/core';
import { type OutgoingPart, writeMultipart } from './multipart';
import { type Answer, failure, jsonResponse, NOT_MODIFIED, TextAnswer } from './server-answer';
import { mediaType, readJsonText, upTo } from './server-body';
import type { DatabaseContext } from './server-context';
import { parseJson } from './server-json';
import {
  docJson,
  docPart,
  errorPart,
  readMultipartDoc,
  relatedText,
  rowJson,
  wantsMultipart,
} from './server-multipart';
import { type OpenDoc, openDoc, roomAhead, whileThere } from './server-opened';
import { NO_QUERY, type Query } from './server-query';
import type { ServerRequest } from './server-request';
import { type Element, gatheredResponse, jsonOf, listText } from './server-several';
import { respondWith, textStream, toStream } from './server-streams';
import { checkSize, prepareWrite } from './server-write';
import { CACHING, encodeDocId, encodePart, JSON_TYPE, MAX_TOLD } from './wire';

type Body = Record<string, unknown>;

export async function getDoc(context: DatabaseContext, id: string): Promise<Answer> {
  const { query, request, database } = context;
  if (query === NO_QUERY && !isLocalId(id)) return docResponse(request, await database.get(id));
  const meta = query.flag('meta');
  const revs = query.flag('revs');
  const options = {
    revs,
    revs_info: query.flag('revs_info') ?? meta,
    conflicts: query.flag('conflicts') ?? meta,
    deleted_conflicts: query.flag('deleted_conflicts') ?? meta,
    local_seq: query.flag('local_seq'),
    latest: query.flag('latest'),
    att_encoding_info: query.flag('att_encoding_info'),
  };
  const open_revs = readOpenRevs(query);
  // Local documents have one revision and no tree.
  if (open_revs !== undefined && isLocalId(id)) throw notFound('missing', id);
  if (open_revs !== undefined) return openRevs(context, id, options, open_revs);
  const rev = query.text('rev');
  if (rev !== undefined) checkRev(rev);
  const attsSince = readRevs(query, 'atts_since');
  const attachments = query.flag('attachments') ?? attsSince !== undefined;
  if (!attachments || isLocalId(id))
    return docResponse(request, await database.get(id, { ...options, rev, attachments: isLocalId(id) }));
  const related = wantsMultipart(request, 'related');
  const info = related ? { att_encoding_info: true } : {};
  const all = { ...options, ...info, rev, revs: revs || attsSince !== undefined };
  return whileThere(
    () => database.get(id, all),
    async (doc) => {
      const headers = docHeaders(doc);
      if (isKnown(request, headers.etag)) return notModified(headers.etag!);
      if (doc._attachments === undefined) {
        if (!revs) delete doc._revisions;
        return jsonResponse(200, doc, headers);
      }
      const since = attsSince && new Set(attsSince);
      const source = { database, doc, attsSince: since, dropRevisions: !revs, signal: request.signal };
      return wholeDoc(await openDoc(source, related), related, headers);
    },
  );
}

/** The document with the data of its attachments. */
function wholeDoc(doc: OpenDoc, related: boolean, etag: { etag?: string }): Promise<Answer> {
  const headers = { ...etag, 'cache-control': CACHING };
  if (!related) return respondWith(200, { ...headers, 'content-type': JSON_TYPE }, textStream(docJson(doc)));
  const boundary = uuid();
  const type = `multipart/related; boundary="${boundary}"`;
  return respondWith(200, { ...headers, 'content-type': type }, toStream(relatedText(doc, boundary)));
}

function readOpenRevs(query: Query): 'all' | string[] | undefined {
  const text = query.text('open_revs');
  if (text === undefined || text === 'all') return text;
  const revs = readRevs(query, 'open_revs');
  // An empty list asks for nothing in particular, as in CouchDB. A revision is answered once: the rows are all held.
  return revs === undefined || revs.length === 0 ? undefined : [...new Set(revs)];
}

/** @throws bad_request */
function readRevs(query: Query, name: string): string[] | undefined {
  const revs = query.json(name);
  if (revs === undefined) return undefined;
  if (!isTexts(revs)) throw badRequest(`\`${name}\` must be a list of revisions`);
  for (const rev of revs) checkRev(rev);
  return revs;
}

/** @throws bad_request */
export function checkRev(rev: unknown): asserts rev is string {
  if (!isRev(rev) && !isLocalRev(rev)) throw badRequest('Invalid rev format');
}

function docResponse(request: ServerRequest, doc: ExistingDoc): Answer {
  const headers = docHeaders(doc);
  return isKnown(request, headers.etag) ? notModified(headers.etag!) : jsonResponse(200, doc, headers);
}

const CHANGING = ['_conflicts', '_deleted_conflicts', '_revs_info', '_local_seq'];

/** An ETag, unless the answer may change without a new revision. One of a local document is counted, and comes again when it is made anew. */
function docHeaders(doc: ExistingDoc): { etag?: string } {
  return isLocalId(doc._id) || CHANGING.some((field) => field in doc) ? {} : etagOf(doc._rev);
}

/** Whether the client has it: `If-None-Match`. */
export function isKnown(request: ServerRequest, etag: string | undefined): boolean {
  const tags = request.headers.get('if-none-match');
  return tags?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag) ?? false;
}

export const notModified = (etag: string): Answer => new TextAnswer(NOT_MODIFIED, '', { etag });

/** As a header; none for a foreign revision that no header can carry, or only too long a one. */
const etagOf = (rev: Rev): { etag?: string } =>
  rev.length <= MAX_TOLD && /^[!#-~]+$/.test(rev) ? { etag: `"${rev}"` } : {};

/**
 * Several revisions: as JSON if the client names it, otherwise as multipart/mixed, which CouchDB's replicator asks for, and then
 * always with attachments.
 */
async function openRevs(
  { database, request, query }: DatabaseContext,
  id: string,
  options: GetOptions,
  open_revs: 'all' | string[],
): Promise<Answer> {
  const { signal } = request;
  const attsSince = readRevs(query, 'atts_since');
  const multipart = wantsMultipart(request, 'mixed');
  if (!multipart && !query.flag('attachments') && attsSince === undefined)
    return listResponse(jsonOf(await rowsOf(database, id, { ...options, open_revs, signal })));
  const info = multipart ? { att_encoding_info: true } : {};
  const how = { attsSince: attsSince && new Set(attsSince), dropRevisions: !options.revs, signal };
  const rows = await whileThere(
    () => database.get(id, { ...options, ...info, revs: true, open_revs }),
    async (found) => {
      const room = roomAhead();
      const opened: OpenRow[] = [];
      for (const row of found)
        opened.push(
          'ok' in row ? { ok: await openDoc({ database, doc: row.ok, ...how }, multipart, room) } : row,
        );
      return opened;
    },
  );
  // None of the data of attachments is held whole.
  if (!multipart) return listResponse(rows.map(rowJson));
  const boundary = uuid();
  return respondWith(
    200,
    { 'content-type': `multipart/mixed; boundary="${boundary}"`, 'cache-control': CACHING },
    toStream(writeMultipart(rows.map(partOf), boundary)),
  );
}

const listResponse = (rows: Iterable<Element>): Promise<Answer> =>
  gatheredResponse(listText('[', rows, ']\n'));

type OpenRow = { readonly ok: OpenDoc } | { readonly missing: Rev };

const partOf = (row: OpenRow): OutgoingPart => ('ok' in row ? docPart(row.ok) : errorPart(row));

type OpenRevsOptions = GetOptions & { readonly open_revs: 'all' | readonly Rev[] };

const getRows = (database: Database, id: string, options: OpenRevsOptions): Promise<OpenRevsRow[]> =>
  database.get(id, options);

/**
 * The revisions asked for, without the data of attachments; if the database can, each is made when it is taken. How content is encoded
 * is looked up for all at once.
 */
export const rowsOf = (
  database: Database,
  id: string,
  options: OpenRevsOptions,
): Promise<Iterable<OpenRevsRow>> =>
  hasRows(database) && !options.att_encoding_info
    ? database.openRevs(id, options)
    : getRows(database, id, options);

const hasRows = (database: Database): database is Database & RowSource =>
  typeof (database as Partial<RowSource>).openRevs === 'function';

export async function putDoc(context: DatabaseContext, id: string): Promise<Answer> {
  const { request, server, query } = context;
  // A local document has no tree: there is but one way to write it.
  const newEdits = isLocalId(id) || query.flag('new_edits') !== false;
  if (mediaType(request) === 'multipart/related') {
    const { doc, end, leave } = await readMultipartDoc(context);
    try {
      const answer = await writeDoc(context, namedDoc(context, id, doc), { newEdits });
      await end();
      return answer;
    } finally {
      await leave();
    }
  }
  // Also without a content type, as in CouchDB: browsers send a preflight before any PUT to another origin.
  const text = await readJsonText(request, { ...upTo(server), mustBeJson: false });
  const doc = namedDoc(context, id, checkDoc(parseJson(text)));
  return writeDoc(context, doc, { newEdits, sent: text.length });
}

/** The document under the id of the path, with the revision that was named in any of the places. */
function namedDoc(context: DatabaseContext, id: string, body: Body): Doc {
  const rev = agreedRev(context, body._rev);
  // The body was made for this request, and nobody else has it.
  body._id = id;
  if (rev !== undefined) body._rev = rev;
  return body as Doc;
}

/** Stores a document, after every check that may refuse it. @param sent characters of the JSON it came as, if it came as JSON */
async function writeDoc(
  context: DatabaseContext,
  doc: Doc,
  { newEdits = true, sent }: { readonly newEdits?: boolean; readonly sent?: number } = {},
): Promise<Answer> {
  const { database, request, server } = context;
  checkSize(doc, server.limits, sent);
  const prepared = await prepareWrite(context, doc);
  await request.endOfTurn?.();
  const written = newEdits ? await database.put(prepared) : await putAsGiven(context, prepared);
  return writtenResponse(context, doc, written);
}

export async function postDoc(context: DatabaseContext): Promise<Answer> {
  const { request, server } = context;
  const text = await readJsonText(request, upTo(server));
  const body = checkDoc(parseJson(text));
  body._id ??= uuid();
  return writeDoc(context, body as Doc, { sent: text.length });
}

/** @throws bad_request; illegal_docid for an id that is not a text */
export function checkDoc(value: unknown): Body {
  if (!isObject(value)) throw badRequest('Document must be a JSON object');
  const { _id } = value;
  if (_id !== undefined && (typeof _id !== 'string' || _id === '')) {
    const reason = _id === '' ? 'Document id must not be empty' : 'Document id must be a string';
    throw failure(400, 'illegal_docid', reason);
  }
  return value;
}

/** The one revision that body, query and If-Match name. @throws bad_request when they differ */
export function agreedRev({ query, request }: DatabaseContext, inBody: unknown): unknown {
  const inQuery = query.text('rev');
  const inHeader = request.headers
    .get('if-match')
    ?.trim()
    .replace(/^"(.*)"$/, '$1');
  if (inQuery !== undefined && inBody !== undefined && inQuery !== inBody) {
    throw badRequest('Document rev from request body and query string have different values');
  }
  const rev = inQuery ?? inBody;
  if (inHeader !== undefined && rev !== undefined && inHeader !== rev) {
    throw badRequest('Document rev and etag have different values');
  }
  return inHeader ?? rev;
}

async function putAsGiven({ database }: DatabaseContext, doc: Doc): Promise<Written> {
  const [refused] = await database.bulkDocs([doc], { new_edits: false });
  if (refused !== undefined && 'error' in refused) {
    throw failure(refused.status, refused.name, refused.reason);
  }
  const { start, ids } = doc._revisions ?? {};
  const rev = start !== undefined && ids?.[0] !== undefined ? `${start}-${ids[0]}` : doc._rev!;
  return { ok: true, id: doc._id!, rev };
}

/** Characters of a `Location`. Node's parser takes headers of 16 KB: with a longer one the client would not learn that it has written. */
const MAX_LOCATION = 8 * 1024;

function writtenResponse({ query, origin, name }: DatabaseContext, doc: Doc, written: Written): Answer {
  if (query.text('batch') === 'ok') return jsonResponse(202, { ok: true, id: written.id });
  const location = `${origin}/${encodePart(name)}/${encodeDocId(written.id)}`;
  const headers = { ...(location.length <= MAX_LOCATION && { location }), ...etagOf(written.rev) };
  return jsonResponse(doc._deleted === true ? 200 : 201, written, headers);
}

export async function deleteDoc(context: DatabaseContext, id: string): Promise<Answer> {
  const { database, request } = context;
  const rev = agreedRev(context, undefined) ?? (await revisionToDelete(database, id));
  checkRev(rev);
  // Only what is not there is missing: a revision that is no leaf, compacted away or never known, is a conflict.
  if (!isLocalId(id)) await database.get(id);
  const doc = await prepareWrite(context, { _id: id, _rev: rev, _deleted: true });
  await request.endOfTurn?.();
  const written = await database.put(doc);
  return jsonResponse(200, written, etagOf(written.rev));
}

/** A `_local/` document may be deleted without its revision; for others that is a conflict, if the document exists. */
async function revisionToDelete(database: Database, id: string): Promise<string> {
  const { _rev } = await database.get(id);
  if (isLocalId(id)) return _rev;
  throw conflict(id);
}

export async function copyDoc(context: DatabaseContext, id: string): Promise<Answer> {
  const { database, query, request } = context;
  const destination = request.headers.get('destination');
  if (destination === null) throw badRequest('Destination header is mandatory for COPY.');
  if (/^[a-z]+:\/\//i.test(destination)) throw badRequest('Destination URL must be relative.');
  const [path = '', search = ''] = destination.split('?', 2);
  const { _rev: _source, ...content } = await database.get(id, {
    rev: query.text('rev'),
    signal: request.signal,
  });
  if (content._deleted === true) throw notFound('deleted', id);
  const rev = new URLSearchParams(search).get('rev');
  const doc: Doc = { ...content, _id: decodeDestination(path), ...(rev === null ? {} : { _rev: rev }) };
  return writeDoc(context, doc);
}

/**
 * A header's characters are its bytes. Clients that do not percent-encode an id send it as UTF-8, or in Latin-1 if they send
 * characters as bytes: what is not valid UTF-8 is taken for Latin-1.
 */
function decodeDestination(path: string): string {
  const escaped = path.replace(/[\x80-\xff]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
  const id = decoded(escaped) ?? decoded(path);
  if (id === undefined) throw badRequest('invalid_url_encoding');
  return id;
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}
