/**
 * The way to one remote database: opened with the first call that needs it, made there if it is not there, ended once.
 */
import { closed, isDatabaseError } from '@settledb/core';
import { create, identify } from './client-database';
import { Http } from './client-http';
import type { RemoteOptions } from './client-options';
import { parseTarget, type Target } from './client-target';
import { untilAborted } from './client-wait';

export class Connection {
  readonly #options: RemoteOptions;
  /** Or why there is none. */
  readonly #http: Http | { readonly error: unknown };
  #setup: Promise<void> | undefined;
  /** The database is there, as far as it was looked for. */
  #found = false;
  #id: string | undefined;
  #ended = false;

  constructor(url: string, options: RemoteOptions) {
    this.#options = options;
    this.#http = connect(url, options);
  }

  /** @throws closed, or why the URL is none */
  get http(): Http {
    if (this.#ended) throw closed();
    if (this.#http instanceof Http) return this.#http;
    throw this.#http.error;
  }

  /** The connection to a database that is there. One look serves all calls; a failed one is not remembered. */
  async ready(signal?: AbortSignal): Promise<Http> {
    const { http } = this;
    signal?.throwIfAborted();
    if (this.#options.skip_setup === true || this.#found) return http;
    this.#setup ??= setUp(http).catch((error: unknown) => {
      this.#setup = undefined;
      throw error;
    });
    await untilAborted(this.#setup, signal);
    this.#found = true;
    return http;
  }

  /** Asked once. */
  async id(signal: AbortSignal | undefined): Promise<string> {
    this.#id ??= await identify(this.http, signal);
    return this.#id;
  }

  /** Ends every request under way; they and later ones reject `closed`. */
  end(): void {
    this.#ended = true;
    if (this.#http instanceof Http) this.#http.close();
  }
}

function connect(url: string, options: RemoteOptions): Http | { readonly error: unknown } {
  let target: Target;
  try {
    target = parseTarget(url);
  } catch (error) {
    return { error };
  }
  return new Http(target, options);
}

async function setUp(http: Http): Promise<void> {
  try {
    await http.json({ method: 'GET', path: '' });
  } catch (error) {
    if (!isDatabaseError(error) || error.status !== 404) throw error;
    await create(http);
  }
}
