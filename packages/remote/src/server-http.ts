/**
 * HTTP as the routes see it: options from the query, JSON from the body (bounded while it arrives), answers, errors.
 */
import { badRequest, DatabaseError, isDatabaseError, queryParseError } from '@settledb/core';
import type { ServerRequest } from './server-request';
import { isObject, JSON_TYPE, toWireError } from './wire';

/** ms a client may take between two pieces of a body. Slower ones hold memory and a connection for nothing. */
const BODY_IDLE_MS = 30_000;
/** Bytes of a body that are waited for in one go, as long as for one piece of a larger one. */
export const SMALL_BODY = 64 * 1024;

/** Largest whole number taken as an option: more than any timer or list bears. */
const MAX_COUNT = 2 ** 31 - 1;

/** Options of a request. Where one is repeated the last counts, as in CouchDB. */
export class Query {
  readonly #params: URLSearchParams | undefined;

  constructor(params?: URLSearchParams) {
    this.#params = params;
  }

  text(name: string): string | undefined {
    return this.#params?.getAll(name).at(-1);
  }

  /** True or false, and undefined for nonsense, which CouchDB ignores on documents. */
  flag(name: string): boolean | undefined {
    const value = this.text(name);
    return value === 'true' ? true : value === 'false' ? false : undefined;
  }

  /** A JSON value. @throws bad_request */
  json(name: string): unknown {
    const value = this.text(name);
    return value === undefined ? undefined : parseJson(value);
  }

  /** A whole number, 0 or more. @throws query_parse_error */
  count(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (!/^\d{1,20}$/.test(value))
      throw queryParseError(`Invalid value for integer: ${JSON.stringify(value)}`);
    return Math.min(Number(value), MAX_COUNT);
  }

  entries(): Iterable<[string, string]> {
    return this.#params?.entries() ?? [];
  }
}

/** Most requests have none: no parser is made for them. */
export const NO_QUERY = new Query();

/**
 * Numbers that may be larger than any there is: 210 digits and an exponent of two are not. Two patterns, of which the second looks
 * where numbers begin only: as one, from any digit on, they took longer than the parser.
 */
const HUGE_EXPONENT = /[eE]\+?\d{3}/;
const MANY_DIGITS = /(?:^|[:,[\s-])\d{210}/;

/** @throws bad_request; also for numbers that would silently become another value */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw badRequest('invalid UTF-8 JSON', cause);
  }
  if ((HUGE_EXPONENT.test(text) || MANY_DIGITS.test(text)) && holdsInfinity(value))
    throw badRequest('invalid UTF-8 JSON');
  return value;
}

function holdsInfinity(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === Infinity || value === -Infinity;
  return Object.values(value).some(holdsInfinity);
}

/**
 * Browsers send only a few other types to another origin without asking first: this is what keeps them out (CSRF).
 *
 * @throws bad_content_type
 */
export function checkJsonType(request: ServerRequest): void {
  checkMediaType(request, [JSON_TYPE]);
}

/** @returns which of `types` it is @throws bad_content_type */
export function checkMediaType(request: ServerRequest, types: readonly string[]): string {
  const type = mediaType(request);
  if (type !== undefined && types.includes(type)) return type;
  throw failure(415, 'bad_content_type', `Content-Type must be ${types.join(' or ')}`);
}

export function mediaType(request: ServerRequest): string | undefined {
  return request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
}

export interface BodyOptions {
  /** Most bytes, after decompression; more is 413, found out without reading the rest. */
  readonly limit: number;
  /** As {@link checkJsonType}. Default true. */
  readonly mustBeJson?: boolean;
}

/** A request's body as text, for {@link parseJson}. @throws bad_content_type, too_large, bad_request */
export function readJsonText(
  request: ServerRequest,
  { limit, mustBeJson = true }: BodyOptions,
): Promise<string> {
  if (mustBeJson) checkJsonType(request);
  return readText(request, limit);
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

/** @throws too_large, bad_request for what is not UTF-8 */
export async function readText(request: ServerRequest, limit: number): Promise<string> {
  const bytes = isSmall(request, limit)
    ? (request.atHand?.() ?? (await readSmall(request, limit)))
    : await gather(readBody(request, limit));
  return decodeUtf8(bytes);
}

/** A byte order mark is kept, and is then no JSON; CouchDB refuses it as well. Texts are whole: one decoder serves all. */
const STRICT_UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @throws bad_request */
function decodeUtf8(bytes: Uint8Array): string {
  try {
    return STRICT_UTF8.decode(bytes);
  } catch (cause) {
    throw badRequest('invalid UTF-8 JSON', cause);
  }
}

/** Whether a body says that it is small, and how long. */
function isSmall({ headers }: ServerRequest, limit: number): boolean {
  const length = headers.get('content-length');
  if (length === null || headers.get('content-encoding') !== null) return false;
  return Number(length) <= Math.min(limit, SMALL_BODY);
}

/** In one go: without a stream for it, which costs more than most requests. @throws timeout, bad_request */
async function readSmall(request: ServerRequest, limit: number): Promise<Uint8Array> {
  try {
    const bytes = new Uint8Array(await beforeIdle(request.arrayBuffer()));
    // Who hands over requests may not have counted.
    if (bytes.byteLength > limit) throw tooLargeRequest();
    return bytes;
  } catch (error) {
    throw isDatabaseError(error) ? error : badRequest('The request body could not be read', error);
  }
}

/** @throws bad_request */
export function parseUtf8Json(bytes: Uint8Array): unknown {
  return parseJson(decodeUtf8(bytes));
}

export async function gather(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const piece of pieces) {
    chunks.push(piece);
    length += piece.byteLength;
  }
  return concat(chunks, length);
}

