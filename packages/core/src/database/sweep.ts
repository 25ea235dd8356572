/**
 * Removes content that nothing refers to. Its rows are deleted in the same commit that finds them unreferenced, so a write that refers
 * to it either precedes the commit, and keeps it, or follows it, and finds it gone. The bytes are dropped only afterwards.
 */

import { LOCAL_END, LOCAL_PREFIX, localKey } from '../model/ids';
import { under } from '../store/keys';
import type { DatabaseTables, LocalRow } from '../store/schema';
import type { CallOptions, Durability, Plan, Store, Write } from '../store/store';
import { refKey } from './attachment-plan';
import { blobKeysIn } from './attachment-set';

type DatabaseStore = Store<DatabaseTables>;

/** Contents, or references, looked at in one commit. */
const SLICE_ROWS = 1_000;

/** Drops those of `blobs` that no reference names. */
export async function sweepBlobs(
  store: DatabaseStore,
  blobs: readonly string[],
  durability: Durability | undefined,
): Promise<void> {
  const keys = [...new Set(blobs)];
  const places = await store.write(
    [
      { from: 'blobs', keys },
      ...keys.map((blob) => ({
        from: 'blobrefs' as const,
        range: under(blob),
        limit: 1,
      })),
    ],
    ([rows, ...refs]): Plan<DatabaseTables, string[]> => {
      const gone = rows.filter((row, i) => row !== undefined && refs[i]!.length === 0);
      const writes: Write<DatabaseTables>[] = [{ into: 'blobs', delete: gone.map((row) => row!.blob) }];
      return { writes, value: gone.map((row) => row!.place) };
    },
    { durability, makesRoom: 'now' },
  );
  // No row names these places: what cannot be dropped now is swept by a later compaction.
  if (places.length > 0) await store.blobs.drop(places).catch(() => {});
}

/** Removes all content that nothing refers to, and what crashed writers left. */
export async function sweepAll(store: DatabaseStore, { signal }: CallOptions): Promise<void> {
  await sweepLocalRefs(store, signal);
  for (let after = ''; ; ) {
    signal?.throwIfAborted();
    const [rows] = await store.read([{ from: 'blobs', range: { gt: after }, limit: SLICE_ROWS }]);
    const last = rows.at(-1);
    if (last === undefined) break;
    after = last.blob;
    await sweepBlobs(
      store,
      rows.map(({ blob }) => blob),
      undefined,
    );
  }
  await store.blobs.sweep(async () => {
    const [rows] = await store.read([{ from: 'blobs', range: {} }]);
    return new Set(rows.map(({ place }) => place));
  });
}

/**
 * Removes references of `_local/` documents that were changed or deleted since: writing those does not look for them. One that was
 * deleted and made anew has the same revision again, so its body has the word.
 */
async function sweepLocalRefs(store: DatabaseStore, signal: AbortSignal | undefined): Promise<void> {
  for (let after: readonly string[] = [LOCAL_PREFIX]; ; ) {
    signal?.throwIfAborted();
    const [refs] = await store.read([
      { from: 'blobrefs', by: 'doc', range: { gt: after, lt: [LOCAL_END] }, limit: SLICE_ROWS },
    ]);
    const last = refs.at(-1);
    if (last === undefined) return;
    after = [last.id, last.rev, last.blob];
    const ids = [...new Set(refs.map(({ id }) => id))];
    await store.write(
      [{ from: 'local', keys: ids.map(localKey), texts: true }],
      ([rows]): Plan<DatabaseTables, undefined> => {
        const named = new Map(ids.map((id, i) => [id, blobsNamed(rows[i])]));
        const stale = refs.filter(({ id, rev, blob }) => !named.get(id)!.has(`${rev} ${blob}`));
        return { writes: [{ into: 'blobrefs', delete: stale.map(refKey) }], value: undefined };
      },
      { makesRoom: 'now' },
    );
  }
}

/** What a row refers to: its revision, and each content under the keys that it may have. */
const blobsNamed = (row: LocalRow | undefined): ReadonlySet<string> =>
  new Set(
    blobKeysIn(row?.body as string | undefined).flatMap((keys) => keys.map((blob) => `${row!.rev} ${blob}`)),
  );
