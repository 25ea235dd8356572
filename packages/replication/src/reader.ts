/**
 * The changes of the source in batches: first those that exist, then, in a live replication, those that arrive.
 *
 * Positions are opaque: they are handed back to the source and compared for equality, nothing else.
 */
import {
  type ChangesFeed,
  type ChangesOptions,
  closed,
  isBefore,
  isObject,
  type Seq,
  whenAborted,
} from '@settledb/core';
import { Inbox } from './ahead';
import type { Settings } from './options';
import {
  ask,
  bare,
  type ChangedDoc,
  checkChange,
  checkChanges,
  checkInfo,
  type Peer,
  unexpected,
} from './peer';
import type { Progress } from './progress';

export interface ChangesBatch {
  readonly rows: readonly ChangedDoc[];
  /** The position that is reached once all rows are replicated; `undefined` where the source gave none with them. */
  readonly seq: Seq | undefined;
  /** Number of changes after this batch, where the source knows. */
  readonly pending: number | undefined;
  /** Nothing was left to read when this batch was made. */
  readonly caughtUp: boolean;
}

/** A batch is at most this many times the last. */
const GROWTH = 4;
/** How often the end is checked once more. A program that keeps writing must not keep a replication from ending. */
const LOOKS = 3;

interface ReaderInit {
  readonly source: Peer;
  readonly settings: Settings;
  readonly since: Seq;
  /** The source's last position when this began. */
  readonly sourceSeq: Seq | undefined;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** Ends when caught up; a live one goes on until `signal` is aborted. */
export async function* readChanges(init: ReaderInit): AsyncGenerator<ChangesBatch, void> {
  const { settings, progress } = init;
  const { first, most } = settings.batchSize;
  let at = init.since;
  let looks = 0;
  for (let limit = first; ; limit = Math.min(limit * GROWTH, most)) {
    const batch = await readBatch(init, at, limit);
    at = batch.seq;
    progress.saw(batch.rows.length, pendingAfter(batch, init.sourceSeq));
    yield batch;
    if (!batch.caughtUp) continue;
    if (settings.live || ++looks > LOOKS || !(await isShort(init, batch))) break;
  }
  if (settings.live) yield* followChanges(init, at);
}

/**
 * PouchDB skips documents that are edited while it reads its changes (the other direction of a sync edits them), and lists them at the
 * end. A sync that stopped there would end with less than both had when it began. Such a source does not say how much is left.
 */
async function isShort({ source, signal }: ReaderInit, { pending, seq }: ChangesBatch): Promise<boolean> {
  if (pending !== undefined || typeof seq !== 'number') return false;
  const { seq: last } = checkInfo(await ask(signal, () => source.info(...bare(source, signal))));
  return isBefore(seq, last);
}

async function readBatch(
  { source, settings, signal }: ReaderInit,
  since: Seq,
  limit: number,
): Promise<ChangesBatch & { readonly seq: Seq }> {
  const options: ChangesOptions = {
    ...settings.query,
    ...settings.transport,
    since,
    limit,
    // Only the last position of a batch is used; clusters find the others costly.
    seq_interval: limit,
    signal,
  };
  const { rows, lastSeq, pending } = checkChanges(await ask(signal, () => source.changes(options)));
  checkOrder(since, lastSeq);
  // A cache that answers whatever the position would be asked without end.
  if (rows.length > 0 && lastSeq === since) throw unexpected(`changes after ${since} that do not get on`);
  // A source that has more changes, although it did not fill the batch, is asked again, provided that its position moves on.
  const more = rows.length >= limit || (pending !== undefined && pending > 0 && lastSeq !== since);
  return { rows, seq: lastSeq, pending, caughtUp: !more };
}

/** The source was restored from a backup, or is another database by now. The next attempt finds out; this one would skip changes. */
function checkOrder(since: Seq, seq: Seq): void {
  if (isBefore(seq, since)) throw unexpected(`changes after ${since} end at ${seq}`);
}

/** An upper bound: each document has one change, so there are no more changes than numbers. */
function pendingAfter({ pending, caughtUp, seq }: ChangesBatch, last: Seq | undefined): number | undefined {
  if (pending !== undefined || caughtUp) return pending ?? 0;
  return typeof last === 'number' && typeof seq === 'number' ? Math.max(last - seq, 0) : undefined;
}

/** What a live feed brought while the last batch was being transferred makes the next batch. */
async function* followChanges(
  { source, settings, progress, signal }: ReaderInit,
  since: Seq,
): AsyncGenerator<ChangesBatch, void> {
  signal.throwIfAborted();
  const { most } = settings.batchSize;
  const inbox = new Inbox<ChangedDoc>(most);
  const stop = whenAborted(signal, () => inbox.fail(signal.reason));
  const feed = source.changes({
    ...settings.query,
    ...settings.transport,
    since,
    live: true,
    return_docs: false,
    batch_size: most,
    signal,
  });
  try {
    collect(feed, inbox);
    for (let at = since; ; ) {
      const rows = await inbox.take(most);
      const seq = lastSeqOf(rows);
      checkOrder(at, seq ?? at);
      at = seq ?? at;
      progress.saw(rows.length, inbox.size);
      yield { rows, seq, pending: inbox.size, caughtUp: inbox.size === 0 };
    }
  } finally {
    stop();
    feed.cancel?.();
  }
}

/** With `seq_interval`, some rows have no seq. */
function lastSeqOf(rows: readonly ChangedDoc[]): Seq | undefined {
  for (let at = rows.length - 1; at >= 0; at--) {
    const seq = rows[at]?.seq;
    if (seq !== null && seq !== undefined) return seq;
  }
  return undefined;
}

/** Iterates where that is possible, so that the feed reads no further than there is room; otherwise listens. */
function collect(feed: ChangesFeed, inbox: Inbox<ChangedDoc>): void {
  const fail = (error: unknown): void => inbox.fail(error);
  // The feed of a database that was closed or destroyed ends like a cancelled one.
  const ended = (result: unknown): void =>
    inbox.fail(
      isObject(result) && result.status === 'cancelled' ? closed() : unexpected('the live changes ended'),
    );
  if (typeof feed[Symbol.asyncIterator] === 'function') {
    iterate(feed, inbox)
      .then(() => feed)
      .then(ended, fail);
    return;
  }
  feed.on('change', (row: unknown) => {
    try {
      inbox.put(checkChange(row));
    } catch (error) {
      inbox.fail(error);
    }
  });
  feed.on('error', fail);
  feed.then(ended, fail);
}

async function iterate(feed: AsyncIterable<unknown>, inbox: Inbox<ChangedDoc>): Promise<void> {
  for await (const row of feed) {
    const full = inbox.put(checkChange(row));
    if (full !== undefined) await full;
  }
}
