/** Answers of routes: JSON texts, streams, errors. */
import { badRequest, DatabaseError, isDatabaseError, tooLarge } from '@settledb/core';
import { toWireError } from './server-errors';
import { CACHING, JSON_TYPE } from './wire';

export const failure = (status: number, name: string, reason: string): DatabaseError =>
  new DatabaseError({ status, name, reason });

/** The server has too much to do, or ends: the same may be asked again later. */
export const unavailable = (reason: string): DatabaseError => failure(503, 'service_unavailable', reason);

/** For what would be open for long. */
export const closing = (): DatabaseError => unavailable('The server is closing');

type HeaderList = { readonly [name: string]: string };

/**
 * An answer whose whole text exists already. A `Response` would make a stream of it, which costs more than most requests; so this
 * becomes a `Response` only where one is needed ({@link toResponse}).
 */
export class TextAnswer {
  /** The text is only measured: an answer to HEAD has its length. */
  isHead = false;

  constructor(
    readonly status: number,
    readonly text: string,
    /** Names in lower case. A copy of its own, because more headers may be added. */
    readonly headers: Record<string, string>,
  ) {}
}

/** This status has no body, and so no length. */
export const NOT_MODIFIED = 304;

/** What routes return: a text that exists already, or an answer that may be a stream. */
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
  const all: Record<string, string> = { 'content-type': JSON_TYPE, 'cache-control': CACHING };
  // One by one, because adding to a spread object costs Node 20 1.8 µs per field (decisions/0019).
  for (const name in headers) all[name] = headers[name]!;
  return new TextAnswer(status, text, all);
}

/** In CouchDB's words what a request asked too much of; anything else as it is. */
export function toDatabaseError(error: unknown): unknown {
  if (isTooDeep(error)) return badRequest('The JSON is nested too deeply');
  if (isTooLong(error)) return tooLarge('The answer is too large: ask for less at a time');
  return error;
}

/** The answer for anything thrown. An error other than a DatabaseError is our own defect: its text is not shown. */
export function errorResponse(error: unknown): Answer {
  const told = toDatabaseError(error);
  const known = isDatabaseError(told)
    ? told
    : failure(500, 'internal_server_error', 'The server failed; its log says how');
  const { status, error: name, reason } = toWireError(known);
  return jsonResponse(status, { error: name, reason });
}

/** V8 parses JSON of any depth but writes only some: such a body can be read but never stored. */
function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && /call stack/i.test(error.message);
}

/** What is put together whole is one text, which has a greatest length. */
function isTooLong(error: unknown): boolean {
  return error instanceof RangeError && /string length/i.test(error.message);
}

export function methodNotAllowed(allowed: readonly string[]): Answer {
  return jsonResponse(
    405,
    { error: 'method_not_allowed', reason: `Only ${allowed.join(',')} allowed` },
    { allow: allowed.join(',') },
  );
}
