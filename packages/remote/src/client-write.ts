/** Sends edits, many at a time. */
import { type BulkDocsRow, errorWith, leaveData, type Written, withEither } from '@settledb/core';
import { sendPrepared } from './client-attachments';
import * as check from './client-check';
import type { DataEdit, Edit, Sent, TextEdit } from './client-edits';
import type { Http } from './client-http';
import { multipartCall, type Outgoing, prepareDoc } from './client-outgoing';
import { encodeDocId, isDotId, JSON_TYPE } from './wire';

/** Sends one document to its `_id`. */
export async function putDoc(
  http: Http,
  { edit, new_edits }: Sent,
  signal: AbortSignal | undefined,
): Promise<Written> {
  const { id } = edit;
  if (isDotId(id)) return putInBulk(http, edit, new_edits, signal);
  const put = async ({ json }: TextEdit): Promise<Written> => {
    const answer = await http.json({
      method: 'PUT',
      path: `/${encodeDocId(id)}`,
      query: { new_edits: new_edits ? undefined : false },
      body: json,
      type: JSON_TYPE,
      signal,
      docId: id,
    });
    return check.checkWritten(answer, id);
  };
  if ('json' in edit) return put(edit);
  return withEither(http.ending, signal, async (reading) => {
    const [prepared] = await prepareAll(http, [edit], reading);
    if ('json' in prepared!) return put(prepared);
    return check.checkWritten(await http.json(multipartCall(prepared!, new_edits, signal)), id);
  });
}

async function putInBulk(
  http: Http,
  edit: Edit,
  newEdits: boolean,
  signal: AbortSignal | undefined,
): Promise<Written> {
  const [row] = await sendEdits(http, [edit], newEdits, signal);
  if (row === undefined) return { ok: true, id: edit.id, rev: edit.rev! };
  if ('error' in row) throw check.rowError(row);
  return row;
}

/** Sends edits; those with much data go one by one. */
export async function sendEdits(
  http: Http,
  edits: readonly Edit[],
  newEdits: boolean,
  signal: AbortSignal | undefined,
): Promise<BulkDocsRow[]> {
  const send = (some: readonly TextEdit[]): Promise<BulkDocsRow[]> => sendBulk(http, some, newEdits, signal);
  if (edits.every(isText)) return send(edits);
  return withEither(http.ending, signal, async (reading) => {
    const prepared = await prepareAll(http, edits, reading);
    return sendPrepared(http, prepared, newEdits, send, signal);
  });
}

const isText = (edit: Edit): edit is TextEdit => 'json' in edit;

async function prepareAll(http: Http, edits: readonly Edit[], reading: AbortSignal): Promise<Outgoing[]> {
  const prepared: Outgoing[] = [];
  try {
    // One after another, in order: their data may be parts of one stream.
    for (const edit of edits) prepared.push(isText(edit) ? edit : await prepare(http, edit, reading));
    return prepared;
  } finally {
    for (const edit of edits) if (!isText(edit)) leaveData(edit.doc._attachments);
  }
}

/** Errors about the data name the document. */
async function prepare(http: Http, { doc }: DataEdit, reading: AbortSignal): Promise<Outgoing> {
  try {
    return await prepareDoc(doc, http.bytes, reading, http.ownFetch);
  } catch (error) {
    throw errorWith(error, doc);
  }
}

async function sendBulk(
  http: Http,
  edits: readonly TextEdit[],
  newEdits: boolean,
  signal: AbortSignal | undefined,
): Promise<BulkDocsRow[]> {
  const docs = edits.map(({ json }) => json).join();
  const body = `{"docs":[${docs}]${newEdits ? '' : ',"new_edits":false'}}`;
  const answer = await http.json({ method: 'POST', path: '/_bulk_docs', body, type: JSON_TYPE, signal });
  return check.checkBulkDocs(
    answer,
    edits.map(({ id }) => id),
    newEdits,
  );
}
