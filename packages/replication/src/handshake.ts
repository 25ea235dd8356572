/**
 * How an attempt begins: both sides are asked who they are and how far they have come; their checkpoints then tell where
 * to go on.
 */
import { commonSnapshot, isBefore, type Seq, SNAPSHOT_ID, snapshotSessions, uuid } from '@settledb/core';
import { Checkpoints } from './checkpoint';
import type { ChangesQuery } from './options';
import { ask, bare, checkId, checkInfo, isNotFound, isRefusal, type Peer, type PeerInfo } from './peer';
import type { Progress } from './progress';
import { isTelling, replicationId } from './replication-id';
import { covers } from './sessions';
import type { Run, Start } from './transfer';

/** The two sides, as they are now. */
interface Pair {
  readonly sourceId: string;
  readonly targetId: string;
  /** When each database was made, if it says so: this tells it from one made anew in its place. */
  readonly instances: string;
  readonly instanceOf: { readonly source: string; readonly target: string };
  readonly sourceSeq: Seq | undefined;
  readonly targetSeq: Seq | undefined;
}

/** Where this attempt begins, and what keeps its checkpoints. @throws what either side fails with */
export async function handshake(run: Run, signal: AbortSignal): Promise<Start> {
  const { progress } = run;
  const pair = await identify(run, signal);
  const { sourceId, targetId, instances, sourceSeq } = pair;
  const key = `${sourceId} ${targetId} ${instances}`;
  // A database was replaced by another: what the old one acknowledged, the new one may not have.
  if (run.pair !== undefined && run.pair !== key) progress.lastSeq = run.written = undefined;
  run.pair = key;
  const open = opener(run, pair, signal);
  const since = sinceOf(run, sourceSeq);
  const start =
    since === undefined ? await openFirst(run, pair, open, signal) : await openAt(since, open, run);
  // This replication's own memory says where to go on only where no later one goes by a checkpoint. A target that was restored, or lost its
  // last writes as its power failed, no longer has all that it acknowledged, and that gap would be written down as replicated.
  const { lastSeq } = progress;
  if (start.checkpoints.counts || lastSeq === undefined || notBeyond(sourceSeq, lastSeq) !== lastSeq)
    return start;
  return { ...start, since: lastSeq };
}

/** Where the user wants to begin. `now` is a moment, however many attempts it takes until something is read. */
function sinceOf({ settings: { since }, now: first }: Run, sourceSeq: Seq | undefined): Seq | undefined {
  if (since !== 'now') return since && notBeyond(sourceSeq, since);
  const now = first?.seq ?? 'now';
  return notBeyond(sourceSeq, now) === now ? now : sourceSeq;
}

async function identify(run: Run, signal: AbortSignal): Promise<Pair> {
  const whoIs = (peer: Peer): Promise<[string, PeerInfo]> =>
    Promise.all([
      ask(signal, () => peer.id(...bare(peer, signal))).then(checkId),
      ask(signal, () => peer.info(...bare(peer, signal))).then(checkInfo),
    ]);
  const source = whoIs(run.source).then((answer) => {
    const [id, { instance, seq }] = answer;
    // What is written while the target cannot be reached, or after it was replaced, comes after now.
    const of = `${id} ${instance}`;
    if (run.now?.of !== of) {
      run.now = { of, seq };
      // Told by its status: a page asks its next host to begin there.
      if (run.settings.since === 'now') run.progress.lastSeq = seq;
    }
    return answer;
  });
  const [[sourceId, from], [targetId, to]] = await Promise.all([source, whoIs(run.target)]);
  const instances = from.instance === '' && to.instance === '' ? '' : `${from.instance}/${to.instance}`;
  const instanceOf = { source: from.instance, target: to.instance };
  return { sourceId, targetId, instances, instanceOf, sourceSeq: from.seq, targetSeq: to.seq };
}

