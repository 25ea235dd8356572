/**
 * Replications that run at a host, as a page follows them from one host to the next: each host reports only its own work, which is
 * added up here, and the last one may be lost before it reports the end.
 */
import { type CallOptions, DatabaseError, type FeedError, isDatabaseError, type Seq } from '@settledb/core';
import {
  Announcer,
  type FailedRow,
  oneByOne,
  type ReplicationResult,
  type ReplicationStatus,
  retriedOf,
  type StatusBoard,
  type WatchedReplication,
  watch,
} from '@settledb/replication';
import type { FollowedFeed, Request } from '@settledb/worker';

/** Handles what hosts report. @param progress is told that, and how the replication ended for this page */
export function replicationThere(progress: StatusBoard): Partial<Request> {
  let announcer: Announcer | undefined;
  let start: Seq | undefined;
  return {
    // `now` is one moment, however many hosts it takes: what was written before there was another is not left out.
    asked: (options) =>
      options.since === 'now' && start !== undefined
        ? { ...options, since: start, checkpoint: false }
        : options,
    shown: (change) => progress.counted(change as ReplicationStatus),
    at: (value) => {
      progress.status = progress.counted(value as ReplicationStatus);
      const { phase, last_seq } = progress.status;
      // 0 may also mean that the source has not been asked yet.
      if (last_seq !== 0 || phase === 'idle') start = last_seq;
    },
    // In turn, as promised for `active` and `paused`: the next host, or one that works for other pages already, may begin with either.
    tell(emit, event, value) {
      announcer ??= new Announcer(emit);
      if (event === 'active') announcer.active();
      else if (event !== 'paused') emit(event, value);
      else if (value === undefined) announcer.caughtUp();
      else announcer.stalled(value);
    },
    waits(emit, error) {
      progress.status = { ...progress.status, phase: 'waiting', error: error as FeedError };
      announcer ??= new Announcer(emit);
      announcer.stalled(error);
    },
    result: (value) => progress.ended(value as Partial<ReplicationResult>),
    failure(error) {
      const result = progress.failed(error);
      if (!isDatabaseError(error) || 'result' in error) return error;
      // An error of its own: everything that is lost with a host is given the same one.
      const { status, name, reason } = error;
      return Object.assign(new DatabaseError({ status, name, reason, cause: error }), { result });
    },
  };
}

/** A feed of replication changes, with everything else a replication has. @param again transfers denied documents once more */
export function withStatus(
  { feed, retried }: FollowedFeed,
  progress: StatusBoard,
  again: (denied: readonly FailedRow[], signal?: AbortSignal) => PromiseLike<ReplicationResult>,
): WatchedReplication {
  const retryDenied = oneByOne(async ({ signal }: CallOptions = {}) => {
    const { errors } = progress.status;
    const result = await again(errors, signal);
    const told = retriedOf(errors, result);
    // Counted here too: the replication at the host may be over, and its next status takes a while.
    progress.retried(told);
    retried(told);
    return result;
  });
  return Object.assign(feed, {
    progress,
    status: () => progress.status,
    statuses: () => watch([progress], () => progress.status),
    retryDenied,
  }) as unknown as WatchedReplication;
}
