/**
 * Attachments on their way out, in the form that suits their size: small ones as base64 within JSON, larger ones as bytes, with one
 * document per request (multipart/related). Large data that can be read again is read while it is sent, where the platform can.
 */
import {
  type AttachmentsInput,
  type Bytes,
  badRequest,
  chunksOf,
  type Doc,
  decoded,
  isLocalId,
  type NewAttachment,
  noData,
  notImplemented,
  streamOf,
  uuid,
  writtenJson,
} from '@settledb/core';
import type { TextEdit } from './client-edits';
import type { Call, OutStream } from './client-http';
import { closing, partHead, quoteFilename } from './multipart';
import { DEFAULT_TYPE, encodeDocId, isDotId, isObject, JSON_TYPE } from './wire';

/** From this size on, data that can be read as often as it must be sent is not held in memory, if the platform can send streams. */
const STREAMED_BYTES = 1024 * 1024;
/** Bytes of a document's new attachments from which on they go as bytes (multipart), not as base64 within JSON. */
const MULTIPART_BYTES = 64 * 1024;

type Attachment = NewAttachment & { readonly stub?: unknown };

/** A document ready to be sent: as JSON together with others, or by itself. */
export type Outgoing = TextEdit | { readonly alone: Doc; readonly parts: readonly Part[] };
interface Part {
  readonly name: string;
  readonly type: string;
  readonly encoding: string | undefined;
  readonly data: Blob | Source;
}

/**
 * Reads the data of new attachments, in order, into a form that can be sent, and sent again.
 *
 * @param signal ends the reading
 * @param ownFetch whether the platform's own fetch will send it
 */
export async function prepareDoc(
  doc: Doc,
  bytes: Bytes,
  signal: AbortSignal,
  ownFetch: boolean,
): Promise<Outgoing> {
  // Servers take attachments of local documents, where they do, within JSON only.
  const byPath = doc._id !== undefined && !isDotId(doc._id) && !isLocalId(doc._id);
  const attachments: Record<string, unknown> = Object.create(null);
  const parts: Part[] = [];
  let size = 0;
  let mustBeParts = false;
  for (const [name, given] of Object.entries(doc._attachments ?? {}) as [string, Attachment][]) {
    attachments[name] = given;
    // JSON would leave out a function, and the document be stored without its attachment.
    if (!isObject(given)) throw noData(name);
    if (given.stub === true || given.data === undefined || given.data === null) continue;
    const { data, encoded, encoding, digest, length, revpos, content_type } = given;
    if (typeof data === 'string' && data.length < MULTIPART_BYTES) {
      for (const _piece of decoded(data, bytes)); // Throws for what is not base64.
      attachments[name] = { content_type, data, ...(revpos === undefined ? {} : { revpos }) };
      continue;
    }
    // Without `encoded` the length means nothing, and the data are read in their order.
    const isStreamed =
      ownFetch && byPath && bytes.streamsOut === true && typeof data === 'function' && encoded === true;
    const blob =
      isStreamed && encoding === undefined && length !== undefined && length >= STREAMED_BYTES
        ? new Source(name, length, () => chunksOf(data, bytes, signal))
        : await toBlob(data, bytes, signal);
    const type = content_type ?? (blob.type || DEFAULT_TYPE);
    const packed = encoded === true && encoding !== undefined;
    const about = { content_type: type, ...(revpos === undefined ? {} : { revpos }) };
    parts.push({ name, type, encoding: packed ? encoding : undefined, data: blob });
    attachments[name] = {
      ...about,
      follows: true,
      length: packed ? (length ?? 0) : blob.size,
      ...(packed ? { encoding, encoded_length: blob.size } : {}),
      ...(encoded === true && digest !== undefined ? { digest } : {}),
    };
    size += blob.size;
    mustBeParts ||= packed;
  }
  const made = { ...doc, _attachments: attachments as AttachmentsInput };
  if (parts.length === 0) return textOf(made);
  if (byPath && (mustBeParts || size >= MULTIPART_BYTES)) return { alone: made, parts };
  for (const { name, type, encoding, data } of parts) {
    if (data instanceof Source) continue; // It is larger than that.
    const { revpos } = attachments[name] as { revpos?: number };
    // Base64 within JSON is of the decoded content: JSON cannot say that it is encoded. It would get another digest, and what refers to
    // it, for which local documents of dumps keep it, would not find it.
    if (encoding !== undefined && isLocalId(doc._id!))
      throw notImplemented('A server takes no encoded attachments of _local documents');
    const content = encoding === undefined ? data.arrayBuffer() : unpacked(data, name);
    const text = bytes.toBase64([new Uint8Array(await content)]);
    attachments[name] = { content_type: type, data: text, ...(revpos === undefined ? {} : { revpos }) };
  }
  return textOf(made);
}

