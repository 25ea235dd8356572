/**
 * `compact`: drops the bodies of past revisions, then content that no revision refers to any more, then lets the store give back
 * dead space.
 *
 * It looks only at documents changed since the last compaction (`compacted.ts`), or since the position to which a late body set it
 * back. It works in slices, so that writes and reads go on in between; an interrupted compaction is continued where it was.
 */
import { generationOf, isLeaf, isQuotaExceeded } from '../model';
import type { Rev } from '../model/types';
import { under } from '../store/keys';
import type { BlobRefRow, BodyRow, DatabaseTables, DocRow } from '../store/schema';
import type { CallOptions, Plan, Store, Write } from '../store/store';
import { loadAttachments } from './code';
import { COMPACTED, compactedRow, compactedSeq } from './compacted';
import { checkInterval } from './interval';
import { hasPast, TREE_TEXTS, treeOf } from './tip';

/** Documents looked at in one commit, and bodies that they have, but for one that has more by itself: some 10 ms of work each. */
const SLICE_DOCS = 1_000;
const SLICE_BODIES = 5_000;

/** Drops the body of every revision that is not a leaf. Every leaf keeps its own, tombstones too. */
export async function compact(
  store: Store<DatabaseTables>,
  { interval, ...options }: CallOptions & { readonly interval?: number },
): Promise<{ ok: true }> {
  // Nothing is polled here, but the same program may ask a remote database.
  checkInterval(interval);
  options.signal?.throwIfAborted();
  try {
    await dropPast(store, options);
  } catch (error) {
    if (!isQuotaExceeded(error)) throw error;
    // Giving back what is dead already may make the room needed to record what else is.
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
    for (const slice of await slicesOf(store, docs, options)) {
      options.signal?.throwIfAborted();
      const reached = await compactSlice(store, slice, since, attached, options);
      if (reached === undefined)
        attached = true; // put since the check
      else since = reached;
      if (reached !== slice.at(-1)!.seq) break;
    }
  }
  await (await loadAttachments()).sweepAll(store, options);
}

/** The documents in parts that have no more bodies than a slice: a document may have a thousand, and a thousand documents a million. */
async function slicesOf(
  store: Store<DatabaseTables>,
  docs: readonly DocRow[],
  { signal }: CallOptions,
): Promise<readonly DocRow[][]> {
  const queries = docs.map(({ id }) => ({ from: 'bodies' as const, count: under(id) }));
  const counts = await store.read(queries, { signal });
  const slices: DocRow[][] = [];
  let room = 0;
  for (const [i, row] of docs.entries()) {
    if (i === 0 || counts[i]! > room) {
      slices.push([]);
      room = SLICE_BODIES;
    }
    slices.at(-1)!.push(row);
    room -= counts[i]!;
  }
  return slices;
}

async function position(store: Store<DatabaseTables>, options: CallOptions): Promise<number> {
  const [rows] = await store.read([{ from: 'local', keys: [COMPACTED], texts: true }], {
    signal: options.signal,
  });
  return compactedSeq(rows[0]);
}

/**
 * Decides by the trees as they are at the commit, since a document may have been edited after it was listed.
 * @param listed the documents that follow after `since`, at least one
 * @param attached whether to look for references to content
 * @returns where to go on. Nothing was done if that is further back, because a late body set the position back, or `undefined`,
 *   because there is content and `attached` is false
 */
async function compactSlice(
  store: Store<DatabaseTables>,
  listed: readonly DocRow[],
  since: number,
  attached: boolean,
  options: CallOptions,
): Promise<number | undefined> {
  const { seq } = listed.at(-1)!;
  // A document of one revision has no other bodies, but where `revs_limit` is 1 it may have references of forgotten revisions.
  const ids = listed.filter((row) => hasPast(row) || generationOf(row.rev) > 1).map((row) => row.id);
  return store.write(
    [
      { from: 'local', keys: [COMPACTED], texts: true },
      { from: 'docs', keys: ids, texts: TREE_TEXTS },
      { from: 'blobs', range: {}, limit: 1 },
      ...ids.map((id) => ({ from: 'bodies' as const, range: under(id) })),
      ...(attached ? ids : []).map((id) => ({
        from: 'blobrefs' as const,
        by: 'doc',
        range: under(id),
      })),
    ],
    ([[position], docs, blobs, ...found]): Plan<DatabaseTables, number | undefined> => {
      const compacted = compactedSeq(position);
      if (compacted < since) return { writes: [], value: compacted };
      if (blobs.length > 0 && !attached) return { writes: [], value: undefined };
      const bodies = found.slice(0, ids.length) as BodyRow[][];
      const refs = found.slice(ids.length) as BlobRefRow[][];
      const isPast = docs.map(pastIn);
      const gone = bodies.flatMap((each, i) => each.filter(isPast[i]!).map(({ id, rev }) => [id, rev]));
      const stale = refs.flatMap((each, i) =>
        each.filter(isPast[i]!).map(({ blob, id, rev }) => [blob, id, rev]),
      );
      const writes: Write<DatabaseTables>[] = [];
      // Unless another compaction got further.
      if (compacted < seq) writes.push({ into: 'local', put: [compactedRow(position, seq)] });
      if (gone.length > 0) writes.push({ into: 'bodies', delete: gone });
      if (stale.length > 0) writes.push({ into: 'blobrefs', delete: stale });
      return { writes, value: seq };
    },
    { signal: options.signal, makesRoom: 'now' },
  );
}

/** Tells of a document which revisions are past: those that are no leaves, and all of one that is gone. */
function pastIn(row: DocRow | undefined): (one: { readonly rev: Rev }) => boolean {
  const tree = row && treeOf(row);
  return ({ rev }) => tree === undefined || !isLeaf(tree, rev);
}

async function hasBlobs(store: Store<DatabaseTables>): Promise<boolean> {
  const [rows] = await store.read([{ from: 'blobs', range: {}, limit: 1 }]);
  return rows.length > 0;
}
