/**
 * Feeds of a database that may still be opening; they end with their handle.
 */
import {
  BasicFeed,
  type Cancelled,
  type Change,
  type ChangesOptions,
  type ChangesResult,
  cancelled,
  type FeedController,
  feedUntil,
} from '@settledb/core';
import type { Connection } from './connection';

type Changes = BasicFeed<Change, ChangesResult | Cancelled>;

/** The changes feed over `connection`: the database's own once it is open, otherwise one that passes on what that gives. */
export function connectedChanges(connection: Connection, options: ChangesOptions): Changes {
  return feedUntil([connection.life, options.signal], (signal) => changesUntil(signal, connection, options));
}

function changesUntil(signal: AbortSignal, connection: Connection, options: ChangesOptions): Changes {
  const database = connection.current;
  if (database !== undefined) return database.changes({ ...options, signal }) as Changes;
  // Requested now, so that it takes its turn among the calls that wait. Wrapped in an object: a feed is thenable, and a promise of
  // one would wait for its end. Iterated from the start: if it fails before this feed reads it, the failure is this feed's.
  const opening = connection.run(async (opened) => {
    const feed = opened.changes({ ...options, signal });
    return { feed, changes: feed[Symbol.asyncIterator]() };
  }, signal);
  const drive = async (controller: FeedController<Change>): Promise<ChangesResult | Cancelled> => {
    const { feed, changes } = await opening;
    for await (const change of { [Symbol.asyncIterator]: () => changes }) {
      const wait = controller.push(change);
      if (wait !== undefined) await wait;
    }
    return feed;
  };
  const outer: Changes = new BasicFeed(drive, { signal, cancelled, holds: true });
  outer.whenOver(() => {
    // Also if it was cancelled before there was an inner feed.
    opening.then(
      ({ feed }) => feed.cancel(),
      () => {},
    );
  });
  return outer;
}
