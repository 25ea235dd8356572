/** What a program is promised about writes of its own, and calls that it gives up. */
import type { SettleDB } from '../../packages/settledb/src/entry.browser';
import type { DatabaseWrites } from './database-writes';
import type { Tab } from './platform/tab';

/**
 * A feed since `now` that has begun, which an answer after it says, tells of what is written from then on, whatever becomes of its host.
 * Else this never settles.
 */
export async function postAndHear(db: SettleDB, writes: DatabaseWrites): Promise<void> {
  const feed = db.changes({ live: true, since: 'now' });
  const heard = new Set<string>();
  let look = (): void => {};
  feed.on('change', ({ id }) => {
    heard.add(id);
    look();
  });
  try {
    await db.info();
    const id = await writes.post();
    await new Promise<void>((resolve, reject) => {
      look = () => heard.has(id) && resolve();
      look();
      // It ends by itself only with its handle, or with the database.
      feed.then(() => resolve(), reject);
    });
  } finally {
    feed.cancel();
    await feed;
  }
}

/** A read or a write, given up after a while. */
export async function giveUp(
  db: SettleDB,
  writes: DatabaseWrites,
  tab: Tab,
  afterMs: number,
  isWrite: boolean,
): Promise<void> {
  const abort = new AbortController();
  const { signal } = abort;
  void tab.sleep(afterMs).then(() => abort.abort());
  try {
    await (isWrite ? writes.post(signal) : db.allDocs({ include_docs: true, signal }));
  } catch (error) {
    if (error !== signal.reason) throw error;
  }
}
