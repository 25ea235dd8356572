/**
 * Replication of one database into another: attempts, each a pipeline, until one comes to its end.
 *
 *   changes ─ ahead ─▶ revsDiff, bulkGet ─ ahead ─▶ bulkDocs ─▶ acknowledged ─▶ checkpoint
 *
 * The one thing to know: a position is acknowledged, and only then may be written down, when every revision up to it is at
 * the target, was refused by the target for good, or is gone from the source. Anything else ends the attempt before it.
 */
import { BasicFeed, DatabaseError, type Feed, type FeedController, type Seq, uuid } from '@settledb/core';
import { ahead } from './ahead';
import { Announcer } from './announcer';
import { BackOff } from './backoff';
import { type Chunk, fetchChunks, OnTheWay } from './batch';
import { Checkpoints } from './checkpoint';
import { checkOptions, type ReplicateOptions, type Settings } from './options';
import { ask, checkId, checkInfo, checkPeer, isObject, isRefusal, keyOf, type Peer, statusOf } from './peer';
import {
  type LostWork,
  Progress,
  type ReplicationChange,
  type ReplicationResult,
  type ReplicationStatus,
} from './progress';
import { readChanges } from './reader';
import { replicationId } from './replication-id';
import { writeDocs } from './write';

/**
 * A replication under way. Events: `change`, `complete`, `error`, and `active`, `paused` (with an error while it waits to
 * try again), `denied` (a document that the target refused). Cancelled, it completes with what was transferred, and that
 * is written down.
 */
export interface Replication extends Feed<ReplicationChange, ReplicationResult> {
  /** Where it stands, at any time. */
  status(): ReplicationStatus;
}

/** Chunks fetched while one is written. Each may hold some megabytes. */
const CHUNKS_AHEAD = 1;
/** After cancelling or a failure: how long a write under way, and the checkpoint, may take to come to their end. */
const GRACE_MS = 3000;
/** Attempts that may fail, one after the other, for the same reason: a document that cannot be had or is not taken. */
const DOCUMENT_TRIES = 10;

/**
 * Copies what `target` lacks of the revisions in `source`: all leaves with their ancestry, deleted ones too.
 *
 * @returns at once; rejects, and fires `error`, with what ended it; that error's `result` has the counters
 */
export function replicate(source: Peer, target: Peer, options: ReplicateOptions = {}): Replication {
  return new ReplicationFeed(source, target, options);
}

class ReplicationFeed extends BasicFeed<ReplicationChange, ReplicationResult> implements Replication {
  readonly #progress: Progress;

  constructor(source: Peer, target: Peer, options: ReplicateOptions) {
    const progress = new Progress();
    super((feed) => run(source, target, options, feed, progress), { signal: options.signal });
    this.#progress = progress;
  }

  status(): ReplicationStatus {
    return this.#progress.status();
  }
}

/** What the attempts of a replication share. */
interface Run {
  readonly source: Peer;
  readonly target: Peer;
  readonly settings: Settings;
  readonly feed: FeedController<ReplicationChange>;
  readonly progress: Progress;
  readonly announcer: Announcer;
  readonly backOff: BackOff;
  /** Refused since the last acknowledged position: an attempt that repeats them does not count them again. */
  readonly denied: Set<string>;
  /** `_local/…`, as of the last attempt. */
  id: string | undefined;
  /** Attempts since the last acknowledged position that failed for a single document. */
  documentTries: number;
}

/** Why an attempt ended early. */
class Failure {
  readonly error: unknown;
  /** Single documents failed; the peers are in order. */
  readonly ofDocuments: boolean;
  readonly lost: LostWork;

  constructor(
    error: unknown,
    ofDocuments: boolean,
    lost: LostWork = { docs_read: 0, doc_write_failures: 0 },
  ) {
    this.error = error;
    this.ofDocuments = ofDocuments;
    this.lost = lost;
  }
}