const textOf = (doc: Doc): TextEdit => ({ id: doc._id!, rev: doc._rev, json: writtenJson(doc)! });

/** @throws bad_request */
async function unpacked(data: Blob, name: string): Promise<ArrayBuffer> {
  try {
    return await new Response(data.stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
  } catch (cause) {
    throw badRequest(`Attachment ${JSON.stringify(name)} is not gzip, as its encoding says`, cause);
  }
}

/** Data that is read while it is sent. */
class Source {
  constructor(
    readonly name: string,
    readonly size: number,
    readonly open: () => AsyncIterable<Uint8Array>,
  ) {}
  readonly type = '';
}

/**
 * Any form of data as what can be sent, and sent again; kept whole where the platform keeps Blobs (browsers: on disk, when they
 * are large).
 *
 * @throws badarg for a string that is not base64, 400 for a value that holds no bytes
 */
export async function toBlob(data: unknown, bytes: Bytes, signal: AbortSignal | undefined): Promise<Blob> {
  if (data instanceof Blob) return data;
  const chunks: Uint8Array[] = [];
  for await (const chunk of chunksOf(data, bytes, signal)) chunks.push(chunk);
  const type = (data as { type?: unknown } | null)?.type;
  return new Blob(chunks as Uint8Array<ArrayBuffer>[], typeof type === 'string' ? { type } : {});
}

/** A document and its parts in one request. */
export function multipartCall(
  { alone, parts }: Extract<Outgoing, { alone: Doc }>,
  newEdits: boolean,
  signal: AbortSignal | undefined,
): Call {
  const boundary = uuid();
  const pieces: (string | Blob | Source)[] = [
    partHead({ 'Content-Type': JSON_TYPE }, boundary, true),
    writtenJson(alone)!,
  ];
  for (const { name, type, encoding, data } of parts) {
    const headers = {
      'Content-Disposition': quoteFilename(name),
      'Content-Type': type.replace(/[^\x20-\x7e]/g, ''),
      'Content-Length': String(data.size),
      ...(encoding === undefined ? {} : { 'Content-Encoding': encoding }),
    };
    pieces.push(partHead(headers, boundary, false), data);
  }
  pieces.push(closing(boundary));
  return {
    method: 'PUT',
    path: `/${encodeDocId(alone._id!)}`,
    query: { new_edits: newEdits ? undefined : false },
    ...(pieces.some((piece) => piece instanceof Source)
      ? { stream: streamed(pieces) }
      : { body: new Blob(pieces as BlobPart[]) }),
    type: `multipart/related; boundary="${boundary}"`,
    signal,
    docId: alone._id,
  };
}

function streamed(given: readonly (string | Blob | Source)[]): OutStream {
  const pieces = given.map((piece) => (typeof piece === 'string' ? new Blob([piece]) : piece));
  let failure: { readonly error: unknown } | undefined;
  async function* chunks(sent: () => void): AsyncGenerator<Uint8Array, void, void> {
    failure = undefined;
    try {
      for (const piece of pieces) {
        if (piece instanceof Source) yield* exactly(piece, sent);
        else yield new Uint8Array(await piece.arrayBuffer());
      }
    } catch (error) {
      failure = { error };
      throw error;
    }
  }
  return {
    length: pieces.reduce((sum, { size }) => sum + size, 0),
    open: (sent) => streamOf(chunks(sent)),
    failure: () => failure,
  };
}

/** @throws badRequest if the number of bytes differs from the one announced: the request is then of no use */
async function* exactly(
  { name, size, open }: Source,
  sent: () => void,
): AsyncGenerator<Uint8Array, void, void> {
  let left = size;
  for await (const chunk of open()) {
    left -= chunk.length;
    if (left < 0) break;
    yield chunk;
    sent();
  }
  if (left !== 0)
    throw badRequest(`Attachment ${JSON.stringify(name)} does not have the length it is said to have`);
}
