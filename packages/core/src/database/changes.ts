/** A feed of changes as its user holds it. What it reads and makes of that is in `changes-run.ts`, which is loaded with the first of them. */
import type { Cancelled, Change, ChangesResult } from '../model/types';
import type { DatabaseTables } from '../store/schema';
import type { Store } from '../store/store';
import type { Bytes } from './bytes';
import { changesCode } from './changes-code';
import type { ChangesFeed, ChangesOptions } from './database';
import { BasicFeed } from './feed';
import type { FeedController } from './feed-controller';
import type { FilterSource } from './filter';
import { infoNow } from './info';

/** What a feed needs of its database. */
export interface ChangesSource extends FilterSource {
  readonly store: Store<DatabaseTables>;
  /** Aborted when the database is closed: live feeds then end as cancelled ones. */
  readonly closing?: AbortSignal | undefined;
  /** For attachments' data. */
  readonly bytes?: Bytes | undefined;
}

/**
 * Opens a feed over `source`, by contract: {@link ChangesOptions} says what each option does.
 *
 * Everything that is wrong (options, filters, the storage) ends the feed with `error` and a rejection, nothing is thrown here.
 * `descending` means nothing to a live feed. `seq_interval` is not needed: every row has its seq.
 * A live feed ends with `{ status: 'cancelled' }`: when cancelled, when it delivered `limit` changes, and when the database is
 * closed or destroyed; it rejects `closed` when the storage is lost.
 */
export function localChanges<Content extends object = object>(
  source: ChangesSource,
  options: ChangesOptions = {},
): ChangesFeed<Content> {
  // 'now' is this moment, not that of the first read: who writes right after this call wants to hear of it.
  const isFromNow = options.since === 'now' || options.since === 'latest';
  const now = isFromNow ? updateSeqNow(source) : undefined;
  const drive = async (controller: FeedController<Change>): Promise<ChangesResult | Cancelled> => {
    const asked = isFromNow ? (now ?? updateSeqInTurn(source)) : undefined;
    const [{ run }, since = options.since] = await Promise.all([changesCode.load(), asked]);
    return run(source, options, since, controller);
  };
  const cancelled = (): Cancelled => ({ status: 'cancelled' });
  const feed = new BasicFeed(drive, { signal: options.signal, cancelled, holds: true });
  return feed as unknown as ChangesFeed<Content>;
}

const INFO = [{ from: 'info', keys: ['info'] }] as const;

function updateSeqNow({ store }: ChangesSource): number | undefined {
  try {
    return infoNow(store)?.update_seq;
  } catch {
    return undefined; // The first read says what is wrong.
  }
}

/**
 * The same where the storage must be asked: in turn with this context's writes, so that one made after the feed was asked for is not
 * of the past. A read would go beside them.
 */
function updateSeqInTurn({ store }: ChangesSource): Promise<number> {
  return store.write(INFO, ([[info]]) => ({ writes: [], value: info?.update_seq ?? 0 }));
}
