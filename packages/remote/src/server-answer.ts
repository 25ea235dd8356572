/** Answers of routes: JSON whose text is at hand, streams, errors. */
import { badRequest, DatabaseError, isDatabaseError } from '@settledb/core';
import { JSON_TYPE, toWireError } from './wire';

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