async function run(
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
    const announcer = new Announcer((event, error) => feed.emit(event, error));
    const backOff = new BackOff(settings.backOff);
    const denied = new Set<string>();
    const tries = { id: undefined, documentTries: 0 };
    await repeat({ source, target, settings, feed, progress, announcer, backOff, denied, ...tries });
  } catch (error) {
    const failure = error instanceof Failure ? error : new Failure(error, false);
    progress.phase = 'failed';
    progress.error = failure.error;
    throw withResult(failure.error, progress.result('aborting', failure.lost));
  }
  progress.phase = feed.cancelled ? 'cancelled' : 'complete';
  progress.error = undefined;
  return progress.result(progress.phase);
}

/** Attempts until one ends well, one fails for good, or the feed is cancelled. */
async function repeat(run: Run): Promise<void> {
  const { feed, settings, progress, announcer, backOff } = run;
  while (!feed.cancelled) {
    progress.phase = 'connecting';
    progress.attempts++;
    try {
      return await attempt(run);
    } catch (error) {
      if (feed.cancelled) return;
      const failure = error instanceof Failure ? error : new Failure(error, false);
      if (!settings.retry || isFinal(failure, run)) throw failure;
      progress.phase = 'waiting';
      progress.error = failure.error;
      announcer.stalled(failure.error);
      await backOff.wait(failure.error, feed.signal);
    }
  }
}

/** Trying again would not help: the request is wrong or not allowed, what it is about is not there, or is closed. */
const FINAL = new Set([400, 401, 403, 404, 405, 410, 501]);

function isFinal({ error, ofDocuments }: Failure, run: Run): boolean {
  if (ofDocuments) return ++run.documentTries >= DOCUMENT_TRIES;
  const closed = error instanceof DatabaseError && error.name === 'closed';
  return isRefusal(error) || closed || FINAL.has(statusOf(error));
}

/** From the handshake to the end. However it ends, what was acknowledged is written down, if that can be done soon. */
async function attempt(run: Run): Promise<void> {
  const { feed } = run;
  const reading = new AbortController();
  const writing = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const setGrace = (): void => {
    timer ??= setTimeout(() => writing.abort(), GRACE_MS);
  };
  // Reads end at once. A write is let go on: it may be done already, and then should be acknowledged.
  const onCancel = (): void => {
    reading.abort();
    setGrace();
  };
  feed.signal.addEventListener('abort', onCancel);
  let checkpoints: Checkpoints | undefined;
  try {
    const start = await handshake(run, reading.signal);
    checkpoints = start.checkpoints;
    await transfer(run, start, reading.signal, writing.signal);
  } catch (error) {
    reading.abort();
    setGrace();
    await checkpoints?.flush(writing.signal).catch(() => undefined);
    throw error;
  } finally {
    feed.signal.removeEventListener('abort', onCancel);
    clearTimeout(timer);
    reading.abort();
  }
}

interface Start {
  readonly checkpoints: Checkpoints;
  readonly since: Seq;
}

/** Who are they, are they there, and how far did they come. */
async function handshake(run: Run, signal: AbortSignal): Promise<Start> {
  const { source, target, settings, progress } = run;
  const [sourceId, targetId, sourceSeq] = await Promise.all([
    ask(signal, () => source.id({ signal })).then(checkId),
    ask(signal, () => target.id({ signal })).then(checkId),
    ask(signal, () => source.info({ signal })).then(checkInfo),
    ask(signal, () => target.info({ signal })).then(checkInfo),
  ]);
  const id = replicationId(sourceId, targetId, settings.query);
  // Another database has taken the place of one: what was acknowledged was so by the other.
  if (run.id !== undefined && run.id !== id) progress.lastSeq = undefined;
  run.id = id;
  const checkpoints = new Checkpoints({ source, target, id, sessionId: uuid(), on: settings.checkpointOn });
  const agreed = notBeyond(sourceSeq, await checkpoints.resume(signal));
  const { since } = settings;
  if (since !== undefined) checkpoints.startAt(since, agreed);
  // Without checkpoints to rely on, this replication's own memory says where to go on.
  const remembered = since !== undefined || !checkpoints.complete ? progress.lastSeq : undefined;
  return { checkpoints, since: remembered ?? since ?? agreed };
}

/** A source whose numbers have not come as far as the checkpoint is not the one, or not as new as the one, it was. */
const notBeyond = (last: Seq | undefined, seq: Seq): Seq =>
  typeof last === 'number' && typeof seq === 'number' && seq > last ? 0 : seq;

