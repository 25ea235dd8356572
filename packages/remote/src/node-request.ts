/**
 * Small plain requests as Node gives them, without the `Request`, `URL`, `Headers` and streams that would cost more than the answer.
 *
 * They are answered exactly like the bridge's `Request` (tests/remote/node-roads.test.ts): any request that needs more than a look to
 * be sure of that goes over the bridge.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import { type ServerRequest, SMALL_BODY } from './server-request';

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const WRITING: ReadonlySet<string> = new Set(['PUT', 'POST', 'DELETE']);

/** Characters that no URL parser changes, neither in a path nor in a query. */
const PLAIN_TARGET = /^\/[\w$&()*+,.:;=@~!?%/-]*$/;
/** `.` or `..` as a step in a path, which a URL parser resolves. This also matches some others. */
const STEP = /\/\.|%2e/i;

/** Headers of which Node keeps the first one, where `Headers` joins all of them. */
const KEPT_ONCE: ReadonlySet<string> = new Set(['authorization', 'content-type']);

/** Remembers the host of the last request: most clients of a server use the same name. */
export class PlainHosts {
  #last: string | undefined;

  /** Whether a URL parser would leave the host unchanged. */
  has(host: string): boolean {
    if (host === this.#last) return true;
    if (!URL.canParse(`http://${host}/`) || new URL(`http://${host}/`).origin !== `http://${host}`)
      return false;
    this.#last = host;
    return true;
  }
}

/** Undefined for a request that has to go over the bridge. */
export function plainRequest(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  hosts: PlainHosts,
): NodeRequest | undefined {
  const { method = '', url = '', headers } = incoming;
  const { host = '', 'content-length': length } = headers;
  if (headers['transfer-encoding'] !== undefined) return undefined;
  if (READING.has(method) ? length !== undefined : !WRITING.has(method)) return undefined;
  if (length !== undefined && (Number(length) > SMALL_BODY || headers['content-encoding'] !== undefined))
    return undefined;
  if (!PLAIN_TARGET.test(url) || STEP.test(url) || !hosts.has(host)) return undefined;
  return new NodeRequest(incoming, outgoing, method, `http://${host}${url}`);
}

export class NodeRequest implements ServerRequest {
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  endOfTurn: (() => Promise<void>) | undefined;
  #gone: AbortController | undefined;
  #body: ReadableStream<Uint8Array> | undefined;
  /** Bytes of its body. */
  readonly #length: number;
  #isRead: boolean;

  constructor(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    readonly method: string,
    readonly url: string,
  ) {
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.#length = Number(incoming.headers['content-length'] ?? 0);
    this.#isRead = this.#length === 0;
  }

  /** The request has arrived completely: what comes next is another request. */
  get isHere(): boolean {
    return this.#isRead || this.#incoming.complete;
  }

  get headers(): { get(name: string): string | null } {
    return this;
  }

  /** A header, by its name in lower case. */
  get(name: string): string | null {
    const { headers, rawHeaders } = this.#incoming;
    const value = headers[name];
    if (typeof value !== 'string') return null;
    if (!KEPT_ONCE.has(name)) return value;
    const all = rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]!.toLowerCase() === name);
    return all.join(', ');
  }

  get signal(): AbortSignal {
    this.#gone ??= this.#watch();
    return this.#gone.signal;
  }

  get body(): ReadableStream<Uint8Array> | null {
    if (READING.has(this.method)) return null;
    this.#body ??= Readable.toWeb(this.#incoming) as NodeStream<Uint8Array> as ReadableStream<Uint8Array>;
    return this.#body;
  }

  atHand(): Uint8Array | undefined {
    // A body that came with its headers is there, though Node does not call it complete yet: no listener is needed.
    if (this.#isRead || this.#incoming.readableLength !== this.#length) return undefined;
    this.#isRead = true;
    // Not without a length: from Node 26 on that gives one piece, and a body may have come in several.
    return this.#incoming.read(this.#length) as Buffer;
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.#incoming) pieces.push(piece as Uint8Array);
    this.#isRead = true;
    const { buffer, byteOffset, byteLength } = Buffer.concat(pieces);
    return (buffer as ArrayBuffer).slice(byteOffset, byteOffset + byteLength);
  }

  #watch(): AbortController {
    const gone = new AbortController();
    const outgoing = this.#outgoing;
    const look = (): void => {
      if (!outgoing.writableFinished) gone.abort();
    };
    if (outgoing.closed || outgoing.destroyed) look();
    else outgoing.once('close', look);
    return gone;
  }
}
