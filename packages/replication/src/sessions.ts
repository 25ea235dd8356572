/**
 * What a checkpoint remembers, and what two of them agree on. All functions here are pure.
 *
 * The position is found by CouchDB's rule (https://docs.couchdb.org/en/stable/replication/protocol.html): the newest session that both
 * sides remember. A database that was destroyed or restored from a backup does not remember, and what it lost is replicated again.
 */
import { isBefore, isObject, isSeq, type Seq } from '@settledb/core';

export interface Session {
  readonly session_id: string;
  readonly last_seq: Seq;
  /** The number of this checkpoint within its session: it tells which of two is older where seqs are opaque. */
  readonly recorded?: number;
  /** For people: when it began, when it was written down, and what it did, as CouchDB's history has it. */
  readonly start_time?: string;
  readonly end_time?: string;
  readonly docs_read?: number;
  readonly docs_written?: number;
  readonly doc_write_failures?: number;
}

/** A checkpoint document as it is read: another replicator may have written it, so any field may be missing. */
export interface Checkpoint extends Partial<Session> {
  readonly history?: readonly Session[];
  readonly version?: number;
  readonly replicator?: string;
  /** The source refuses checkpoints: the target's stands alone, and a missing one at the source is no sign of a new source. */
  readonly source_refuses?: boolean;
  /** Tells a database from one made anew under the same name, as far as the databases say. */
  readonly instances?: string;
}

/** What goes into a checkpoint besides its sessions. */
export type CheckpointMarks = Pick<Checkpoint, 'source_refuses' | 'instances'>;

/** Sessions remembered. With fewer, replications of one pair running side by side push each other out. */
const HISTORY_LENGTH = 20;
const VERSION = 1;
/** Where a replication begins that knows no better. */
export const START: Seq = 0;

/**
 * The position that both sides agree was replicated; 0 when they do not agree on any.
 *
 * What a side remembers holds for that side only, so where one session has two positions the older one counts.
 */
export function commonSeq(source: Checkpoint | undefined, target: Checkpoint | undefined): Seq {
  if (source === undefined || target === undefined || source.version !== target.version) return START;
  if (source.version === undefined)
    return isSeq(source.last_seq) && source.last_seq === target.last_seq ? source.last_seq : START;
  const remembered = newestById(sessionsOf(target));
  for (const session of sessionsOf(source)) {
    const other = remembered.get(session.session_id);
    const seq = other === undefined ? undefined : older(session, other);
    if (seq !== undefined) return seq;
  }
  return START;
}

/** Newest first: the session at the top, then the history. */
function sessionsOf(checkpoint: Checkpoint): Session[] {
  const history = Array.isArray(checkpoint.history) ? checkpoint.history : [];
  return [checkpoint as Session, ...history].filter(
    (entry) => isObject(entry) && typeof entry.session_id === 'string' && isSeq(entry.last_seq),
  );
}

/** The first entry of each session, in the order given. */
function newestById(sessions: readonly Session[]): Map<string, Session> {
  const byId = new Map<string, Session>();
  for (const session of sessions) if (!byId.has(session.session_id)) byId.set(session.session_id, session);
  return byId;
}

/** `undefined`: the seqs are opaque, and nothing tells which is older. */
function older(a: Session, b: Session): Seq | undefined {
  if (a.last_seq === b.last_seq) return a.last_seq;
  if (typeof a.last_seq === 'number' && typeof b.last_seq === 'number')
    return Math.min(a.last_seq, b.last_seq);
  if (typeof a.recorded !== 'number' || typeof b.recorded !== 'number') return undefined;
  return a.recorded <= b.recorded ? a.last_seq : b.last_seq;
}

/**
 * Whether `now` is no later state of the checkpoint that was `before`: others may have gone on with it, but a database that does not
 * remember its newest session, or only an earlier position of it, was made anew or restored.
 */
export function isForgotten(before: Checkpoint, now: Checkpoint | undefined): boolean {
  const [newest] = sessionsOf(before);
  if (newest === undefined) return false;
  const found = now && newestById(sessionsOf(now)).get(newest.session_id);
  if (found === undefined) return true;
  return found.last_seq !== newest.last_seq && (found.recorded ?? 0) < (newest.recorded ?? 0);
}

/** Whether a forgotten checkpoint is another replication's of this pair, which goes on: then its newest session is a later one. */
export function isAnothers(before: Checkpoint, now: Checkpoint | undefined): boolean {
  const [newest] = now === undefined ? [] : sessionsOf(now);
  if (newest === undefined) return false;
  const known = newestById(sessionsOf(before)).get(newest.session_id);
  return known === undefined || (newest.recorded ?? 0) > (known.recorded ?? 0);
}

/** The checkpoint with `session` at its top, and remembered in its history. */
export function recorded(
  before: Checkpoint | undefined,
  session: Session,
  marks: CheckpointMarks = {},
): Checkpoint & Session {
  const sessions = newestById([session, ...(before === undefined ? [] : sessionsOf(before))]);
  const history = [...sessions.values()].slice(0, HISTORY_LENGTH).map(entry);
  return {
    ...entry(session),
    history,
    version: VERSION,
    replicator: 'settledb',
    ...marks,
  };
}

const FIELDS = [
  ...(['session_id', 'last_seq', 'recorded', 'start_time', 'end_time'] as const),
  ...(['docs_read', 'docs_written', 'doc_write_failures'] as const),
];

/** Keeps only fields that are known to be small: a session may have been written by any program. */
const entry = (session: Session): Session =>
  Object.fromEntries(
    FIELDS.filter((field) => session[field] !== undefined).map((field) => [field, session[field]]),
  ) as unknown as Session;

/** Whether beginning at `since` leaves no gap after `agreed`. */
export const covers = (agreed: Seq, since: Seq): boolean =>
  since === START || since === '0' || since === agreed || isBefore(since, agreed);
