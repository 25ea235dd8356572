/**
 * HTTP as the routes see it: options from the query, JSON from the body (bounded while it arrives), answers, errors.
 */
import { badRequest, DatabaseError, isDatabaseError, queryParseError } from '@settledb/core';
import { isObject, JSON_TYPE, toWireError } from './wire';

/** ms a client may take between two pieces of a body. Slower ones hold memory and a connection for nothing. */
const BODY_IDLE_MS = 30_000;

/** Largest whole number taken as an option: more than any timer or list bears. */
const MAX_COUNT = 2 ** 31 - 1;

/** Options of a request. Where one is repeated the last counts, as in CouchDB. */
export class Query {
  readonly #params: URLSearchParams;

  constructor(params: URLSearchParams) {
    this.#params = params;
  }

  text(name: string): string | undefined {
    return this.#params.getAll(name).at(-1);
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
    if (!/^\d{1,10}$/.test(value))
      throw queryParseError(`Invalid value for integer: ${JSON.stringify(value)}`);
    return Math.min(Number(value), MAX_COUNT);
  }

  entries(): Iterable<[string, string]> {
    return this.#params.entries();
  }
}

/** @throws bad_request */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw badRequest('invalid UTF-8 JSON', cause);
  }
}

/**
 * Browsers send only a few other types to another origin without asking first: this is what keeps them out (CSRF).
 *
 * @throws bad_content_type
 */
export function checkJsonType(request: Request): void {
  const type = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== JSON_TYPE) throw failure(415, 'bad_content_type', 'Content-Type must be application/json');
}

export interface BodyOptions {
  /** Most bytes; more is 413, found out without reading the rest. */
  readonly limit: number;
  /** As {@link checkJsonType}. Default true. */
  readonly mustBeJson?: boolean;
}

/** The JSON of a request's body. @throws bad_content_type, too_large, bad_request */
export async function readJson(
  request: Request,
  { limit, mustBeJson = true }: BodyOptions,
): Promise<unknown> {
  if (mustBeJson) checkJsonType(request);
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (encoding !== 'identity') throw failure(415, 'bad_content_type', 'Content-Encoding is not supported');
  const bytes = await readBytes(request, limit);
  try {
    // A byte order mark is kept, and is then no JSON; CouchDB refuses it as well.
    return parseJson(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (cause) {
    throw badRequest('invalid UTF-8 JSON', cause);
  }
}

/** As {@link readJson}, for a body that must be an object. */
export async function readObject(request: Request, options: BodyOptions): Promise<Record<string, unknown>> {
  const body = await readJson(request, options);
  if (!isObject(body)) throw badRequest('Request body must be a JSON object');
  return body;
}

async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  const tooLarge = () => failure(413, 'too_large', 'the request entity is too large');
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw tooLarge();
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await beforeIdle(reader.read());
      if (done) return concat(chunks, length);
      length += value.byteLength;
      if (length > limit) throw tooLarge();
      chunks.push(value);
    }
  } catch (error) {
    reader.cancel().catch(() => {});
    throw isDatabaseError(error) ? error : badRequest('The request body could not be read', error);
  }
}

function concat(chunks: readonly Uint8Array[], length: number): Uint8Array {
  if (chunks.length === 1) return chunks[0]!;
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

export function jsonResponse(status: number, value: unknown, headers: HeaderList = {}): Response {
  return new Response(`${JSON.stringify(value)}\n`, {
    status,
    headers: { 'content-type': JSON_TYPE, 'cache-control': 'must-revalidate', ...headers },
  });
}

/** The answer for anything thrown. What is no DatabaseError is a defect of ours: its text stays here. */
export function errorResponse(error: unknown): Response {
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

export function methodNotAllowed(allowed: readonly string[]): Response {
  return jsonResponse(
    405,
    { error: 'method_not_allowed', reason: `Only ${allowed.join(',')} allowed` },
    { allow: allowed.join(',') },
  );
}
