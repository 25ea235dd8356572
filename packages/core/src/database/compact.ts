/**
 * `compact`: drops the bodies of past revisions, then content that no revision refers to any more, then lets the store give back what is dead.
 *
 * Only documents changed since the last compaction are looked at (`compacted.ts`), and those before which a late body put its position
 * back. In slices, so that writes and reads go on between; a compaction that was interrupted goes on where it was.
 */
import { generationOf, isLeaf, isQuotaExceeded } from '../model';
import type { BlobRefRow, BodyRow, DatabaseTables, DocRow } from '../store/schema';
import type { CallOptions, Plan, Store, Write } from '../store/store';
import { loadAttachments } from './code';
import { COMPACTED, compactedRow, compactedSeq } from './compacted';
import { checkInterval } from './interval';
import { hasPast, TREE_TEXTS, treeOf } from './tip';

/** Documents looked at in one commit: some 10 ms of work. */
const SLICE_DOCS = 1_000;

/** Drops every body that is no leaf's. Every leaf keeps its own, tombstones too. */
export async function compact(
  store: Store<DatabaseTables>,
  { interval, ...options }: CallOptions & { readonly interval?: number },
): Promise<{ ok: true }> {
  // Nothing is asked again here, but the same program may ask either.
  checkInterval(interval);
  options.signal?.throwIfAborted();
  try {
    await dropPast(store, options);
  } catch (error) {
    if (!isQuotaExceeded(error)) throw error;
    // What is dead already may be room enough for saying what else is.
    await store.compact(options);
    await dropPast(store, options);
  }
  await store.compact({ signal: options.signal });
  return { ok: true };
}

async function dropPast(store: Store<DatabaseTables>, options: CallOptions): Promise<void> {
  let since = await position(store, options);
  let attached = false;
  for (;;) {
    options.signal?.throwIfAborted();
    const [docs] = await store.read([{ from: 'docs', by: 'seq', range: { gt: since }, limit: SLICE_DOCS }], {
      signal: options.signal,
    });
    const last = docs.at(-1);
    if (last === undefined) break;
    attached ||= await hasBlobs(store);
    const reached = await compactSlice(store, docs, since, attached, options);
    if (reached === undefined)
      attached = true; // since the look
    else since = reached;
  }
  await (await loadAttachments()).sweepAll(store, options);
}

async function position(store: Store<DatabaseTables>, options: CallOptions): Promise<number> {
  const [rows] = await store.read([{ from: 'local', keys: [COMPACTED], texts: true }], {
    signal: options.signal,
  });
  return compactedSeq(rows[0]);
}

/**
 * Decides by the trees as they are at the commit: a document may have been edited since it was listed.
 * @param listed the documents that follow on `since`, one at least
 * @param attached look for references to content
 * @returns where to go on; with nothing done, further back, when a late body put the position there, and `undefined` when there are
 *   references and it was told not to look
 */
async function compactSlice(
  store: Store<DatabaseTables>,
  listed: readonly DocRow[],
  since: number,
  attached: boolean,
  options: CallOptions,
): Promise<number | undefined> {
  const { seq } = listed.at(-1)!;
  // A document of one revision has no other bodies; where `revs_limit` is 1, it has references of forgotten ones.
  const ids = listed.filter((row) => hasPast(row) || generationOf(row.rev) > 1).map((row) => row.id);
  return store.write(
    [
      { from: 'local', keys: [COMPACTED], texts: true },
      { from: 'docs', keys: ids, texts: TREE_TEXTS },
      { from: 'blobs', range: {}, limit: 1 },
      ...ids.map((id) => ({ from: 'bodies' as const, range: { gte: [id], lte: [id, []] as const } })),
      ...(attached ? ids : []).map((id) => ({
        from: 'blobrefs' as const,
        by: 'doc',
        range: { gte: [id], lte: [id, []] as const },
      })),
    ],
    ([[position], docs, blobs, ...found]): Plan<DatabaseTables, number | undefined> => {
      const compacted = compactedSeq(position);
      if (compacted < since) return { writes: [], value: compacted };
      if (blobs.length > 0 && !attached) return { writes: [], value: undefined };
      const bodies = found.slice(0, ids.length) as BodyRow[][];
      const refs = found.slice(ids.length) as BlobRefRow[][];
      const gone: (readonly [string, string])[] = [];
      for (const [i, row] of docs.entries()) {
        const tree = row === undefined ? undefined : treeOf(row);
        for (const { id, rev } of bodies[i]!) {
          if (tree === undefined || !isLeaf(tree, rev)) gone.push([id, rev]);
        }
      }
      const writes: Write<DatabaseTables>[] = [];
      // Unless another compaction is further.
      if (compacted < seq) writes.push({ into: 'local', put: [compactedRow(position, seq)] });
      if (gone.length > 0) writes.push({ into: 'bodies', delete: gone });
      const stale = refs.flatMap((each, i) => staleRefs(docs[i], each));
      if (stale.length > 0)
        writes.push({ into: 'blobrefs', delete: stale.map((ref) => [ref.blob, ref.id, ref.rev]) });
      return { writes, value: seq };
    },
    { signal: options.signal, makesRoom: 'now' },
  );
}

async function hasBlobs(store: Store<DatabaseTables>): Promise<boolean> {
  const [rows] = await store.read([{ from: 'blobs', range: {}, limit: 1 }]);
  return rows.length > 0;
}

/** References of revisions that are no leaves of their document. */
function staleRefs(row: DocRow | undefined, refs: readonly BlobRefRow[]): BlobRefRow[] {
  const tree = row === undefined ? undefined : treeOf(row);
  return refs.filter(({ rev }) => tree === undefined || !isLeaf(tree, rev));
}
