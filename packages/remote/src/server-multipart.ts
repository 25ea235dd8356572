/**
 * Documents and their attachments in one text: multipart/related from the client for PUT, and to the client for GET with attachments,
 * `open_revs` and `_bulk_get`. Attachments are streams both ways: none is held whole.
 */
import {
  type AttachmentsInput,
  badRequest,
  bestBytes,
  type DatabaseError,
  type Doc,
  isObject,
  piecesOf,
  tooLarge,
  uuid,
} from '@settledb/core';
import {
  type Bytes,
  boundaryOf,
  headerType,
  type OutgoingPart,
  type Part,
  quoteFilename,
  readMultipart,
  writeMultipart,
} from './multipart';
import { attachmentOrder } from './multipart-order';
import { checkMediaType, gather, readBody, tooLargeAttachment, tooLargeRequest } from './server-body';
import type { DatabaseContext } from './server-context';
import { parseUtf8Json } from './server-json';
import type { OpenDoc } from './server-opened';
import type { ServerRequest } from './server-request';
import { toStream } from './server-streams';
import { JSON_TYPE } from './wire';

/**
 * Attachments of one document that a client may send: more than a document can be worked with. Each is held while all are taken in, and
 * half a million took a GB and, at the end, seconds in one go.
 */
const MAX_ATTACHMENTS = 10_000;

/** A multipart body as a document whose attachments are streams, to be read in their order. */
interface MultipartDoc {
  readonly doc: Record<string, unknown>;
  /**
   * To be called when the document was written: reads to the end of the body, of which only what means nothing is left. Hosts that are
   * not this package's own (React Router, Remix, SvelteKit) break the connection off for a body that is left, before the answer is sent.
   */
  readonly end: () => Promise<void>;
  /** To be called at last, also when the document was refused. */
  readonly leave: () => Promise<void>;
}

/** @throws bad_request, bad_content_type, too_large */
export async function readMultipartDoc(context: DatabaseContext): Promise<MultipartDoc> {
  const { request, server } = context;
  const boundary = boundaryOf(request.headers.get('content-type'));
  if (boundary === undefined) throw badRequest('invalid UTF-8 JSON');
  const { limits, room } = server;
  // There may be any number of attachments: each is bounded, and none is held.
  const body = readBody(request, Number.MAX_SAFE_INTEGER);
  const parts = readMultipart(body, boundary);
  const end = async (): Promise<void> => {
    // The document was written, whatever becomes of the rest.
    await parts.next().catch(() => {});
  };
  const leave = async (): Promise<void> => {
    await parts.return().catch(() => {});
  };
  try {
    const first = await parts.next();
    if (first.done === true) throw badRequest('The multipart body has no document');
    checkMediaType(first.value, [JSON_TYPE]);
    const text = await gather(
      room.counted(request, bounded(first.value.body, limits.request, tooLargeRequest)),
    );
    await room.turn(request);
    const doc = parseUtf8Json(text);
    if (!isObject(doc)) throw badRequest('Document must be a JSON object');
    const order = attachmentOrder(new TextDecoder().decode(text));
    // Its attachments may take as long as their client likes.
    room.begun(request);
    return { doc: await withStreams(context, doc, order, parts), end, leave };
  } catch (error) {
    await leave();
    throw error;
  }
}

async function* bounded(
  pieces: Bytes,
  limit: number,
  refuse: () => DatabaseError,
): AsyncGenerator<Uint8Array, void, void> {
  let length = 0;
  for await (const piece of pieces) {
    length += piece.byteLength;
    if (length > limit) throw refuse();
    yield piece;
  }
}

