/**
 * The four feeds of `_changes` as streams. Everything is pulled: the store is read further when the client has taken what
 * was written (back-pressure), and only the current piece is held.
 */
import {
  type Cancelled,
  type Change,
  type ChangesFeed,
  type ChangesOptions,
  type ChangesResult,
  closed,
  type Database,
  type Seq,
} from '@settledb/core';
import type { Answer } from './server-answer';
import type { FeedRequest } from './server-changes';
import { rowWithData } from './server-row-data';
import { seqText } from './server-seq';
import { begun, toStream } from './server-streams';
import { CACHING, JSON_TYPE } from './wire';

/** Characters gathered before they go to the stream: a row at a time would cost a system call each. */
const PIECE_LENGTH = 64 * 1024;

/**
 * Of feeds that wait. nginx gathers some KB of an answer before it passes them on, unless it is told not to, and so does what compresses, in a
 * proxy or as middleware: no heartbeat would arrive, and a client would take the connection for dead after each half a minute without a
 * change. What nobody may compress has the header of other answers alone.
 */
export function headersOf(feed: string, compressible: boolean): Readonly<Record<string, string>> {
  const isOfEvents = feed === 'eventsource';
  const cached = isOfEvents ? 'no-cache' : CACHING;
  const waits = feed !== 'normal';
  return {
    'content-type': isOfEvents ? 'text/event-stream' : JSON_TYPE,
    'cache-control': waits && compressible ? `${cached}, no-transform` : cached,
    ...(waits && { 'x-accel-buffering': 'no' }),
  };
}

/** What stands before and after the row of a change. */
interface Frame {
  readonly before: string;
  readonly after: (change: Change) => string;
}
/** The end of a feed; with how many changes were left, if that is known. */
type Last = (seq: Seq, pending: number | undefined) => string;

const rowOf = (change: Change): Change => ({ ...change, seq: seqText(change.seq) });
const textOf = ({ before, after }: Frame, change: Change): string =>
  `${before}${JSON.stringify(rowOf(change))}${after(change)}`;
const FIRST: Frame = { before: '', after: () => '' };
const NEXT: Frame = { before: ',\n', after: () => '' };
const LINE: Frame = { before: '', after: () => '\n' };
const EVENT: Frame = { before: 'data: ', after: ({ seq }) => `\nid: ${JSON.stringify(seqText(seq))}\n\n` };

/** `piece`, and after it a change with the data of its attachments. @returns what of it is still to be sent */
async function* withData(
  { database, options, signal }: FeedRequest,
  { before, after }: Frame,
  piece: string,
  change: Change,
): AsyncGenerator<string, string, void> {
  const { conflicts, att_encoding_info } = options;
  let text = piece + before;
  for await (const part of rowWithData(database, rowOf(change), { conflicts, att_encoding_info, signal })) {
    if (text.length >= PIECE_LENGTH) {
      yield text;
      text = '';
    }
    text += part;
  }
  return text + after(change);
}

export async function normalFeed(feed: FeedRequest): Promise<Answer> {
  return respond(feed, oneShotText(feed, feed.options, '{"results":[\n'));
}

/** Waits until there is a change, then answers like a normal feed; with an empty one if none comes in time. */
export async function longpollFeed(feed: FeedRequest): Promise<Answer> {
  return respond(feed, longpollText(feed));
}

export async function continuousFeed(feed: FeedRequest): Promise<Answer> {
  return respond(feed, liveText(feed, LINE, '\n', lastLine));
}

export async function eventSourceFeed(feed: FeedRequest): Promise<Answer> {
  return respond(
    feed,
    liveText(feed, EVENT, 'event: heartbeat\ndata: \n\n', () => ''),
  );
}

const lastLine: Last = (seq, pending) => `${JSON.stringify({ last_seq: seqText(seq), pending })}\n`;

interface Gathered {
  /** What is still to be sent. */
  readonly piece: string;
  readonly count: number;
  /** Of the last change that had one. */
  readonly seq: Seq | undefined;
}

/** Changes as text that follows `opening`, in pieces worth sending. */
async function* gathered(
  feed: FeedRequest,
  changes: ChangesFeed,
  [first, next]: readonly [first: Frame, next: Frame],
  opening: string,
): AsyncGenerator<string, Gathered, void> {
  let piece = opening;
  let frame = first;
  let count = 0;
  let seq: Seq | undefined;
  for await (const change of changes) {
    count++;
    seq = change.seq ?? seq;
    piece = feed.withData ? yield* withData(feed, frame, piece, change) : piece + textOf(frame, change);
    frame = next;
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = '';
  }
  return { piece, count, seq };
}

async function* oneShotText(
  request: FeedRequest,
  options: ChangesOptions,
  opening: string,
): AsyncGenerator<string, void, void> {
  const { database, signal } = request;
  const feed: ChangesFeed = database.changes({ ...options, signal });
  const { limit = Number.POSITIVE_INFINITY } = options;
  const { piece, count } = yield* gathered(request, feed, [FIRST, NEXT], opening);
  const result = whole(await feed, signal);
  const { last_seq, pending = count < limit ? 0 : undefined } = result;
  yield `${piece}\n],\n${ending({ last_seq, pending })}`;
}

/**
 * What breaks off is not a complete answer.
 *
 * @throws closed if the database closed; service_unavailable if the server closes or the client is gone, as others may go on with the
 *   database
 */
function whole(result: ChangesResult | Cancelled, signal?: AbortSignal): ChangesResult {
  if ('last_seq' in result) return result;
  throw signal?.aborted ? signal.reason : closed();
}

