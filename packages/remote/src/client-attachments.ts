/** Attachments over HTTP: puts, reads and removes single ones. */
import {
  type BinaryData,
  type CallOptions,
  checkRange,
  type ExistingDoc,
  either,
  errorWith,
  notFound,
  type OpenAttachmentOptions,
  type OpenedAttachment,
  type PutAttachment,
  type Rev,
  rangeOf,
  STUB_AT_HAND,
  type Stub,
  streamOf,
  type Written,
  withEither,
} from '@settledb/core';
import { MAX_ATTACHMENT_BYTES } from './client-answer';
import { isApart } from './client-attachment-call';
import { readDot, readDotPart } from './client-attachment-dots';
import type { Call, Opened } from './client-call';
import * as check from './client-check';
import { download } from './client-download';
import { badResponse, type RemoteError } from './client-error';
import type { Http } from './client-http';
import { toBlob } from './client-outgoing';
import { readOne } from './client-read';
import { checkDigest } from './client-receive';
import { readStored } from './client-stored';
import { DEFAULT_TYPE, encodeDocId, encodePart, hasNoUrl } from './wire';

const pathOf = (id: string, name: string): string => `/${encodeDocId(id)}/${encodePart(name)}`;

export async function getAttachment(
  http: Http,
  id: string,
  name: string,
  { rev, signal }: CallOptions & { readonly rev?: Rev | undefined },
): Promise<BinaryData> {
  if (isApart(id, name, rev)) return readDot(http, id, name, { rev, signal });
  const { response, pieces, leave } = await http.open(attachmentCall(id, name, { rev, signal }));
  const { headers } = response;
  const digest = /^"([A-Za-z0-9+/]{22}==)"$/.exec(headers.get('etag') ?? '')?.[1];
  const ranges = headers.get('accept-ranges');
  if (digest === undefined || ranges === null) {
    leave();
    return readBySize(http, id, name, { rev, signal });
  }
  const all: Uint8Array[] = [];
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    if (size > MAX_ATTACHMENT_BYTES) throw tooLargeToHold(name);
    all.push(piece);
  }
  // If the attachment is stored compressed, the digest is of the compressed bytes.
  if (ranges === 'bytes') checkDigest(`md5-${digest}`, all, http.bytes, name);
  return http.bytes.toData(all, headers.get('content-type') ?? '');
}

/**
 * For an answer without the digest by which databases name what they send, or that does not say what the digest is of. A proxy that compresses
 * takes either away, and Caddy then ends in good order what its server broke off; or it is a page of somebody else, which any content could
 * be: who answers so does not give the document either.
 */
async function readBySize(
  http: Http,
  id: string,
  name: string,
  options: CallOptions & { readonly rev?: Rev | undefined },
): Promise<BinaryData> {
  const { size, content_type, stream } = await openAttachment(http, id, name, options);
  if (size > MAX_ATTACHMENT_BYTES) throw tooLargeToHold(name);
  const blob = await toBlob(stream, http.bytes, options.signal);
  return http.bytes.toData([new Uint8Array(await blob.arrayBuffer())], content_type);
}

const tooLargeToHold = (name: string): RemoteError =>
  badResponse(`attachment ${JSON.stringify(name)} is too large to be held: openAttachment streams it`);

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

type OpenOptions = OpenAttachmentOptions & { readonly [STUB_AT_HAND]?: Stub };

/** @throws not_found; 416 */
export async function openAttachment(
  http: Http,
  id: string,
  name: string,
  options: OpenOptions,
): Promise<OpenedAttachment> {
  checkRange(options);
  const { signal } = options;
  const doc = await docWith(http, id, name, options);
  const stubs = (doc._attachments ?? {}) as Record<string, Stub>;
  if (!Object.hasOwn(stubs, name)) throw notFound('Document is missing attachment', id);
  check.checkAttachment(stubs[name], name);
  const { content_type, digest, revpos, length, encoding, encoded_length } = stubs[name]!;
  const about = { content_type, digest, revpos, length };
  const [start, last] = rangeOf(options, length);
  const whole = start === 0 && last === length;
  const byDoc = { rev: doc._rev, start, last, length };
  if (options.encoded && whole && encoding !== undefined && encoded_length !== undefined) {
    const coded = { last: encoded_length, length: encoded_length, as_stored: true };
    const readCoded = (reading: AbortSignal) =>
      hasNoUrl(id, doc._rev)
        ? readDotPart(http, id, name, { ...byDoc, ...coded, signal: reading })
        : readStored(http, doc, name, { digest, length: encoded_length, signal: reading });
    const stream = leavable(signal, readCoded);
    return { ...about, encoding, encoded_length, size: encoded_length, stream };
  }
  const divisible = encoding === undefined;
  const checked = divisible && whole ? digest : undefined;
  const wanted = { start, last, whole, name, bytes: http.bytes, digest: checked, divisible };
  const read = (reading: AbortSignal) => {
    const ask = (range: string | undefined): Promise<Opened> =>
      http.open(attachmentCall(id, name, { rev: doc._rev, signal: reading }, range));
    return isApart(id, name, doc._rev)
      ? readDotPart(http, id, name, { ...byDoc, signal: reading })
      : download(ask, { ...wanted, signal: reading });
  };
  return {
    ...about,
    // The platform's fetch has already decoded the bytes.
    ...(encoded_length === undefined ? {} : { encoded_length }),
    size: last - start,
    stream: leavable(signal, read),
  };
}

/** The document, of which only this attachment counts. Encoded content comes with its document, so all of it is read then. */
async function docWith(
  http: Http,
  id: string,
  name: string,
  { rev, signal, [STUB_AT_HAND]: atHand }: OpenOptions,
): Promise<ExistingDoc> {
  if (rev === undefined || atHand === undefined || atHand.encoding !== undefined)
    return readOne(http, id, { rev, att_encoding_info: true, signal });
  return { _id: id, _rev: rev, _attachments: { [name]: atHand } };
}

/** What `read` gives, as a stream: whoever leaves it ends what it waits for. */
function leavable(
  signal: AbortSignal | undefined,
  read: (reading: AbortSignal) => AsyncGenerator<Uint8Array, void, void>,
): ReadableStream<Uint8Array> {
  const leaving = new AbortController();
  async function* pieces(): AsyncGenerator<Uint8Array, void, void> {
    const both = either(signal, leaving.signal);
    try {
      yield* read(both.signal);
    } finally {
      both.leave();
    }
  }
  const all = pieces();
  return streamOf(all, (reason) => {
    leaving.abort(reason);
    return all.return();
  });
}

/** By a request of its own, so that the document's other attachments need not be known. */
export async function putAttachment(
  http: Http,
  { id, name, rev, data, type, options: { signal } }: PutAttachment,
): Promise<Written> {
  const reading = withEither(http.ending, signal, (ending) => toBlob(data, http.bytes, ending));
  const blob = await reading.catch((error: unknown) => {
    throw errorWith(error, { _id: id });
  });
  const answer = await http.json({
    method: 'PUT',
    path: pathOf(id, name),
    query: { rev },
    body: blob,
    // An empty type is sent too: without the header, the type would be that of plain bytes.
    type: type ?? (blob.type || DEFAULT_TYPE),
    signal,
    docId: id,
  });
  return check.checkWritten(answer, id);
}

/** Removing an attachment that does not exist is no error, and makes no edit. */
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
