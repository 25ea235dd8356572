/**
 * The plan of a write: many edits → rows, counters and one outcome per edit.
 *
 * Nearly every write can name beforehand what it reads: rows, trees and counters, never body text. The exception is a
 * document whose winner dies while another leaf lives: that leaf's body moves from `bodies` to `docs`. (And a past revision that
 * comes after its children: is its body there?) The plan then writes nothing and says which documents it needs whole, and {@link writeEdits} plans again with their bodies.
 */
import { corrupt, isDatabaseError } from '../model/errors';
import type { Rev, WriteFailure } from '../model/types';
import type { BodyRow, DatabaseTables, DocRow, InfoRow, LocalRow } from '../store/schema';
import type { Durability, Plan, Store, Write } from '../store/store';
import { type Applied, type BodyKey, DocFold, type FoldRules } from './doc-fold';
import { type Edit, failureRow, localKey } from './edits';
import { applyLocal } from './local-docs';

/** What an edit came to. */
export type Outcome = { readonly ok: true; readonly id: string; readonly rev: Rev } | WriteFailure;

type Writes = Write<DatabaseTables>[];

/** What a plan finds, by key. */
interface Found {
  readonly docs: ReadonlyMap<string, DocRow | undefined>;
  readonly bodies: ReadonlyMap<string, readonly BodyRow[]>;
  readonly locals: ReadonlyMap<string, LocalRow | undefined>;
  readonly info: InfoRow;
}

interface Decision {
  readonly outcomes: readonly Outcome[];
  /** Documents whose bodies must be read first; when there are any, nothing is written. */
  readonly lacking: readonly string[];
}

/**
 * Writes `edits` in one commit; edits of one document in their order.
 *
 * @returns one outcome per edit. Conflicts are outcomes: they do not disturb other edits
 */
export async function writeEdits(
  store: Store<DatabaseTables>,
  edits: readonly Edit[],
  rules: FoldRules,
  durability: Durability | undefined,
): Promise<readonly Outcome[]> {
  const ids = [...new Set(edits.filter((edit) => edit.kind !== 'local').map((edit) => edit.id))];
  const locals = [...new Set(edits.filter((edit) => edit.kind === 'local').map((edit) => localKey(edit.id)))];
  const whole = new Set(rules.autoCompaction ? ids : []);
  // At most once around per document that lacks its bodies, and more than twice only when other writers interfere.
  for (;;) {
    const asked = [...whole];
    const { outcomes, lacking } = await store.write(
      [
        { from: 'info', keys: ['info'] },
        { from: 'docs', keys: ids, texts: ['tree'] },
        { from: 'local', keys: locals },
        ...asked.map((id) => ({ from: 'bodies' as const, range: { gte: [id], lte: [id, []] as const } })),
      ],
      ([info, docs, localRows, ...bodies]) =>
        planEdits(
          edits,
          {
            info: infoOf(info),
            docs: new Map(ids.map((id, i) => [id, docs[i]])),
            bodies: new Map(asked.map((id, i) => [id, bodies[i] ?? []])),
            locals: new Map(locals.map((key, i) => [key, localRows[i]])),
          },
          rules,
        ),
      { durability },
    );
    if (lacking.length === 0) return outcomes;
    for (const id of lacking) whole.add(id);
  }
}

/** The one row of `info`, which opening wrote. */
export function infoOf(rows: readonly (InfoRow | undefined)[]): InfoRow {
  const info = rows[0];
  if (info === undefined) throw corrupt('The row of the database counters is missing');
  return info;
}

function planEdits(edits: readonly Edit[], found: Found, rules: FoldRules): Plan<DatabaseTables, Decision> {
  const folds = new Map<string, DocFold>();
  const locals = new Map(found.locals);
  let seq = found.info.update_seq;
  const outcomes = edits.map((edit): Outcome => {
    if (edit.kind === 'local') return applyLocal(edit, locals);
    let fold = folds.get(edit.id);
    if (fold === undefined) {
      fold = new DocFold(edit.id, found.docs.get(edit.id), found.bodies.get(edit.id), rules);
      folds.set(edit.id, fold);
    }
    const applied = edit.kind === 'new' ? fold.edit(edit, seq + 1) : fold.replicate(edit, seq + 1);
    if (!isFailure(applied) && applied.changed) seq += 1;
    return outcome(edit.id, applied);
  });
  const documents = finishDocuments(folds, found, seq);
  return {
    writes: documents.lacking.length > 0 ? [] : [...documents.writes, ...localWrites(found.locals, locals)],
    value: { outcomes, lacking: documents.lacking },
  };
}

const isFailure = (applied: Applied): applied is Extract<Applied, Error> => isDatabaseError(applied);

function outcome(id: string, applied: Applied): Outcome {
  return isFailure(applied) ? failureRow(id, applied) : { ok: true, id, rev: applied.rev };
}

/** The rows of all folds, and the counters, which change by difference (I1). */
function finishDocuments(
  folds: ReadonlyMap<string, DocFold>,
  found: Found,
  seq: number,
): { writes: Writes; lacking: string[] } {
  const rows: DocRow[] = [];
  const bodies: BodyRow[] = [];
  const gone: BodyKey[] = [];
  const lacking: string[] = [];
  let live = 0;
  let dead = 0;
  for (const [id, fold] of folds) {
    const folded = fold.finish();
    if (folded === undefined) lacking.push(id);
    if (folded?.row === undefined) continue;
    rows.push(folded.row);
    bodies.push(...folded.bodies);
    gone.push(...folded.gone);
    const before = found.docs.get(id);
    if (before !== undefined) before.deleted ? dead-- : live--;
    folded.row.deleted ? dead++ : live++;
  }
  const info: InfoRow = {
    ...found.info,
    update_seq: seq,
    doc_count: found.info.doc_count + live,
    doc_del_count: found.info.doc_del_count + dead,
  };
  const writes: Writes = [];
  if (gone.length > 0) writes.push({ into: 'bodies', delete: gone });
  if (bodies.length > 0) writes.push({ into: 'bodies', put: bodies });
  if (rows.length > 0) writes.push({ into: 'docs', put: rows });
  if (seq !== found.info.update_seq) writes.push({ into: 'info', put: [info] });
  return { writes, lacking };
}

/** Rows of `local` that differ from what was found. */
function localWrites(before: Found['locals'], after: Found['locals']): Writes {
  const put: LocalRow[] = [];
  const gone: string[] = [];
  for (const [key, row] of after) {
    if (row === before.get(key)) continue;
    if (row === undefined) gone.push(key);
    else put.push(row);
  }
  const writes: Writes = [];
  if (put.length > 0) writes.push({ into: 'local', put });
  if (gone.length > 0) writes.push({ into: 'local', delete: gone });
  return writes;
}
