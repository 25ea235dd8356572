/**
 * Attachments whose content nothing keeps: a compaction would remove it. The content itself is read with the revisions that have it.
 */
import { blobKeysIn, type DatabaseTables, type Rev, type Store } from '@settledb/core';
import { batches } from './batches';
import type { Note } from './contradictions';

/** What a revision has in either table. */
interface Revision {
  readonly id: string;
  readonly rev: Rev;
  readonly body?: unknown;
}

export async function referencesIn(
  store: Store<DatabaseTables>,
  note: Note,
  signal: AbortSignal | undefined,
): Promise<void> {
  const check = async (rows: readonly Revision[]): Promise<void> => {
    const attached = rows.flatMap(({ id, rev, body }) =>
      blobKeysIn(body as string | undefined).map((blobs) => ({ id, rev, blobs })),
    );
    if (attached.length === 0) return;
    const keys = attached.flatMap(({ id, rev, blobs }) => blobs.map((blob) => [blob, id, rev] as const));
    const [refs] = await store.read([{ from: 'blobrefs', keys }], { signal });
    const kept = new Set(
      refs.flatMap((ref) => (ref === undefined ? [] : [`${ref.rev} ${ref.blob} ${ref.id}`])),
    );
    for (const { id, rev, blobs } of attached) {
      if (!blobs.some((blob) => kept.has(`${rev} ${blob} ${id}`)))
        note(`Nothing keeps the content of an attachment of ${JSON.stringify(id)}, ${rev}`);
    }
  };
  const texts = ['body'];
  for await (const rows of batches(store, { from: 'docs', texts }, ({ id }) => id, signal)) await check(rows);
  for await (const rows of batches(store, { from: 'bodies', texts }, ({ id, rev }) => [id, rev], signal))
    await check(rows);
}
