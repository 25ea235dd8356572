/** What follows a write of edits with attachments, whether it was done or refused. */
import { isDatabaseError } from '../model/errors';
import type { DatabaseTables } from '../store/schema';
import type { Durability, Store } from '../store/store';
import type { ContentDecision } from './attachment-plan';
import type { Edit } from './edits';
import { sweepBlobs } from './sweep';

/** Called when the write is done: marks the contents of `edits` that rows now name, and drops what rows name no longer. */
export async function settle(
  store: Store<DatabaseTables>,
  edits: readonly Edit[],
  { named, replaced, freed }: ContentDecision,
  durability: Durability | undefined,
): Promise<void> {
  const places = new Set(named);
  for (const { attachments } of edits) {
    for (const content of attachments?.contents ?? []) {
      if (content.place !== undefined && places.has(content.place)) content.named = true;
    }
  }
  // The write is done, whether or not this succeeds: a compaction does it too.
  if (replaced.length > 0) await store.blobs.drop(replaced).catch(() => {});
  if (freed.length > 0) await sweepBlobs(store, freed, durability).catch(() => {});
}

/**
 * Called after a write that failed: if it was refused because content stored for it was swept meanwhile, takes note of which.
 * @returns undefined when the write is to be planned again; those edits then lack their content
 * @throws `error`, if it is another one
 */
export async function gone(
  { blobs }: Store<DatabaseTables>,
  edits: readonly Edit[],
  error: unknown,
): Promise<undefined> {
  if (!isDatabaseError(error) || error.name !== 'content_gone') throw error;
  let any = false;
  for (const { attachments } of edits) {
    for (const content of attachments?.contents ?? []) {
      if (content.place === undefined || (await blobs.get(content.place, 0)) !== undefined) continue;
      blobs.release(content.place);
      content.place = undefined;
      any = true;
    }
  }
  if (!any) throw error;
}
