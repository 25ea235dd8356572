/**
 * One attempt's pipeline, from the first change to the last checkpoint:
 *
 *   changes ─ ahead ─▶ revsDiff, bulkGet ─ ahead ─▶ bulkDocs ─▶ acknowledged ─▶ checkpoint
 *
 * The one thing to know: a position is acknowledged, and only then may be written down, when every revision up to it is at
 * the target, was refused by the target for good, or is gone from the source. Anything else ends the attempt before it.
 */
import { DatabaseError, type FeedController, type Seq, wholeDoc } from '@settledb/core';
import { ahead } from './ahead';
import type { Announcer } from './announcer';
import { withoutStreams } from './attachments';
import type { BackOff } from './backoff';
import { type BatchEnd, type Chunk, fetchChunks, OnTheWay } from './batch';
import type { Checkpoints } from './checkpoint';
import type { ReplicationChange } from './counters';
import { Failure, Failures } from './failures';
import { Fetcher } from './fetcher';
import type { Settings } from './options';
import { type Peer, revisionOf } from './peer';
import type { Progress } from './progress';
import { readChanges } from './reader';
import type { Rest } from './rest';
import type { Revision, RevSet } from './rev-set';
import { SourceFailure } from './source-failure';
import { type WriteOutcome, writeDocs } from './write';

/** What the attempts of a replication share. */
export interface Run {
  readonly source: Peer;
  readonly target: Peer;
  readonly settings: Settings;
  readonly feed: FeedController<ReplicationChange>;
  readonly progress: Progress;
  readonly announcer: Announcer;
  readonly backOff: BackOff;
  /** Revisions refused since all was last written down: an attempt that repeats them does not count them again. */
  readonly denied: RevSet;
  /** The two databases of the last attempt. */
  pair: string | undefined;
  /** Where the source was when it was first asked, if it said so, and which one that was: what `since: 'now'` means in all attempts. */
  now: { readonly of: string; readonly seq: Seq | undefined } | undefined;
  /** The last position that this replication wrote down. */
  written: Seq | undefined;
  /** A batch, even an empty one, was transferred: both databases exist and accept such requests. */
  worked: boolean;
  /** Revisions that made the last such attempt fail. */
  failed: RevSet;
  /** Attempts in a row, since the last acknowledged position, that failed for the same revision. */
  documentTries: number;
  /** Attempts, since all was last written down, that ended because their checkpoint became doubtful. */
  doubts: number;
}

export interface Start {
  readonly checkpoints: Checkpoints;
  readonly since: Seq;
  /** The source's last position at the beginning. */
  readonly sourceSeq: Seq | undefined;
}

interface Begun extends Start {
  readonly rest: Rest;
}

/** How often changes are read on for revisions that were gone. A program that keeps writing must not keep a replication from ending. */
const LOOKS = 3;
/** Refused revisions that are remembered, at some 100 bytes each. Where there are more, some may be told twice. */
const DENIED_MAX = 10_000;

/** @param reading ends requests that can be repeated @param writing ends writes, which may have happened already */
export async function transfer(
  run: Run,
  start: Begun,
  reading: AbortSignal,
  writing: AbortSignal,
): Promise<void> {
  const { source, target, settings, progress } = run;
  const onTheWay = new OnTheWay();
  const { most } = settings.batchSize;
  const fetcher = new Fetcher({ source, target, most, onTheWay, progress, signal: reading });
  const pipeline = { fetcher, onTheWay };
  await transferChanges(run, start, pipeline, reading, writing);
  // What replaced them may be listed behind the end that was read: without it, the target would have nothing of these documents.
  for (let look = 0; look < LOOKS && fetcher.takeGone(); look++) {
    await transferChanges(
      run,
      { ...start, since: progress.lastSeq ?? start.since },
      pipeline,
      reading,
      writing,
    );
  }
  await start.checkpoints.flush(writing);
  run.announcer.caughtUp();
}

