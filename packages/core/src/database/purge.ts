/**
 * `purge`: forgets a leaf, and the ancestors that only it has, without a tombstone. It does not replicate: another database that
 * still has the revision may send it again.
 */
import { badRequest, checkId, hasRev, notFound, parseRev, type RevTree, removeLeaf, winner } from '../model';
import type { Rev } from '../model/types';
import { under } from '../store/keys';
import type { BlobRefRow, BodyRow, DatabaseTables, DocRow, InfoRow } from '../store/schema';
import type { CallOptions, Durability, Plan, Store, Write } from '../store/store';
import { loadAttachments } from './code';
import { bodyLacking, docRow } from './doc-rows';
import { type IndexPlace, runQueries, runsAt, withoutRows } from './index-rows';
import { INFO_QUERY, infoOf } from './info';
import { TREE_TEXTS, treeOf } from './tip';

export interface Purged {
  readonly ok: true;
  readonly deletedRevs: Rev[];
  readonly documentWasRemovedCompletely: boolean;
}

/** @throws DatabaseError 404 for an unknown document or revision, 400 for a revision that is not a leaf */
export async function purge(
  store: Store<DatabaseTables>,
  id: string,
  rev: Rev,
  options: CallOptions & { readonly durability?: Durability | undefined },
): Promise<Purged> {
  options.signal?.throwIfAborted();
  checkId(id);
  parseRev(rev);
  const indexed = { from: 'index', by: 'doc', range: under(id) } as const;
  for (;;) {
    const [expected] = await store.read([indexed], { signal: options.signal });
    const done = await store.write(
      [
        INFO_QUERY,
        { from: 'docs', keys: [id], texts: TREE_TEXTS },
        { from: 'bodies', range: under(id) },
        { from: 'blobrefs', by: 'doc', range: under(id) },
        { from: 'views', range: { gte: '' } },
        indexed,
        ...runQueries(expected),
      ],
      ([info, [row], bodies, refs, views, rows, ...runs]) => {
        const { writes, value } = planPurge(infoOf(info), row, bodies, refs, id, rev);
        // A document that still exists has a new seq, from which its indexes learn of the change.
        if (!value.purged.documentWasRemovedCompletely) return { writes, value };
        if (!samePlaces(rows, expected)) return { writes: [], value: undefined };
        return { writes: [...writes, ...withoutRows(rows, runsAt(rows, runs), views)], value };
      },
      { signal: options.signal, durability: options.durability, makesRoom: 'later' },
    );
    if (done === undefined) continue;
    // Otherwise a compaction does it.
    if (done.freed.length > 0) {
      const sweep = loadAttachments().then(({ sweepBlobs }) =>
        sweepBlobs(store, done.freed, options.durability),
      );
      await sweep.catch(() => {});
    }
    return done.purged;
  }
}

/** False if an index was updated between finding the rows to remove and removing them. */
function samePlaces(rows: readonly IndexPlace[], expected: readonly IndexPlace[]): boolean {
  return JSON.stringify(rows.map(placeOf)) === JSON.stringify(expected.map(placeOf));
}

const placeOf = ({ tag, key, n }: IndexPlace): readonly unknown[] => [tag, key, n];

function planPurge(
  info: InfoRow,
  row: DocRow | undefined,
  bodies: readonly BodyRow[],
  refs: readonly BlobRefRow[],
  id: string,
  rev: Rev,
): Plan<DatabaseTables, { readonly purged: Purged; readonly freed: readonly string[] }> {
  const before = row === undefined ? undefined : treeOf(row);
  if (row === undefined || before === undefined || !hasRev(before, rev)) throw notFound('missing', id);
  const rest = removeLeaf(before, rev);
  if (rest === undefined) throw badRequest(`Only a leaf can be purged, and ${rev} has been edited further`);
  const { tree, removed } = rest;
  const seq = info.update_seq + 1;
  const after = tree === undefined ? undefined : rowAfter(row, tree, seq, bodies);
  const isGone = (row: { readonly rev: Rev }): boolean => tree === undefined || !hasRev(tree, row.rev);
  const gone = bodies.filter((body) => body.rev === after?.rev || isGone(body));
  // Those too of revisions that `revs_limit` forgot: a compaction does not look at a document of which only a first revision is left.
  const stale = refs.filter(isGone);
  const writes: Write<DatabaseTables>[] = [
    { into: 'bodies', delete: gone.map((body) => [id, body.rev]) },
    { into: 'blobrefs', delete: stale.map((ref) => [ref.blob, id, ref.rev]) },
    after === undefined ? { into: 'docs', delete: [id] } : { into: 'docs', put: [after] },
    { into: 'info', put: [counted(info, row, after, seq)] },
  ];
  const purged: Purged = {
    ok: true,
    deletedRevs: removed,
    documentWasRemovedCompletely: after === undefined,
  };
  return { writes, value: { purged, freed: stale.map(({ blob }) => blob) } };
}

function rowAfter(row: DocRow, tree: RevTree, seq: number, bodies: readonly BodyRow[]): DocRow {
  const best = winner(tree);
  const holder = best.rev === row.rev ? row : bodies.find((body) => body.rev === best.rev);
  if (holder === undefined) throw bodyLacking(row.id, best.rev);
  return docRow(row.id, seq, best.rev, best.deleted, tree, holder.body);
}

function counted(info: InfoRow, before: DocRow, after: DocRow | undefined, seq: number): InfoRow {
  const live = (row: DocRow | undefined): number => (row !== undefined && !row.deleted ? 1 : 0);
  const dead = (row: DocRow | undefined): number => (row?.deleted ? 1 : 0);
  return {
    ...info,
    update_seq: seq,
    purge_seq: info.purge_seq + 1,
    doc_count: info.doc_count + live(after) - live(before),
    doc_del_count: info.doc_del_count + dead(after) - dead(before),
  };
}
