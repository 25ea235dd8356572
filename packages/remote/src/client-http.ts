/**
 * Requests of a remote database: one function that sends, reads and judges.
 *
 * Either an answer of 2xx with JSON is returned, or a DatabaseError is thrown. What cannot be understood is never taken for
 * an answer: not HTML with status 200, not half a JSON text.
 */
import { closed, DatabaseError, type DatabaseErrorInit } from '@settledb/core';
import type { Target } from './client-target';
import { type Credentials, formatBasic, fromWireError, isObject, JSON_TYPE } from './wire';

/** ms without a byte, before or within an answer, after which a connection counts as dead. */
export const IDLE_TIMEOUT_MS = 60_000;

/** Characters of one answer. A server without end must not take the memory of a page; V8's strings end at twice this. */
const MAX_ANSWER_LENGTH = 2 ** 28;

export type HeaderSource =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

export interface HttpOptions {
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly headers?: HeaderSource | undefined;
  readonly auth?: Credentials | undefined;
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
  readonly body?: unknown;
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

export class Http {
  readonly #target: Target;
  readonly #options: HttpOptions;
  /** What to end when this closes. A set, not listeners: any number of requests is under way. */
  readonly #open = new Set<() => void>();
  #closed = false;

  constructor(target: Target, options: HttpOptions) {
    this.#target = target;
    this.#options = options;
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
    call.signal?.throwIfAborted();
    if (this.#closed) throw closed();
    const request = new Idle(call.idleMs ?? IDLE_TIMEOUT_MS, call.signal);
    const leave = this.onClose(request.abort);
    let response: Response;
    let text: string;
    try {
      response = await request.race(this.#send(call, request.signal));
      text = await readText(response, request);
    } catch (error) {
      throw this.#failureOf(error, call, request);
    } finally {
      leave();
      request.end();
    }
    if (!response.ok) throw errorOf(response, text, call.docId);
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw badResponse('it is no JSON', cause);
    }
  }

  async #send(call: Call, signal: AbortSignal): Promise<Response> {
    const { database, root, credentials } = this.#target;
    const { auth = credentials, fetch = globalThis.fetch, headers } = this.#options;
    const given = typeof headers === 'function' ? await headers() : headers;
    signal.throwIfAborted();
    const url = `${call.base === 'root' ? root : database}${call.path}${formatQuery(call.query)}`;
    const init: RequestInit = {
      method: call.method,
      headers: {
        accept: JSON_TYPE,
        ...(auth === undefined ? {} : { authorization: formatBasic(auth) }),
        ...(call.body === undefined ? {} : { 'content-type': JSON_TYPE }),
        ...given,
      },
      // Documents must not come from a browser's memory of them.
      cache: 'no-store',
      signal,
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    };
    return fetch(url, init);
  }

  #failureOf(error: unknown, call: Call, request: Idle): unknown {
    if (call.signal?.aborted) return call.signal.reason;
    if (this.#closed) return closed();
    if (error instanceof DatabaseError) return error;
    const { name } = this.#target;
    if (request.timedOut) {
      return new RemoteError({ status: 504, name: 'timeout', reason: `${name} stopped answering` });
    }
    // Not as `cause`: what a platform or a given fetch says may quote the request, headers and all.
    const detail = error instanceof Error && error.name === 'TypeError' ? '' : ` (${errorName(error)})`;
    return new RemoteError({
      status: 503,
      name: 'unreachable',
      reason: `${name} could not be reached${detail}`,
    });
  }
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
    clearTimeout(this.#timer);
    this.#timer = this.#start();
  }

  end(): void {
    clearTimeout(this.#timer);
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

async function readText(response: Response, request: Idle): Promise<string> {
  request.heard();
  if (response.body === null) return '';
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const reader = response.body.getReader();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await request.race(reader.read());
      request.heard();
      if (done) return text + decode(decoder);
      text += decode(decoder, value);
      if (text.length > MAX_ANSWER_LENGTH) throw badResponse('it is too long');
    }
  } catch (error) {
    reader.cancel().catch(() => {});
    throw error;
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
