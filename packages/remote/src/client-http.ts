/**
 * Requests of a remote database: one function that sends, reads and judges.
 *
 * It either returns an answer of 2xx with JSON, or throws a DatabaseError. What cannot be understood is never taken for
 * an answer: neither HTML with status 200, nor half a JSON text.
 */
import {
  type Bytes,
  checkResponse,
  closed,
  DatabaseError,
  leaveUnread,
  portableBytes,
  whenAborted,
  writtenJson,
} from '@settledb/core';
import { parseJson, piecesOf, readText, speaksJson } from './client-answer';
import { type Call, formatQuery, IDLE_TIMEOUT_MS, type Opened, type OutStream } from './client-call';
import { type Compressor, findCompressor } from './client-compress';
import { errorOf, isBroken, RemoteError, unreachable } from './client-error';
import { Idle } from './client-idle';
import { follow, type Line } from './client-line';
import type { GivenHeaders, HeaderFunction } from './client-options';
import { inPieces } from './client-pieces';
import type { Target } from './client-target';
import { JSON_TYPE } from './wire';

/**
 * Bytes for each ms that even a slow line takes (64 kbit/s). Nothing is heard of a body while it is sent, so the answer to a long one is
 * waited for longer: it would otherwise be sent again and again.
 */
const SLOWEST_LINE = 8;

/** From this many characters on, compressing a body saves more time than it takes, on most connections. */
const COMPRESSED_LENGTH = 32_768;
/** From this many characters on, it is worth some 50 µs that no part of the body stays in memory once the answer was read. */
const LARGE_LENGTH = 4_096;

/** Not 303: that says that the body was taken. */
const REDIRECTS: readonly number[] = [301, 302, 307, 308];
/** Requests that must not be repeated. */
const WRITES: readonly string[] = ['/_bulk_docs', '/_purge', '/_compact'];

export class Http {
  readonly #line: Line;
  /** Aborted when this is closed. */
  readonly #closing = new AbortController();

  constructor(line: Line) {
    this.#line = line;
  }

  get target(): Target {
    return this.#line.target;
  }

  /** Whether the platform's own `fetch` sends. How others treat a stream is unknown. */
  get ownFetch(): boolean {
    return this.#line.options.fetch === undefined;
  }

  /** Whether a cookie may be what lets the user in, of a page's or of a given `fetch`. Known once something was asked. */
  get mayNeedCookie(): boolean {
    const { target, isAuthorized, options } = this.#line;
    if (isAuthorized || options.auth != null || options.credentials === 'omit') return false;
    if (!this.ownFetch || options.credentials === 'include') return true;
    return globalThis.location?.origin === new URL(target.database).origin;
  }

  /** How the bytes of attachments are made, read and given. */
  get bytes(): Bytes {
    return this.#line.options.bytes ?? portableBytes;
  }

  /** Aborted as `closed` when the first client on this line is closed: nothing tells when a source that is still being read will end. */
  get ending(): AbortSignal {
    return this.#line.ending.signal;
  }

