/**
 * CouchDB's HTTP API over any databases, as one function from Request to Response. Nothing here depends on Node.
 *
 * Whatever a request does, the worst result is an error answer: everything thrown below ends in `errorResponse`.
 */
import { badRequest, notFound, unauthorized } from '@settledb/core';
import {
  type Answer,
  closing,
  errorResponse,
  TextAnswer,
  toDatabaseError,
  toResponse,
} from './server-answer';
import { type Accounts, Authenticator, NOBODY, USERS_DATABASE } from './server-auth';
import { checkHandlerOptions } from './server-check';
import type { Context, Databases, Limits, QueriesOf, ServerState } from './server-context';
import { type CookieOptions, Cookies } from './server-cookies';
import { type CorsOptions, corsHeaders, preflight } from './server-cors';
import { isOurs } from './server-errors';
import { type Logger, log, pageOf } from './server-hooks';
import { NO_QUERY, Query } from './server-query';
import type { RegexPolicy } from './server-regex';
import type { Replicator } from './server-replicate';
import { type ServerRequest, splitUrl } from './server-request';
import { BodyRoom } from './server-room';
import { route } from './server-routes';
import { Settings } from './server-settings';
import { firstRead, watched } from './server-streams';
import { Validators } from './server-validate';

export type { Accounts, Person } from './server-auth';
export type { Databases, Limits, QueriesOf, UsedDatabase } from './server-context';
export type { CookieOptions } from './server-cookies';
export type { CorsOptions } from './server-cors';
export type { Logger } from './server-hooks';
export type { RegexPolicy } from './server-regex';
export type { ReplicateRequest, Replicator, Task } from './server-replicate';

export const DEFAULT_LIMITS: Limits = { document: 8_000_000, request: 32 * 1024 * 1024, attachment: 2 ** 30 };

/** Characters of a path that a log line shows: `doc_ids` in a query may be very long. */
const LOGGED_PATH_LENGTH = 300;

/** Paths of the server that anyone may ask: a client needs them before it is logged in, or to log in. */
const PUBLIC_PATHS: ReadonlySet<string> = new Set(['', '_up', '_session', 'favicon.ico']);

export interface HandlerOptions extends Accounts {
  readonly databases: Databases;
  /** The server's identity, 32 hex digits. It must survive restarts: replications recognize their checkpoints by it. */
  readonly uuid: string;
  readonly version?: string | undefined;
  /**
   * Where the server is mounted, `/couch`: the prefix of the server's own paths in requests, and in `Location`. Other paths are answered with 404.
   * Default `/`, which is also right if the mount takes its path off; `Location` then lacks it.
   */
  readonly path?: string | undefined;
  /**
   * Run the functions of design documents: filters and views that `_changes` names, and `validate_doc_update`. They are
   * programs, written by whoever may write design documents, and run in this process. Default false: a request that names one is
   * refused, and nothing is validated.
   */
  readonly runStoredFunctions?: boolean | undefined;
  readonly cors?: CorsOptions | undefined;
  /** What answers views and `_find` of a database. Default: the database itself, where it can; else 501. */
  readonly queries?: QueriesOf | undefined;
  readonly cookies?: CookieOptions | undefined;
  /** Offers `_replicate`, to server administrators. Default: 501. */
  readonly replicator?: Replicator | undefined;
  readonly limits?: Partial<Limits> | undefined;
  /**
   * How patterns of `$regex` are run for users who are not server administrators. JavaScript matches by trying, which nothing can stop: one
   * pattern may block the server for everybody. `safe`, the default: in time that grows as the text does, without look-arounds and
   * references back, which are refused; `any`: as JavaScript does, where all users are trusted; `none`.
   */
  readonly regex?: RegexPolicy | undefined;
  /** Default: the server's own failures go to `console.error`, and nothing else is logged. `{}` is silent. */
  readonly logger?: Logger | undefined;
  /** Called first, without asking for a password: returns a page to serve, or undefined to go on. */
  readonly static?:
    | ((request: Request) => Response | undefined | null | Promise<Response | undefined | null>)
    | undefined;
}

