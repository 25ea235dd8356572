/** The body of a request: bounded while it arrives, decompressed, as text or JSON. */
import {
  badRequest,
  type DatabaseError,
  isDatabaseError,
  isObject,
  joined,
  piecesOf,
  streamOf,
  through,
  tooLarge,
} from '@settledb/core';
import { failure } from './server-answer';
import type { ServerState } from './server-context';
import { decodeUtf8, parseJson } from './server-json';
import { type ServerRequest, SMALL_BODY } from './server-request';
import type { BodyRoom } from './server-room';
import { JSON_TYPE } from './wire';

/** ms that a client may take between two pieces of a body. Slower ones hold memory and a connection for nothing. */
const BODY_IDLE_MS = 30_000;
/**
 * ms after which a body that was refused is left. Until then nothing more of it is read, and its client can read the answer: hosts that
 * are not this package's own (React Router, Remix, SvelteKit) break the connection off, unanswered, as soon as a body is cancelled.
 */
const LINGER_MS = 500;

/**
 * Browsers send only a few other types to another origin without asking first: refusing those keeps other sites out (CSRF).
 *
 * @throws bad_content_type
 */
export function checkJsonType(request: ServerRequest): void {
  checkMediaType(request, [JSON_TYPE]);
}

/** @returns which of `types` it is @throws bad_content_type */
export function checkMediaType(headed: Headed, types: readonly string[]): string {
  const type = mediaType(headed);
  if (type !== undefined && types.includes(type)) return type;
  throw failure(415, 'bad_content_type', `Content-Type must be ${types.join(' or ')}`);
}

/** A request, or a part of one. */
interface Headed {
  readonly headers: { get(name: string): string | null | undefined };
}

export function mediaType({ headers }: Headed): string | undefined {
  return headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
}

interface BodyOptions {
  /** Most bytes, after decompression. More are refused with 413, without reading the rest. */
  readonly limit: number;
  /** Where it waits for its turn if it is large; without it only where `limit` is small. */
  readonly room?: BodyRoom;
  /** As {@link checkJsonType}. Default true. */
  readonly mustBeJson?: boolean;
}

/** A body of at most what the server takes of its kind. Not for what is under way for long: it would keep its turn. */
export const upTo = (
  { limits, room }: Pick<ServerState, 'limits' | 'room'>,
  kind: 'request' | 'document' = 'request',
): BodyOptions => ({ limit: limits[kind], room });

/** A request's body as text, for {@link parseJson}. @throws bad_content_type, too_large, bad_request */
export function readJsonText(
  request: ServerRequest,
  { limit, room, mustBeJson = true }: BodyOptions,
): Promise<string> {
  if (mustBeJson) checkJsonType(request);
  return readText(request, limit, room);
}

/** The JSON of a request's body. @throws bad_content_type, too_large, bad_request */
export async function readJson(request: ServerRequest, options: BodyOptions): Promise<unknown> {
  return parseJson(await readJsonText(request, options));
}

/** As {@link readJson}, for a body that must be an object. */
export async function readObject(
  request: ServerRequest,
  options: BodyOptions,
): Promise<Record<string, unknown>> {
  return checkObject(await readJson(request, options));
}

/** @throws bad_request */
export function checkObject(body: unknown): Record<string, unknown> {
  if (!isObject(body)) throw badRequest('Request body must be a JSON object');
  return body;
}

/** @throws too_large, service_unavailable, bad_request for what is not UTF-8 */
export async function readText(request: ServerRequest, limit: number, room?: BodyRoom): Promise<string> {
  if (isSmall(request, limit)) return decodeUtf8(request.atHand?.() ?? (await readSmall(request, limit)));
  const pieces = readBody(request, limit);
  const bytes = await gather(room?.counted(request, pieces) ?? pieces);
  await room?.turn(request);
  return decodeUtf8(bytes);
}

/** Whether a body says that it is small, and how long it is. */
function isSmall({ headers }: ServerRequest, limit: number): boolean {
  const length = headers.get('content-length');
  if (length === null || headers.get('content-encoding') !== null) return false;
  return Number(length) <= Math.min(limit, SMALL_BODY);
}

/** Reads the body in one go, without a stream, which costs more than most requests. @throws timeout, bad_request */
async function readSmall(request: ServerRequest, limit: number): Promise<Uint8Array> {
  try {
    const bytes = new Uint8Array(await beforeIdle(request.arrayBuffer()));
    // The adapter that hands over the request may not have counted the bytes.
    if (bytes.byteLength > limit) throw tooLargeRequest();
    return bytes;
  } catch (error) {
    throw isDatabaseError(error) ? error : badRequest('The request body could not be read', error);
  }
}

export async function gather(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  for await (const piece of pieces) chunks.push(piece);
  return joined(chunks);
}

interface StreamOptions {
  /** The body is taken as it was sent, compressed or not. */
  readonly asSent?: boolean;
  /** The error for more bytes than `limit`. */
  readonly tooLarge?: () => DatabaseError;
}

/**
 * The body of a request as it arrives, decompressed, at most `limit` bytes of it.
 *
 * @throws too_large; timeout when nothing comes any more; bad_request for what cannot be read or decompressed
 */
export async function* readBody(
  request: ServerRequest,
  limit: number,
  { asSent = false, tooLarge = tooLargeRequest }: StreamOptions = {},
): AsyncGenerator<Uint8Array, void, void> {
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() || 'identity';
  if (!asSent && encoding !== 'identity' && encoding !== 'gzip')
    throw failure(415, 'bad_content_type', `Content-Encoding ${JSON.stringify(encoding)} is not supported`);
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw tooLarge();
  if (request.body === null) return;
  const packed = !asSent && encoding === 'gzip';
  const reader = (packed ? unpacked(request.body) : request.body).getReader();
  let length = 0;
  let ended = false;
  try {
    for (;;) {
      const { done, value } = await beforeIdle(reader.read());
      ended = done;
      if (done) return;
      length += value.byteLength;
      // Compressed bytes are counted piece by piece too: a few of them may unfold to more than can be held.
      if (length > limit) throw tooLarge();
      yield value;
    }
  } catch (error) {
    throw isDatabaseError(error) ? error : badRequest('The request body could not be read', error);
  } finally {
    if (!ended) setTimeout(() => void reader.cancel().catch(() => {}), LINGER_MS);
  }
}

/** Reads no further than it is read itself. */
function unpacked(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const leaving = new AbortController();
  const bytes = through(new DecompressionStream('gzip'), piecesOf(body, leaving.signal));
  return streamOf(bytes, (reason) => {
    leaving.abort(reason);
    return bytes.return();
  });
}

export const tooLargeRequest = (): DatabaseError => tooLarge('the request entity is too large');
export const tooLargeAttachment = (name: string): DatabaseError => failure(413, 'attachment_too_large', name);

async function beforeIdle<T>(reading: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const idle = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(failure(408, 'timeout', 'The request body stopped arriving')),
      BODY_IDLE_MS,
    );
  });
  try {
    return await Promise.race([reading, idle]);
  } finally {
    clearTimeout(timer);
  }
}
