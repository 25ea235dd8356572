/**
 * Cross-origin access: off, but for the origins that are listed. An origin is never reflected because it asked.
 */
import type { ServerRequest } from './server-request';

export interface CorsOptions {
  /**
   * `['https://app.example']`, as browsers send them: without a path or a trailing `/`. `['*']` is for everyone, then without credentials.
   * `'null'` is for pages that are files, and for every other that has itself framed with `sandbox`: then better without credentials.
   */
  readonly origins: readonly string[];
  /** Let browsers send the cookies and passwords they keep. Not with `*`. Default false. */
  readonly credentials?: boolean | undefined;
}

const METHODS = 'GET, PUT, POST, HEAD, DELETE, COPY';
const HEADERS =
  'accept, authorization, content-type, content-encoding, origin, referer, if-match, if-none-match, destination, ' +
  'range, if-range, last-event-id, x-requested-with, x-couch-full-commit';
const EXPOSED = 'content-type, cache-control, accept-ranges, content-range, etag, location, retry-after';
/** Seconds a browser may keep the answer to a preflight. */
const MAX_AGE = '600';

/**
 * The headers for a request's origin. Those that let it in only if it is listed; but any answer, also to a request without an origin, says
 * on what it depends, because a cache may give it to a page elsewhere.
 */
export function corsHeaders(request: ServerRequest, cors: CorsOptions | undefined): Record<string, string> {
  if (cors === undefined) return {};
  if (cors.origins.includes('*')) {
    return { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED };
  }
  const origin = request.headers.get('origin');
  if (origin === null || !cors.origins.includes(origin)) return { vary: 'origin' };
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': EXPOSED,
    vary: 'origin',
    ...(cors.credentials === true ? { 'access-control-allow-credentials': 'true' } : {}),
  };
}

/**
 * Whether a browser says that a page of another site sends this, whose origin is not listed by name. Without a preflight that may be any, and
 * `null` is the origin of any page that wants it, as in a frame with `sandbox`.
 */
export function isOfStranger({ headers }: ServerRequest, cors: CorsOptions | undefined): boolean {
  const origin = headers.get('origin') ?? 'null';
  const isNamed = origin !== 'null' && cors?.origins.includes(origin) === true;
  return headers.get('sec-fetch-site') === 'cross-site' && !isNamed;
}

/** The answer to a preflight of a listed origin; undefined for any other request. */
export function preflight(request: ServerRequest, headers: Record<string, string>): Response | undefined {
  const asked = request.headers.get('access-control-request-method');
  if (request.method !== 'OPTIONS' || asked === null || !('access-control-allow-origin' in headers))
    return undefined;
  if (!METHODS.split(', ').includes(asked.toUpperCase())) return undefined;
  const wanted = (request.headers.get('access-control-request-headers') ?? '').toLowerCase().split(',');
  if (!wanted.every((name) => HEADERS.split(', ').includes(name.trim()) || name.trim() === ''))
    return undefined;
  return new Response(null, {
    status: 204,
    headers: {
      ...headers,
      'access-control-allow-methods': METHODS,
      'access-control-allow-headers': HEADERS,
      'access-control-max-age': MAX_AGE,
    },
  });
}
