/**
 * CouchDB's HTTP API over any databases, as one function from Request to Response: nothing here knows of Node.
 *
 * Whatever a request does, the worst it meets is an error answer: everything thrown below ends in `errorResponse`.
 */
import { badRequest, isDatabaseError, unauthorized } from '@settledb/core';
import { type Accounts, type Authenticate, authenticator } from './server-auth';
import type { Context, Databases, Limits, ServerState } from './server-context';
import { type CorsOptions, corsHeaders, preflight } from './server-cors';
import { errorResponse, Query } from './server-http';
import { route } from './server-routes';

export type { Accounts } from './server-auth';
export type { Databases, Limits } from './server-context';
export type { CorsOptions } from './server-cors';

const DEFAULT_LIMITS: Limits = { document: 8_000_000, request: 32 * 1024 * 1024 };

/** Characters of a path that a log line shows: `doc_ids` in a query may be as long as a book. */
const LOGGED_PATH_LENGTH = 300;

/** Answered to anyone: a client asks for them before it knows whether it may in. */
const PUBLIC_PATHS: ReadonlySet<string> = new Set(['', '_up']);

export interface Logger {
  /** One line per request. */
  info?(line: string): void;
  /** Failures that are the server's own, with their cause. */
  error?(line: string, cause: unknown): void;
}

export interface HandlerOptions extends Accounts {
  readonly databases: Databases;
  /** The server's identity, 32 hex digits. It must outlive restarts: replications know their checkpoints by it. */
  readonly uuid: string;
  readonly version?: string | undefined;
  /**
   * Let `_changes` name filters and views of design documents. They are programs, written by whoever may write to the
   * database; the databases decide how they run. Default false: such a request is refused.
   */
  readonly runStoredFunctions?: boolean | undefined;
  readonly cors?: CorsOptions | undefined;
  readonly limits?: Partial<Limits> | undefined;
  readonly logger?: Logger | undefined;
  /** Asked first, without any password: a page to serve, or undefined to go on. */
  readonly static?: ((request: Request) => Response | undefined | Promise<Response | undefined>) | undefined;
}

export interface Handler {
  /** Never rejects. */
  handle(request: Request): Promise<Response>;
  /** Ends open feeds in good order; requests go on being answered. Databases are left to whoever opened them. */
  close(): void;
}

/** @throws TypeError when nobody could use the server */
export function createHandler(options: HandlerOptions): Handler {
  const authenticate = authenticator(options);
  const server: ServerState = {
    databases: options.databases,
    uuid: options.uuid,
    version: options.version ?? '0.1.0',
    runStoredFunctions: options.runStoredFunctions === true,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    feeds: new Set(),
    compactions: new Map(),
  };
  return {
    async handle(request) {
      const started = performance.now();
      const response = await answer(request, server, options, authenticate);
      options.logger?.info?.(logLine(request, response, performance.now() - started));
      return response;
    },
    close() {
      for (const feed of server.feeds) feed.abort();
    },
  };
}

async function answer(
  request: Request,
  server: ServerState,
  options: HandlerOptions,
  authenticate: Authenticate,
): Promise<Response> {
  const cors = corsHeaders(request, options.cors);
  try {
    const page = await options.static?.(request);
    if (page !== undefined) return page;
    const allowed = preflight(request, cors);
    if (allowed !== undefined) return allowed;
    const context = await makeContext(request, server, authenticate);
    checkAccess(context, options.anonymous === true);
    return withHeaders(withoutBody(request, await route(context)), cors);
  } catch (error) {
    // A client that went away is nobody's failure.
    if (!request.signal.aborted && isOurs(error)) {
      options.logger?.error?.(`${request.method} ${new URL(request.url).pathname} failed`, error);
    }
    return withHeaders(withoutBody(request, errorResponse(error)), cors);
  }
}

/** A failure of the server, not of the request. 501 is an answer. */
const isOurs = (error: unknown): boolean =>
  !isDatabaseError(error) || (error.status >= 500 && error.status !== 501 && error.name !== 'doc_validation');

async function makeContext(
  request: Request,
  server: ServerState,
  authenticate: Authenticate,
): Promise<Context> {
  const url = new URL(request.url);
  const segments = url.pathname
    .split('/')
    .filter((segment) => segment !== '')
    .map(decodeSegment);
  const user = await authenticate(request);
  return { request, segments, query: new Query(url.searchParams), origin: url.origin, user, server };
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw badRequest('invalid_url_encoding', cause);
  }
}

function checkAccess({ segments, user, request }: Context, anonymous: boolean): void {
  const first = segments[0] ?? '';
  if (anonymous || user !== undefined || PUBLIC_PATHS.has(first)) return;
  const ofServer = first.startsWith('_') || (segments.length === 1 && /^(PUT|DELETE)$/.test(request.method));
  throw unauthorized(ofServer ? 'You are not a server admin.' : 'You are not authorized to access this db.');
}

function withoutBody(request: Request, response: Response): Response {
  if (request.method !== 'HEAD' || response.body === null) return response;
  response.body.cancel().catch(() => {});
  return new Response(null, { status: response.status, headers: response.headers });
}

function withHeaders(response: Response, headers: Record<string, string>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}

/** Without user, password or body. What the client chose is percent-encoded, so a line stays one line. */
function logLine(request: Request, response: Response, ms: number): string {
  const { pathname, search } = new URL(request.url);
  const path = `${pathname}${search}`.slice(0, LOGGED_PATH_LENGTH);
  return `${request.method} ${path} ${response.status} ${ms.toFixed(1)} ms`;
}
