/**
 * A session: one login by `POST /_session`, then a cookie, and another login when the cookie is about to expire or is
 * refused.
 *
 * A browser keeps the cookie itself and shows it to no program; elsewhere (Node) it is read from the answers and sent from here.
 */
import { DatabaseError, leaveUnread } from '@settledb/core';
import type { Auth } from './client-auth';
import { type Credentials, JSON_TYPE } from './wire';

/** Part of a cookie's lifetime after which a new one is fetched before the next request. */
const RENEW_AFTER = 0.8;
/** Seconds, where a server does not say: CouchDB's default. */
const DEFAULT_TIMEOUT_S = 600;
const LOGIN_TIMEOUT_MS = 60_000;

export class Session implements Auth {
  readonly cookies = true;
  readonly #root: () => string;
  readonly #credentials: Credentials;
  readonly #fetch: typeof globalThis.fetch | undefined;
  #login: Promise<void> | undefined;
  #cookie: string | undefined;
  /** By both clocks: `performance` may stand still while the machine sleeps, and the date may be set back. */
  #renewAt = { ticks: 0, date: 0 };

  /** @param root of the server, as far as it is known by now */
  constructor(root: () => string, credentials: Credentials, fetch: typeof globalThis.fetch | undefined) {
    this.#root = root;
    this.#credentials = credentials;
    this.#fetch = fetch;
  }

  async headers(): Promise<Record<string, string>> {
    const { ticks, date } = this.#renewAt;
    if (performance.now() >= ticks || Date.now() >= date) await this.#logIn();
    return this.#cookie === undefined ? {} : { cookie: this.#cookie };
  }

  async renew(): Promise<boolean> {
    await this.#logIn();
    return true;
  }

  heard(response: Response): void {
    // An empty cookie, which clears one, is not a session.
    const set = response.headers.getSetCookie?.().find((text) => /^AuthSession=[^;]/.test(text));
    if (set !== undefined) this.#keep(set);
  }

  /** Requests under way share one login. */
  #logIn(): Promise<void> {
    this.#login ??= this.#ask().finally(() => {
      this.#login = undefined;
    });
    return this.#login;
  }

  async #ask(): Promise<void> {
    const { username, password } = this.#credentials;
    const response = await (this.#fetch ?? globalThis.fetch)(`${this.#root()}_session`, {
      method: 'POST',
      headers: new Headers({ accept: JSON_TYPE, 'content-type': JSON_TYPE }),
      body: JSON.stringify({ name: username, password }),
      credentials: 'include',
      cache: 'no-store',
      // Not followed: the password would go with it, or the login become a GET.
      redirect: 'manual',
      // A signal of its own: the caller that began the login may leave while others wait for it.
      signal: AbortSignal.timeout(LOGIN_TIMEOUT_MS),
    });
    // The body is not needed.
    leaveUnread(response.body);
    // The request itself finds out where the server is now, and whether that may be told the password.
    if (isRedirect(response)) return;
    if (!response.ok) {
      const name =
        response.status === 401 ? 'unauthorized' : response.status === 403 ? 'forbidden' : 'login_failed';
      throw new DatabaseError({ status: response.status, name, reason: 'The login was refused' });
    }
    this.#renewIn(DEFAULT_TIMEOUT_S);
    this.heard(response);
  }

  #keep(set: string): void {
    this.#cookie = set.split(';')[0]!;
    this.#renewIn(Number(/; *max-age=(\d{1,9})/i.exec(set)?.[1] ?? DEFAULT_TIMEOUT_S));
  }

  /** @param timeout seconds for which the cookie counts */
  #renewIn(timeout: number): void {
    const ms = timeout * 1000 * RENEW_AFTER;
    this.#renewAt = { ticks: performance.now() + ms, date: Date.now() + ms };
  }
}

/** A browser does not say where to, nor with which status. */
const isRedirect = ({ status, type }: Response): boolean =>
  type === 'opaqueredirect' || (status >= 300 && status < 400);
