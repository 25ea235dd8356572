/**
 * Attachments on their way out, in the form that suits their size: small ones as base64 within JSON, larger ones as bytes, with one
 * document per request (multipart/related). Large data that can be read again is read while it is sent, where the platform can.
 */
import {
  type AttachmentEncoding,
  type AttachmentsInput,
  type Bytes,
  badRequest,
  chunksOf,
  type Doc,
  decoded,
  digestMismatch,
  digestText,
  isLocalId,
  isObject,
  type NewAttachment,
  noData,
  notImplemented,
  streamOf,
  uuid,
  writtenJson,
} from '@settledb/core';
import type { Call, OutStream } from './client-call';
import type { TextEdit } from './client-edits';
import { closing, headerType, partHead, quoteFilename } from './multipart';
import { DEFAULT_TYPE, encodeDocId, hasNoUrl, JSON_TYPE } from './wire';

/** From this size on, data that can be read as often as it must be sent is not held in memory, if the platform can send streams. */
const STREAMED_BYTES = 1024 * 1024;
/** Bytes of a document's new attachments from which on they go as bytes (multipart), not as base64 within JSON. */
const MULTIPART_BYTES = 64 * 1024;

type Attachment = NewAttachment & { readonly stub?: unknown };

/** A document ready to be sent: as JSON together with others, or by itself. */
export type Outgoing = TextEdit | { readonly alone: Doc; readonly parts: readonly Part[] };
/** Data that is read already, or while it is sent, and what the document says of it. */
interface Part {
  readonly name: string;
  readonly type: string;
  readonly revpos: number | undefined;
  readonly encoding: AttachmentEncoding | undefined;
  readonly digest: string | undefined;
  /** Bytes of the content, decoded; of no meaning without `encoding`. */
  readonly length: number | undefined;
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
  const byPath = doc._id !== undefined && !hasNoUrl(doc._id) && !isLocalId(doc._id);
  const mayStream = byPath && ownFetch && bytes.streamsOut === true;
  const attachments: Record<string, unknown> = Object.create(null);
  const parts: Part[] = [];
  for (const [name, given] of Object.entries(doc._attachments ?? {}) as [string, Attachment][]) {
    attachments[name] = given;
    // JSON would leave out a function, and the document be stored without its attachment.
    if (!isObject(given)) throw noData(name);
    const { stub, data, content_type, revpos } = given;
    if (stub === true || data === undefined || data === null) continue;
    if (typeof data === 'string' && data.length < MULTIPART_BYTES) {
      for (const _piece of decoded(data, bytes)); // Throws for what is not base64.
      attachments[name] = { content_type, data, revpos };
    } else parts.push(await readPart(name, given, bytes, signal, mayStream));
  }
  const made = { ...doc, _attachments: attachments as AttachmentsInput };
  const size = parts.reduce((sum, { data }) => sum + data.size, 0);
  if (byPath && (size >= MULTIPART_BYTES || parts.some(({ encoding }) => encoding !== undefined))) {
    for (const part of parts) attachments[part.name] = followingStub(part);
    return { alone: made, parts };
  }
  for (const part of parts) {
    if (part.data instanceof Source) continue; // It is larger than that.
    const data = await base64Of(part, part.data, doc._id!, bytes);
    attachments[part.name] = { content_type: part.type, data, revpos: part.revpos };
  }
  return textOf(made);
}

async function readPart(
  name: string,
  given: NewAttachment,
  bytes: Bytes,
  signal: AbortSignal,
  mayStream: boolean,
): Promise<Part> {
  const { data, content_type, revpos } = given;
  // Without `encoded` they mean nothing, and the data are read in their order.
  const { encoding, digest, length } = given.encoded === true ? given : NOTHING_STATED;
  const isStreamed =
    mayStream &&
    typeof data === 'function' &&
    encoding === undefined &&
    length !== undefined &&
    length >= STREAMED_BYTES;
  const read = isStreamed
    ? new Source(name, length, () => chunksOf(data, bytes, signal))
    : await toBlob(data, bytes, signal);
  if (encoding === undefined && length !== undefined && length !== read.size)
    throw badRequest(`attachment ${read.size > length ? 'longer' : 'shorter'} than expected`);
  const type = content_type ?? (read.type || DEFAULT_TYPE);
  const part = { name, type, revpos, encoding, digest, length, data: read };
  // A server is told how long the content is, and believes it or refuses what is longer.
  if (encoding === undefined || length !== undefined || read instanceof Source) return part;
  return { ...part, length: (await unpacked(read, name)).byteLength };
}

const NOTHING_STATED: Partial<NewAttachment> = {};

/** What stands in the document for data that follow it. */
const followingStub = ({ type, revpos, encoding, digest, length, data }: Part): object => ({
  content_type: type,
  revpos,
  follows: true,
  ...(encoding === undefined
    ? { length: data.size }
    : { length: length ?? 0, encoding, encoded_length: data.size }),
  digest,
});

/**
 * Base64 within JSON is of the decoded content: JSON cannot say that it is encoded.
 *
 * @throws not_implemented for a local document: its content would get another digest, and what refers to it, for which local documents
 *   of dumps keep it, would not find it; content_md5_mismatch for bytes that do not match what is said of them
 */
async function base64Of(
  { name, encoding, digest }: Part,
  data: Blob,
  id: string,
  bytes: Bytes,
): Promise<string> {
  if (encoding !== undefined && isLocalId(id))
    throw notImplemented('A server takes no encoded attachments of _local documents');
  const stored = new Uint8Array(await data.arrayBuffer());
  const content = encoding === undefined ? stored : new Uint8Array(await unpacked(data, name));
  // Within JSON the server is not told of it.
  if (digest !== undefined && digest !== digestOf(stored, bytes)) throw digestMismatch(id);
  return bytes.toBase64([content]);
}

function digestOf(stored: Uint8Array, bytes: Bytes): string {
  const hasher = bytes.hasher();
  hasher.update(stored);
  return digestText(bytes, hasher);
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
 * @throws badarg for a string that is not base64, 400 for a value that holds no bytes, the browser's error for a Blob that cannot be read
 */
export async function toBlob(data: unknown, bytes: Bytes, signal: AbortSignal | undefined): Promise<Blob> {
  if (data instanceof Blob) {
    // Refused if WebKit (2.50) lost it with its storage process: it would send such a one as if it were empty.
    await data.slice(0, 1).arrayBuffer();
    return data;
  }
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
      'Content-Type': headerType(type),
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
