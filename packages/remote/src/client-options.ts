/** What a remote database may be told. */
import { type Bytes, badRequest, isObject } from '@settledb/core';
import type { Credentials } from './wire';

export type GivenHeaders = Readonly<Record<string, string>>;
export type HeaderFunction = (again: boolean) => GivenHeaders | Headers | Promise<GivenHeaders | Headers>;
export type HeaderSource = GivenHeaders | HeaderFunction;

export interface RemoteOptions {
  /** Used for every request instead of the platform's `fetch`. Its `init.headers` are a `Headers`, to which it may add. */
  fetch?: typeof globalThis.fetch | undefined;
  /**
   * Added to every request; they override our own. A function is called for each request, and after a 401 once more, with `true`; the request is
   * then sent again. This is for tokens that are renewed.
   */
  headers?: HeaderSource | undefined;
  /**
   * Used instead of a user and password in the URL. Sent with every request; or, with `type: 'cookie'`, once, for a session that is renewed
   * before it ends and after a 401.
   */
  auth?: (Credentials & { readonly type?: 'basic' | 'cookie' | undefined }) | undefined;
  /**
   * Whether a browser sends its cookies, as for `fetch`. Default `'same-origin'`: to a server of another origin only with
   * `'include'`, which the server's CORS must allow. PouchDB always includes them.
   */
  credentials?: 'include' | 'same-origin' | 'omit' | undefined;
  /**
   * Send large bodies compressed. Default: to servers that say they are CouchDB (or this package's) and are not on this machine;
   * in a page, to its own origin only. `true`: always; `false`: never.
   */
  compress?: boolean | undefined;
  /** How a live feed waits: by one `longpoll` after the other (default), or by one `continuous` request. */
  feed?: 'longpoll' | 'continuous' | undefined;
  /** Do not create the database when it is missing. Default false. */
  skip_setup?: boolean | undefined;
  /** How bytes of attachments are given. Default: as Blobs. */
  bytes?: Bytes | undefined;
  /** What the database is called. Default: the URL, without user and password. */
  name?: string | undefined;
}

/** @throws bad_request: misspelt, requests would be somebody else's, or nobody's */
export function checkRemoteOptions(options: RemoteOptions): void {
  const { auth, feed, credentials, fetch, headers, compress } = options;
  if (auth != null) {
    const { username, password, type } = auth;
    if (typeof username !== 'string' || typeof password !== 'string')
      throw badRequest('auth must be { username, password }, two strings');
    oneOf('auth.type', type, ['basic', 'cookie']);
  }
  if (fetch != null && typeof fetch !== 'function') throw badRequest('fetch must be a function');
  // No header of a `Headers` object would be sent.
  const isHeaders = isObject(headers) && !(headers instanceof Headers);
  if (headers != null && typeof headers !== 'function' && !isHeaders)
    throw badRequest('headers must be a plain object, or a function that gives one');
  if (compress != null && typeof compress !== 'boolean') throw badRequest('compress must be true or false');
  oneOf('feed', feed, ['longpoll', 'continuous']);
  oneOf('credentials', credentials, ['include', 'same-origin', 'omit']);
}

function oneOf(name: string, value: unknown, known: readonly unknown[]): void {
  if (value != null && !known.includes(value))
    throw badRequest(`${name} must be ${known.join(' or ')}, not ${String(value)}`);
}
