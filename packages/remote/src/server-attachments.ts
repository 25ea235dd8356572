/** One attachment at `/db/doc/name`: GET and HEAD (with ranges), PUT, DELETE. */
import {
  bestBytes,
  conflict,
  type Database,
  type Doc,
  digestMismatch,
  notFound,
  type OpenAttachmentOptions,
  type OpenedAttachment,
  piecesOf,
  rangeNotSatisfiable,
  STUB_AT_HAND,
  unlessMissing,
  uuid,
} from '@settledb/core';
import { type Bytes, writeMultipart } from './multipart';
import { type Answer, jsonResponse } from './server-answer';
import { readBody, tooLargeAttachment } from './server-body';
import type { DatabaseContext } from './server-context';
import { agreedRev, checkRev, isKnown, notModified } from './server-docs';
import { whileThere } from './server-opened';
import type { ServerRequest } from './server-request';
import { respondWith, toStream } from './server-streams';
import { prepareWrite } from './server-write';
import { CACHING, DEFAULT_TYPE, encodeDocId, encodePart, MAX_TOLD } from './wire';

/** Ranges in one request; if there are more, they are ignored, as in CouchDB. */
const MAX_RANGES = 9;

export async function getAttachment(context: DatabaseContext, id: string, name: string): Promise<Answer> {
  const { request, query, database } = context;
  const rev = query.text('rev');
  if (rev !== undefined) checkRev(rev);
  const encoded = acceptsGzip(request.headers.get('accept-encoding'));
  const options = { rev, encoded, signal: request.signal };
  return whileThere(
    () => database.openAttachment(id, name, options),
    async (whole) => {
      const headers = headersOf(whole);
      if (isKnown(request, headers.etag)) {
        await leave(whole);
        return notModified(headers.etag);
      }
      const ranges =
        headers['accept-ranges'] === 'bytes' ? readRanges(request, headers.etag, whole.length) : undefined;
      if (ranges === undefined) {
        const encoding = whole.encoding === undefined ? {} : { 'content-encoding': whole.encoding };
        const length = { 'content-length': String(whole.size) };
        return respondWith(200, { ...headers, ...encoding, ...length }, whole.stream);
      }
      await leave(whole);
      if (ranges === 'none') throw rangeNotSatisfiable();
      const open = (range: ByteRange) => openRange(database, id, name, options, whole, range);
      if (ranges.length !== 1) return rangesResponse(open, whole, ranges);
      const part = await open(ranges[0]!);
      const answered = {
        'content-range': formatRange(ranges[0]!, whole.length),
        'content-length': String(part.size),
      };
      return respondWith(206, { ...headers, ...answered }, part.stream);
    },
  );
}

function headersOf({ content_type, digest, encoded_length }: OpenedAttachment) {
  return {
    'content-type': isHeaderText(content_type) ? content_type : DEFAULT_TYPE,
    etag: `"${digest.replace(/^md5-/, '')}"`,
    // A part of a compressed text is not the compression of any part.
    'accept-ranges': encoded_length === undefined ? 'bytes' : 'none',
    'cache-control': CACHING,
    // A user who may write an attachment must not run scripts in the name of one who views it.
    'content-security-policy': 'sandbox',
    'x-content-type-options': 'nosniff',
    vary: 'accept-encoding',
  };
}

const isHeaderText = (text: string): boolean => text.length <= MAX_TOLD && /^[\x20-\x7e]+$/.test(text);

/** `*` stands for what is not named (RFC 9110, 12.5.3). */
function acceptsGzip(header: string | null): boolean {
  const asked = (header ?? '').split(',').map((each) => each.replace(/\s/g, '').toLowerCase().split(';'));
  const found = ['gzip', '*'].flatMap((coding) => asked.filter(([name]) => name === coding))[0];
  return found !== undefined && !found.some((text) => /^q=0(\.0*)?$/.test(text));
}

/** First and last byte. */
type ByteRange = readonly [first: number, last: number];

/**
 * Undefined if there are no ranges, or senseless ones, or the client has a part of other content (`If-Range`: RFC 9110, 13.1.5): then the
 * whole is answered. `'none'` if one cannot be satisfied.
 */
function readRanges(
  request: ServerRequest,
  etag: string,
  length: number,
): readonly ByteRange[] | undefined | 'none' {
  // A date never matches: no answer has one.
  if ((request.headers.get('if-range') ?? etag).trim() !== etag) return undefined;
  const match = /^bytes=(.*)$/.exec(request.headers.get('range')?.trim() ?? '');
  if (match === null || match[1] === '') return undefined;
  const ranges: ByteRange[] = [];
  for (const text of match[1]!.split(',')) {
    const parts = /^\s*(\d{0,15})-(\d{0,15})\s*$/.exec(text);
    if (parts === null || (parts[1] === '' && parts[2] === '')) return undefined;
    const range = rangeOf(parts[1]!, parts[2]!, length);
    if (range === undefined) return 'none';
    ranges.push(range);
  }
  return ranges.length > MAX_RANGES ? undefined : ranges;
}

