/** What a plan writes: the rows that folds made, and counters. */
import type { BlobRefRow, BodyRow, DatabaseTables, DocRow, InfoRow, LocalRow } from '../store/schema';
import type { Write } from '../store/store';
import { type BodyKey, DocFold } from './doc-fold';
import { bodyRow } from './doc-rows';

type Writes = Write<DatabaseTables>[];

/** The rows of all folds, and the counters, which change by difference (I1). */
export function finishDocuments(
  ids: readonly string[],
  folds: readonly (DocRow | DocFold | undefined)[],
  { docs, info: counted }: { readonly docs: readonly (DocRow | undefined)[]; readonly info: InfoRow },
  seq: number,
): {
  writes: Writes;
  lacking: readonly string[];
  refs: readonly BlobRefRow[];
  /** The seq of the first document that had a past revision whose body came late. */
  lateAt: number;
} {
  const rows: DocRow[] = [];
  const refs: BlobRefRow[] = [];
  const bodies: BodyRow[] = [];
  const gone: BodyKey[] = [];
  const lacking: string[] = [];
  let lateAt = Number.POSITIVE_INFINITY;
  let live = 0;
  let dead = 0;
  let fresh = true;
  const add = (row: DocRow, before: DocRow | undefined): void => {
    rows.push(row);
    row.deleted ? dead++ : live++;
    if (before === undefined) return;
    before.deleted ? dead-- : live--;
    fresh = false;
  };
  const addFold = (fold: DocFold, id: string, before: DocRow | undefined): void => {
    const folded = fold.finish();
    if (folded === undefined) lacking.push(id);
    if (folded?.row === undefined) return;
    if (fold.isLate) lateAt = Math.min(lateAt, folded.row.seq);
    for (const each of folded.bodies) bodies.push(each);
    for (const each of folded.gone) gone.push(each);
    for (const each of folded.refs) refs.push(each);
    add(folded.row, before);
  };
  /** The row of an edit that needed no fold: the winner before it is a past revision now. */
  const addSimple = (row: DocRow, before: DocRow | undefined): void => {
    if (before !== undefined) bodies.push(bodyRow(before));
    add(row, before);
  };
  for (let i = 0; i < folds.length; i++) {
    const fold = folds[i];
    if (fold instanceof DocFold) addFold(fold, ids[i]!, docs[i]);
    else if (fold !== undefined) addSimple(fold, docs[i]);
  }
  const writes: Writes = [];
  if (gone.length > 0) writes.push({ into: 'bodies', delete: gone });
  if (bodies.length > 0) writes.push({ into: 'bodies', put: bodies });
  if (rows.length > 0) writes.push({ into: 'docs', put: rows, fresh });
  if (seq !== counted.update_seq) {
    const info: InfoRow = {
      ...counted,
      update_seq: seq,
      doc_count: counted.doc_count + live,
      doc_del_count: counted.doc_del_count + dead,
    };
    writes.push({ into: 'info', put: [info] });
  }
  return { writes, lacking, refs, lateAt };
}

/** Rows of `local` that differ from those found. */
export function localWrites(
  keys: readonly string[],
  before: readonly (LocalRow | undefined)[],
  after: readonly (LocalRow | undefined)[],
  writes: Writes,
): void {
  const put: LocalRow[] = [];
  const gone: string[] = [];
  for (let i = 0; i < after.length; i++) {
    const row = after[i];
    if (row === before[i]) continue;
    if (row === undefined) gone.push(keys[i]!);
    else put.push(row);
  }
  if (put.length > 0) writes.push({ into: 'local', put });
  if (gone.length > 0) writes.push({ into: 'local', delete: gone });
}