/** Everything that the source lists after `since`; a live replication goes on until `reading` is aborted. */
async function transferChanges(
  run: Run,
  { checkpoints, rest, ...start }: Begun,
  { fetcher, onTheWay }: { readonly fetcher: Fetcher; readonly onTheWay: OnTheWay },
  reading: AbortSignal,
  writing: AbortSignal,
): Promise<void> {
  const { source, target, settings, progress } = run;
  const rows = readChanges({ source, settings, progress, ...start, signal: reading });
  const batches = ahead(rows);
  const init = { fetcher, target, onTheWay, progress, signal: reading };
  const failures = new Failures(run);
  /** What the target took of the batch. */
  let took: Revision[] = [];
  for await (const chunk of ahead(fetchChunks(batches, init))) {
    const { end } = chunk;
    const written = await write(run, chunk, fetcher, failures, writing);
    took = took.concat(written.map(revisionOf));
    if (end !== undefined) {
      onTheWay.end();
      acknowledge(run, { ...end, had: end.had.concat(took) }, failures, checkpoints, writing);
      took = [];
    }
    await tell(run, written);
    if (end === undefined) continue;
    failures.endBatch();
    if (!end.caughtUp || !settings.live) continue;
    failures.end();
    await caughtUp(run, onTheWay, checkpoints, rest);
  }
  failures.end();
}

/** Tells listeners what was written; the next is written when whoever iterates has taken it. */
async function tell({ feed, progress }: Run, written: Chunk['docs']): Promise<void> {
  if (written.length === 0 || !feed.heard) return;
  await feed.push(progress.change(written.map((doc) => withoutStreams(wholeDoc(doc)))));
}

/** A live replication has transferred all that there is. */
async function caughtUp(run: Run, onTheWay: OnTheWay, checkpoints: Checkpoints, rest: Rest): Promise<void> {
  // What was refused would be told again by whoever goes on, such as the next host, if it was compared again.
  await rest.begin(run.denied.size === 0);
  run.backOff.caughtUp();
  if (!checkpoints.behind) {
    run.denied.clear();
    run.doubts = 0;
  }
  // The next batch may be on its way.
  if (onTheWay.none) run.progress.phase = 'idle';
  run.announcer.caughtUp();
}

/** @returns the documents that the target took */
async function write(
  run: Run,
  chunk: Chunk,
  fetcher: Fetcher,
  failures: Failures,
  signal: AbortSignal,
): Promise<Chunk['docs']> {
  const { docs, length } = chunk;
  const { progress, feed } = run;
  failures.add(chunk.failures);
  if (docs.length === 0) return docs;
  progress.phase = 'transferring';
  let outcome: WriteOutcome;
  progress.sending = length;
  try {
    outcome = await writeDocs(run.target, docs, fetcher, signal);
  } catch (error) {
    const cause = error instanceof SourceFailure ? error.error : error;
    throw new Failure(cause, failures.lost + docs.length);
  } finally {
    progress.sending = 0;
  }
  const { written, denied, failed } = outcome;
  progress.wrote(written.length + denied.length, written.length, length);
  run.announcer.active();
  if (written.length > 0) run.backOff.reset();
  if (written.length + denied.length > 0) failures.took();
  notDenied(run, written);
  for (const row of denied) {
    if (run.denied.size >= DENIED_MAX) run.denied.clear();
    if (!run.denied.add(row.id, row.rev)) continue;
    progress.denied(row);
    feed.emit('denied', row);
  }
  failures.lost += failed.length;
  failures.add(
    failed.map((row) => ({ id: row.id, rev: row.rev, error: new DatabaseError({ ...row, docId: row.id }) })),
  );
  return written;
}

/** What the target refused in an earlier attempt, and takes in this one, is denied no more. */
function notDenied({ denied, progress }: Run, written: Chunk['docs']): void {
  if (denied.size === 0) return;
  const tried = written.map(revisionOf).filter(({ id, rev }) => denied.has(id, rev));
  for (const { id, rev } of tried) denied.delete(id, rev);
  if (tried.length > 0) progress.retried({ tried, still: [], written: 0 });
}

/** Acknowledges the position at the end of the batch, unless a document failed. */
function acknowledge(
  run: Run,
  end: BatchEnd,
  failures: Failures,
  checkpoints: Checkpoints,
  signal: AbortSignal,
): void {
  if (!failures.none) return;
  const { progress } = run;
  progress.pending = end.pending;
  progress.error = undefined;
  progress.acknowledged(end.rows);
  run.worked = true;
  run.documentTries = 0;
  // The replication's own memory says where the next attempt begins. Elsewhere it matters what is written down, see `attempt`.
  if (!checkpoints.counts) run.backOff.reset();
  if (end.seq === undefined) return;
  progress.lastSeq = end.seq;
  checkpoints.note(end.seq, signal, end.had);
}
