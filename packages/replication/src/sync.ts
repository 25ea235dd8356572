/**
 * Replication both ways between two databases: `push` from the first to the second, `pull` back.
 *
 * The two halves know nothing of each other. Neither reports what the other brought: its target has that already.
 */
import { BasicFeed, type Feed, type FeedController, type FeedError, type FeedEvents } from '@settledb/core';
import { Announcer } from './announcer';
import type { ReplicationChange, ReplicationResult, ReplicationStatus } from './counters';
import type { ReplicateOptions, SyncOptions } from './options';
import type { FailedRow, Peer } from './peer';
import { type Replication, ReplicationFeed, type WatchedReplication } from './replicate';
import { watch } from './watch';

export type Direction = 'push' | 'pull';

export interface SyncChange {
  readonly direction: Direction;
  readonly change: ReplicationChange;
}

export interface SyncResult {
  readonly push: ReplicationResult;
  readonly pull: ReplicationResult;
}

/** The argument of `denied`. */
export interface SyncDenied {
  readonly direction: Direction;
  readonly doc: FailedRow;
}

/** A sync's events, and what their listeners get. */
export interface SyncEvents extends FeedEvents<SyncChange, SyncResult> {
  active: { readonly direction: Direction };
  /** With the error while a half waits to try again. */
  paused: FeedError | undefined;
  denied: SyncDenied;
}

/**
 * A sync under way. Its events are those of a replication: `paused` when both halves are paused, `active` when one is active again. Cancelling either
 * half, or its failure, ends the other.
 */
export interface Sync extends Feed<SyncChange, SyncResult, SyncEvents> {
  readonly push: Replication;
  readonly pull: Replication;
  status(): SyncStatus;
  /** The status of both halves, now and whenever either has changed: see {@link Replication.statuses}. */
  statuses(): AsyncIterableIterator<SyncStatus>;
}

/** What each half still has to transfer is its `pending`. */
export interface SyncStatus {
  readonly push: ReplicationStatus;
  readonly pull: ReplicationStatus;
}

/** @returns at once; rejects, and fires `error`, with what ended the half that failed first. @throws TypeError for a half's options that are none */
export function sync(a: Peer, b: Peer, options: SyncOptions = {}): Sync {
  return syncOf(
    (half) => new ReplicationFeed(a, b, half),
    (half) => new ReplicationFeed(b, a, half),
    options,
  );
}

/** The sync of two replications, wherever they run. @param push given the options of its half, begins it; `pull` likewise */
export function syncOf(
  push: (options: ReplicateOptions) => WatchedReplication,
  pull: (options: ReplicateOptions) => WatchedReplication,
  options: SyncOptions,
): Sync {
  const { push: pushed, pull: pulled, signal, ...common } = options;
  // Nobody cancels halves that begin after the end: they would have to end by themselves, perhaps after a host has done their work.
  const ended = signal?.aborted ? { signal } : {};
  // `false` is PouchDB's way to give no options; it does not switch a direction off.
  for (const [name, half] of Object.entries({ push: pushed, pull: pulled }))
    if (half && (typeof half !== 'object' || Array.isArray(half)))
      throw new TypeError(`${name} must be options, not ${Array.isArray(half) ? 'a list' : String(half)}`);
  return new SyncFeed(
    push({ ...common, ...pushed, ...ended }),
    pull({ ...common, ...pulled, ...ended }),
    options,
  );
}

class SyncFeed extends BasicFeed<SyncChange, SyncResult, SyncEvents> implements Sync {
  readonly push: WatchedReplication;
  readonly pull: WatchedReplication;

  constructor(push: WatchedReplication, pull: WatchedReplication, options: ReplicateOptions) {
    super((feed) => run(feed, push, pull), { signal: options.signal });
    this.push = push;
    this.pull = pull;
  }

  status(): SyncStatus {
    return { push: this.push.status(), pull: this.pull.status() };
  }

  statuses(): AsyncIterableIterator<SyncStatus> {
    return watch([this.push.progress, this.pull.progress], () => this.status());
  }

  /** Ends at once, not when the halves have ended: none of their events is heard any more. */
  override cancel(): void {
    super.cancel();
    // The halves are not there yet when the signal was aborted beforehand: they have it too, then.
    this.push?.cancel();
    this.pull?.cancel();
  }
}

async function run(
  feed: FeedController<SyncChange>,
  push: Replication,
  pull: Replication,
): Promise<SyncResult> {
  const halves = { push, pull };
  const announce = joinedAnnouncements(feed);
  for (const direction of ['push', 'pull'] as const) {
    const half = halves[direction];
    passOn(half, (change) => feed.push({ direction, change }));
    half.on('denied', (doc: FailedRow) => feed.emit('denied', { direction, doc } satisfies SyncDenied));
    half.on('active', () => announce.active(direction));
    half.on('paused', (error: unknown) => announce.paused(direction, error));
  }
  // When one half ends for any reason other than being done, the other is ended too.
  const settled = async (half: Replication, other: Replication): Promise<ReplicationResult> => {
    try {
      const result = await half;
      if (result.status === 'cancelled') other.cancel();
      return result;
    } catch (error) {
      other.cancel();
      throw error;
    }
  };
  const [pushed, pulled] = await Promise.allSettled([settled(push, pull), settled(pull, push)]);
  if (pushed.status === 'rejected') throw pushed.reason;
  if (pulled.status === 'rejected') throw pulled.reason;
  return { push: pushed.value, pull: pulled.value };
}

/** Every change as soon as it is there; the half goes on with the next when that was taken by whoever iterates. */
function passOn(half: Replication, push: (change: ReplicationChange) => Promise<void> | undefined): void {
  let taken: Promise<void> | undefined;
  half.on('change', (change) => {
    taken = push(change);
  });
  const hold = async (): Promise<void> => {
    for await (const _ of half) await taken;
  };
  hold().catch(() => {}); // how it ends is told by awaiting it
}

/** The `active` and `paused` events of both halves as one sequence. */
function joinedAnnouncements(feed: FeedController<SyncChange>): {
  active(direction: Direction): void;
  paused(direction: Direction, error: unknown): void;
} {
  let by: Direction = 'push';
  const announcer = new Announcer((event, error) =>
    feed.emit(event, event === 'active' ? { direction: by } : error),
  );
  const pauses = new Map<Direction, unknown>();
  return {
    active(direction) {
      pauses.delete(direction);
      by = direction;
      announcer.active();
    },
    paused(direction, error) {
      pauses.set(direction, error);
      by = direction;
      if (pauses.size < 2) return;
      const failed = [...pauses.values()].find((reason) => reason !== undefined);
      if (failed === undefined) announcer.caughtUp();
      else announcer.stalled(failed);
    },
  };
}
