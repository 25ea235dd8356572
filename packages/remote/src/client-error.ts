/** Failures of requests as DatabaseErrors: errors a server reported, answers it should not have given, and missing answers. */
import { DatabaseError, type DatabaseErrorInit, isDatabaseError, isObject } from '@settledb/core';
import { fromWireError, type WireError } from './wire';

/** A failure of a request. `status` 502 `bad_response`, 503 `unreachable` and 504 `timeout` were made on this side. */
export class RemoteError extends DatabaseError {
  /** ms, if the server said when to try again. */
  readonly retryAfterMs?: number;

  constructor(init: DatabaseErrorInit, retryAfterMs?: number) {
    super(init);
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}

/** An answer that is not of the form the protocol has for it. */
export const badResponse = (what: string, cause?: unknown): RemoteError =>
  new RemoteError({
    status: 502,
    name: 'bad_response',
    reason: `The server's answer makes no sense: ${what}`,
    cause,
  });

/** What a status means where the body does not say. */
const NAMES = new Map([
  [400, 'bad_request'],
  [401, 'unauthorized'],
  [403, 'forbidden'],
  [404, 'not_found'],
  [405, 'method_not_allowed'],
  [409, 'conflict'],
  [412, 'precondition_failed'],
  [413, 'too_large'],
  [414, 'url_too_long'],
  [429, 'too_many_requests'],
  // Node counts the URL among the headers.
  [431, 'url_too_long'],
  [501, 'not_implemented'],
  [503, 'service_unavailable'],
]);

/** Errors that no database wrote. What stands before it did, and may be gone soon. */
const FOREIGN = new WeakSet<object>();

/** Whether the answer was not as CouchDB's: what it says of the database, that it is missing for instance, is not known. */
export const isForeign = (error: unknown): boolean => FOREIGN.has(error as object);

/**
 * The error that the server reports. `text`: the body, as far as it could be read; `url`: the database's, without credentials; `path`:
 * what was asked below it.
 */
export function errorOf(
  response: Response,
  text: string,
  url: string,
  path: string,
  docId: string | undefined,
): DatabaseError {
  const { status } = response;
  const { error, reason } = readError(text);
  const wire = {
    error: error ?? NAMES.get(status) ?? 'http_error',
    reason: reason ?? notAsCouchDb(url, status, path),
  };
  const made = madeOf(wire, response, docId);
  if (error === undefined) FOREIGN.add(made);
  return made;
}

function madeOf(wire: WireError, { status, headers }: Response, docId: string | undefined): DatabaseError {
  const retryAfterMs = readRetryAfter(headers);
  if (retryAfterMs !== undefined) {
    return new RemoteError({ status, name: wire.error, reason: wire.reason, docId }, retryAfterMs);
  }
  const known = fromWireError(wire, docId, status);
  // The status is the server's word: an error named not_found within a 500 is still a 500.
  if (known.status === status || known.name === 'doc_validation') return known;
  return new RemoteError({ status, name: wire.error, reason: wire.reason, docId });
}

/** What a proxy asks for, or bounds, by itself. */
const OF_PROXIES = new Set([401, 403, 413, 414, 429, 431]);

/** What answers in 5xx may well stand before a database. */
function notAsCouchDb(url: string, status: number, path: string): string {
  const said = `${url} answers ${status}, and not as CouchDB does`;
  if (status >= 500) return said;
  if (OF_PROXIES.has(status)) return `${said}: does a proxy before it?`;
  return `${said}: ${path.includes('%2F') ? 'does a proxy before it refuse %2F?' : 'is it the URL of a database?'}`;
}

function readError(text: string): { error?: string; reason?: string } {
  try {
    const body: unknown = JSON.parse(text);
    if (!isObject(body)) return {};
    const { error, reason } = body;
    return {
      ...(typeof error === 'string' ? { error } : {}),
      ...(typeof reason === 'string' ? { reason } : {}),
    };
  } catch {
    return {};
  }
}

/** Seconds; or a date by the server's clock, from which ours may be hours away, so it is compared with the date of the answer. */
function readRetryAfter(headers: Headers): number | undefined {
  const told = headers.get('retry-after');
  if (told === null) return undefined;
  if (/^\d{1,9}$/.test(told.trim())) return Number(told) * 1000;
  const at = Date.parse(told);
  const answered = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(at) ? undefined : Math.max(0, at - (Number.isNaN(answered) ? Date.now() : answered));
}

/**
 * The message of the platform or a given fetch may quote the request with its headers, so it is not kept. The system's own error
 * below it (`ECONNREFUSED`, `ENOTFOUND`), which Node gives, holds no more than an address, and becomes the `cause`.
 */
export function unreachable(name: string, error: unknown): RemoteError {
  // Not by `instanceof`: in Jest, errors of Node's own `fetch` are of another realm.
  const { name: kind = typeof error, cause: below } = Object(error) as Thrown;
  const code = typeof below?.code === 'string' ? below.code : undefined;
  const detail = code ?? (kind === 'TypeError' ? crossOrigin(name) : kind);
  return new RemoteError({
    status: 503,
    name: 'unreachable',
    reason: `${name} could not be reached${detail === '' ? '' : ` (${detail})`}`,
    ...(code === undefined ? {} : { cause: below }),
  });
}

interface Thrown {
  readonly name?: string;
  readonly cause?: { readonly code?: unknown };
}

/** There was no answer, or not in time. */
export const isBroken = (error: unknown): boolean =>
  isDatabaseError(error) && (error.name === 'unreachable' || error.name === 'timeout');

/** A browser does not tell a page when CORS is the reason. */
function crossOrigin(url: string): string {
  const origin = globalThis.location?.origin;
  if (origin === undefined || url.startsWith(`${origin}/`)) return '';
  return `or does not let pages of ${origin} read its answers: see CORS in its settings`;
}
