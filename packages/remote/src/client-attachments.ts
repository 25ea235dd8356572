/**
 * Attachments over HTTP: documents with them sent, and data that came checked against what the server says of it.
 */
import {
  type AttachmentsOptions,
  type BinaryData,
  type BulkDocsRow,
  type Bytes,
  badRequest,
  type CallOptions,
  type Doc,
  type ExistingDoc,
  either,
  exactBytes,
  isDatabaseError,
  notFound,
  type OpenAttachmentOptions,
  type OpenedAttachment,
  portableBytes,
  type Rev,
  type Stub,
  type Written,
} from '@settledb/core';
import type { PutAttachment } from './client-attachment-call';
import * as check from './client-check';
import { download } from './client-download';
import { badResponse } from './client-error';
import type { Call, Http, Opened } from './client-http';
import { multipartCall, type Outgoing, streamOf, toBlob } from './client-outgoing';
import { readStored } from './client-stored';
import { encodeDocId, encodePart, isObject } from './wire';

/** Statuses that are about the one document: a row of a bulk answer, where it is one of many. */
const OF_DOCUMENT: readonly number[] = [400, 403, 404, 409, 412, 413, 414, 431];

/** @returns a row for each document, in order; with `newEdits` false, of failures only */
export async function sendPrepared(
  http: Http,
  prepared: readonly Outgoing[],
  newEdits: boolean,
  sendBulk: (docs: readonly Doc[]) => Promise<BulkDocsRow[]>,
  signal: AbortSignal | undefined,
): Promise<BulkDocsRow[]> {
  const together = prepared.flatMap((each) => ('doc' in each ? [each.doc] : []));
  const rows = together.length === 0 ? [] : await sendBulk(together);
  const all: BulkDocsRow[] = newEdits ? [] : rows;
  let next = 0;
  for (const each of prepared) {
    if ('doc' in each) {
      if (newEdits) all.push(rows[next++]!);
      continue;
    }
    const id = each.alone._id!;
    try {
      const answer = await http.json(multipartCall(each, newEdits, signal));
      // PouchDB's server answers a revision stored as given in the form of `_bulk_docs`: failures only.
      if (!newEdits && Array.isArray(answer)) all.push(...check.checkBulkDocs(answer, [id], false));
      else {
        const written = check.checkWritten(answer, id);
        if (newEdits) all.push(written);
      }
    } catch (error) {
      if (!isDatabaseError(error) || !OF_DOCUMENT.includes(error.status)) throw error;
      if (error.name === 'closed') throw error; // … of the database, by this program
      const { status, name, message, reason } = error;
      all.push({ id, error: true, status, name, message, reason });
    }
  }
  return all;
}

/**
 * Data as it was asked for, and only if it is what the server says it is.
 *
 * @throws corrupt for data that is not of its digest
 */
export function receiveDoc<D extends ExistingDoc | null | undefined>(
  doc: D,
  { binary, att_encoding_info }: AttachmentsOptions,
  bytes: Bytes = portableBytes,
): D {
  if (!isObject(doc) || !isObject(doc._attachments)) return doc;
  const entries = Object.entries(doc._attachments as unknown as Record<string, Record<string, unknown>>).map(
    ([name, info]): [string, unknown] => {
      const { data, encoding, encoded_length, ...rest } = info;
      const about = att_encoding_info === true ? { ...info, data: undefined } : rest;
      if (typeof data !== 'string') return [name, info.stub === true && !att_encoding_info ? rest : info];
      const decoded = decodeBase64(data, bytes, name);
      // Of what is stored encoded, the digest is of other bytes than these.
      if (encoding === undefined) checkDigest(info.digest, [decoded], bytes, name);
      const kept = binary === true ? bytes.toData([decoded], String(info.content_type)) : data;
      return [name, { ...about, data: kept }];
    },
  );
  return { ...doc, _attachments: Object.fromEntries(entries) } as unknown as D;
}

function decodeBase64(text: string, bytes: Bytes, name: string): Uint8Array {
  const found = exactBytes(text, bytes);
  if (found === undefined) throw badResponse(`attachment ${JSON.stringify(name)} is no base64`);
  return found;
}

function checkDigest(digest: unknown, pieces: readonly Uint8Array[], bytes: Bytes, name: string): void {
  if (typeof digest !== 'string' || !digest.startsWith('md5-')) return;
  const hasher = bytes.hasher();
  for (const piece of pieces) hasher.update(piece);
  if (digest !== `md5-${bytes.toBase64([hasher.digest()])}`) throw check.substituted(name);
}

