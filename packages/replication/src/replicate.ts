/**
 * Replication of one database into another, as its user holds it. The code that does the work (`run.ts`) is loaded with the first one.
 */
import {
  BasicFeed,
  type CallOptions,
  type Feed,
  type FeedController,
  type FeedError,
  type FeedEvents,
} from '@settledb/core';
import {
  type ReplicationChange,
  type ReplicationResult,
  type ReplicationStatus,
  type Retried,
  retriedOf,
} from './counters';
import { runCode } from './load-run';
import { oneByOne } from './one-by-one';
import type { ReplicateOptions } from './options';
import type { FailedRow, Peer } from './peer';
import { Progress } from './progress';
import { type Watched, watch } from './watch';

/** A replication's events, and what their listeners get. */
export interface ReplicationEvents extends FeedEvents<ReplicationChange, ReplicationResult> {
  active: undefined;
  /** With the error while it waits to try again. */
  paused: FeedError | undefined;
  /** A document that the target refused. */
  denied: FailedRow;
}

/**
 * A replication under way. Events: `change`, `complete`, `error`, and `active`, `paused` (with an error while it waits to
 * try again), `denied` (a document that the target refused). If cancelled, it completes with what was transferred, and that
 * is written down.
 */
export interface Replication extends Feed<ReplicationChange, ReplicationResult, ReplicationEvents> {
  /** Where the replication stands, at any time. */
  status(): ReplicationStatus;
  /**
   * Where the replication stands, now and whenever that has changed, to its end: `for await (const status of replication.statuses())`.
   * A slow loop misses statuses in between, but never the last one. Leaving the loop does not end the replication.
   */
  statuses(): AsyncIterableIterator<ReplicationStatus>;
  /**
   * Transfers the documents that the target has denied so far, as listed in `errors`, for when it has been made to accept
   * them. Also works after the replication has ended. Documents that are accepted leave that list. One of two calls at once waits
   * for the other.
   *
   * @param options a `signal` ends this transfer alone, with the result `cancelled`. Without one, that of the replication does
   * @returns the result of this transfer alone; rejects as a replication does
   */
  retryDenied(options?: CallOptions): Promise<ReplicationResult>;
}

/**
 * Copies what `target` lacks of the revisions in `source`: all leaves with their ancestry, deleted ones too.
 *
 * @returns at once; rejects, and fires `error`, with what ended it; that error's `result` has the counters
 */
export function replicate(source: Peer, target: Peer, options: ReplicateOptions = {}): Replication {
  return new ReplicationFeed(source, target, options);
}

/** A replication with what a sync watches of it. */
export interface WatchedReplication extends Replication {
  readonly progress: Watched;
}

/**
 * The options for transferring denied documents once more: those of the replication, limited to these documents. Its filter holds still:
 * a document that was edited since may be none that it lets out.
 */
export function againOptions(
  { style, winning_revs_only, filter, view, query_params, selector, signal }: ReplicateOptions,
  denied: readonly { readonly id: string }[],
): ReplicateOptions {
  const ids = [...new Set(denied.map(({ id }) => id))];
  // A selector and `doc_ids` exclude each other.
  const these =
    selector == null ? { doc_ids: ids } : { selector: { $and: [selector, { _id: { $in: ids } }] } };
  return { ...these, filter, view, query_params, style, winning_revs_only, signal, checkpoint: false };
}

export class ReplicationFeed
  extends BasicFeed<ReplicationChange, ReplicationResult, ReplicationEvents>
  implements WatchedReplication
{
  readonly progress: Progress;
  readonly #options: ReplicateOptions;
  /** Replicates between the same two once more, until `signal`. Whoever closes the databases afterwards replaces this. */
  again: (options: ReplicateOptions, signal?: AbortSignal) => PromiseLike<ReplicationResult>;

  constructor(source: Peer, target: Peer, options: ReplicateOptions) {
    const progress = new Progress();
    const work = async (feed: FeedController<ReplicationChange>): Promise<ReplicationResult> => {
      const { run } = await runCode.load().catch((error: unknown) => {
        progress.error = error;
        progress.phase = 'failed';
        throw error;
      });
      return run(source, target, options, feed, progress);
    };
    super(work, { signal: options.signal });
    this.progress = progress;
    this.#options = options;
    this.again = (more, own = more.signal) => replicate(source, target, { ...more, signal: own });
  }

  status(): ReplicationStatus {
    return this.progress.status();
  }

  statuses(): AsyncIterableIterator<ReplicationStatus> {
    return watch([this.progress], () => this.status());
  }

  readonly retryDenied = oneByOne(async ({ signal }: CallOptions = {}) => {
    const { errors } = this.status();
    const result = await this.again(againOptions(this.#options, errors), signal);
    this.retried(retriedOf(errors, result));
    return result;
  });

  /** Counts documents that were transferred once more elsewhere: by the page of a hosted replication. */
  retried(again: Retried): void {
    this.progress.retried(again);
  }
}
