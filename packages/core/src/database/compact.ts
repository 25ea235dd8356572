/**
 * `compact`: drops the bodies of past revisions, then lets the store give back what is dead.
 *
 * Only documents changed since the last compaction are looked at: its position is the local document `_local/compaction`,
 * `{ last_seq }`, which other versions and PouchDB keep too. In slices, so that writes and reads go on between; a
 * compaction that was interrupted goes on where it was.
 */
import { isLeaf } from '../model';
import type { DatabaseTables, DocRow, LocalRow } from '../store/schema';
import type { CallOptions, Plan, Store, Write } from '../store/store';
import { treeOf } from './doc-fold';

/** Documents looked at in one commit: some 10 ms of work. */
const SLICE_DOCS = 1_000;
/** Key of `_local/compaction`. */
const POSITION = 'compaction';

/** Drops every body that is no leaf's. Every leaf keeps its own, tombstones too. */
export async function compact(store: Store<DatabaseTables>, options: CallOptions): Promise<{ ok: true }> {
  options.signal?.throwIfAborted();
  let since = await position(store, options);
  for (;;) {
    options.signal?.throwIfAborted();
    const [docs] = await store.read([{ from: 'docs', by: 'seq', range: { gt: since }, limit: SLICE_DOCS }], {
      signal: options.signal,
    });
    const last = docs.at(-1);
    if (last === undefined) break;
    since = last.seq;
    await compactSlice(store, docs, since, options);
  }
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

/** Decides by the trees as they are at the commit: a document may have been edited since it was listed. */
async function compactSlice(
  store: Store<DatabaseTables>,
  listed: readonly DocRow[],
  seq: number,
  options: CallOptions,
): Promise<void> {
  // A document of one revision has no other bodies.
  const ids = listed.filter((row) => row.tree !== undefined).map((row) => row.id);
  await store.write(
    [
      { from: 'local', keys: [POSITION], texts: true },
      { from: 'docs', keys: ids, texts: ['tree'] },
      ...ids.map((id) => ({ from: 'bodies' as const, range: { gte: [id], lte: [id, []] as const } })),
    ],
    ([positions, docs, ...bodies]): Plan<DatabaseTables, undefined> => {
      const gone: (readonly [string, string])[] = [];
      for (const [i, row] of docs.entries()) {
        const tree = row === undefined ? undefined : treeOf(row);
        for (const { id, rev } of bodies[i]!) {
          if (tree === undefined || !isLeaf(tree, rev)) gone.push([id, rev]);
        }
      }
      const writes: Write<DatabaseTables>[] = [{ into: 'local', put: positionRow(positions[0], seq) }];
      if (gone.length > 0) writes.push({ into: 'bodies', delete: gone });
      return { writes, value: undefined };
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
