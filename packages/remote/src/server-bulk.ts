/** Many documents at once: `_bulk_docs`, `_revs_diff`, `_missing_revs`. `_bulk_get` has a file of its own. */
import {
  type BulkDocsRow,
  badRequest,
  type Doc,
  failureRow,
  isDatabaseError,
  isTexts,
  type Rev,
  type RevsDiffResult,
  TEXTS,
  tooLarge,
  uuid,
} from '@settledb/core';
import { type Answer, failure, jsonTextResponse } from './server-answer';
import { checkObject, readJsonText, readObject, upTo } from './server-body';
import type { DatabaseContext, Limits } from './server-context';
import { checkDoc, checkRev } from './server-docs';
import { isForTheLog, toWireError } from './server-errors';
import { type Logger, log } from './server-hooks';
import { parseJson } from './server-json';
import { portionsOf } from './server-portions';
import { textsOf } from './server-texts';
import { checkSize, isToBeStored, prepareWrites } from './server-write';

/** Documents of `_bulk_docs` written in one commit: more than replicators send. Others wait for as many, 0.2 to 0.4 s. */
const WRITTEN_AT_ONCE = 10_000;
/** Documents of one `_bulk_docs`. Without content, a body may have twice as many (server-json.ts). */
const MAX_DOCS = 1_000_000;

/** Documents of `_revs_diff` looked up at a time, in some ms: more than replicators ask about. */
const DIFFED_AT_ONCE = 1_000;

export async function bulkDocs(context: DatabaseContext): Promise<Answer> {
  const { request, server } = context;
  const text = await readJsonText(request, upTo(server));
  const { docs, new_edits } = checkObject(parseJson(text));
  if (docs === undefined) throw badRequest('POST body must include `docs` parameter.');
  if (!Array.isArray(docs)) throw badRequest('`docs` parameter must be an array.');
  if (docs.length > MAX_DOCS) throw tooLarge(`At most ${MAX_DOCS} documents at a time`);
  if (new_edits !== undefined && typeof new_edits !== 'boolean') {
    throw badRequest('`new_edits` parameter must be a boolean.');
  }
  // All are checked before any is written.
  for await (const some of portionsOf(docs, WRITTEN_AT_ONCE))
    for (const doc of some) checkSizeAmong(docs, checkDoc(doc) as Doc, server.limits, text.length);
  const rows: string[] = [];
  for await (const some of portionsOf(docs as Doc[], WRITTEN_AT_ONCE))
    for (const row of await writeSome(context, some, new_edits !== false, text))
      rows.push(JSON.stringify(row));
  return jsonTextResponse(201, `[${rows.join()}]\n`);
}

/** As {@link checkSize}; the error names the document, as it refuses the whole request. CouchDB's names the attachment alone. */
function checkSizeAmong(docs: readonly unknown[], doc: Doc, limits: Limits, sent: number): void {
  try {
    checkSize(doc, limits, sent);
  } catch (error) {
    if (!isDatabaseError(error)) throw error;
    const { status, name, reason } = error;
    const which = doc._id ?? `docs[${docs.indexOf(doc)}]`;
    throw failure(status, name, name === 'document_too_large' ? which : `${which}: ${reason}`);
  }
}

/** @param text of the request @returns the rows of the answer */
async function writeSome(
  context: DatabaseContext,
  asked: readonly Doc[],
  new_edits: boolean,
  text: string,
): Promise<object[]> {
  const docs = asked.map((doc) => (new_edits && doc._id === undefined ? { ...doc, _id: uuid() } : doc));
  const prepared = await prepareWrites(context, docs);
  const good = prepared.filter(isToBeStored);
  // No signal, as with PUT: a request that arrived whole is written, whether or not the client still waits.
  // Texts are found for the first portion; the documents of others are not where the text begins.
  const options = { new_edits, [TEXTS]: textsOf(good, text) };
  const { logger } = context.server;
  const stored = good.length === 0 ? [] : await context.database.bulkDocs(good, options);
  const written = stored.map((row) => toWireRow(row, logger));
  if (good.length === docs.length) return written;
  const refused = prepared.map((each, i) =>
    isDatabaseError(each) ? toWireRow(failureRow(docs[i]!._id as string, each), logger) : undefined,
  );
  if (!new_edits) {
    const own = refused.flatMap((row, i) => (row === undefined ? [] : [{ ...row, rev: revOf(docs[i]!) }]));
    return [...written, ...own];
  }
  let next = 0;
  return refused.map((row) => row ?? written[next++]!);
}

/** The revision that the ancestry names, if there is one: it wins over `_rev`. */
function revOf({ _rev, _revisions }: Doc): string | undefined {
  return _revisions?.ids?.[0] === undefined ? _rev : `${_revisions.start}-${_revisions.ids[0]}`;
}

function toWireRow(row: BulkDocsRow, logger: Logger | undefined): object {
  if (!('error' in row)) return row;
  if (isForTheLog(row))
    log(logger, `a document of _bulk_docs was not written, ${JSON.stringify(row.id)}`, row.reason);
  const { error, reason } = toWireError(row);
  return { id: row.id, error, reason };
}

export async function revsDiff(context: DatabaseContext): Promise<Answer> {
  return jsonTextResponse(200, `${await missingText(context, (lacks) => lacks)}\n`);
}

export async function missingRevs(context: DatabaseContext): Promise<Answer> {
  const text = await missingText(context, ({ missing }) => missing);
  return jsonTextResponse(200, `{"missing_revs":${text}}\n`);
}

/** JSON by document id. It is made portion by portion, as one object of very many fields takes longer than all else. */
async function missingText(
  { database, request, server }: DatabaseContext,
  shown: (lacks: RevsDiffResult[string]) => unknown,
): Promise<string> {
  const body = await readObject(request, upTo(server));
  const fields: string[] = [];
  for await (const some of portionsOf(Object.entries(body), DIFFED_AT_ONCE)) {
    const revs = checkRevLists(Object.fromEntries(some));
    const missing = await database.revsDiff(revs, { signal: request.signal });
    for (const id in missing) fields.push(`${JSON.stringify(id)}:${JSON.stringify(shown(missing[id]!))}`);
  }
  return `{${fields.join()}}`;
}

/** `{ id: [rev, …] }`. @throws bad_request */
export function checkRevLists(body: Record<string, unknown>): Record<string, Rev[]> {
  for (const revs of Object.values(body)) {
    if (!isTexts(revs)) throw badRequest('Invalid list of revisions');
    for (const rev of revs) checkRev(rev);
  }
  return body as Record<string, Rev[]>;
}
