/**
 * The changes feed of a remote database: normal feeds until there is nothing left, then, when it is live, one longpoll
 * after the other.
 *
 * A feed ends with its first failure. Retrying is up to replication, which knows where it may resume.
 */
import {
  BasicFeed,
  type Cancelled,
  type Change,
  type ChangesFeed,
  type ChangesOptions,
  type ChangesResult,
  checkChangesOptions,
  type FeedController,
  isBefore,
  isDatabaseError,
  type Seq,
  sleep,
} from '@settledb/core';
import type { Call, QueryValues } from './client-call';
import {
  type Accept,
  acceptBy,
  designOf,
  feedBody,
  feedQuery,
  filteringMs,
  idleMs,
  isLive,
  pageSizeOf,
  waitOptions,
} from './client-changes-query';
import { checkChanges } from './client-check';
import { continuousPages } from './client-continuous';
import { badResponse } from './client-error';
import type { Http } from './client-http';
import { keepSession } from './client-kept-session';
import { receiveDoc } from './client-receive';

/** The status by which a server refuses a body for its size. */
const TOO_LARGE = 413;
/** ms that a longpoll should wait at least. A server that answers empty at once would otherwise be asked in a tight loop. */
const MIN_POLL_MS = 1_000;

type Controller = FeedController<Change>;
type Outcome = ChangesResult | Cancelled;

/** Gives the connection, once the database is known to exist. */
type Connect = () => Promise<Http>;

interface RemoteFeedOptions {
  /** Whether a live feed waits with one continuous request, rather than with one request after another. */
  readonly continuous: boolean;
  /** Awaited before a feed ends because the database is missing: if somebody here is deleting it, the feed is cancelled meanwhile. */
  readonly missing: () => Promise<void>;
}

export function remoteChanges<Content extends object>(
  connect: Connect,
  options: ChangesOptions,
  how: RemoteFeedOptions,
): ChangesFeed<Content> {
  const feed = new BasicFeed<Change, Outcome>((controller) => run(connect, options, how, controller), {
    signal: options.signal,
    cancelled,
    holds: true,
  });
  return feed as unknown as ChangesFeed<Content>;
}

const cancelled = (): Cancelled => ({ status: 'cancelled' });

async function run(
  connect: Connect,
  options: ChangesOptions,
  how: RemoteFeedOptions,
  controller: Controller,
): Promise<Outcome> {
  checkChangesOptions(options);
  const http = await connect();
  const leave = http.onClose(() => controller.cancel());
  try {
    return await new Reader(http, options, controller).read(how.continuous);
  } catch (error) {
    if (isDatabaseError(error) && error.name === 'not_found') await how.missing();
    throw error;
  } finally {
    leave();
  }
}

class Reader {
  readonly #http: Http;
  readonly #options: ChangesOptions;
  readonly #controller: Controller;
  readonly #live: boolean;
  readonly #query: QueryValues;
  readonly #body: object | undefined;
  readonly #accept: Accept | undefined;
  /** Changes in one request; undefined for all at once. */
  readonly #pageSize: number | undefined;
  readonly #results: Change[] = [];
  #left: number;
  /** Rows of the last page that came after the limit was reached. */
  #untaken = 0;
  #since: Seq;
  /** The server refused our body for a request that waits. */
  #refused = false;

  constructor(http: Http, options: ChangesOptions, controller: Controller) {
    const { limit } = options;
    this.#http = http;
    this.#options = options;
    this.#controller = controller;
    this.#live = isLive(options);
    this.#accept = acceptBy(options);
    this.#query = feedQuery(options);
    this.#body = feedBody(options);
    this.#pageSize = pageSizeOf(options, this.#accept !== undefined);
    this.#left = limit === undefined || limit < 0 ? Number.POSITIVE_INFINITY : limit || 1;
    // PouchDB's other word for `now`.
    this.#since = options.since === 'latest' ? 'now' : (options.since ?? 0);
  }

