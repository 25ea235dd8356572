/** One request, as it is asked for, and its answer. */

/** ms without a byte, before or within an answer, after which a connection counts as dead. */
export const IDLE_TIMEOUT_MS = 60_000;

export interface Call {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Below the database, beginning with `/`; `''` is the database. */
  readonly path: string;
  /** Default: the database. */
  readonly base?: 'root' | undefined;
  readonly query?: QueryValues | undefined;
  /** JSON; or, with `type`, bytes as they are. */
  readonly body?: unknown;
  /** In place of `body`: what is read while it is sent. */
  readonly stream?: OutStream | undefined;
  /** The body's, where it is no JSON. */
  readonly type?: string | undefined;
  /** Default: JSON. */
  readonly accept?: string | undefined;
  /** Of this request alone. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** ms without a byte after which the request fails; default {@link IDLE_TIMEOUT_MS}. */
  readonly idleMs?: number | undefined;
  /** The document that an error would concern. */
  readonly docId?: string | undefined;
  /** The design document that is asked: a 404 means that it, or a part of it, is missing. */
  readonly design?: string | undefined;
}

/** A body that is made while it is sent: anew each time, because a request may have to be sent again. */
export interface OutStream {
  readonly length: number;
  /** `sent` is called with each piece that the transport takes. */
  open(sent: () => void): ReadableStream<Uint8Array>;
  /** The error with which making the body failed, if it did. */
  failure(): { readonly error: unknown } | undefined;
}

/** Undefined ones are left out. */
export type QueryValues = { readonly [name: string]: string | number | boolean | undefined };

/** A flag as a local database takes it: by JavaScript's truth. It is left out if it is not set. */
export const flag = (given: unknown): true | undefined => (given ? true : undefined);

export function formatQuery(query: QueryValues = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  if (pairs.length === 0) return '';
  return `?${pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value!)}`).join('&')}`;
}

/** An answer of 2xx whose body is still to be read. */
export interface Opened {
  readonly response: Response;
  /** Its bytes. Errors while they are read are those of `Http.json`. */
  readonly pieces: AsyncGenerator<Uint8Array, void, void>;
  /** To be called when the pieces are not read at all. */
  readonly leave: () => void;
}
