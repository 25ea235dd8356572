/**
 * The connection to one remote database: opened by the first call that needs it, created there if missing, closed once.
 */
import { closed, Served, sleep, unlessMissing, untilAborted } from '@settledb/core';
import { create, identify } from './client-database';
import { Http } from './client-http';
import { makeLine } from './client-line';
import { checkRemoteOptions, type RemoteOptions } from './client-options';
import { parseTarget, type Target } from './client-target';

/** ms that closing gives writes under way. A server that answers at all has answered by then; an ending program cannot wait longer. */
const CLOSING_MS = 5_000;

/** Requests by what closing does to them: reads end at once, writes may finish. */
interface Ways {
  readonly reads: Http;
  readonly writes: Http;
}

export class Connection {
  /** Or the error why there are none: an invalid URL, or a wrong option. */
  readonly #ways: Ways | { readonly error: unknown };
  readonly #writing = new Served();
  #setup: Promise<void> | undefined;
  /** The database exists, as far as was checked. */
  #found: boolean;
  #id: string | undefined;
  #ended = false;
  #closing: Promise<void> | undefined;

  constructor(url: string, options: RemoteOptions) {
    this.#found = Boolean(options.skip_setup);
    this.#ways = connect(url, options);
  }

  /** The database's URL; `undefined` if it is invalid. */
  get address(): string | undefined {
    return 'reads' in this.#ways ? this.#ways.reads.target.database : undefined;
  }

  /** The connection to a database that is there. */
  async ready(signal?: AbortSignal): Promise<Http> {
    const { reads, writes } = this.#open();
    signal?.throwIfAborted();
    if (!this.#found) await untilAborted(this.#find(writes, signal), reads.ending);
    return reads;
  }

  /**
   * Makes a call that writes, once the database is known to exist: closing lets it finish, for a while.
   *
   * @param found whether that need not be known
   */
  async write<T>(
    work: (http: Http) => Promise<T>,
    signal: AbortSignal | undefined,
    found = this.#found,
  ): Promise<T> {
    const { writes } = this.#open();
    signal?.throwIfAborted();
    return this.#writing.add(found ? work(writes) : this.#find(writes, signal).then(() => work(writes)));
  }

  /** The request is made only once. @throws closed, or what is wrong with the URL */
  async id(signal: AbortSignal | undefined): Promise<string> {
    this.#id ??= await identify(this.#open().reads, signal);
    return this.#id;
  }

  /** Takes no more calls, ends reads, and lets writes finish. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Ends every request under way; they and later ones reject `closed`. */
  end(): void {
    this.#ended = true;
    if ('error' in this.#ways) return;
    this.#ways.reads.close();
    this.#ways.writes.close();
  }

  async #close(): Promise<void> {
    this.#ended = true;
    if ('reads' in this.#ways) this.#ways.reads.close();
    const over = new AbortController();
    await Promise.race([this.#writing.over(), sleep(CLOSING_MS, over.signal)]);
    over.abort();
    this.end();
  }

  #open(): Ways {
    if (this.#ended) throw closed();
    if ('error' in this.#ways) throw this.#ways.error;
    return this.#ways;
  }

  /**
   * One request serves all calls; a failed one is not remembered. Neither is one that a caller has given up: a replication does when the
   * network is back, and its next attempt must not wait for a connection that has died.
   */
  async #find(http: Http, signal: AbortSignal | undefined): Promise<void> {
    this.#setup ??= setUp(http);
    const setup = this.#setup;
    try {
      await untilAborted(setup, signal);
      this.#found = true;
    } catch (error) {
      if (this.#setup === setup) this.#setup = undefined;
      throw error;
    }
  }
}

function connect(url: string, options: RemoteOptions): Ways | { readonly error: unknown } {
  let target: Target;
  try {
    target = parseTarget(url);
    checkRemoteOptions(options);
  } catch (error) {
    return { error };
  }
  const line = makeLine(target, options);
  return { reads: new Http(line), writes: new Http(line) };
}

async function setUp(http: Http): Promise<void> {
  const info = await http.json({ method: 'GET', path: '' }).catch(unlessMissing);
  if (info === undefined) await create(http);
}