function rangeOf(from: string, to: string, length: number): ByteRange | undefined {
  const first = from === '' ? Math.max(0, length - Number(to)) : Number(from);
  const last = from === '' || to === '' ? length - 1 : Math.min(Number(to), length - 1);
  return first > last || (to !== '' && from !== '' && Number(to) < Number(from)) ? undefined : [first, last];
}

const formatRange = ([first, last]: ByteRange, length: number): string => `bytes ${first}-${last}/${length}`;

/** A part of what was opened: the attachment may have been replaced since. @throws not_found if that is gone */
async function openRange(
  database: Database,
  id: string,
  name: string,
  options: OpenAttachmentOptions,
  whole: OpenedAttachment,
  [first, last]: ByteRange,
): Promise<OpenedAttachment> {
  const range = { ...options, start: first, end: last + 1, [STUB_AT_HAND]: whole };
  const part = await database.openAttachment(id, name, range);
  if (part.digest === whole.digest) return part;
  await leave(part);
  throw notFound('missing', id);
}

function rangesResponse(
  open: (range: ByteRange) => Promise<OpenedAttachment>,
  whole: OpenedAttachment,
  ranges: readonly ByteRange[],
): Promise<Answer> {
  const boundary = uuid();
  const headers = headersOf(whole);
  const parts = ranges.map((range) => ({
    headers: { 'Content-Type': headers['content-type'], 'Content-Range': formatRange(range, whole.length) },
    body: lazily(async () => (await open(range)).stream),
  }));
  const type = `multipart/byteranges; boundary="${boundary}"`;
  return respondWith(206, { ...headers, 'content-type': type }, toStream(writeMultipart(parts, boundary)));
}

/** A stream that is opened when it is read. */
async function* lazily(open: () => Promise<ReadableStream<Uint8Array>>): Bytes & AsyncGenerator<Uint8Array> {
  yield* piecesOf(await open());
}

/** Cancels the stream: the attachment was opened only to be described. */
const leave = ({ stream }: OpenedAttachment): Promise<void> => stream.cancel().catch(() => {});

export async function putAttachment(context: DatabaseContext, id: string, name: string): Promise<Answer> {
  const { request, server, database, origin } = context;
  const rev = readRev(context);
  const type = request.headers.get('content-type') ?? DEFAULT_TYPE;
  await checkEdit(context, id, rev);
  const tooLarge = () => tooLargeAttachment(name);
  const bytes = readBody(request, server.limits.attachment, { tooLarge });
  const md5 = request.headers.get('content-md5');
  const body = toStream(md5 === null ? bytes : checked(bytes, md5.trim(), id));
  const written = await database.putAttachment(id, name, rev, body, type, { signal: request.signal });
  const path = `${encodePart(context.name)}/${encodeDocId(id)}/${encodePart(name)}`;
  return jsonResponse(201, written, { location: `${origin}/${path}` });
}

/** Fails at the end, before anything is written, if the digest differs from the header Content-MD5. */
async function* checked(bytes: Bytes, md5: string, id: string): AsyncGenerator<Uint8Array, void, void> {
  const hasher = bestBytes().hasher();
  for await (const piece of bytes) {
    hasher.update(piece);
    yield piece;
  }
  if (bestBytes().toBase64([hasher.digest()]) !== md5) throw digestMismatch(id);
}

export async function deleteAttachment(context: DatabaseContext, id: string, name: string): Promise<Answer> {
  const rev = readRev(context);
  if (rev === undefined) {
    // If the document is missing, that is the error; otherwise its revision is.
    await context.database.get(id);
    throw conflict(id);
  }
  await checkEdit(context, id, rev);
  const written = await context.database.removeAttachment(id, name, rev, { signal: context.request.signal });
  return jsonResponse(200, written);
}

function readRev(context: DatabaseContext): string | undefined {
  const rev = agreedRev(context, undefined);
  if (rev === undefined) return undefined;
  checkRev(rev);
  return rev;
}

/** Validators see the document as it is stored: only its attachments change. */
async function checkEdit(context: DatabaseContext, id: string, rev: string | undefined): Promise<void> {
  let doc: Doc = { _id: id };
  if (context.server.validators !== undefined) {
    const found = await context.database.get(id, rev === undefined ? {} : { rev }).catch(unlessMissing);
    doc = (found as Doc | undefined) ?? doc;
  }
  await prepareWrite(context, doc);
}
