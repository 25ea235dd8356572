/**
 * What the server asks of a request. A `Request` is one; so is what Node's adapter makes of a small request, without the objects that a
 * `Request` is made of (`node-request.ts`).
 */
export interface ServerRequest {
  readonly method: string;
  /** As `Request` has it: whole, and written as the URL standard writes it. */
  readonly url: string;
  readonly headers: { get(name: string): string | null };
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  readonly body: ReadableStream<Uint8Array> | null;
  arrayBuffer(): Promise<ArrayBuffer>;
  /** The whole body, where all of it is here already; undefined where it has to be waited for. Once, and then nothing else is asked of the body. */
  atHand?(): Uint8Array | undefined;
  /** Waited for before a document is written: those of requests that arrived together are then one commit. */
  readonly endOfTurn?: (() => Promise<void>) | undefined;
}

/** The parts of a URL that is written as the standard writes it, so that nothing has to be made of it but pieces. */
export interface UrlParts {
  /** Scheme and host. */
  readonly origin: string;
  /** Percent-encoded. */
  readonly path: string;
  /** With its `?`; empty where there is none. */
  readonly search: string;
}

export function splitUrl(url: string): UrlParts {
  const pathAt = url.indexOf('/', url.indexOf('//') + 2);
  // A user and a password in it: a `Request` has none, what some bridges make of an absolute URL may.
  if (pathAt < 0 || url.lastIndexOf('@', pathAt) >= 0) {
    const { origin, pathname, search } = new URL(url);
    return { origin, path: pathname, search };
  }
  const hashAt = url.indexOf('#', pathAt);
  const end = hashAt < 0 ? url.length : hashAt;
  const searchAt = url.indexOf('?', pathAt);
  const pathEnd = searchAt < 0 || searchAt > end ? end : searchAt;
  return { origin: url.slice(0, pathAt), path: url.slice(pathAt, pathEnd), search: url.slice(pathEnd, end) };
}