/** How many changes come after `since`, if the database knows. */
export async function pendingAfter(database: Database, since: Seq): Promise<number | undefined> {
  const { results, pending } = await database.changes({ since, limit: 1 }).then((result) => whole(result));
  return pending === undefined ? undefined : pending + results.length;
}

/**
 * How many changes follow the last one that a waiting feed gave: none, also where its database was deleted, as in CouchDB. Not known if
 * the server ended the feed, perhaps amid changes.
 */
const leftAfter = ({ signal }: FeedRequest): number | undefined => (signal.aborted ? undefined : 0);

/** With `pending` only if it is known: a client that believed a wrong 0 would stop there. */
function ending({ last_seq, pending }: { last_seq: Seq; pending: number | undefined }): string {
  return `"last_seq":${JSON.stringify(seqText(last_seq))}${pending === undefined ? '' : `,"pending":${pending}`}}\n`;
}

/** The database was made anew or restored: who asks has to know, rather than wait until as much was written again. */
const isBeyond = (asked: Seq | undefined, last: Seq): boolean => Number(asked) > Number(last);

async function* longpollText(feed: FeedRequest): AsyncGenerator<string> {
  const { database, options, signal } = feed;
  const first = whole(await database.changes({ ...options, limit: 1, return_docs: true, signal }), signal);
  // Sent at once, so that the client knows that it is being served.
  yield '{"results":[\n';
  if (first.results.length > 0) {
    yield* oneShotText(feed, options, '');
    return;
  }
  const since = first.last_seq;
  if (isBeyond(options.since, since)) {
    yield `\n],\n${ending({ last_seq: since, pending: 0 })}`;
    return;
  }
  const live = new Waiter(database.changes({ ...options, since, live: true, signal }));
  const woken = yield* waitFor(live, feed, '\n');
  live.leave();
  // The change that woke us may be one of many: they are read together, like by a normal feed.
  if (woken === undefined) yield `\n],\n${ending({ last_seq: since, pending: leftAfter(feed) })}`;
  else yield* oneShotText(feed, { ...options, since }, '');
}

/** All existing changes, then every change as it comes: in the order of writes, also where the existing ones are descending. */
async function* liveText(
  feed: FeedRequest,
  frame: Frame,
  heartbeat: string,
  last: Last,
): AsyncGenerator<string> {
  const { database, options, signal } = feed;
  const { limit = Number.POSITIVE_INFINITY, descending, ...unlimited } = options;
  // Descending, the last row is the oldest one, and everything would come again after it.
  const latest = descending === true ? (await database.info()).update_seq : undefined;
  const existing: ChangesFeed = database.changes({ ...options, signal });
  const { piece, seq, count: before } = yield* gathered(feed, existing, [frame, frame], '');
  const result = await existing;
  let since = latest ?? seq ?? options.since ?? 0;
  if (latest === undefined && 'last_seq' in result && isBeyond(since, result.last_seq))
    since = result.last_seq;
  // Sent even if it is empty: the first piece makes the bridge send the headers.
  yield piece === '' ? heartbeat : piece;
  let count = before;
  const live = new Waiter(database.changes({ ...unlimited, since, live: true, signal }));
  try {
    while (count < limit) {
      const change = yield* waitFor(live, feed, heartbeat);
      if (change === undefined) break;
      count++;
      since = change.seq ?? since;
      yield feed.withData ? yield* withData(feed, frame, '', change) : textOf(frame, change);
    }
  } finally {
    live.leave();
  }
  yield last(since, count < limit ? leftAfter(feed) : await pendingAfter(database, since));
}

/** The next change, with heartbeats while there is none; undefined when the time is up or the feed was ended. */
async function* waitFor(
  changes: Waiter,
  { heartbeatMs, timeoutMs }: FeedRequest,
  heartbeat: string,
): AsyncGenerator<string, Change | undefined> {
  for (;;) {
    const next = await changes.next(heartbeatMs ?? timeoutMs ?? 0);
    if (next !== 'nothing') return next;
    if (heartbeatMs === undefined) return undefined;
    yield heartbeat;
  }
}

/** Gives the next item of a feed, or `'nothing'` after a while; the next call goes on waiting for the same item. */
class Waiter {
  readonly #iterator: AsyncIterator<Change>;
  #next: { readonly change: Change | undefined } | { readonly error: unknown } | undefined;
  #asked = false;
  #wake: () => void = () => {};

  constructor(feed: ChangesFeed) {
    this.#iterator = feed[Symbol.asyncIterator]();
  }

  async next(ms: number): Promise<Change | undefined | 'nothing'> {
    this.#ask();
    if (this.#next === undefined) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    const next = this.#next;
    if (next === undefined) return 'nothing';
    this.#next = undefined;
    this.#asked = false;
    if ('error' in next) throw next.error;
    return next.change;
  }

  leave(): void {
    this.#iterator.return?.().catch(() => {});
  }

  #ask(): void {
    if (this.#asked) return;
    this.#asked = true;
    this.#iterator.next().then(
      ({ done, value }) => {
        this.#next = { change: done === true ? undefined : value };
        this.#wake();
      },
      (error: unknown) => {
        this.#next = { error };
        this.#wake();
      },
    );
  }
}

/**
 * The first piece is made before the answer begins, so that an immediate failure is an error with its status. A later failure
 * breaks the connection off: a client must not take half an answer for a whole one.
 */
async function respond(feed: FeedRequest, text: AsyncGenerator<string>): Promise<Answer> {
  const encoder = new TextEncoder();
  async function* bytes(): AsyncGenerator<Uint8Array, void, void> {
    try {
      for await (const piece of text) yield encoder.encode(piece);
    } finally {
      feed.done();
    }
  }
  return new Response(toStream(await begun(bytes()), feed.cancel), { status: 200, headers: feed.headers });
}
