/**
 * The work of a replication: attempts, each a pipeline (`transfer.ts`), until one comes to its end.
 */
import { DatabaseError, type FeedController, isObject, onSigns, whenAborted, whyOf } from '@settledb/core';
import { Announcer } from './announcer';
import { BackOff, isAnswered } from './backoff';
import { type Checkpoints, Doubtful } from './checkpoint';
import type { ReplicationChange, ReplicationResult } from './counters';
import { Failure } from './failures';
import { handshake } from './handshake';
import { checkOptions, type ReplicateOptions } from './options';
import { checkPeer, firstText, isClosed, isRefusal, type Peer, statusOf } from './peer';
import type { Progress } from './progress';
import { replicationId } from './replication-id';
import { Rest } from './rest';
import { RevSet } from './rev-set';
import { type Run, transfer } from './transfer';
import { onWake } from './wake';

/** After cancelling or a failure: how long a write under way, and the checkpoint, may take to finish. */
const GRACE_MS = 3000;
/** How long after a wake-up nothing may arrive before connections count as dead. */
const STALLED_MS = 3000;
/** A longer body may take longer than that on a slow line, and no `fetch` tells how much of it was sent. Its own timeout ends it. */
const LONG_BODY = 64 * 1024;
/** Attempts, until all is written down, that may find their checkpoint doubtful: each of so many other replications may write over it once. */
const DOUBTFUL_TRIES = 20;

/** @returns its result; rejects with what ended it, whose `result` has the counters */
export async function run(
  source: Peer,
  target: Peer,
  options: ReplicateOptions,
  feed: FeedController<ReplicationChange>,
  progress: Progress,
): Promise<ReplicationResult> {
  try {
    checkPeer('source', source);
    checkPeer('target', target);
    const settings = checkOptions(options);
    // A query that cannot be written as JSON (a bigint, a cycle) fails now, not in every attempt.
    replicationId('', '', settings.query);
    const announcer = new Announcer((event, error) => feed.emit(event, error));
    const backOff = new BackOff(settings.backOff);
    const denied = new RevSet();
    const tries = {
      pair: undefined,
      now: undefined,
      written: undefined,
      worked: false,
      failed: new RevSet(),
      documentTries: 0,
      doubts: 0,
    };
    await repeat({ source, target, settings, feed, progress, announcer, backOff, denied, ...tries });
  } catch (error) {
    const failure = error instanceof Failure ? error : new Failure(error);
    progress.error = failure.error;
    progress.phase = 'failed';
    throw withResult(failure.error, progress.result('aborting', failure.lost));
  }
  progress.error = undefined;
  const status = feed.cancelled ? 'cancelled' : 'complete';
  progress.phase = status;
  return progress.result(status);
}

/** Attempts until one ends well, one fails for good, or the feed is cancelled. */
async function repeat(run: Run): Promise<void> {
  const { feed, settings, progress, announcer, backOff } = run;
  while (!feed.cancelled) {
    progress.begin();
    const reading = new AbortController();
    try {
      return await attempt(run, reading);
    } catch (error) {
      if (feed.cancelled) return;
      if (reading.signal.reason === ANEW) continue;
      if (error instanceof Doubtful && ++run.doubts <= DOUBTFUL_TRIES) continue;
      const failure = error instanceof Failure ? error : new Failure(error);
      if (!settings.retry || isFinal(failure, run)) throw failure;
      progress.error = failure.error;
      progress.phase = 'waiting';
      announcer.stalled(failure.error);
      await backOff.wait(failure.error, feed.signal);
    }
  }
}

/** Trying again would not help: the request is wrong, or what it is about is not there. */
const FINAL = new Set([400, 404, 405, 410, 501]);

/** Once requests have worked, {@link FINAL} is not final: a proxy answers so while the server behind it is replaced. Then we wait. */
function isFinal({ error, givesUp }: Failure, run: Run): boolean {
  return givesUp ?? (isRefusal(error) || isClosed(error) || (!run.worked && FINAL.has(statusOf(error))));
}