const pathOf = (id: string, name: string): string => `/${encodeDocId(id)}/${encodePart(name)}`;

export async function getAttachment(
  http: Http,
  id: string,
  name: string,
  { rev, signal }: CallOptions & { readonly rev?: Rev | undefined },
  bytes: Bytes = portableBytes,
): Promise<BinaryData> {
  const { response, pieces } = await http.open(attachmentCall(id, name, { rev, signal }));
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  const digest = /^"([A-Za-z0-9+/]{22}==)"$/.exec(response.headers.get('etag') ?? '')?.[1];
  // Of what is stored compressed it is the digest of that.
  if (digest !== undefined && response.headers.get('accept-ranges') === 'bytes')
    checkDigest(`md5-${digest}`, all, bytes, name);
  return bytes.toData(all, response.headers.get('content-type') ?? '');
}

function attachmentCall(
  id: string,
  name: string,
  { rev, signal }: CallOptions & { readonly rev?: Rev | undefined },
  range?: string,
): Call {
  return {
    method: 'GET',
    path: pathOf(id, name),
    query: { rev },
    accept: '*/*',
    headers: range === undefined ? undefined : { range },
    signal,
    docId: id,
  };
}

/** @throws not_found; 416 */
export async function openAttachment(
  http: Http,
  id: string,
  name: string,
  options: OpenAttachmentOptions,
  bytes: Bytes = portableBytes,
): Promise<OpenedAttachment> {
  const { rev, signal, start = 0, end } = options;
  for (const at of [start, end ?? 0]) {
    if (!Number.isSafeInteger(at) || at < 0)
      throw badRequest('A range is of whole numbers that are not negative');
  }
  const query = { rev, att_encoding_info: true };
  const answer = await http.json({ method: 'GET', path: `/${encodeDocId(id)}`, query, signal, docId: id });
  const doc = check.checkDoc(answer, id);
  const stubs = (doc._attachments ?? {}) as Record<string, Stub>;
  if (!Object.hasOwn(stubs, name)) throw notFound('Document is missing attachment', id);
  const { content_type, digest, revpos, length, encoding, encoded_length } = stubs[name]!;
  const last = Math.min(end ?? length, length);
  if ((start > 0 && start >= length) || (end !== undefined && end <= start && length > 0))
    throw unsatisfiable();
  const whole = start === 0 && last === length;
  if (options.encoded === true && whole && encoding !== undefined && encoded_length !== undefined) {
    const stored = readStored(http, doc, name, { digest, length: encoded_length, signal, bytes });
    const about = { content_type, digest, revpos, length, encoding, encoded_length };
    return { ...about, size: encoded_length, stream: streamOf(stored) };
  }
  const divisible = encoding === undefined;
  const ask = (range: string | undefined): Promise<Opened> =>
    http.open(attachmentCall(id, name, { rev: doc._rev, signal }, range));
  const checked = divisible && whole ? digest : undefined;
  const about = { start, last, whole, name, bytes, digest: checked, divisible, signal };
  return {
    content_type,
    digest,
    revpos,
    length,
    // What the platform's fetch gives is decoded already.
    ...(encoded_length === undefined ? {} : { encoded_length }),
    size: last - start,
    stream: streamOf(download(ask, about)),
  };
}

const unsatisfiable = (): Error =>
  check.rowError({
    id: '',
    error: true,
    status: 416,
    name: 'requested_range_not_satisfiable',
    message: 'Requested range not satisfiable',
    reason: 'Requested range not satisfiable',
  });

/** By a request of its own, so that the document's other attachments need not be known. */
export async function putAttachment(
  http: Http,
  { id, name, rev, data, type, options: { signal } }: PutAttachment,
  bytes: Bytes = portableBytes,
): Promise<Written> {
  const blob = await toBlob(data, bytes, either(http.ending, signal));
  const answer = await http.json({
    method: 'PUT',
    path: pathOf(id, name),
    query: { rev },
    body: blob,
    type: type || blob.type || 'application/octet-stream',
    signal,
    docId: id,
  });
  return check.checkWritten(answer, id);
}

/** One that is not there is no error, and no edit. */
export async function removeAttachment(
  http: Http,
  id: string,
  name: string,
  rev: Rev,
  { signal }: CallOptions,
): Promise<Written> {
  const answer = await http.json({
    method: 'DELETE',
    path: pathOf(id, name),
    query: { rev },
    signal,
    docId: id,
  });
  return check.checkWritten(answer, id);
}
