/** Edits on their way out: checked like in a local database, and sent many at a time. */
import {
  type AttachmentsInput,
  type BulkDocsOptions,
  type BulkDocsRow,
  type Bytes,
  badRequest,
  type Doc,
  errorInList,
  errorWith,
  invalidRev,
  isLocalId,
  missingId,
  parseRev,
  type Rev,
  splitDoc,
  uuid,
  type Written,
  withEither,
} from '@settledb/core';
import { sendPrepared } from './client-attachments';
import * as check from './client-check';
import type { Http } from './client-http';
import { multipartCall, type Outgoing, prepareDoc } from './client-outgoing';
import { encodeDocId, isDotId, isObject } from './wire';

/** Checked like in a local database, before anything is sent; an error names the document. */
export function checkEdits(docs: readonly unknown[], newEdits: boolean): Doc[] {
  return docs.map((doc, index) => {
    try {
      return checkEdit(doc, newEdits);
    } catch (error) {
      throw errorInList(error, doc, index);
    }
  });
}

/** Like {@link checkEdits}, for one document that must have an `_id`. */
export function checkPut(doc: unknown, options: BulkDocsOptions): { id: string; edit: Sent } {
  try {
    const { id } = fieldsOf(doc);
    if (id === undefined) throw missingId();
    return { id, edit: asEdit(doc as Doc, options) };
  } catch (error) {
    throw errorWith(error, doc);
  }
}

function checkEdit(doc: unknown, newEdits: boolean): Doc {
  const { id, rev } = fieldsOf(doc);
  if (newEdits) return (id === undefined ? { ...(doc as Doc), _id: uuid() } : doc) as Doc;
  if (id === undefined) throw missingId();
  if (!isLocalId(id)) parseRev(rev);
  return doc as Doc;
}

/** Local documents are reached only by URL, which cannot carry `.` and `..`: one that could be written but never read is refused. */
function checkCarried(doc: unknown): void {
  const id = isObject(doc) ? doc._id : undefined;
  if (typeof id === 'string' && isLocalId(id) && isDotId(id))
    throw badRequest(`No URL can name ${JSON.stringify(id)}`);
}

/** @throws the errors of the field rules */
function fieldsOf(doc: unknown): { readonly id: string | undefined; readonly rev: Rev | undefined } {
  checkCarried(doc);
  const { _id, _rev } = (doc ?? {}) as { _id?: unknown; _rev?: unknown };
  // Revisions of local documents have generation 0; those of other documents never do.
  const local = typeof _id === 'string' && isLocalId(_id) && typeof _rev === 'string';
  if (!local) return splitDoc(doc);
  if (!/^0-\d+$/.test(_rev)) throw invalidRev();
  return { id: splitDoc({ ...(doc as object), _rev: undefined }).id, rev: _rev };
}

/**
 * What to send for `force`, which the protocol has no word for: a new branch is sent as a replicated revision with a parent that
 * is chosen here.
 */
function asEdit(doc: Doc, { new_edits, force }: BulkDocsOptions): Sent {
  if (force !== true || new_edits === false || doc._rev === undefined)
    return { edit: doc, new_edits: new_edits !== false };
  const { generation, hash } = parseRev(doc._rev);
  const made = uuid();
  const _revisions = { start: generation + 1, ids: [made, hash] };
  const edit = { ...withRevpos(doc, generation + 1), _rev: `${generation + 1}-${made}`, _revisions };
  return { edit, new_edits: false };
}

/** For a replicated revision, the server keeps a new attachment's revpos as given, and takes 0 if there is none. */
function withRevpos(doc: Doc, revpos: number): Doc {
  if (!hasAttachments(doc)) return doc;
  const entries = Object.entries(doc._attachments ?? {}).map(([name, given]) => {
    const isNew = isObject(given) && given.stub !== true;
    return [name, isNew ? { ...given, revpos } : given];
  });
  return { ...doc, _attachments: Object.fromEntries(entries) as AttachmentsInput };
}

/** A document as it is sent. */
interface Sent {
  readonly edit: Doc;
  readonly new_edits: boolean;
}

/** Sends one document to its `_id`, as {@link checkPut} gave it. */
export async function putDoc(
  http: Http,
  id: string,
  { edit, new_edits }: Sent,
  signal: AbortSignal | undefined,
  bytes: Bytes | undefined,
): Promise<Written> {
  if (isDotId(id)) return putInBulk(http, edit, new_edits, signal, bytes);
  const put = async (body: Doc): Promise<Written> => {
    const answer = await http.json({
      method: 'PUT',
      path: `/${encodeDocId(id)}`,
      query: { new_edits: new_edits ? undefined : false },
      body,
      signal,
      docId: id,
    });
    return check.checkWritten(answer, id);
  };
  if (!hasAttachments(edit)) return put(edit);
  return withEither(http.ending, signal, async (reading) => {
    const prepared = await prepare(http, edit, bytes, reading);
    if (!('alone' in prepared)) return put(prepared.doc);
    return check.checkWritten(await http.json(multipartCall(prepared, new_edits, signal)), id);
  });
}

async function putInBulk(
  http: Http,
  doc: Doc,
  newEdits: boolean,
  signal: AbortSignal | undefined,
  bytes: Bytes | undefined,
): Promise<Written> {
  const [row] = await sendEdits(http, [doc], newEdits, signal, bytes);
  if (row === undefined) return { ok: true, id: doc._id!, rev: doc._rev! };
  if ('error' in row) throw check.rowError(row);
  return row;
}

/** Sends edits; those with much data go one by one. */
export async function sendEdits(
  http: Http,
  docs: readonly Doc[],
  newEdits: boolean,
  signal: AbortSignal | undefined,
  bytes: Bytes | undefined,
): Promise<BulkDocsRow[]> {
  const send = (some: readonly Doc[]): Promise<BulkDocsRow[]> => sendBulk(http, some, newEdits, signal);
  if (!docs.some(hasAttachments)) return send(docs);
  return withEither(http.ending, signal, async (reading) => {
    const prepared: Outgoing[] = [];
    // One after another, in order: their data may be parts of one stream.
    for (const doc of docs)
      prepared.push(hasAttachments(doc) ? await prepare(http, doc, bytes, reading) : { doc });
    return sendPrepared(http, prepared, newEdits, send, signal);
  });
}

/** Errors about the data name the document. */
async function prepare(
  http: Http,
  doc: Doc,
  bytes: Bytes | undefined,
  reading: AbortSignal,
): Promise<Outgoing> {
  try {
    return await prepareDoc(doc, bytes, reading, http.ownFetch);
  } catch (error) {
    throw errorWith(error, doc);
  }
}

const hasAttachments = ({ _id, _attachments }: Doc): boolean =>
  _attachments !== undefined && !(_id !== undefined && isLocalId(_id));

async function sendBulk(
  http: Http,
  docs: readonly Doc[],
  newEdits: boolean,
  signal: AbortSignal | undefined,
): Promise<BulkDocsRow[]> {
  const body = newEdits ? { docs } : { docs, new_edits: false };
  const answer = await http.json({ method: 'POST', path: '/_bulk_docs', body, signal });
  return check.checkBulkDocs(
    answer,
    docs.map(({ _id }) => _id),
    newEdits,
  );
}
