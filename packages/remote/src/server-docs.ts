/**
 * One document: GET, HEAD, PUT, DELETE, COPY, and POST to the database. `_design/` and `_local/` ones too.
 *
 * The revision an edit is made upon may stand in the body, in `?rev=` or in If-Match; they must agree.
 */
import {
  badRequest,
  type Database,
  type Doc,
  type ExistingDoc,
  isDatabaseError,
  isLocalId,
  isRev,
  notFound,
  type OpenRevsRow,
  type Rev,
  uuid,
  type Written,
} from '@settledb/core';
import type { DatabaseContext } from './server-context';
import { failure, jsonResponse, parseJson, type Query, readJson } from './server-http';
import { encodeDocId, encodePart, isObject, isTexts, JSON_TYPE } from './wire';

type Body = Record<string, unknown>;

export async function getDoc(context: DatabaseContext, id: string): Promise<Response> {
  const { query, request, database } = context;
  const meta = query.flag('meta');
  const options = {
    signal: request.signal,
    revs: query.flag('revs'),
    revs_info: query.flag('revs_info') ?? meta,
    conflicts: query.flag('conflicts') ?? meta,
    deleted_conflicts: query.flag('deleted_conflicts') ?? meta,
    local_seq: query.flag('local_seq'),
    latest: query.flag('latest'),
  };
  const open_revs = readOpenRevs(query);
  // Local documents have one revision and no tree.
  if (open_revs !== undefined && isLocalId(id)) throw notFound('missing', id);
  if (open_revs !== undefined) {
    const rows = await database.get(id, { ...options, open_revs });
    return openRevsResponse(request, rows);
  }
  const rev = query.text('rev');
  if (rev !== undefined) checkRev(rev);
  const doc = await database.get(id, { ...options, rev });
  return docResponse(request, doc);
}

function readOpenRevs(query: Query): 'all' | string[] | undefined {
  const text = query.text('open_revs');
  if (text === undefined || text === 'all') return text;
  const revs = parseJson(text);
  if (!isTexts(revs)) throw badRequest('`open_revs` must be "all" or a list of revisions');
  for (const rev of revs) checkRev(rev);
  // As CouchDB: an empty list asks for nothing in particular.
  return revs.length === 0 ? undefined : revs;
}

/** @throws bad_request */
export function checkRev(rev: unknown): asserts rev is string {
  // Generation 0 is that of `_local/` documents.
  if (!isRev(rev) && !(typeof rev === 'string' && /^0-\d+$/.test(rev)))
    throw badRequest('Invalid rev format');
}

function docResponse(request: Request, doc: ExistingDoc): Response {
  // What may change without a new revision must not be cached under the revision.
  const changing = ['_conflicts', '_deleted_conflicts', '_revs_info', '_local_seq'].some(
    (field) => field in doc,
  );
  if (changing) return jsonResponse(200, doc);
  const etag = etagOf(doc._rev);
  if (etag === undefined) return jsonResponse(200, doc);
  const known = (request.headers.get('if-none-match') ?? '')
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''));
  if (known.includes(etag)) return new Response(null, { status: 304, headers: { etag } });
  return jsonResponse(200, doc, { etag });
}

