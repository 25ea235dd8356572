/**
 * `compact`: drops the bodies of past revisions, then content that no revision refers to any more, then lets the store give back what is dead.
 *
 * Only documents changed since the last compaction are looked at: its position is the local document `_local/compaction`,
 * `{ last_seq }`, which other versions and PouchDB keep too. In slices, so that writes and reads go on between; a
 * compaction that was interrupted goes on where it was.
 */
import { generationOf, isLeaf } from '../model';
import type { BlobRefRow, BodyRow, DatabaseTables, DocRow, LocalRow } from '../store/schema';
import type { CallOptions, Plan, Store, Write } from '../store/store';
import { loadAttachments } from './code';
import { hasPast, TREE_TEXTS, treeOf } from './tip';

/** Documents looked at in one commit: some 10 ms of work. */
const SLICE_DOCS = 1_000;
/** Key of `_local/compaction`. */
const POSITION = 'compaction';

/** Drops every body that is no leaf's. Every leaf keeps its own, tombstones too. */
export async function compact(store: Store<DatabaseTables>, options: CallOptions): Promise<{ ok: true }> {
  options.signal?.throwIfAborted();
  let since = await position(store, options);
  let attached = false;
  for (;;) {
    options.signal?.throwIfAborted();
    const [docs] = await store.read([{ from: 'docs', by: 'seq', range: { gt: since }, limit: SLICE_DOCS }], {
      signal: options.signal,
    });
    const last = docs.at(-1);
    if (last === undefined) break;
    since = last.seq;
    attached ||= await hasBlobs(store);
    if (await compactSlice(store, docs, since, attached, options)) continue;
    attached = true; // since the look
    await compactSlice(store, docs, since, attached, options);
  }
  await (await loadAttachments()).sweepAll(store, options);
  await store.compact({ signal: options.signal });
  return { ok: true };
}

async function position(store: Store<DatabaseTables>, options: CallOptions): Promise<number> {
  const [rows] = await store.read([{ from: 'local', keys: [POSITION], texts: true }], {
    signal: options.signal,
  });
  return lastSeq(rows[0]);
}

function contentOf(row: LocalRow | undefined): Record<string, unknown> {
  return row === undefined ? {} : JSON.parse(row.body as string);
}

function lastSeq(row: LocalRow | undefined): number {
  const { last_seq: seq } = contentOf(row);
  return typeof seq === 'number' && seq >= 0 ? seq : 0;
}

/**
 * Decides by the trees as they are at the commit: a document may have been edited since it was listed.
 * @param attached look for references to content
 * @returns false, with nothing done, when there are some and it was told not to look
 */
async function compactSlice(
  store: Store<DatabaseTables>,
  listed: readonly DocRow[],
  seq: number,
  attached: boolean,
  options: CallOptions,
): Promise<boolean> {
  // A document of one revision has no other bodies; where `revs_limit` is 1, it has references of forgotten ones.
  const ids = listed.filter((row) => hasPast(row) || generationOf(row.rev) > 1).map((row) => row.id);
  return store.write(
    [
      { from: 'local', keys: [POSITION], texts: true },
      { from: 'docs', keys: ids, texts: TREE_TEXTS },
      { from: 'blobs', range: {}, limit: 1 },
      ...ids.map((id) => ({ from: 'bodies' as const, range: { gte: [id], lte: [id, []] as const } })),
      ...(attached ? ids : []).map((id) => ({
        from: 'blobrefs' as const,
        by: 'doc',
        range: { gte: [id], lte: [id, []] as const },
      })),
    ],
    ([positions, docs, blobs, ...found]): Plan<DatabaseTables, boolean> => {
      if (blobs.length > 0 && !attached) return { writes: [], value: false };
      const bodies = found.slice(0, ids.length) as BodyRow[][];
      const refs = found.slice(ids.length) as BlobRefRow[][];
      const gone: (readonly [string, string])[] = [];
      for (const [i, row] of docs.entries()) {
        const tree = row === undefined ? undefined : treeOf(row);
        for (const { id, rev } of bodies[i]!) {
          if (tree === undefined || !isLeaf(tree, rev)) gone.push([id, rev]);
        }
      }
      const writes: Write<DatabaseTables>[] = [{ into: 'local', put: positionRow(positions[0], seq) }];
      if (gone.length > 0) writes.push({ into: 'bodies', delete: gone });
      const stale = refs.flatMap((each, i) => staleRefs(docs[i], each));
      if (stale.length > 0)
        writes.push({ into: 'blobrefs', delete: stale.map((ref) => [ref.blob, ref.id, ref.rev]) });
      return { writes, value: true };
    },
    { signal: options.signal },
  );
}

/** The position moved up to `seq`; nothing when another compaction is further. */
function positionRow(before: LocalRow | undefined, seq: number): LocalRow[] {
  if (before !== undefined && lastSeq(before) >= seq) return [];
  const writes = before === undefined ? 0 : Number(before.rev.slice(2));
  const body = JSON.stringify({ ...contentOf(before), last_seq: seq });
  return [{ id: POSITION, rev: `0-${writes + 1}`, body }];
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
