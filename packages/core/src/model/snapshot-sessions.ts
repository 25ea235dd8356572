/**
 * The document `_local/snapshot`, which lets a replication after a first sync by files begin where the files end:
 *
 *   { sessions: [{ session_id, seq, time }, …newest first] }
 *
 * A session stands for one snapshot that was made, and its entry in a database says two things: this database has all that the
 * snapshot has, and the snapshot has all of this database's own changes up to `seq`. So between two databases with a session in
 * common, in either direction, nothing up to the source's `seq` needs to be transferred. A source that was made anew, or restored from
 * before the snapshot, has no such entry, and is read from its start. The document is never copied to another database.
 */
import type { Seq } from './types';

export const SNAPSHOT_ID = '_local/snapshot';

export interface SnapshotSession {
  readonly session_id: string;
  readonly seq: Seq;
  /** For people. */
  readonly time?: string;
}

/** Sessions kept. With a snapshot every day, whoever loads one that is two months old still begins there. */
const SESSIONS = 64;

/** The sessions that a document lists, newest first; none if it is absent or malformed. */
export function snapshotSessions(doc: unknown): SnapshotSession[] {
  const sessions = (doc as { sessions?: unknown } | undefined)?.sessions;
  return Array.isArray(sessions) ? sessions.filter(isSession) : [];
}

function isSession(value: unknown): value is SnapshotSession {
  const { session_id, seq } = (value ?? {}) as Record<string, unknown>;
  return typeof session_id === 'string' && (typeof seq === 'string' || typeof seq === 'number');
}

/** The document's fields with one more session; the oldest beyond the limit are left out. Pure. */
export const withSession = (
  doc: unknown,
  session: SnapshotSession,
): { readonly sessions: readonly SnapshotSession[] } => ({
  sessions: [
    session,
    ...snapshotSessions(doc).filter(({ session_id }) => session_id !== session.session_id),
  ].slice(0, SESSIONS),
});

/** Where a replication from `source` to `target` may begin, by their documents; undefined if they have no session in common. */
export function commonSnapshot(source: unknown, target: unknown): Seq | undefined {
  const known = new Set(snapshotSessions(target).map(({ session_id }) => session_id));
  return snapshotSessions(source).find(({ session_id }) => known.has(session_id))?.seq;
}