export interface Handler {
  /** Never rejects. `address` is the client's; names are locked by it after wrong passwords. */
  handle(request: Request, from?: { readonly address?: string | undefined }): Promise<Response>;
  /**
   * Ends open feeds in good order; requests are still answered, those for feeds that wait and for replications by 503. Databases are
   * left to whoever opened them.
   */
  close(): void;
}

/** @throws TypeError when nobody could use the server, or an option makes no sense */
export function createHandler(options: HandlerOptions): Handler {
  const { answer, close } = createAnswerer(options);
  return { handle: async (request, from) => toResponse(await answer(request, from)), close };
}

/**
 * Like {@link Handler}, for callers whose requests are not `Request`s, and that can write a text without a `Response` around it.
 * If there are hooks (`static`, `authenticate`), which are given the request, it must be a `Request`: {@link hasHooks}.
 */
export interface Answerer {
  answer(request: ServerRequest, from?: From): Promise<Answer>;
  close(): void;
}

/** Where a request comes from. */
interface From {
  readonly address?: string | undefined;
  /** Ends the connection within an answer whose stream failed; the stream then simply stops. Without it, the stream fails. */
  readonly breakOff?: (() => void) | undefined;
  /** Called before so many bytes of a stream are sent. @throws what refuses the answer, or ends it */
  readonly checkRoom?: ((bytes: number) => void) | undefined;
}

export const hasHooks = ({ static: page, authenticate }: Pick<HandlerOptions, 'static' | 'authenticate'>) =>
  page !== undefined || authenticate !== undefined;

/** @throws as {@link createHandler} */
export function createAnswerer(options: HandlerOptions): Answerer {
  const server = makeState(options);
  return {
    async answer(request, from = {}) {
      const started = performance.now();
      const answered = await answer(request, from, server, options);
      // Most servers log no lines, and making one takes 1 µs.
      if (options.logger?.info) log(options.logger, logLine(request, answered, performance.now() - started));
      return answered;
    },
    close() {
      server.isClosing = true;
      for (const feed of server.feeds.keys()) feed.abort(closing());
      for (const task of server.tasks) task.cancel.abort(closing());
    },
  };
}

function makeState(options: HandlerOptions): ServerState {
  checkHandlerOptions(options);
  const { databases, runStoredFunctions } = options;
  const settings = new Settings(databases);
  const cookies = new Cookies(() => settings.secret(), options.cookies);
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  return {
    databases,
    uuid: options.uuid,
    path: withoutSlash(options.path ?? ''),
    version: options.version ?? '0.1.0',
    limits,
    room: new BodyRoom(Math.max(limits.request, limits.document)),
    regex: options.regex ?? 'safe',
    queries: options.queries,
    auth: new Authenticator(options, databases, cookies),
    cookies,
    cors: options.cors,
    settings,
    validators: runStoredFunctions === true ? new Validators() : undefined,
    replicator: options.replicator,
    tasks: new Set(),
    isClosing: false,
    feeds: new Map(),
    configured: new WeakSet(),
    logger: options.logger,
    compactions: new Map(),
  };
}

async function answer(
  request: ServerRequest,
  { address, breakOff, checkRoom }: From,
  server: ServerState,
  options: HandlerOptions,
): Promise<Answer> {
  const cors = corsHeaders(request, options.cors);
  const over = (): void => server.room.done(request);
  const isTaken = (error: unknown): boolean => {
    tell(error, request, options);
    breakOff?.();
    return breakOff !== undefined;
  };
  try {
    const page = pageOf(await options.static?.(request as Request));
    if (page !== undefined) return await toldOf(page, isTaken);
    const allowed = preflight(request, cors);
    if (allowed !== undefined) return allowed;
    const context = await makeContext(request, address, server);
    checkAccess(context);
    const routed = await route(context);
    const check = checkRoom && ((piece: Uint8Array): void => checkRoom(piece.byteLength));
    const answered = await toldOf(routed, isTaken, over, check);
    if (isWhole(answered)) over();
    else server.room.begun(request);
    const { cookie } = context.user;
    return finish(request, cookie === undefined ? answered : withCookie(answered, cookie), cors);
  } catch (error) {
    over();
    tell(toDatabaseError(error), request, options);
    return finish(request, errorResponse(error), cors);
  }
}