async function withStreams(
  { request, server: { limits, room } }: DatabaseContext,
  doc: Record<string, unknown>,
  order: readonly string[],
  parts: AsyncIterator<Part, void>,
): Promise<Record<string, unknown>> {
  const { _attachments } = doc;
  if (!isObject(_attachments)) return doc;
  checkCount(_attachments);
  const isFollowing = (name: string): boolean => {
    const given = _attachments[name];
    return isObject(given) && given.follows === true;
  };
  const following = order.filter(isFollowing);
  // The database reads attachments in the object's order, which differs for names that look like numbers: then they are held.
  const inOrder = Object.keys(_attachments)
    .filter(isFollowing)
    .every((name, i) => name === following[i]);
  const attachments: Record<string, unknown> = Object.assign(Object.create(null), _attachments);
  let left = limits.request;
  for (const name of following) {
    const given = _attachments[name] as Record<string, unknown>;
    const expected = given.encoding === 'gzip' ? given.encoded_length : given.length;
    const data = toStream(nextPart(parts, name, expected, limits.attachment));
    // The sender stores the data in this form: it is kept so, and checked against the digest that came along.
    if (inOrder) attachments[name] = { ...given, data, encoded: true };
    else {
      const bytes = await gather(room.counted(request, bounded(piecesOf(data), left, tooLargeRequest)));
      left -= bytes.length;
      attachments[name] = { ...given, data: bytes, encoded: true };
    }
  }
  return { ...doc, _attachments: attachments as AttachmentsInput };
}

/** The next part as the attachment `name`. @throws bad_request if its length differs, or there is none */
async function* nextPart(
  parts: AsyncIterator<Part, void>,
  name: string,
  expected: unknown,
  limit: number,
): AsyncGenerator<Uint8Array, void, void> {
  const { done, value } = await parts.next();
  if (done === true) throw badRequest('attachment shorter than expected');
  let length = 0;
  for await (const piece of bounded(value.body, limit, () => tooLargeAttachment(name))) {
    length += piece.byteLength;
    if (typeof expected === 'number' && length > expected)
      throw badRequest('attachment longer than expected');
    yield piece;
  }
  if (typeof expected === 'number' && length < expected) throw badRequest('attachment shorter than expected');
}

/** Whether an answer should be multipart of that kind: it is JSON if the client names that first. */
export function wantsMultipart(request: ServerRequest, kind: 'mixed' | 'related'): boolean {
  const types = (request.headers.get('accept') ?? '*/*').split(',').map((each) => each.split(';')[0]!.trim());
  const json = types.indexOf(JSON_TYPE);
  const multipart = types.findIndex((type) => [`multipart/${kind}`, 'multipart/*', '*/*'].includes(type));
  return multipart >= 0 && (json < 0 || multipart < json);
}

/** The document with stubs that announce that their data follows. */
function withFollows(source: OpenDoc): object {
  const { _revisions, ...rest } = source.doc;
  const doc = source.dropRevisions === true ? rest : source.doc;
  if (doc._attachments === undefined) return doc;
  const entries = Object.entries(doc._attachments).map(([name, info]) => {
    const { stub: _, ...kept } = info as { stub?: true };
    return [name, source.attachments.has(name) ? { ...kept, follows: true } : info];
  });
  return { ...doc, _attachments: Object.fromEntries(entries) };
}

/** A document as a part of a larger multipart: JSON, or with attachments a multipart/related of its own. */
export function docPart(source: OpenDoc, headers: Readonly<Record<string, string>> = {}): OutgoingPart {
  if (source.attachments.size === 0) {
    const body = JSON.stringify(source.dropRevisions === true ? withFollows(source) : source.doc);
    return { headers: { ...headers, 'Content-Type': JSON_TYPE }, body };
  }
  const boundary = uuid();
  return {
    headers: { ...headers, 'Content-Type': `multipart/related; boundary="${boundary}"` },
    body: relatedText(source, boundary),
  };
}

/** A row without a document, as a part. */
export const errorPart = (row: object): OutgoingPart => ({
  headers: { 'Content-Type': `${JSON_TYPE}; error="true"` },
  body: JSON.stringify(row),
});

