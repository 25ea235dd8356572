/**
 * What the server needs of a request. A `Request` has it; so has what Node's adapter makes of a small request, without the objects
 * that a `Request` consists of (`node-request.ts`).
 */
export interface ServerRequest {
  readonly method: string;
  /** As in `Request`: complete, and written as the URL standard writes it. */
  readonly url: string;
  readonly headers: { get(name: string): string | null };
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  readonly body: ReadableStream<Uint8Array> | null;
  arrayBuffer(): Promise<ArrayBuffer>;
  /** The whole body, if all of it has arrived; undefined if it must be awaited. Called once; then the body is read in no other way. */
  atHand?(): Uint8Array | undefined;
  /** Awaited before a document is written, so that the writes of requests that arrived together are one commit. */
  readonly endOfTurn?: (() => Promise<void>) | undefined;
}

/** Bytes up to which a body is awaited in one go, as long as for one piece of a larger body. */
export const SMALL_BODY = 64 * 1024;

/** The parts of a URL written as the standard writes it, so that it only has to be cut. */
interface UrlParts {
  /** Scheme and host. */
  readonly origin: string;
  /** Percent-encoded. */
  readonly path: string;
  /** With its `?`; empty where there is none. */
  readonly search: string;
}

export function splitUrl(url: string): UrlParts {
  const pathAt = url.indexOf('/', url.indexOf('//') + 2);
  // The URL has a user and a password: a `Request` never does, but what some bridges make of an absolute URL may.
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
