/**
 * `_changes`: reads the options and picks the feed. The feeds are written in `server-feeds.ts`.
 *
 * Functions of design documents are not run here: a filter by name is refused, never silently left out.
 */
import {
  badRequest,
  type ChangesOptions,
  type Database,
  forbidden,
  isObject,
  isTexts,
  notFound,
  type Seq,
} from '@settledb/core';
import { type Answer, closing, jsonResponse, unavailable } from './server-answer';
import { checkObject, readJsonText } from './server-body';
import type { DatabaseContext } from './server-context';
import {
  continuousFeed,
  eventSourceFeed,
  headersOf,
  longpollFeed,
  normalFeed,
  pendingAfter,
} from './server-feeds';
import { parseJson } from './server-json';
import type { Query } from './server-query';
import { withoutLarge } from './server-row-data';
import { takeSelector } from './server-selector';
import { seqText } from './server-seq';

/** Smallest ms between heartbeats; more frequent ones would be a load of their own. */
const MIN_HEARTBEAT_MS = 100;
const DEFAULT_HEARTBEAT_MS = 60_000;
/** ms, CouchDB's default and its maximum. Also keeps far below the 2³¹ that timers bear. */
const MAX_TIMEOUT_MS = 60_000;
const MAX_HEARTBEAT_MS = 60_000;
/** Feeds open at a time. Each holds a connection and a place in the store's list of listeners. */
const MAX_FEEDS = 5_000;

/**
 * Bytes of the body of a feed that waits, after decompression. What it filters by is kept as long as the feed is open, and 5,000 may be: this
 * holds 25,000 ids. Whoever has more asks with `feed=normal`.
 */
const MAX_WAITING_BODY = 1024 * 1024;
/** The same where it filters by a selector: compiled, one of many small conditions takes 150 times its bytes, so this 2.5 MB. */
const MAX_WAITING_SELECTOR = 16 * 1024;
/**
 * Bytes of such bodies that all open feeds keep. Short ids take seven times theirs, so this half a GB; 5,000 feeds may have 300 ids each. Without
 * a bound of its own, any user could have the server keep 30 GB.
 */
const MAX_KEPT = 64 * 1024 * 1024;
/** As how many bytes one of a selector counts. */
const SELECTOR_WEIGHT = 16;

/** All that is needed to write a feed. */
export interface FeedRequest {
  readonly database: Database;
  /** Without `live`, and without the data of large attachments; `since` is a position, and `now` only for a normal feed. */
  readonly options: ChangesOptions;
  /** Whether documents come with the data of their attachments. */
  readonly withData: boolean;
  /** Of the answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** ms between empty lines; undefined for none. */
  readonly heartbeatMs: number | undefined;
  /** ms without a change after which the feed ends; undefined with a heartbeat. */
  readonly timeoutMs: number | undefined;
  /** Aborted when the client went away or the server closes. */
  readonly signal: AbortSignal;
  /** To be called when the feed has ended by itself. */
  readonly done: () => void;
  /** Ends the feed. */
  readonly cancel: () => void;
}

const FEEDS = new Map<string, (feed: FeedRequest) => Promise<Answer>>([
  ['normal', normalFeed],
  ['longpoll', longpollFeed],
  ['continuous', continuousFeed],
  ['live', continuousFeed],
  ['eventsource', eventSourceFeed],
]);

export function changes(context: DatabaseContext): Promise<Answer> {
  return answerChanges(context, {});
}

export async function postChanges(context: DatabaseContext): Promise<Answer> {
  const { request, query, server } = context;
  const waits = (query.text('feed') ?? 'normal') !== 'normal';
  const isSelector = query.text('filter') === '_selector';
  const most = isSelector ? MAX_WAITING_SELECTOR : MAX_WAITING_BODY;
  const limit = Math.min(server.limits.request, waits ? most : Infinity);
  const text = await readJsonText(request, { limit, ...(!waits && { room: server.room }) });
  const kept = waits ? text.length * (isSelector ? SELECTOR_WEIGHT : 1) : 0;
  // An empty body is allowed, as in CouchDB: some clients never use GET.
  return answerChanges(context, text === '' ? {} : checkObject(parseJson(text)), kept);
}

/** @param kept as how many bytes the feed counts that it keeps of its body */
async function answerChanges(
  context: DatabaseContext,
  body: Record<string, unknown>,
  kept = 0,
): Promise<Answer> {
  const { database, query, request, server } = context;
  const name = query.text('feed') ?? 'normal';
  const write = FEEDS.get(name);
  if (write === undefined) {
    throw badRequest('Supported `feed` types: normal, continuous, live, longpoll, eventsource');
  }
  await refuseFunctions(context);
  const how = query.text('filter') === '_selector' ? takeSelector(context, body.selector) : {};
  const options = readOptions(context, body);
  const heartbeatMs = readHeartbeat(query.text('heartbeat'));
  const timeoutMs = Math.min(query.count('timeout') ?? MAX_TIMEOUT_MS, MAX_TIMEOUT_MS);
  const since = options.since === 'now' ? (await database.info()).update_seq : options.since;
  if (options.limit === 0 && /^(normal|longpoll)$/.test(name)) {
    const seq = since ?? 0;
    const pending = await pendingAfter(database, seq);
    return jsonResponse(200, { results: [], last_seq: seqText(seq), pending });
  }
  const headers = headersOf(name, request.headers.get('accept-encoding') !== null);
  // A HEAD of a feed that waits would wait in vain.
  if (request.method === 'HEAD') {
    return new Response(null, { status: 200, headers });
  }
  if (server.isClosing && name !== 'normal') throw closing();
  const { signal, done, cancel } = takePlace(context, kept);
  try {
    return await write({
      database,
      options: { ...withoutLarge(options), ...how, since },
      withData: options.attachments === true && options.include_docs === true,
      headers,
      heartbeatMs,
      timeoutMs: heartbeatMs === undefined ? timeoutMs : undefined,
      signal,
      done,
      cancel,
    });
  } catch (error) {
    done();
    throw error;
  }
}