export interface StreamOptions {
  /** Taken as it is, compressed or not. */
  readonly asSent?: boolean;
  /** What to refuse more than `limit` with. */
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
  const stream = packed
    ? (request.body as ReadableStream<BufferSource>).pipeThrough(new DecompressionStream('gzip'))
    : request.body;
  const reader = (stream as ReadableStream<Uint8Array>).getReader();
  let length = 0;
  let ended = false;
  try {
    for (;;) {
      const { done, value } = await beforeIdle(reader.read());
      ended = done;
      if (done) return;
      length += value.byteLength;
      // Of compressed bytes too this is found out piece by piece: what a few of them unfold to is never held.
      if (length > limit) throw tooLarge();
      yield value;
    }
  } catch (error) {
    throw isDatabaseError(error) ? error : badRequest('The request body could not be read', error);
  } finally {
    if (!ended) reader.cancel().catch(() => {});
  }
}

const tooLargeRequest = (): DatabaseError => failure(413, 'too_large', 'the request entity is too large');

function concat(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

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

export const failure = (status: number, name: string, reason: string): DatabaseError =>
  new DatabaseError({ status, name, reason });

export type HeaderList = { readonly [name: string]: string };

/**
 * An answer whose whole text is at hand. A `Response` would make a stream of it, which costs more than most requests; so this
 * becomes one only for who wants one ({@link toResponse}).
 */
export class TextAnswer {
  /** The text is only counted: its length stands in the answer to HEAD. */
  isHead = false;

  constructor(
    readonly status: number,
    readonly text: string,
    /** Names in lower case. Its own: more may come to it. */
    readonly headers: Record<string, string>,
  ) {}
}

/** Has no body, and so no length. */
export const NOT_MODIFIED = 304;

/** What routes give: an answer at hand, or one that may be a stream. */
export type Answer = Response | TextAnswer;

export function toResponse(answer: Answer): Response {
  if (!(answer instanceof TextAnswer)) return answer;
  const { status, text, headers, isHead } = answer;
  if (status === NOT_MODIFIED) return new Response(null, { status, headers });
  if (!isHead) return new Response(text, { status, headers });
  const length = String(new TextEncoder().encode(text).length);
  return new Response(null, { status, headers: { ...headers, 'content-length': length } });
}

export function jsonResponse(status: number, value: unknown, headers?: HeaderList): Answer {
  return jsonTextResponse(status, `${JSON.stringify(value)}\n`, headers);
}

export function jsonTextResponse(status: number, text: string, headers?: HeaderList): Answer {
  const all: Record<string, string> = { 'content-type': JSON_TYPE, 'cache-control': 'must-revalidate' };
  // One by one, as what is added to a spread object costs Node 20 2 µs each.
  for (const name in headers) all[name] = headers[name]!;
  return new TextAnswer(status, text, all);
}

/** The answer for anything thrown. What is no DatabaseError is a defect of ours: its text stays here. */
export function errorResponse(error: unknown): Answer {
  const known = isDatabaseError(error)
    ? error
    : isTooDeep(error)
      ? badRequest('The JSON is nested too deeply')
      : failure(500, 'internal_server_error', 'The server failed; its log says how');
  const { status, error: name, reason } = toWireError(known);
  return jsonResponse(status, { error: name, reason });
}

/** V8 parses any depth and writes only some: such a body can be read but never stored. */
function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && /call stack/i.test(error.message);
}

export function methodNotAllowed(allowed: readonly string[]): Answer {
  return jsonResponse(
    405,
    { error: 'method_not_allowed', reason: `Only ${allowed.join(',')} allowed` },
    { allow: allowed.join(',') },
  );
}
