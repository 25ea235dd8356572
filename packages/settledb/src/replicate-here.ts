/**
 * Replications seen from a page whose databases are in a worker: those that run there, and those with a peer that is an object of
 * this page, which cannot cross. These run here, over the same verbs; the code for it is loaded when it is first needed.
 */
import { BasicFeed, type FeedController } from '@settledb/core';
import {
  againOptions,
  type FailedRow,
  type ReplicateOptions,
  type ReplicationChange,
  type ReplicationResult,
  replicate,
  StatusBoard,
  type WatchedReplication,
  watch,
} from '@settledb/replication';
import type { Peer } from './peers';

export function replicateHere(
  db: unknown,
  peer: Peer,
  to: boolean,
  options: ReplicateOptions,
): WatchedReplication {
  const progress = new StatusBoard();
  const { signal, ...rest } = options;
  const drive = async (controller: FeedController<ReplicationChange>): Promise<ReplicationResult> => {
    const [source, target] = (to ? [db, peer] : [peer, db]) as Parameters<typeof replicate>[0][];
    const feed = replicate(source!, target!, { ...rest, signal: controller.signal });
    for (const event of ['active', 'paused', 'denied'] as const)
      feed.on(event, (value: unknown) => controller.emit(event, value));
    void follow(feed.statuses(), progress);
    for await (const change of feed) await controller.push(change);
    return await feed;
  };
  const outer = new BasicFeed(drive, { signal });
  return withStatus(outer, progress, (denied) => replicateHere(db, peer, to, againOptions(options, denied)));
}

async function follow(statuses: AsyncIterable<StatusBoard['status']>, progress: StatusBoard): Promise<void> {
  for await (const status of statuses) progress.status = status;
}

/** A feed of replication changes with what else a replication has. @param again carries denied documents over once more */
export function withStatus(
  feed: object,
  progress: StatusBoard,
  again: (denied: readonly FailedRow[]) => PromiseLike<ReplicationResult>,
): WatchedReplication {
  const retryDenied = async (): Promise<ReplicationResult> => {
    const result = await again(progress.status.errors);
    progress.status = { ...progress.status, errors: result.errors };
    return result;
  };
  return Object.assign(feed, {
    progress,
    status: () => progress.status,
    statuses: () => watch([progress], () => progress.status),
    retryDenied,
  }) as unknown as WatchedReplication;
}