function tell(error: unknown, request: ServerRequest, { logger }: HandlerOptions): void {
  // A client that went away is no failure of the server.
  if (isOurs(error) && !request.signal.aborted)
    log(logger, `${request.method} ${new URL(request.url).pathname} failed`, error);
}

const isWhole = (answered: Answer): boolean => answered instanceof TextAnswer || answered.body === null;

/**
 * @param isTaken called with the error of its stream
 * @param over called when the stream ends, fails or is left
 * @param check called with each piece: what it throws refuses the answer if it is the first one, which exists already, and else breaks it off
 */
async function toldOf(
  answered: Answer,
  isTaken: (error: unknown) => boolean,
  over = (): void => {},
  check?: (piece: Uint8Array) => void,
): Promise<Answer> {
  if (answered instanceof TextAnswer || answered.body === null) return answered;
  const { status, statusText, headers, body } = answered;
  const reading = check === undefined ? { reader: body.getReader() } : await firstRead(body, check);
  return new Response(watched(reading, over, isTaken, check), { status, statusText, headers });
}

async function makeContext(
  request: ServerRequest,
  address: string | undefined,
  server: ServerState,
): Promise<Context> {
  const { origin, path, search } = splitUrl(request.url);
  const mount = server.path;
  if (mount !== '' && path !== mount && !path.startsWith(`${mount}/`))
    throw notFound(`This server is mounted at ${mount}`);
  const segments: string[] = [];
  for (const segment of path.slice(mount.length).split('/'))
    if (segment !== '') segments.push(decodeSegment(segment));
  const query = search === '' ? NO_QUERY : readQuery(search);
  const user = await server.auth.user(request, address);
  return { request, segments, query, origin: origin + mount, user, address, server };
}

const withoutSlash = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path);

function readQuery(search: string): Query {
  // The parser accepts everything: without this check, what is not UTF-8 would become another key.
  decodeSegment(search.replaceAll('+', ' '));
  return new Query(new URLSearchParams(search));
}

function decodeSegment(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw badRequest('invalid_url_encoding', cause);
  }
}

/** The server's paths need a known user; access to a database is checked where it is opened. */
function checkAccess({ segments: [first = ''], user }: Context): void {
  if (user !== NOBODY || PUBLIC_PATHS.has(first) || !first.startsWith('_') || first === USERS_DATABASE)
    return;
  throw unauthorized(
    first === '_replicate' ? 'You are not an authenticated user' : 'You are not a server admin.',
  );
}

function withCookie(answered: Answer, cookie: string): Answer {
  const { headers } = answered;
  if (!(headers instanceof Headers)) headers['set-cookie'] ??= cookie;
  else if (!headers.has('set-cookie')) headers.set('set-cookie', cookie);
  return answered;
}

/** The answer without its body for HEAD, and with the headers for other origins. */
function finish(request: ServerRequest, answered: Answer, cors: Record<string, string>): Answer {
  if (answered instanceof TextAnswer) {
    answered.isHead = request.method === 'HEAD';
    const { vary } = answered.headers;
    Object.assign(
      answered.headers,
      cors,
      vary !== undefined && cors.vary && { vary: `${vary}, ${cors.vary}` },
    );
    return answered;
  }
  const { status, headers, body } = answered;
  for (const [name, value] of Object.entries(cors)) {
    // An answer may have a Vary header already, like an attachment for its encoding: it stays.
    if (name === 'vary') headers.append(name, value);
    else headers.set(name, value);
  }
  if (request.method !== 'HEAD' || body === null) return answered;
  body.cancel().catch(() => {});
  return new Response(null, { status, headers });
}

/** Logged for a client that did not wait for its answer, as nginx does. */
const CLIENT_GONE = 499;

/** Without user, password or body. The parts that the client chose are percent-encoded, so a line stays one line. */
function logLine(request: ServerRequest, answered: Answer, ms: number): string {
  const status = answered.status === 500 && request.signal.aborted ? CLIENT_GONE : answered.status;
  const { pathname, search } = new URL(request.url);
  const path = `${pathname}${search}`.slice(0, LOGGED_PATH_LENGTH);
  return `${request.method} ${path} ${status} ${ms.toFixed(1)} ms`;
}