/** From the handshake to the end. */
async function attempt(run: Run, reading: AbortController): Promise<void> {
  const { feed } = run;
  const writing = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  // Reads end at once. A write may go on: it may have happened already, and should then be acknowledged.
  const end = (reason?: unknown): void => {
    reading.abort(reason);
    timer ??= setTimeout(() => writing.abort(), GRACE_MS);
  };
  const signals = [reading.signal, writing.signal];
  const leaves = [whenAborted(feed.signal, () => end())];
  const { retry } = run.settings;
  const again = (): void => end(ANEW);
  if (retry) leaves.push(endWhenWoken(run, signals, again));
  let checkpoints: Checkpoints | undefined;
  try {
    const start = await handshake(run, reading.signal);
    checkpoints = start.checkpoints;
    const rest = new Rest({
      checkpoints,
      progress: run.progress,
      reading: reading.signal,
      writing: writing.signal,
      setBack: retry ? again : undefined,
    });
    leaves.push(() => rest.end());
    await transfer(run, { ...start, rest }, reading.signal, writing.signal);
  } catch (error) {
    end();
    if (checkpoints !== undefined) await keepPosition(run, checkpoints, error, writing.signal);
    throw error;
  } finally {
    for (const leave of leaves) leave();
    clearTimeout(timer);
    reading.abort();
  }
}

/**
 * After an attempt that failed or was cancelled, what was acknowledged is written down, if that can be done soon; but not after a failure
 * without an answer: who did not answer may be back without its last writes, if its power failed, and would be told that it has them.
 */
async function keepPosition(
  run: Run,
  checkpoints: Checkpoints,
  error: unknown,
  writing: AbortSignal,
): Promise<void> {
  if (run.feed.cancelled || isAnswered(error instanceof Failure ? error.error : error))
    await checkpoints.flush(writing).catch(() => undefined);
  else await checkpoints.written();
  // Where each checkpoint fails, as on a full disk, every attempt compares all that the one before did: no reason to begin soon.
  if (checkpoints.moved !== undefined) {
    run.written = checkpoints.moved;
    run.backOff.reset();
  }
  // What an older state acknowledged is gone: only what the checkpoints remember counts.
  if (checkpoints.replaced) run.progress.lastSeq = undefined;
}

/** Why an attempt is replaced by another at once: nothing failed, but its connections may be dead, or its target is not the one it was. */
const ANEW = new DatabaseError({
  status: 503,
  name: 'anew',
  reason: 'The network is back, or the target was set back: connecting anew',
});

/** After a wake-up, a live feed that waits is asked for anew at once; a transfer only when nothing arrives any more. */
function endWhenWoken({ progress }: Run, signals: readonly AbortSignal[], end: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let signs = 0;
  const hear = (): void => void signs++;
  for (const signal of signals) onSigns(signal, hear);
  const unlisten = progress.listen(hear);
  const leave = onWake(() => {
    clearTimeout(timer);
    if (progress.phase === 'idle') return end();
    const before = signs;
    timer = setTimeout(() => {
      const isSending = progress.sending >= LONG_BODY && progress.streamsAwaited === 0;
      if (signs === before && !isSending) end();
    }, STALLED_MS);
  });
  return () => {
    clearTimeout(timer);
    unlisten();
    leave();
  };
}

/** The same error with `result` added; made an `Error` where it was not one. */
function withResult(error: unknown, result: ReplicationResult): Error {
  const whole = error instanceof Error && Object.isExtensible(error) ? error : asError(error);
  return Object.assign(whole, { result });
}

function asError(error: unknown): DatabaseError {
  const told = isObject(error) ? error : {};
  const name = firstText(told.name, told.error) ?? 'replication_failed';
  const reason = firstText(told.reason, told.message) ?? whyOf(error);
  return new DatabaseError({ status: statusOf(error) || 500, name, reason, cause: error });
}
