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
  type ExistingDoc,
  type FeedController,
  functionName,
  isBefore,
  isDatabaseError,
  longName,
  type Seq,
  sleep,
  verdict,
  withPatterns,
} from '@settledb/core';
import { checkChanges } from './client-check';
import { continuousPages } from './client-continuous';
import { badResponse } from './client-error';
import { type Call, flag, type Http, IDLE_TIMEOUT_MS, type QueryValues } from './client-http';
import { keepSession } from './client-kept-session';
import { receiveDoc } from './client-receive';

/** Changes of one request of a live feed. Rows are some 100 bytes; with documents it is still a bounded answer. */
const LIVE_PAGE = 1_000;
/** Changes of one request, at least, where this side leaves out some: few of them may be ours. */
const LEAST_FILTERED = 100;
/** ms between signs of life asked of the server, PouchDB's default. */
const DEFAULT_HEARTBEAT_MS = 10_000;
/** Signs of life that may be missed before the connection counts as dead. */
const MISSED_HEARTBEATS = 3;
/**
 * ms that a server may be silent while it looks for changes that pass its filter. CouchDB sends no sign of life meanwhile, and if it was
 * asked anew, it would begin from where it did before. It looks at some 3,000 documents a second with a filter of JavaScript.
 */
const FILTERING_MS = 600_000;
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
      page = await this.#fetch({ feed: 'normal' });
      await this.#deliver(page);
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
    const page = await this.#fetch({ feed: 'normal' });
    await this.#deliver(page);
    return page.results.length;
  }

  async #wait(): Promise<number> {
    const page = await this.#fetch({ feed: 'longpoll', ...waitOptions(this.#options) });
    await this.#deliver(page);
    return page.results.length;
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

  async #fetch(wait: QueryValues): Promise<ChangesResult> {
    const call = this.#call(wait);
    const page = checkChanges(await this.#http.json(call));
    const limit = call.query?.limit as number | undefined;
    if (limit !== undefined && page.results.length > limit)
      throw badResponse('_changes has more rows than were asked for');
    return page;
  }

  #call(wait: QueryValues): Call {
    const size =
      wait.feed === 'continuous' ? Number.POSITIVE_INFINITY : (this.#pageSize ?? Number.POSITIVE_INFINITY);
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

type AnyDoc = ExistingDoc<Record<string, unknown>>;
type Accept = (row: Change) => boolean;

/** What is tested on this side: a function, and ids next to a filter of the server, which accepts only one filter. */
function acceptBy(options: ChangesOptions): Accept | undefined {
  const { filter, doc_ids, query_params } = options;
  if (typeof filter !== 'function') {
    const ids = hasIdsBeside(options) ? new Set(doc_ids) : undefined;
    return ids && (({ id }) => ids.has(id));
  }
  return ({ doc }) => {
    if (doc === undefined || doc === null) throw badResponse('_changes has a row without document');
    return verdict(filter, doc as AnyDoc, query_params);
  };
}

/** Whether there are ids next to another filter that the server has to apply. */
const hasIdsBeside = ({ filter, view, doc_ids }: ChangesOptions): boolean =>
  doc_ids !== undefined &&
  (typeof filter === 'string' ? filter !== '_doc_ids' : filter === undefined && view !== undefined);

/** What this side leaves out comes with its documents, and with each of many calls with a `limit`: never all that there is. */
function pageSizeOf(options: ChangesOptions, filtersHere: boolean): number | undefined {
  const { batch_size, descending, limit } = options;
  if (isLive(options)) return batch_size || LIVE_PAGE;
  if (descending || !(batch_size || filtersHere)) return undefined;
  return batch_size || Math.min(Math.max(limit ?? LIVE_PAGE, LEAST_FILTERED), LIVE_PAGE);
}

const isLive = ({ live, continuous }: ChangesOptions): boolean => Boolean(live || continuous);

/** Everything but `feed`, `since` and `limit`. */
function feedQuery(options: ChangesOptions): QueryValues {
  const { style, descending, include_docs, conflicts, attachments, seq_interval, query_params } = options;
  const byFunction = typeof options.filter === 'function';
  const given = Object.entries((byFunction ? undefined : query_params) ?? {}).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return {
    // These come first, so that no parameter of a filter is taken for an option of the feed.
    ...Object.fromEntries(given),
    style,
    // A live feed goes on from its last row; descending, that would be the oldest, and everything would be sent again.
    descending: flag(descending && !isLive(options)),
    include_docs: flag(include_docs || byFunction),
    conflicts: flag(include_docs && conflicts),
    attachments: flag(include_docs && attachments),
    att_encoding_info: flag(include_docs && (options.att_encoding_info || attachments)),
    // Our filter may have to stop at any row, so each row must have its position.
    seq_interval: byFunction || hasIdsBeside(options) ? undefined : seq_interval,
    ...filterQuery(options),
  };
}

function filterQuery(options: ChangesOptions): QueryValues {
  const { filter, view, doc_ids, selector } = options;
  if (selector !== undefined) return { filter: '_selector' };
  if (doc_ids !== undefined && !hasIdsBeside(options)) return { filter: '_doc_ids' };
  if (typeof filter === 'function') return {};
  if (filter === '_view' || (filter === undefined && view !== undefined))
    return { filter: '_view', view: longName(view!) };
  // An empty name means no filter, locally as well as here.
  return { filter: !filter || filter.startsWith('_') ? filter || undefined : longName(filter) };
}

/** The design document with the function that a filter names. */
const designOf = ({ filter, view }: QueryValues): string | undefined =>
  filter === '_view' || (typeof filter === 'string' && !filter.startsWith('_'))
    ? `_design/${functionName(String(filter === '_view' ? view : filter)).ddoc}`
    : undefined;

/** Sent in the body, where length does not matter. */
function feedBody(options: ChangesOptions): object | undefined {
  const { doc_ids, selector } = options;
  if (selector !== undefined) return { selector: withPatterns(selector) };
  if (doc_ids !== undefined && !hasIdsBeside(options)) return { doc_ids };
  return undefined;
}

function heartbeatMs({ heartbeat }: ChangesOptions): number | undefined {
  if (heartbeat === false) return undefined;
  return heartbeat === true ? DEFAULT_HEARTBEAT_MS : (heartbeat ?? DEFAULT_HEARTBEAT_MS);
}

function waitOptions(options: ChangesOptions): QueryValues {
  const { timeout } = options;
  return { heartbeat: heartbeatMs(options), timeout: timeout === false ? undefined : (timeout ?? undefined) };
}

/** How long a feed that does not wait may be silent; undefined: as long as any request. */
const filteringMs = ({ filter }: QueryValues): number | undefined =>
  filter === undefined ? undefined : FILTERING_MS;

/** How long a longpoll may be silent: measured by heartbeats if there are any, otherwise by the time it may wait. */
function idleMs(options: ChangesOptions): number {
  const heartbeat = heartbeatMs(options);
  if (heartbeat !== undefined) return Math.max(heartbeat * MISSED_HEARTBEATS, DEFAULT_HEARTBEAT_MS);
  return (typeof options.timeout === 'number' ? options.timeout : IDLE_TIMEOUT_MS) + IDLE_TIMEOUT_MS;
}