  async read(continuous: boolean): Promise<Outcome> {
    let page: ChangesResult;
    do {
      page = await this.#page({ feed: 'normal' });
      if (this.#controller.cancelled) return cancelled();
    } while (this.#left > 0 && !this.#isLast(page));
    if (this.#live) return this.#poll(() => this.#ask(continuous));
    const pending = page.pending === undefined ? {} : { pending: page.pending + this.#untaken };
    return { results: this.#results, last_seq: this.#since, ...pending };
  }

  /** @param ask sends one request that waits @returns how many changes it brought */
  async #poll(ask: () => Promise<number>): Promise<Outcome> {
    const over = new AbortController();
    void keepSession(this.#http, over.signal);
    try {
      while (this.#left > 0 && !this.#controller.cancelled) {
        const started = performance.now();
        if ((await ask()) > 0) continue;
        const early = MIN_POLL_MS - (performance.now() - started);
        if (early > 0) await sleep(early, this.#controller.signal);
      }
      return cancelled();
    } finally {
      over.abort();
    }
  }

  /** A server may bound the bodies of feeds that wait, which it holds for long, closer than those of others: many ids are asked for apart. */
  async #ask(continuous: boolean): Promise<number> {
    if (this.#refused) return this.#waitApart();
    try {
      return await (continuous ? this.#listen() : this.#wait());
    } catch (error) {
      if (this.#body === undefined || !isDatabaseError(error) || error.status !== TOO_LARGE) throw error;
      this.#refused = true;
      return this.#waitApart();
    }
  }

  /** Waits for any change at all, then asks for those that are ours. */
  async #waitApart(): Promise<number> {
    const query = { feed: 'longpoll', ...waitOptions(this.#options), since: this.#since, limit: 1 };
    const call: Call = { ...this.#call(query), method: 'GET', query, body: undefined };
    if (checkChanges(await this.#http.json(call)).results.length === 0) return 0;
    return (await this.#page({ feed: 'normal' })).results.length;
  }

  async #wait(): Promise<number> {
    return (await this.#page({ feed: 'longpoll', ...waitOptions(this.#options) })).results.length;
  }

  async #listen(): Promise<number> {
    let count = 0;
    for await (const page of continuousPages(
      this.#http,
      this.#call({ feed: 'continuous', ...waitOptions(this.#options) }),
    )) {
      // The server goes on by itself, also where no row of the piece has a position.
      await this.#deliver(page, true);
      count += page.results.length;
      if (this.#left <= 0 || this.#controller.cancelled) break;
    }
    return count;
  }

  /** Asks for the next changes, and delivers them. */
  async #page(wait: QueryValues): Promise<ChangesResult> {
    const call = this.#call(wait);
    const page = checkChanges(await this.#http.json(call));
    const limit = call.query?.limit as number | undefined;
    if (limit !== undefined && page.results.length > limit)
      throw badResponse('_changes has more rows than were asked for');
    await this.#deliver(page);
    return page;
  }

  #call(wait: QueryValues): Call {
    const size = (wait.feed === 'continuous' ? undefined : this.#pageSize) ?? Number.POSITIVE_INFINITY;
    // Rows that our filter leaves out do not count towards the limit, and only this side knows which they are.
    const limit = this.#accept === undefined ? Math.min(size, this.#left) : size;
    return {
      method: this.#body === undefined ? 'GET' : 'POST',
      path: '/_changes',
      query: {
        ...this.#query,
        ...wait,
        since: this.#since,
        limit: Number.isFinite(limit) ? limit : undefined,
      },
      body: this.#body,
      design: designOf(this.#query),
      signal: this.#controller.signal,
      idleMs: wait.feed === 'normal' ? filteringMs(this.#query) : idleMs(this.#options),
    };
  }

  /** The page, with the data of attachments in the form that was asked for, if it was. */
  #received(page: ChangesResult): ChangesResult {
    const { include_docs, attachments } = this.#options;
    if (!include_docs || !attachments) return page;
    const results = page.results.map((row) =>
      row.doc ? { ...row, doc: receiveDoc(row.doc, this.#options, this.#http.bytes) } : row,
    );
    return { ...page, results };
  }

  /** @param goesOn whether what follows comes without being asked for by its position */
  async #deliver(given: ChangesResult, goesOn = false): Promise<void> {
    const before = this.#since;
    if (this.#pageSize !== undefined && isBefore(given.last_seq, before))
      throw badResponse(
        `_changes after ${before} end at ${given.last_seq}: the database was made anew or restored`,
      );
    const page = this.#received(given);
    const { include_docs, return_docs } = this.#options;
    const keep = return_docs !== false && !this.#live;
    for (const [i, row] of page.results.entries()) {
      const change = this.#accept === undefined ? row : this.#filtered(row, Boolean(include_docs));
      if (change === undefined) continue;
      if (keep) this.#results.push(change);
      this.#left--;
      const wait = this.#controller.push(change);
      if (wait !== undefined) await wait;
      if (this.#controller.cancelled) return;
      if (this.#left > 0) continue;
      // The page may hold more rows than were taken: its own last_seq would skip them.
      this.#untaken = page.results.length - i - 1;
      this.#since = this.#untaken === 0 ? page.last_seq : (row.seq ?? page.last_seq);
      return;
    }
    this.#since = page.last_seq;
    const stuck =
      !goesOn && this.#pageSize !== undefined && page.results.length > 0 && before === page.last_seq;
    if (stuck) throw badResponse('_changes gives rows but does not get on');
  }

  #filtered(row: Change, includeDocs: boolean): Change | undefined {
    if (!this.#accept!(row)) return undefined;
    if (includeDocs) return row;
    const { doc: _doc, ...change } = row;
    return change;
  }

  #isLast({ results, pending }: ChangesResult): boolean {
    if (this.#pageSize === undefined || results.length === 0) return true;
    return pending === undefined ? results.length < this.#pageSize : pending === 0;
  }
}