/** A place among the open feeds, until it is given back. @throws service_unavailable if there is none */
function takePlace(
  { request, server }: DatabaseContext,
  kept: number,
): Pick<FeedRequest, 'signal' | 'done' | 'cancel'> {
  if (server.feeds.size >= MAX_FEEDS) throw unavailable('Too many feeds are open');
  if (kept > 0) {
    const others = [...server.feeds.values()].reduce((sum, each) => sum + each, 0);
    if (others + kept > MAX_KEPT) throw unavailable('The feeds that are open filter by too much');
  }
  const ending = new AbortController();
  // Seen by nobody but whoever writes the answer and logs what it broke off with.
  const end = (): void => ending.abort(unavailable('The client went away'));
  request.signal.addEventListener('abort', end, { once: true });
  server.feeds.set(ending, kept);
  const done = (): void => {
    request.signal.removeEventListener('abort', end);
    server.feeds.delete(ending);
  };
  const cancel = (): void => {
    end();
    done();
  };
  if (request.signal.aborted) end();
  return { signal: ending.signal, done, cancel };
}

function readOptions({ query, request }: DatabaseContext, body: Record<string, unknown>): ChangesOptions {
  const style = query.text('style');
  if (style !== undefined && style !== 'main_only' && style !== 'all_docs') {
    throw badRequest('`style` is main_only or all_docs');
  }
  const seqInterval = query.text('seq_interval');
  if (
    seqInterval !== undefined &&
    !(/^[1-9]\d*$/.test(seqInterval) && Number.isSafeInteger(Number(seqInterval)))
  )
    throw badRequest('invalid_seq_interval');
  const lastEvent = request.headers.get('last-event-id') ?? undefined;
  // A browser that connects anew says so by this header alone: the URL is that of its first request.
  const resumed = query.text('feed') === 'eventsource' ? lastEvent : undefined;
  const since = query.text('last-event-id') ?? resumed ?? query.text('since') ?? lastEvent;
  return {
    return_docs: false,
    since: readSince(since),
    limit: query.count('limit'),
    style,
    descending: query.flag('descending'),
    include_docs: query.flag('include_docs'),
    conflicts: query.flag('conflicts'),
    attachments: query.flag('attachments'),
    att_encoding_info: query.flag('att_encoding_info'),
    ...(seqInterval === undefined ? {} : { seq_interval: Number(seqInterval) }),
    ...readFilter(query, body),
  };
}

/** Our positions are numbers; also accepted in quotes, which some clients send. @throws bad_request */
function readSince(text: string | undefined): Seq | undefined {
  if (text === undefined || text === '') return undefined;
  const bare = text.replace(/^"(.*)"$/, '$1');
  if (bare === 'now') return bare;
  if (/^\d{1,15}$/.test(bare)) return Number(bare);
  throw badRequest("Malformed sequence supplied in 'since' parameter.");
}

function readFilter(query: Query, body: Record<string, unknown>): ChangesOptions {
  const filter = query.text('filter');
  switch (filter) {
    case undefined:
    case '':
      return {};
    case '_design':
      return { filter };
    case '_doc_ids': {
      const doc_ids = body.doc_ids ?? query.json('doc_ids');
      if (!isTexts(doc_ids)) throw badRequest('`doc_ids` filter parameter is not a list of doc ids.');
      return { filter, doc_ids };
    }
    case '_selector': {
      if (!isObject(body.selector)) throw badRequest('Selector must be specified in POST payload');
      return { filter, selector: body.selector };
    }
  }
  // A filter function that may run: `refuseFunctions` lets no other filter through.
  const query_params = Object.fromEntries(query.entries());
  return { filter, view: query.text('view'), query_params };
}

/**
 * Functions of design documents are not run. One that does not exist is a 404 all the same, so that a wrong name does not look like
 * a matter of permission.
 */
async function refuseFunctions({ database, query, server }: DatabaseContext): Promise<void> {
  const filter = query.text('filter') ?? '';
  if (/^(|_design|_doc_ids|_selector)$/.test(filter)) return;
  const kind = filter === '_view' ? 'view' : 'filter';
  const path = query.text(kind) ?? '';
  if (kind === 'view' && path === '') throw badRequest('`view` filter parameter is not provided.');
  if (kind === 'filter' && path.startsWith('_')) throw badRequest('unknown builtin filter name');
  const [ddoc, name, ...more] = path.split('/');
  if (!ddoc || !name || more.length > 0)
    throw badRequest(`\`${kind}\` must be of the form \`designname/${kind}name\``);
  if (server.validators !== undefined) return;
  const doc = (await database.get(`_design/${ddoc}`)) as Record<string, unknown>;
  const functions = doc[`${kind}s`];
  if (!isObject(functions) || !Object.hasOwn(functions, name)) throw notFound(`missing json key: ${name}`);
  throw forbidden('This server does not run the functions of design documents: filter on your side');
}

function readHeartbeat(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (text === 'true') return DEFAULT_HEARTBEAT_MS;
  if (!/^-?\d{1,15}$/.test(text)) {
    throw badRequest('Invalid heartbeat value. Expecting a positive integer value (in milliseconds).');
  }
  if (Number(text) <= 0)
    throw badRequest('The heartbeat value should be a positive integer (in milliseconds).');
  return Math.min(Math.max(Number(text), MIN_HEARTBEAT_MS), MAX_HEARTBEAT_MS);
}
