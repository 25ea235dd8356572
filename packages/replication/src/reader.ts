/**
 * The changes of the source in batches: first those there are, then, in a live replication, those that come.
 *
 * Positions are opaque: they are handed back to the source and compared for equality, nothing else.
 */
import type { ChangesFeed, ChangesOptions, Seq } from '@settledb/core';
import { Inbox } from './ahead';
import type { Settings } from './options';
import { ask, type ChangedDoc, checkChange, checkChanges, type Peer, unexpected } from './peer';

export interface ChangesBatch {
  readonly rows: readonly ChangedDoc[];
  /** Replicated up to here once all rows are; `undefined` where the source gave no position with them. */
  readonly seq: Seq | undefined;
  /** Changes after this batch, where the source knows. */
  readonly pending: number | undefined;
  /** Nothing was left to read when this batch was made. */
  readonly caughtUp: boolean;
}

/** Ends when caught up; a live one goes on until `signal` is aborted. */
export async function* readChanges(
  source: Peer,
  settings: Settings,
  since: Seq,
  signal: AbortSignal,
): AsyncGenerator<ChangesBatch, void> {
  let at = since;
  for (;;) {
    const batch = await readBatch(source, settings, at, signal);
    at = batch.seq;
    yield batch;
    if (batch.caughtUp) break;
  }
  if (settings.live) yield* followChanges(source, settings, at, signal);
}

async function readBatch(
  source: Peer,
  settings: Settings,
  since: Seq,
  signal: AbortSignal,
): Promise<ChangesBatch & { readonly seq: Seq }> {
  const limit = settings.batchSize;
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
  // A source that still has some, although it did not fill the batch, is asked again, provided that it moves on.
  const more = rows.length >= limit || (pending !== undefined && pending > 0 && lastSeq !== since);
  return { rows, seq: lastSeq, pending, caughtUp: !more };
}

/** What a live feed brought while the last batch was on its way makes the next one. */
async function* followChanges(
  source: Peer,
  settings: Settings,
  since: Seq,
  signal: AbortSignal,
): AsyncGenerator<ChangesBatch, void> {
  signal.throwIfAborted();
  const inbox = new Inbox<ChangedDoc>(settings.batchSize * settings.readAhead);
  const stop = (): void => inbox.fail(signal.reason);
  signal.addEventListener('abort', stop);
  const feed = source.changes({
    ...settings.query,
    ...settings.transport,
    since,
    live: true,
    return_docs: false,
    batch_size: settings.batchSize,
    signal,
  });
  try {
    collect(feed, inbox);
    for (;;) {
      const rows = await inbox.take(settings.batchSize);
      const seq = lastSeqOf(rows);
      yield { rows, seq, pending: inbox.size, caughtUp: inbox.size === 0 };
    }
  } finally {
    signal.removeEventListener('abort', stop);
    feed.cancel?.();
  }
}

/** Under `seq_interval` some rows have none. */
function lastSeqOf(rows: readonly ChangedDoc[]): Seq | undefined {
  for (let at = rows.length - 1; at >= 0; at--) {
    const seq = rows[at]?.seq;
    if (seq !== null && seq !== undefined) return seq;
  }
  return undefined;
}

/** Iterates where that is possible, so that the feed reads no further than there is room; else listens. */
function collect(feed: ChangesFeed, inbox: Inbox<ChangedDoc>): void {
  const fail = (error: unknown): void => inbox.fail(error);
  const ended = (): void => inbox.fail(unexpected('the live changes ended'));
  if (typeof feed[Symbol.asyncIterator] === 'function') {
    iterate(feed, inbox).then(ended, fail);
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
