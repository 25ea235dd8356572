/**
 * `_bulk_get` and `open_revs` as multipart: documents with their attachments as bytes, each checked by length and digest as the
 * source stores it.
 */
import {
  type AttachmentsOptions,
  type Bytes,
  type ExistingDoc,
  isDatabaseError,
  isObject,
  piecesOf,
  through,
} from '@settledb/core';
import { MAX_ANSWER_LENGTH, MAX_ATTACHMENT_BYTES, parseJson, readText } from './client-answer';
import type { Opened } from './client-call';
import { badResponse, type RemoteError } from './client-error';
import { verified } from './client-receive';
import { boundaryOf, type Part, readMultipart } from './multipart';
import { attachmentOrder } from './multipart-order';
import { typeOf } from './wire';

/**
 * Characters of the headers of one part: CouchDB writes names of attachments there, which may be as long as a document. Our own server does
 * not take as many: to read a header that comes byte by byte takes time by the square of its length.
 */
export const MAX_PART_HEADERS = 32 * 1024 * 1024;
/** Characters by which a part counts besides its own: an object takes more room than a short text. */
const PART_LENGTH = 100;

export interface ReceiveOptions extends AttachmentsOptions {
  /** Data that is stored encoded stays encoded. */
  readonly as_stored?: boolean | undefined;
}

/** What a part held: a document, or an object that says why there is none. */
export type Received = { readonly doc: ExistingDoc } | { readonly other: Record<string, unknown> };

/** @throws bad_response, corrupt */
export async function receiveParts(
  answer: Opened,
  options: ReceiveOptions,
  bytes: Bytes,
): Promise<Received[]> {
  const boundary = boundaryIn(answer);
  const received: Received[] = [];
  const room = { bytes: MAX_ATTACHMENT_BYTES, text: MAX_ANSWER_LENGTH };
  try {
    for await (const part of readMultipart(emptyOr(answer.pieces, boundary), boundary, MAX_PART_HEADERS))
      received.push(await receivePart(part, options, bytes, room));
  } catch (error) {
    throw asAnswer(error);
  }
  return received;
}

/** What is between the parts of an answer. @throws bad_response for one that has none, and is left */
export function boundaryIn({ response, leave }: Opened): string {
  try {
    const boundary = boundaryOf(response.headers.get('content-type'));
    if (boundary !== undefined) return boundary;
    throw badResponse('it is no multipart');
  } catch (error) {
    leave();
    throw asAnswer(error);
  }
}

/** If a server sent malformed parts, its answer is bad, not our request. */
export const asAnswer = (error: unknown): unknown =>
  isDatabaseError(error) && error.name === 'bad_request' ? badResponse(error.message, error) : error;

/** The part of a document, or of its attachment `name`. @throws bad_response if there is none */
export async function nextPart(parts: AsyncIterator<Part, void>, name?: string): Promise<Part> {
  const { done, value } = await parts.next();
  if (done === true) throw name === undefined ? badResponse('a document has no part') : lacking(name);
  return value;
}

export const lacking = (name: string): RemoteError =>
  badResponse(`attachment ${JSON.stringify(name)} is missing`);

/** CouchDB sends an empty answer where there are no parts. */
async function* emptyOr(pieces: AsyncIterable<Uint8Array>, boundary: string): AsyncGenerator<Uint8Array> {
  let empty = true;
  for await (const piece of pieces) {
    empty &&= piece.length === 0;
    yield piece;
  }
  if (empty) yield new TextEncoder().encode(`--${boundary}--`);
}

/** How much more an answer may bring. */
type Room = { bytes: number; text: number };

/** The text of a part, within the room that all parts share. */
async function textOf(body: AsyncIterable<Uint8Array>, room: Room): Promise<string> {
  const text = await readText(body);
  room.text -= text.length + PART_LENGTH;
  if (room.text < 0) throw badResponse('it is too long');
  return text;
}

async function receivePart(
  { headers, body }: Part,
  options: ReceiveOptions,
  bytes: Bytes,
  room: Room,
): Promise<Received> {
  const inner = boundaryOf(headers.get('content-type'));
  if (inner === undefined) {
    const value = parseJson(await textOf(body, room));
    if (!isObject(value)) throw badResponse('a part is no object');
    return typeof value._id === 'string' ? { doc: value as unknown as ExistingDoc } : { other: value };
  }
  const parts = readMultipart(body, inner, MAX_PART_HEADERS);
  const text = await textOf((await nextPart(parts)).body, room);
  const doc = parseJson(text);
  if (!isObject(doc) || !isObject(doc._attachments))
    throw badResponse('a document with parts has no attachments');
  const attachments: Record<string, unknown> = { ...doc._attachments };
  for (const name of attachmentOrder(text)) {
    const info = doc._attachments[name];
    if (!isObject(info) || info.follows !== true) continue;
    const { body: content } = await nextPart(parts, name);
    attachments[name] = await receiveAttachment(content, name, info, options, bytes, room);
  }
  // Read to its end: only then is the text known to be complete.
  for await (const _more of parts);
  return { doc: { ...doc, _attachments: attachments } as unknown as ExistingDoc };
}

async function receiveAttachment(
  body: AsyncIterable<Uint8Array>,
  name: string,
  { follows: _, encoding, encoded_length, length, ...info }: Record<string, unknown>,
  { binary, att_encoding_info, as_stored }: ReceiveOptions,
  bytes: Bytes,
  room: Room,
): Promise<object> {
  const said = { name, length: encoding === undefined ? length : encoded_length, digest: info.digest };
  const stored = await held(verified(body, bytes, said), room);
  const isContent = encoding === undefined || as_stored === true;
  const content = isContent
    ? stored
    : await held(verified(decoded(stored, encoding), bytes, { name, length }), room);
  const data = binary ? bytes.toData(content, typeOf(info)) : bytes.toBase64(content);
  const encoded = encoding !== undefined && att_encoding_info ? { encoding, encoded_length } : {};
  return { ...info, ...encoded, data };
}

/** All pieces; of more than there is room for, the rest is not read: it may never end. */
async function held(pieces: AsyncIterable<Uint8Array>, room: Room): Promise<Uint8Array[]> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) {
    room.bytes -= piece.length;
    if (room.bytes < 0) throw badResponse('its attachments are too large');
    all.push(piece);
  }
  return all;
}

async function* decoded(
  pieces: readonly Uint8Array[],
  encoding: unknown,
): AsyncGenerator<Uint8Array, void, void> {
  if (encoding !== 'gzip') throw badResponse(`an attachment is encoded as ${JSON.stringify(encoding)}`);
  const packed = piecesOf(new Blob(pieces as Uint8Array<ArrayBuffer>[]).stream());
  yield* through(new DecompressionStream('gzip'), packed, (cause) =>
    badResponse('an attachment is no gzip', cause),
  );
}