/** None for a revision of another's making that no header can carry. */
function etagOf(rev: Rev): string | undefined {
  return /^[!#-~]+$/.test(rev) ? `"${rev}"` : undefined;
}

/** JSON for whoever names it; multipart/mixed else, which is what CouchDB's replicator asks for. */
function openRevsResponse(request: Request, rows: readonly OpenRevsRow[]): Response {
  const accept = request.headers.get('accept') ?? '';
  const asksJson = accept.includes(JSON_TYPE) && !accept.trimStart().startsWith('multipart/mixed');
  if (asksJson) return jsonResponse(200, rows);
  const boundary = uuid();
  const parts = rows.map((row) => {
    const type = 'ok' in row ? JSON_TYPE : `${JSON_TYPE}; error="true"`;
    return `--${boundary}\r\nContent-Type: ${type}\r\n\r\n${JSON.stringify('ok' in row ? row.ok : row)}\r\n`;
  });
  return new Response(`${parts.join('')}--${boundary}--`, {
    status: 200,
    headers: {
      'content-type': `multipart/mixed; boundary="${boundary}"`,
      'cache-control': 'must-revalidate',
    },
  });
}

export async function putDoc(context: DatabaseContext, id: string): Promise<Response> {
  const { request, server, query } = context;
  // Without a content type too, as CouchDB: browsers ask before any PUT to another origin.
  const body = checkDoc(await readJson(request, { limit: server.limits.document, mustBeJson: false }));
  const rev = agreedRev(context, body._rev);
  const doc = { ...body, _id: id, ...(rev === undefined ? {} : { _rev: rev }) } as Doc;
  if (query.flag('new_edits') === false) return writtenResponse(context, doc, await putAsGiven(context, doc));
  return writtenResponse(context, doc, await context.database.put(doc, { signal: request.signal }));
}

export async function postDoc(context: DatabaseContext): Promise<Response> {
  const { request, server, database } = context;
  const body = checkDoc(await readJson(request, { limit: server.limits.document }));
  if (body._id !== undefined && (typeof body._id !== 'string' || body._id === '')) {
    const reason = body._id === '' ? 'Document id must not be empty' : 'Document id must be a string';
    throw failure(400, 'illegal_docid', reason);
  }
  const doc = { ...body, _id: body._id ?? uuid() } as Doc;
  return writtenResponse(context, doc, await database.put(doc, { signal: request.signal }));
}

/** @throws bad_request */
export function checkDoc(value: unknown): Body {
  if (!isObject(value)) throw badRequest('Document must be a JSON object');
  return value;
}

/** The one revision that body, query and If-Match name. @throws bad_request when they differ */
function agreedRev({ query, request }: DatabaseContext, inBody: unknown): unknown {
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

async function putAsGiven({ database, request }: DatabaseContext, doc: Doc): Promise<Written> {
  const [refused] = await database.bulkDocs([doc], { new_edits: false, signal: request.signal });
  if (refused !== undefined && 'error' in refused) {
    throw failure(refused.status, refused.name, refused.reason);
  }
  const { start, ids } = doc._revisions ?? {};
  const rev = start !== undefined && ids?.[0] !== undefined ? `${start}-${ids[0]}` : doc._rev!;
  return { ok: true, id: doc._id!, rev };
}

function writtenResponse({ query, origin, name }: DatabaseContext, doc: Doc, written: Written): Response {
  if (query.text('batch') === 'ok') return jsonResponse(202, { ok: true, id: written.id });
  const location = `${origin}/${encodePart(name)}/${encodeDocId(written.id)}`;
  const etag = etagOf(written.rev);
  return jsonResponse(doc._deleted === true ? 200 : 201, written, { location, ...(etag && { etag }) });
}

export async function deleteDoc(context: DatabaseContext, id: string): Promise<Response> {
  const { database, request } = context;
  const rev = agreedRev(context, undefined) ?? (await revisionToDelete(database, id));
  checkRev(rev);
  try {
    // What is deleted is not deleted once more.
    if (!isLocalId(id) && (await database.get(id, { rev }))._deleted) throw notFound('deleted', id);
    const written = await database.put({ _id: id, _rev: rev, _deleted: true }, { signal: request.signal });
    const etag = etagOf(written.rev);
    return jsonResponse(200, written, { ...(etag && { etag }) });
  } catch (error) {
    // A conflict with nothing is a document that is not there (or no longer): the read says so.
    if (isDatabaseError(error) && error.status === 409 && !isLocalId(id)) await database.get(id);
    throw error;
  }
}

/** A `_local/` document may be deleted blindly; for others it is a conflict, if there is one. */
async function revisionToDelete(database: Database, id: string): Promise<string> {
  const { _rev } = await database.get(id);
  if (isLocalId(id)) return _rev;
  throw failure(409, 'conflict', 'Document update conflict');
}

export async function copyDoc(context: DatabaseContext, id: string): Promise<Response> {
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
  return writtenResponse(context, doc, await database.put(doc, { signal: request.signal }));
}

function decodeDestination(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (cause) {
    throw badRequest('invalid_url_encoding', cause);
  }
}
