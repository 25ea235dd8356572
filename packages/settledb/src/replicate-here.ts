/**
 * A replication with a peer that is an object of this page, and so cannot run in the worker: it runs here, over the same verbs.
 * The code for it is loaded when it is first needed.
 */
import { BasicFeed, type FeedController } from '@settledb/core';
import type {
  ReplicateOptions,
  Replication,
  ReplicationChange,
  ReplicationResult,
} from '@settledb/replication';
import type { Peer } from './peers';

export function replicateHere(db: unknown, peer: Peer, to: boolean, options: ReplicateOptions): Replication {
  let inner: Replication | undefined;
  const { signal, ...rest } = options;
  const drive = async (controller: FeedController<ReplicationChange>): Promise<ReplicationResult> => {
    const { replicate } = await import('@settledb/replication');
    const [source, target] = (to ? [db, peer] : [peer, db]) as Parameters<typeof replicate>[0][];
    const feed = replicate(source!, target!, { ...rest, signal: controller.signal });
    inner = feed;
    for (const event of ['active', 'paused', 'denied'])
      feed.on(event, (value) => controller.emit(event, value));
    for await (const change of feed) await controller.push(change);
    return await feed;
  };
  const outer = new BasicFeed(drive, { signal });
  return Object.assign(outer, { status: () => inner?.status() }) as unknown as Replication;
}