  /** Calls `end` once when this is closed. @returns a function that removes it */
  onClose(end: () => void): () => void {
    return whenAborted(this.#closing.signal, end);
  }

  get #closed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Ends every request under way; they and later ones reject `closed`. */
  close(): void {
    this.#closing.abort();
    this.#line.ending.abort(closed());
  }

  /** @returns the JSON of an answer of 2xx @throws DatabaseError; the signal's reason */
  async json(call: Call): Promise<unknown> {
    return parseJson(await this.text(call), this.target.name);
  }

  /** As {@link json}, not yet parsed. */
  async text(call: Call): Promise<string> {
    const { pieces } = await this.open(call);
    return readText(pieces);
  }

  /** The caller reads the pieces to their end, or leaves them. @throws as {@link json} */
  async open(call: Call): Promise<Opened> {
    call.signal?.throwIfAborted();
    if (this.#closed) throw closed();
    const request = new Idle(call.idleMs ?? IDLE_TIMEOUT_MS, call.signal);
    const unlisten = this.onClose(request.abort);
    const end = (): void => {
      unlisten();
      request.end();
    };
    const fail = (error: unknown): never => {
      throw this.#failureOf(error, call, request);
    };
    try {
      const response = await this.#ask(call, request);
      const pieces = piecesOf(response, request, end, fail);
      const leave = (): void => {
        end();
        leaveUnread(response.body);
      };
      if (response.ok) return { response, pieces, leave };
      if (!speaksJson(response)) this.#line.target = this.#line.given;
      const text = await readText(pieces).catch((error: unknown) => {
        // A body that cannot be read as text says nothing beyond the status.
        if (request.isBroken) throw error;
        return '';
      });
      const docId = call.docId ?? (response.status === 404 ? call.design : undefined);
      throw errorOf(response, text, this.target.name, call.path, docId);
    } catch (error) {
      end();
      return fail(error);
    }
  }

  /** Sends the request, and once more after credentials were renewed, or when the database turned out to be elsewhere. */
  async #ask(call: Call, request: Idle): Promise<Response> {
    let response = await request.race(this.#send(call, request, false));
    const sendAgainIf = async (
      isNeeded: () => Promise<boolean> | boolean,
      renewed = false,
    ): Promise<void> => {
      let isLeft = true;
      try {
        isLeft = await isNeeded();
      } finally {
        if (isLeft) leaveUnread(response.body);
      }
      if (isLeft) response = await request.race(this.#send(call, request, renewed));
    };
    // `fetch` took no credentials along to where it was led.
    if (response.status === 401) await sendAgainIf(() => follow(this.#line, call, response));
    if (response.status === 401) await sendAgainIf(() => request.race(this.#line.auth.renew()), true);
    if (response.status === 415 && this.#line.compressor !== undefined)
      await sendAgainIf(() => {
        // The server does not accept compressed bodies after all.
        this.#line.compressor = Promise.resolve(undefined);
        return true;
      });
    if (response.redirected)
      await sendAgainIf(() => {
        follow(this.#line, call, response);
        // fetch turns a redirected POST into a GET, whose answer is not an answer to what was asked.
        return call.method === 'POST' && !(response.ok && WRITES.includes(call.path));
      });
    return response;
  }

  async #send(call: Call, request: Idle, again: boolean, whole = false): Promise<Response> {
    const { signal } = request;
    const { target, options, auth } = this.#line;
    const { headers } = options;
    const fetch = options.fetch ?? globalThis.fetch;
    const credentials = auth.cookies ? 'include' : options.credentials;
    const given = typeof headers === 'function' ? await this.#ownHeaders(headers, again) : headers;
    const own = await auth.headers();
    signal.throwIfAborted();
    const url = `${call.base === 'root' ? target.root : target.database}${call.path}${formatQuery(call.query)}`;
    const { body, encoding } = await this.#bodyOf(call, request);
    // Nothing is sent for somebody who left meanwhile.
    signal.throwIfAborted();
    const isBuffered = this.ownFetch && this.bytes.buffersOut === true;
    const pieces = isBuffered && !whole ? inPieces(url, body) : undefined;
    const stream = call.stream ?? pieces;
    const patience = (stream?.length ?? sizeOf(body)) / SLOWEST_LINE;
    request.wait(patience);
    const sent = headersOf(
      call,
      { ...own, ...(encoding && { 'content-encoding': encoding }) },
      stream,
      given,
    );
    const init: RequestInit = {
      method: call.method,
      headers: sent,
      // Documents must not come from a browser's cache.
      cache: 'no-store',
      signal,
      ...(credentials && { credentials }),
      ...(body === undefined ? {} : { body }),
      // A stream could not be sent again after a redirect; and to be ready for one, undici before version 8 would keep all that was sent.
      ...(stream &&
        ({
          body: stream.open(() => request.heard(patience)),
          duplex: 'half',
          redirect: pieces ? 'manual' : 'error',
        } as RequestInit)),
    };
    const response = await fetch(url, init);
    this.#line.isAuthorized = sent.has('authorization');
    checkResponse(response);
    // A fetch that does not heed its signal: nobody waits for this any more.
    if (signal.aborted) leaveUnread(response.body);
    if (pieces && REDIRECTS.includes(response.status)) {
      leaveUnread(response.body);
      return this.#send(call, request, again, true); // `fetch` sends on what it is given whole.
    }
    auth.heard(response);
    return response;
  }

  /** The body as it is sent: a long text is compressed, or else bytes. */
  async #bodyOf(
    call: Call,
    request: Idle,
  ): Promise<{ readonly body: BodyInit | undefined; readonly encoding?: 'gzip' }> {
    const isValue = call.type === undefined && call.body !== undefined;
    const body = (isValue ? writtenJson(call.body) : call.body) as BodyInit | undefined;
    if (typeof body !== 'string') return { body: await this.#known(body) };
    if (body.length >= COMPRESSED_LENGTH && this.#line.options.compress !== false) {
      const packed = await (await this.#compress())?.(body);
      if (packed !== undefined) return { body: await this.#known(packed), encoding: 'gzip' };
    }
    if (body.length < LARGE_LENGTH || !this.ownFetch) return { body };
    // undici would keep a text in memory; it takes bytes over as they are sent.
    request.isLarge = true;
    return { body: new TextEncoder().encode(body) };
  }

  /** A body that a given fetch knows, too: what is made of node-fetch does not know Node's Blobs, which lie in memory anyway. */
  async #known<Body>(body: Body): Promise<Body | ArrayBuffer> {
    const isOdd = body instanceof Blob && !this.ownFetch && this.bytes.streamsOut === true;
    return isOdd ? body.arrayBuffer() : body;
  }

  /** @throws unreachable with the program's own error as its cause: what its function needs may be back later */
  async #ownHeaders(make: HeaderFunction, again: boolean): Promise<GivenHeaders | Headers> {
    try {
      return await make(again);
    } catch (cause) {
      if (cause instanceof DatabaseError) throw cause;
      const reason = `${this.target.name} was not asked: the function given as headers failed`;
      throw new RemoteError({ status: 503, name: 'unreachable', reason, cause });
    }
  }

  /** Found out when there is first something large to send. */
  #compress(): Promise<Compressor | undefined> {
    this.#line.compressor ??= findCompressor(this, this.#line.options.compress === true)
      // If this fails nothing is compressed; the request itself will report what is wrong with the server.
      .catch((error: unknown) => {
        // Nobody answered: the next large body asks again.
        if (isBroken(error)) this.#line.compressor = undefined;
        return undefined;
      });
    return this.#line.compressor;
  }

  #failureOf(error: unknown, call: Call, request: Idle): unknown {
    if (call.signal?.aborted) return call.signal.reason;
    if (this.#closed) return closed();
    const failed = call.stream?.failure();
    if (failed !== undefined) return failed.error;
    if (error instanceof DatabaseError) return error;
    this.#line.target = this.#line.given;
    const { name } = this.#line.target;
    if (request.timedOut) {
      return new RemoteError({ status: 504, name: 'timeout', reason: `${name} stopped answering` });
    }
    return unreachable(name, error);
  }
}

/** As a `Headers`, as in PouchDB, so that a given fetch can add to them: `init.headers.set(…)`. @param given override all others */
function headersOf(
  { body, type = body === undefined ? undefined : JSON_TYPE, accept = JSON_TYPE, headers }: Call,
  own: GivenHeaders,
  stream: OutStream | undefined,
  given: GivenHeaders | Headers | undefined,
): Headers {
  const sent = new Headers({
    accept,
    ...own,
    ...(type !== undefined && { 'content-type': type }),
    ...(stream && { 'content-length': String(stream.length) }),
    ...headers,
  });
  // `null`, as a program may say, is none.
  for (const [name, value] of new Headers(given ?? {})) sent.set(name, value);
  return sent;
}

/** Bytes; of a text about as many. */
function sizeOf(body: BodyInit | undefined): number {
  if (typeof body === 'string') return body.length;
  if (body instanceof Blob) return body.size;
  return ArrayBuffer.isView(body) || body instanceof ArrayBuffer ? body.byteLength : 0;
}
