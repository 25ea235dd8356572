/**
 * Requests of a remote database: one function that sends, reads and judges.
 *
 * Either an answer of 2xx with JSON is returned, or a DatabaseError is thrown. What cannot be understood is never taken for
 * an answer: not HTML with status 200, not half a JSON text.
 */
import { closed, DatabaseError, type DatabaseErrorInit } from '@settledb/core';
import { type Auth, makeAuth } from './client-auth';
import type { Compressor } from './client-compress';
import type { Target } from './client-target';
import { type Credentials, fromWireError, isObject, JSON_TYPE } from './wire';

/** ms without a byte, before or within an answer, after which a connection counts as dead. */
export const IDLE_TIMEOUT_MS = 60_000;

/** Characters of one answer. A server without end must not take the memory of a page; V8's strings end at twice this. */
const MAX_ANSWER_LENGTH = 2 ** 28;

/** Characters of a body from which on compressing it saves more time than it takes on most lines. */
const COMPRESSED_LENGTH = 32_768;

/** What is not to be done twice. */
const WRITES: readonly string[] = ['/_bulk_docs', '/_purge', '/_compact'];

export type HeaderSource =
  | Readonly<Record<string, string>>
  | ((again: boolean) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

export interface HttpOptions {
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly headers?: HeaderSource | undefined;
  readonly auth?: (Credentials & { readonly type?: 'basic' | 'cookie' | undefined }) | undefined;
  readonly compress?: boolean | undefined;
}

/** A failure of a request. `status` 502 `bad_response`, 503 `unreachable` and 504 `timeout` were made on this side. */
export class RemoteError extends DatabaseError {
  /** ms, where the server said when to come back. */
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

export interface Call {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Below the database, beginning with `/`; `''` is the database. */
  readonly path: string;
  /** Default: the database. */
  readonly base?: 'root' | undefined;
  readonly query?: QueryValues | undefined;
  /** JSON; or, with `type`, bytes as they are. */
  readonly body?: unknown;
  /** The body's, where it is no JSON. */
  readonly type?: string | undefined;
  /** Default: JSON. */
  readonly accept?: string | undefined;
  /** Of this request alone. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** ms without a byte; default {@link IDLE_TIMEOUT_MS}. */
  readonly idleMs?: number | undefined;
  /** The document an error would be about. */
  readonly docId?: string | undefined;
}

/** Undefined ones are left out. */
export type QueryValues = { readonly [name: string]: string | number | boolean | undefined };

export function formatQuery(query: QueryValues = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  if (pairs.length === 0) return '';
  return `?${pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value!)}`).join('&')}`;
}

/** An answer of 2xx, still to be read. */
export interface Opened {
  readonly response: Response;
  /** Its bytes. What fails while they are read is as for {@link Http.json}. */
  readonly pieces: AsyncGenerator<Uint8Array, void, void>;
}

export class Http {
  #target: Target;
  readonly #options: HttpOptions;
  /** What to end when this closes. A set, not listeners: any number of requests is under way. */
  readonly #open = new Set<() => void>();
  readonly #auth: Auth;
  #compressor: Promise<Compressor | undefined> | undefined;
  #closed = false;

  constructor(target: Target, options: HttpOptions) {
    this.#target = target;
    this.#options = options;
    this.#auth = makeAuth(target, options);
  }

  get target(): Target {
    return this.#target;
  }

  /** Calls `end` once when this is closed. @returns the way to be left out */
  onClose(end: () => void): () => void {
    this.#open.add(end);
    if (this.#closed) end();
    return () => this.#open.delete(end);
  }

  /** Ends every request under way; they and later ones reject `closed`. */
  close(): void {
    this.#closed = true;
    for (const end of this.#open) end();
    this.#open.clear();
  }

  /** @returns the JSON of an answer of 2xx @throws DatabaseError; the signal's reason */
  async json(call: Call): Promise<unknown> {
    const { pieces } = await this.open(call);
    return parseJson(await readText(pieces));
  }

  /** The caller reads the pieces to their end, or leaves them. @throws as {@link json} */
  async open(call: Call): Promise<Opened> {
    call.signal?.throwIfAborted();
    if (this.#closed) throw closed();
    const request = new Idle(call.idleMs ?? IDLE_TIMEOUT_MS, call.signal);
    const leave = this.onClose(request.abort);
    const end = (): void => {
      leave();
      request.end();
    };
    const fail = (error: unknown): never => {
      throw this.#failureOf(error, call, request);
    };
    try {
      const response = await this.#ask(call, request);
      const pieces = piecesOf(response, request, end, fail);
      if (response.ok) return { response, pieces };
      const text = await readText(pieces).catch((error: unknown) => {
        // What is no text says nothing more than the status.
        if (request.signal.aborted) throw error;
        return '';
      });
      throw errorOf(response, text, call.docId);
    } catch (error) {
      end();
      return fail(error);
    }
  }

  /** Sends, and once more after credentials were renewed, or when the database turned out to be elsewhere. */
  async #ask(call: Call, request: Idle): Promise<Response> {
    let response = await request.race(this.#send(call, request.signal, false));
    if (response.status === 401 && (await request.race(this.#auth.renew()))) {
      response.body?.cancel().catch(() => {});
      response = await request.race(this.#send(call, request.signal, true));
    }
    if (response.status === 415 && this.#compressor !== undefined) {
      // It takes none after all.
      this.#compressor = Promise.resolve(undefined);
      response = await request.race(this.#send(call, request.signal, false));
    }
    if (!response.redirected) return response;
    this.#follow(call, response.url);
    // fetch makes a GET of a redirected POST, whose answer is then not the answer to what was asked.
    if (call.method !== 'POST' || (response.ok && WRITES.includes(call.path))) return response;
    response.body?.cancel().catch(() => {});
    return request.race(this.#send(call, request.signal, false));
  }

  /** From now on the database is asked where it was found. @throws redirected, to another host, which gets no credentials of ours */
  #follow({ base, path }: Call, url: string): void {
    const { database, credentials } = this.#target;
    const found = url.split('?')[0]!;
    if (base !== undefined || !found.endsWith(path)) return;
    const moved = found.slice(0, found.length - path.length).replace(/\/$/, '');
    if (moved === database) return;
    const { headers, auth = credentials } = this.#options;
    const isSecret = auth !== undefined || headers !== undefined;
    if (isSecret && new URL(moved).hostname !== new URL(database).hostname) {
      const reason = `The database is at ${moved} now; credentials are not taken along to another host`;
      throw new RemoteError({ status: 400, name: 'redirected', reason });
    }
    const root = moved.slice(0, moved.lastIndexOf('/') + 1);
    this.#target = { ...this.#target, database: moved, root, path: moved.slice(root.length) };
  }

  async #send(call: Call, signal: AbortSignal, again: boolean): Promise<Response> {
    const { database, root } = this.#target;
    const { fetch = globalThis.fetch, headers } = this.#options;
    const given = typeof headers === 'function' ? await headers(again) : headers;
    const own = await this.#auth.headers();
    signal.throwIfAborted();
    const url = `${call.base === 'root' ? root : database}${call.path}${formatQuery(call.query)}`;
    const { type = call.body === undefined ? undefined : JSON_TYPE, accept = JSON_TYPE } = call;
    let body = (call.type === undefined && call.body !== undefined ? JSON.stringify(call.body) : call.body) as
      | BodyInit
      | undefined;
    let encoding: Record<string, string> | undefined;
    if (typeof body === 'string' && body.length >= COMPRESSED_LENGTH && this.#options.compress !== false) {
      const packed = await (await this.#compress())?.(body);
      signal.throwIfAborted();
      if (packed !== undefined) {
        body = packed;
        encoding = { 'content-encoding': 'gzip' };
      }
    }
    const init: RequestInit = {
      method: call.method,
      headers: {
        accept,
        ...own,
        ...(type && { 'content-type': type }),
        ...encoding,
        ...call.headers,
        ...given,
      },
      // Documents must not come from a browser's memory of them.
      cache: 'no-store',
      signal,
      ...(this.#auth.cookies === true ? { credentials: 'include' } : {}),
      ...(body === undefined ? {} : { body }),
    };
    const response = await fetch(url, init);
    this.#auth.heard(response);
    return response;
  }

  /** Loaded when there is first something large to send. */
  #compress(): Promise<Compressor | undefined> {
    this.#compressor ??= import('./client-compress')
      .then(({ findCompressor }) => findCompressor(this, this.#options.compress === true))
      // Without the means nothing is compressed; whoever asked for the request hears of what is wrong with the server.
      .catch(() => undefined);
    return this.#compressor;
  }

  #failureOf(error: unknown, call: Call, request: Idle): unknown {
    if (call.signal?.aborted) return call.signal.reason;
    if (this.#closed) return closed();
    if (error instanceof DatabaseError) return error;
    const { name } = this.#target;
    if (request.timedOut) {
      return new RemoteError({ status: 504, name: 'timeout', reason: `${name} stopped answering` });
    }
    return unreachable(name, error);
  }
}

/**
 * What a platform or a given fetch says may quote the request, headers and all: it is not kept. The system's own error
 * below it (`ECONNREFUSED`, `ENOTFOUND`), which Node gives, knows of an address only, and is the `cause`.
 */
function unreachable(name: string, error: unknown): RemoteError {
  const below = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined;
  const code = typeof below?.code === 'string' ? below.code : undefined;
  const detail = code ?? (error instanceof TypeError ? crossOrigin(name) : errorName(error));
  return new RemoteError({
    status: 503,
    name: 'unreachable',
    reason: `${name} could not be reached${detail === '' ? '' : ` (${detail})`}`,
    ...(code === undefined ? {} : { cause: below }),
  });
}

/** A browser does not tell a page why, when CORS is the reason. */
function crossOrigin(url: string): string {
  const origin = globalThis.location?.origin;
  if (origin === undefined || url.startsWith(`${origin}/`)) return '';
  return `or does not let pages of ${origin} read its answers: see CORS in its settings`;
}

const errorName = (error: unknown): string => (error instanceof Error ? error.name : typeof error);

/** Aborts when nothing was heard for a while, or when the given signal does, or when told to. */
class Idle {
  readonly #controller = new AbortController();
  readonly #ms: number;
  readonly #given: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout>;
  timedOut = false;

  constructor(ms: number, given: AbortSignal | undefined) {
    this.#ms = ms;
    this.#given = given;
    given?.addEventListener('abort', this.abort);
    this.#timer = this.#start();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Something was heard. */
  heard(): void {
    this.rest();
    this.#timer = this.#start();
  }

  /** Nothing is expected until something is {@link heard} again. */
  rest(): void {
    clearTimeout(this.#timer);
  }

  end(): void {
    this.rest();
    this.#given?.removeEventListener('abort', this.abort);
  }

  /** As `reading`, but no longer than this lasts, whether or not the transport heeds the signal. */
  race<T>(reading: Promise<T>): Promise<T> {
    const { signal } = this;
    return new Promise((resolve, reject) => {
      const stop = (): void => reject(signal.reason);
      if (signal.aborted) stop();
      signal.addEventListener('abort', stop, { once: true });
      reading.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
    });
  }

  readonly abort = (): void => this.#controller.abort();

  #start(): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      this.timedOut = true;
      this.#controller.abort();
    }, this.#ms);
  }
}

async function* piecesOf(
  response: Response,
  request: Idle,
  end: () => void,
  fail: (error: unknown) => never,
): AsyncGenerator<Uint8Array, void, void> {
  request.heard();
  const reader = response.body?.getReader();
  let ended = reader === undefined;
  try {
    while (!ended) {
      const { done, value } = await request.race(reader!.read());
      ended = done;
      if (done) return;
      // While the reader is busy with it, nothing is waited for.
      request.rest();
      yield value;
      request.heard();
    }
  } catch (error) {
    fail(error);
  } finally {
    end();
    if (!ended) reader?.cancel().catch(() => {});
  }
}

export async function readText(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  for await (const piece of pieces) {
    text += decode(decoder, piece);
    if (text.length > MAX_ANSWER_LENGTH) throw badResponse('it is too long');
  }
  return text + decode(decoder);
}

/** @throws bad_response */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw badResponse('it is no JSON', cause);
  }
}

function decode(decoder: TextDecoder, bytes?: Uint8Array): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
  } catch (cause) {
    throw badResponse('it is not UTF-8', cause);
  }
}

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
  [429, 'too_many_requests'],
  [501, 'not_implemented'],
  [503, 'service_unavailable'],
]);

function errorOf(response: Response, text: string, docId: string | undefined): DatabaseError {
  const { status } = response;
  const { error, reason } = readError(text);
  const wire = { error: error ?? NAMES.get(status) ?? 'http_error', reason: reason ?? `HTTP ${status}` };
  const retryAfterMs = readRetryAfter(response.headers.get('retry-after'));
  if (retryAfterMs !== undefined) {
    return new RemoteError({ status, name: wire.error, reason: wire.reason, docId }, retryAfterMs);
  }
  const known = fromWireError(wire, status, docId);
  // The status is the server's word: an error named not_found within a 500 is still a 500.
  if (known.status === status || known.name === 'doc_validation') return known;
  return new RemoteError({ status, name: wire.error, reason: wire.reason, docId });
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

/** Seconds, or a date. */
function readRetryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
