/** Sends edits, many at a time. */
import {
  type BulkDocsRow,
  errorWith,
  failureRow,
  isDatabaseError,
  leaveData,
  type Written,
  withEither,
} from '@settledb/core';
import * as check from './client-check';
import type { DataEdit, Edit, Sent, TextEdit } from './client-edits';
import type { Http } from './client-http';
import { multipartCall, type Outgoing, prepareDoc } from './client-outgoing';
import { encodeDocId, hasNoUrl, JSON_TYPE } from './wire';

/** Statuses that concern one document: in a bulk answer they become its row. */
const OF_DOCUMENT: readonly number[] = [400, 403, 404, 409, 412, 413, 414, 431];

/** Sends one document to its `_id`. */
export async function putDoc(
  http: Http,
  { edit, new_edits }: Sent,
  signal: AbortSignal | undefined,
): Promise<Written> {
  const { id } = edit;
  if (hasNoUrl(id)) return putInBulk(http, edit, new_edits, signal);
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
  if (edits.every(isText)) return sendBulk(http, edits, newEdits, signal);
  return withEither(http.ending, signal, async (reading) => {
    const prepared = await prepareAll(http, edits, reading);
    return sendPrepared(http, prepared, newEdits, signal);
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

/** @returns a row for each document, in order; with `newEdits` false, of failures only */
async function sendPrepared(
  http: Http,
  prepared: readonly Outgoing[],
  newEdits: boolean,
  signal: AbortSignal | undefined,
): Promise<BulkDocsRow[]> {
  const together = prepared.flatMap((each) => ('json' in each ? [each] : []));
  const rows = together.length === 0 ? [] : await sendBulk(http, together, newEdits, signal);
  const all: BulkDocsRow[] = newEdits ? [] : rows;
  let next = 0;
  for (const each of prepared) {
    if (!('json' in each)) all.push(...(await sendAlone(http, each, newEdits, signal)));
    else if (newEdits) all.push(rows[next++]!);
  }
  return all;
}

/** @returns its row; with `newEdits` false, if it failed */
async function sendAlone(
  http: Http,
  outgoing: Exclude<Outgoing, TextEdit>,
  newEdits: boolean,
  signal: AbortSignal | undefined,
): Promise<BulkDocsRow[]> {
  const id = outgoing.alone._id!;
  try {
    const answer = await http.json(multipartCall(outgoing, newEdits, signal));
    // PouchDB's server answers a revision stored as given in the form of `_bulk_docs`: only failures.
    if (!newEdits && Array.isArray(answer)) return check.checkBulkDocs(answer, [id], false);
    const written = check.checkWritten(answer, id);
    return newEdits ? [written] : [];
  } catch (error) {
    if (!isDatabaseError(error) || !OF_DOCUMENT.includes(error.status)) throw error;
    if (error.name === 'closed') throw error; // This program closed the database.
    return [failureRow(id, error)];
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