async function transfer(
  run: Run,
  { checkpoints, since }: Start,
  reading: AbortSignal,
  writing: AbortSignal,
): Promise<void> {
  const { source, target, settings } = run;
  const onTheWay = new OnTheWay();
  const batches = ahead(readChanges(source, settings, since, reading), settings.readAhead);
  const init = { source, target, batchSize: settings.batchSize, onTheWay, signal: reading };
  const failures = new Failures();
  for await (const chunk of ahead(fetchChunks(batches, init), CHUNKS_AHEAD)) {
    const written = await write(run, chunk, failures, writing);
    if (chunk.end !== undefined) {
      onTheWay.end();
      acknowledge(run, chunk.end, failures, (seq) => checkpoints.note(seq, writing));
    }
    if (written.length > 0) await run.feed.push(run.progress.change(written));
    failures.throwAt(chunk.end);
    if (chunk.end?.caughtUp && settings.live) {
      await checkpoints.flush(writing);
      run.progress.phase = 'idle';
      run.announcer.caughtUp();
    }
  }
  await checkpoints.flush(writing);
}

/** What went wrong with single documents of a batch. The rest of the batch is written; then the attempt fails. */
class Failures {
  #first: unknown;
  #count = 0;
  #rows = 0;

  get none(): boolean {
    return this.#count === 0;
  }

  add(errors: readonly unknown[], rows = 0): void {
    if (this.#count === 0) this.#first = errors[0];
    this.#count += errors.length;
    this.#rows += rows;
  }

  lost(more = 0): LostWork {
    return { docs_read: this.#rows + more, doc_write_failures: this.#rows + more };
  }

  throwAt(end: Chunk['end']): void {
    if (end !== undefined && !this.none) throw new Failure(this.#first, true, this.lost());
  }
}

/** @returns the documents that the target took */
async function write(
  run: Run,
  chunk: Chunk,
  failures: Failures,
  signal: AbortSignal,
): Promise<Chunk['docs']> {
  const { docs, length } = chunk;
  const { progress, feed } = run;
  failures.add(chunk.failures);
  if (docs.length === 0) return docs;
  progress.phase = 'transferring';
  let outcome: Awaited<ReturnType<typeof writeDocs>>;
  try {
    outcome = await writeDocs(run.target, docs, signal);
  } catch (error) {
    throw new Failure(error, false, failures.lost(docs.length));
  }
  const { written, denied, failed } = outcome;
  progress.wrote(docs.length - failed.length, written.length, length);
  run.announcer.active();
  for (const row of denied) {
    const key = keyOf(row.id, row.rev ?? '');
    if (run.denied.has(key)) continue;
    run.denied.add(key);
    progress.denied(row);
    feed.emit('denied', row);
  }
  failures.add(
    failed.map((row) => new DatabaseError({ ...row, docId: row.id })),
    failed.length,
  );
  return written;
}

/** Everything up to the end of the batch is where it belongs, unless a document failed. */
function acknowledge(
  run: Run,
  end: NonNullable<Chunk['end']>,
  failures: Failures,
  note: (seq: Seq) => void,
): void {
  if (!failures.none) return;
  const { progress } = run;
  progress.pending = end.pending;
  progress.error = undefined;
  run.denied.clear();
  run.documentTries = 0;
  run.backOff.reset();
  if (end.seq === undefined) return;
  progress.lastSeq = end.seq;
  note(end.seq);
}

/** The error as it was, with `result` added; made an `Error` where it was none. */
function withResult(error: unknown, result: ReplicationResult): Error {
  const whole = error instanceof Error && Object.isExtensible(error) ? error : asError(error);
  return Object.assign(whole, { result });
}

function asError(error: unknown): DatabaseError {
  const told = isObject(error) || error instanceof Error ? (error as Record<string, unknown>) : {};
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  const name = text(told.name) ?? text(told.error) ?? 'replication_failed';
  const reason = text(told.reason) ?? text(told.message) ?? String(error);
  return new DatabaseError({ status: statusOf(error) || 500, name, reason, cause: error });
}