/** A document and its attachments as multipart/related. */
export function relatedText(source: OpenDoc, boundary: string): AsyncGenerator<Uint8Array, void, void> {
  function* parts(): Generator<OutgoingPart, void, void> {
    yield { headers: { 'Content-Type': JSON_TYPE }, body: JSON.stringify(withFollows(source)) };
    for (const [name, { about, bytes }] of source.attachments) {
      const { content_type, size, encoding } = about;
      yield {
        headers: {
          'Content-Disposition': quoteFilename(name),
          'Content-Type': headerType(content_type),
          'Content-Length': String(size),
          ...(encoding === undefined ? {} : { 'Content-Encoding': encoding }),
        },
        body: bytes,
      };
    }
  }
  return writeMultipart(parts(), boundary);
}

/** A document as JSON with the data of its attachments in base64, in pieces. */
export async function* docJson(source: OpenDoc): AsyncGenerator<string, void, void> {
  const { doc, attachments } = source;
  if (attachments.size === 0) {
    yield JSON.stringify(source.dropRevisions === true ? withFollows(source) : doc);
    return;
  }
  const { _attachments = {}, _revisions, ...rest } = doc;
  const kept = source.dropRevisions === true || _revisions === undefined ? rest : { ...rest, _revisions };
  yield `${JSON.stringify(kept).slice(0, -1)},"_attachments":{`;
  let separator = '';
  for (const [name, info] of Object.entries(_attachments)) {
    yield `${separator}${JSON.stringify(name)}:`;
    separator = ',';
    const opened = attachments.get(name);
    if (opened === undefined) {
      yield JSON.stringify(info);
      continue;
    }
    const { stub: _, length: _length, ...described } = info as { stub?: true; length?: number };
    yield `${JSON.stringify(described).slice(0, -1)},"data":"`;
    yield* toBase64(opened.bytes);
    yield '"}';
  }
  yield '}}';
}

/** One of several revisions that were asked for, as JSON in pieces. */
export async function* rowJson(row: { readonly ok: OpenDoc } | object): AsyncGenerator<string, void, void> {
  if (!('ok' in row)) return yield JSON.stringify(row);
  yield '{"ok":';
  yield* docJson(row.ok);
  yield '}';
}

/** Bytes encoded at a time: divisible by three, so that padding stands only at the end; small enough for one call. */
const BASE64_PIECE = 3 * 8_192;

async function* toBase64(pieces: Bytes): AsyncGenerator<string, void, void> {
  let rest: Uint8Array = new Uint8Array();
  for await (const piece of pieces) {
    let bytes: Uint8Array = piece;
    if (rest.length > 0) {
      bytes = new Uint8Array(rest.length + piece.length);
      bytes.set(rest);
      bytes.set(piece, rest.length);
    }
    const whole = bytes.length - (bytes.length % 3);
    for (let at = 0; at < whole; at += BASE64_PIECE)
      yield encode(bytes.subarray(at, Math.min(at + BASE64_PIECE, whole)));
    rest = bytes.slice(whole);
  }
  if (rest.length > 0) yield encode(rest);
}

const encode = (bytes: Uint8Array): string => bestBytes().toBase64([bytes]);

/** @throws too_large */
function checkCount(attachments: object): void {
  if (Object.keys(attachments).length > MAX_ATTACHMENTS)
    throw tooLarge(`A document may have ${MAX_ATTACHMENTS} attachments`);
}

/** Bytes that base64 stands for. */
const decodedLength = (text: string): number =>
  text.length * 0.75 - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);

/** Checks attachments within JSON. @throws attachment_too_large, too_large */
export function checkInline(doc: Doc, limit: number): void {
  const { _attachments: attachments } = doc;
  // The database checks whether they are attachments at all; a list or a text would have millions of keys here.
  if (!isObject(attachments)) return;
  checkCount(attachments);
  for (const [name, attachment] of Object.entries<unknown>(attachments)) {
    const data = isObject(attachment) ? attachment.data : undefined;
    if (typeof data === 'string' && decodedLength(data) > limit) throw tooLargeAttachment(name);
  }
}
