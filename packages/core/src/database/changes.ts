/** A changes feed as its user holds it. The code that does its work is in `changes-run.ts`, which is loaded with the first feed. */
import type { Cancelled, Change, ChangesResult } from '../model/types';
import type { DatabaseTables } from '../store/schema';
import type { Store } from '../store/store';
import type { Bytes } from './bytes';
import { changesCode } from './changes-code';
import type { ChangesFeed, ChangesOptions } from './database';
import { BasicFeed } from './feed';
import type { FeedController } from './feed-controller';
import type { FilterSource } from './filter';
import { INFO, infoNow } from './info';

/** What a feed needs of its database. */
export interface ChangesSource extends FilterSource {
  readonly store: Store<DatabaseTables>;
  /** Aborted when the database is closed: live feeds then end as if cancelled. */
  readonly closing?: AbortSignal | undefined;
  /** For attachments' data. */
  readonly bytes?: Bytes | undefined;
}

/**
 * Opens a feed over `source`, by contract: {@link ChangesOptions} says what each option does.
 *
 * Every error (in options, filters, the storage) ends the feed with `error` and a rejection; nothing is thrown here. A live feed that had
 * begun first reads again for a while what fails with `io`.
 * `descending` has no meaning for a live feed. `seq_interval` is not needed: every row has its seq.
 * A live feed ends with `{ status: 'cancelled' }` when cancelled, when it has delivered `limit` changes, and when the database is
 * closed or destroyed; it rejects with `closed` when the storage is lost.
 */
export function localChanges<Content extends object = object>(
  source: ChangesSource,
  options: ChangesOptions = {},
): ChangesFeed<Content> {
  // 'now' is this moment, not that of the first read: a caller that writes right after this call wants to hear of it.
  const isFromNow = options.since === 'now' || options.since === 'latest';
  const now = isFromNow ? updateSeqNow(source) : undefined;
  const drive = async (controller: FeedController<Change>): Promise<ChangesResult | Cancelled> => {
    const asked = isFromNow ? (now ?? updateSeqInTurn(source)) : undefined;
    const [{ run }, since = options.since] = await Promise.all([changesCode.load(), asked]);
    return run(source, options, since, controller);
  };
  const feed = new BasicFeed(drive, { signal: options.signal, cancelled, holds: true });
  return feed as unknown as ChangesFeed<Content>;
}

/** Not made within a call: it would share a scope with the driver, and a feed that has ended would keep its database. */
export const cancelled = (): Cancelled => ({ status: 'cancelled' });

function updateSeqNow({ store }: ChangesSource): number | undefined {
  try {
    return infoNow(store)?.update_seq;
  } catch {
    return undefined; // The first read reports what is wrong.
  }
}

/**
 * The same where the storage must be asked. It takes its turn among this context's writes, so that a write asked for after the feed
 * does not count as past; a mere read would run beside them.
 */
function updateSeqInTurn({ store }: ChangesSource): Promise<number> {
  return store.write(INFO, ([[info]]) => ({ writes: [], value: info?.update_seq ?? 0 }));
}
