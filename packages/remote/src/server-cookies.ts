/**
 * Session cookies: `name:expiry:signature` in base64url, in CouchDB's form, signed with HMAC-SHA256 by the server's
 * secret and the account's salt. The server does not store them; a new password or the expiry ends one.
 */
import type { Account, User } from './server-auth';
import { sameText, toHex } from './server-passwords';
import type { ServerRequest } from './server-request';

export interface CookieOptions {
  /** Seconds for which a cookie is valid; cookies in use are renewed in time. Default 600, as in CouchDB. */
  readonly timeout?: number | undefined;
  /** Default `Lax`. `None` lets pages of other sites (see `cors`) use it, and needs https. */
  readonly sameSite?: 'Strict' | 'Lax' | 'None' | undefined;
  /** Whether the cookie is for https only. Default: yes if the request came by https, or `sameSite` is `None`. */
  readonly secure?: boolean | undefined;
}

const NAME = 'AuthSession';
const DEFAULT_TIMEOUT_S = 600;
/** Part of a cookie's lifetime below which an answer brings a new one. CouchDB's: nearly all of the time may pass between two uses. */
const RENEW_BELOW = 0.9;
/** Characters of a cookie: names are short, and a longer one is not looked at. */
const MAX_COOKIE_LENGTH = 4_000;

/** The text of our cookie in a request; undefined without one. */
export function readCookie(request: ServerRequest): string | undefined {
  const pairs = request.headers.get('cookie');
  if (pairs === null) return undefined;
  for (const pair of pairs.split(';')) {
    const [name, value = ''] = pair.trim().split('=', 2);
    if (name === NAME && value !== '' && value.length <= MAX_COOKIE_LENGTH) return value;
  }
  return undefined;
}

export class Cookies {
  readonly #secret: () => Promise<string>;
  readonly #options: CookieOptions;

  constructor(secret: () => Promise<string>, options: CookieOptions = {}) {
    this.#secret = secret;
    this.#options = options;
  }

  get #timeoutMs(): number {
    return (this.#options.timeout ?? DEFAULT_TIMEOUT_S) * 1000;
  }

  /** A `Set-Cookie` for an account. */
  async make(account: Account, request: ServerRequest): Promise<string> {
    return this.#format(
      await this.#sign(account, Date.now() + this.#timeoutMs),
      request,
      this.#timeoutMs / 1000,
    );
  }

  /** A `Set-Cookie` that removes the cookie. */
  clear(request: ServerRequest): string {
    return this.#format('', request, 0);
  }

  /** The user whom a cookie names; undefined if it is not ours, was changed, or has expired. */
  async check(
    text: string,
    find: (name: string) => Promise<Account | undefined>,
  ): Promise<(User & { renew?: Account }) | undefined> {
    const [name, expiry] = splitCookie(text) ?? [];
    if (name === undefined || expiry === undefined) return undefined;
    const until = Number.parseInt(expiry, 16) * 1000;
    const left = until - Date.now();
    if (!(left > 0) || left > this.#timeoutMs + 1000) return undefined;
    const account = await find(name);
    if (account === undefined || !sameText(text, await this.#sign(account, until))) return undefined;
    const { roles } = account;
    return { name, roles, ...(left < this.#timeoutMs * RENEW_BELOW ? { renew: account } : {}) };
  }

  async #sign({ name, salt }: Account, until: number): Promise<string> {
    const encoder = new TextEncoder();
    const usage: KeyUsage[] = ['sign'];
    const secret = encoder.encode((await this.#secret()) + salt);
    const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, usage);
    const text = `${name}:${Math.floor(until / 1000)
      .toString(16)
      .toUpperCase()}`;
    const signature = toHex(await crypto.subtle.sign('HMAC', key, encoder.encode(text)));
    return toBase64Url(`${text}:${signature}`);
  }

  #format(value: string, request: ServerRequest, seconds: number): string {
    const { sameSite = 'Lax', secure = sameSite === 'None' || request.url.startsWith('https:') } =
      this.#options;
    const expires = new Date(Date.now() + seconds * 1000).toUTCString();
    return (
      `${NAME}=${value}; Version=1; Expires=${expires}; Max-Age=${seconds}; Path=/; HttpOnly; ` +
      `SameSite=${sameSite}${secure ? '; Secure' : ''}`
    );
  }
}

/** Name and expiry. */
function splitCookie(text: string): [string, string] | undefined {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) =>
      char.charCodeAt(0),
    );
    const match = /^(.*):([0-9A-F]{1,12}):[0-9a-f]{64}$/s.exec(new TextDecoder().decode(bytes));
    return match === null ? undefined : [match[1]!, match[2]!];
  } catch {
    return undefined;
  }
}

function toBase64Url(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('');
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