/** Opens checkpoints. @param apart for checkpoints after a gap: the position from which they count */
type Open = (apart?: Seq) => Promise<Start>;

function opener({ source, target, settings, progress, doubts }: Run, pair: Pair, signal: AbortSignal): Open {
  const { sourceId, targetId, instances, instanceOf, sourceSeq } = pair;
  const describe = describing(progress);
  return async (apart) => {
    const id = replicationId(sourceId, targetId, settings.query, apart);
    // Two copies with the same id share a checkpoint id too: a checkpoint would not tell which side wrote it, or in which direction.
    const isOwn = sourceId !== targetId && isTelling(settings.query);
    const on = isOwn ? settings.checkpointOn : NOWHERE;
    const session = { sessionId: uuid(), describe, doubts };
    const checkpoints = new Checkpoints({ source, target, id, on, instances, instanceOf, ...session });
    const since = notBeyond(sourceSeq, await checkpoints.resume(signal));
    return { checkpoints, since, sourceSeq };
  };
}

const NOWHERE = { source: false, target: false };

/** Where to begin when the user says nothing: at the checkpoint; without one, where a snapshot ends that both know of. */
async function openFirst(
  { source, target, settings }: Run,
  { sourceSeq, targetSeq }: Pair,
  open: Open,
  signal: AbortSignal,
): Promise<Start> {
  const start = await open();
  if (start.since !== 0 || !start.checkpoints.complete || isFiltered(settings.query)) return start;
  // An empty database has loaded no snapshot; this spares most first replications the request.
  if ([sourceSeq, targetSeq].some((seq) => seq === 0 || seq === '0')) return start;
  const seq = await snapshotSeq(source, target, signal);
  return seq === undefined ? start : { ...start, since: notBeyond(sourceSeq, seq) };
}

/** A snapshot holds all documents, so it says nothing about a replication with a filter. */
const isFiltered = ({ filter, view, doc_ids, selector }: ChangesQuery): boolean =>
  [filter, view, doc_ids, selector].some((option) => option !== undefined);

/** Where the snapshot that both sides have ends in the source; undefined where there is none, or it may not be read. */
async function snapshotSeq(source: Peer, target: Peer, signal: AbortSignal): Promise<Seq | undefined> {
  const read = (peer: Peer): Promise<unknown> =>
    ask(signal, () => peer.get(SNAPSHOT_ID, { signal })).catch((error: unknown) => {
      if (!isNotFound(error) && !isRefusal(error)) throw error;
    });
  const there = await read(target);
  return snapshotSessions(there).length === 0 ? undefined : commonSnapshot(await read(source), there);
}

/** Where to begin when the user says so. Beyond a gap, checkpoints are kept separately, or, if that is `now`, not at all. */
async function openAt(since: Seq, open: Open, { settings, progress, written }: Run): Promise<Start> {
  const start = await open();
  const isNow = settings.since === 'now';
  if (isNow) start.checkpoints.mute();
  // What an earlier run wrote down is no reason to begin later than the user says; what this one did, is.
  if (!isNow && [written, progress.lastSeq].includes(start.since)) return start;
  if (isNow || covers(start.since, since)) return { ...start, since };
  const own = await open(since);
  return own.since === 0 ? { ...own, since } : own;
}

/** What was done since now, for the history of checkpoints. */
function describing(progress: Progress): () => object {
  const start_time = new Date().toISOString();
  const before = progress.status();
  return () => {
    const { docs_read, docs_written, doc_write_failures } = progress.status();
    return {
      start_time,
      end_time: new Date().toISOString(),
      docs_read: docs_read - before.docs_read,
      docs_written: docs_written - before.docs_written,
      doc_write_failures: doc_write_failures - before.doc_write_failures,
    };
  };
}

/** A source that has not come as far as `seq` is another database, or was set back to an older state: everything is compared anew. */
const notBeyond = (last: Seq | undefined, seq: Seq): Seq => (isBefore(last, seq) ? 0 : seq);
