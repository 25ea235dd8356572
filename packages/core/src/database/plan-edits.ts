/** The plan of a write: many edits → rows, counters and one outcome per edit. */
import { isDatabaseError } from '../model/errors';
import type { Rev, WriteFailure } from '../model/types';
import type { BodyRow, DatabaseTables, DocRow, InfoRow, LocalRow } from '../store/schema';
import type { Plan } from '../store/store';
import type { AttachmentsFound, ContentDecision } from './attachment-plan';
import { COMPACTED, compactedRow, compactedSeq } from './compacted';
import { type Applied, DocFold, type FoldRules } from './doc-fold';
import { bodyText, docRow, type Mutable } from './doc-rows';
import type { Batch } from './edit-batch';
import { failureRow, type NewEdit, type ReplicatedEdit } from './edits';
import { applyLocal } from './local-docs';
import { finishDocuments, localWrites } from './plan-rows';
import { isUnread, tipAfter } from './tip';

/** The outcome of an edit. */
export type Outcome = { readonly ok: true; readonly id: string; readonly rev: Rev } | WriteFailure;

/** What a plan has read; rows are in the order of the batch's ids. */
interface Found {
  readonly docs: readonly (DocRow | undefined)[];
  /** By id, if they were read. */
  readonly bodies: ReadonlyMap<string, readonly BodyRow[]> | undefined;
  readonly locals: readonly (LocalRow | undefined)[];
  /** Given if bodies were read and there has been a compaction. */
  readonly compacted?: LocalRow | undefined;
  readonly info: InfoRow;
  /** Given if an edit has attachments, or bodies that had some may be deleted. */
  readonly attachments: AttachmentsFound | undefined;
}

export interface Decision {
  readonly outcomes: readonly Outcome[];
  /** Documents whose bodies must be read first; if there are any, nothing is written. */
  readonly lacking: readonly string[];
  /** Trees must be read first; nothing is written. */
  readonly lacksTrees?: true;
  /** Given if there were attachments. */
  readonly content?: ContentDecision;
}

const NONE: readonly never[] = [];

export function planEdits(batch: Batch, found: Found, rules: FoldRules): Plan<DatabaseTables, Decision> {
  const { edits, places } = batch;
  const { attachments } = found;
  const folds = new Array<DocRow | DocFold | undefined>(batch.ids.length);
  /** For the place of each simple row, the edit that made it. */
  const firsts = new Array<DocEdit>(batch.ids.length);
  const locals = found.locals.length === 0 ? NONE : [...found.locals];
  let seq = found.info.update_seq;
  const outcomes = new Array<Outcome>(edits.length);
  for (let i = 0; i < edits.length; i++) {
    const edit = edits[i]!;
    const place = places[i]!;
    if (edit.kind === 'local') {
      const rows = locals as (LocalRow | undefined)[];
      outcomes[i] = attachments?.applyLocal(edit, rows, ~place) ?? applyLocal(edit, rows, ~place);
      continue;
    }
    let fold = folds[place];
    const before = found.docs[place];
    // Most edits make a new document, or the next revision of a winner: nothing to fold, unless another edit of the document follows.
    const simple = fold === undefined ? simpleRow(before, edit, seq + 1, found, rules) : undefined;
    if (simple !== undefined) {
      folds[place] = simple;
      firsts[place] = edit;
      seq += 1;
      outcomes[i] = { ok: true, id: edit.id, rev: edit.rev };
      continue;
    }
    if (!(fold instanceof DocFold)) {
      const begun = fold;
      if (isUnread(before?.tree)) return { writes: [], value: { outcomes, lacking: NONE, lacksTrees: true } };
      fold = new DocFold(edit.id, before, found.bodies?.get(edit.id), rules, attachments?.of(edit.id));
      if (begun !== undefined) apply(fold, firsts[place]!, begun.seq);
      folds[place] = fold;
    }
    const applied = apply(fold, edit, seq + 1);
    if (isDatabaseError(applied)) outcomes[i] = failureRow(edit.id, applied);
    else {
      if (applied.changed) seq += 1;
      outcomes[i] = { ok: true, id: edit.id, rev: applied.rev };
    }
  }
  const documents = finishDocuments(batch.ids, folds, found, seq);
  if (documents.lacking.length > 0) return { writes: [], value: { outcomes, lacking: documents.lacking } };
  if (locals !== NONE) localWrites(batch.locals, found.locals, locals, documents.writes);
  // A late body sets the position of compaction back, so that the next one looks at its document again; unless the edits set it.
  if (documents.lateAt <= compactedSeq(found.compacted) && !batch.locals.includes(COMPACTED))
    documents.writes.push({ into: 'local', put: [compactedRow(found.compacted, documents.lateAt - 1)] });
  if (attachments === undefined) return { writes: documents.writes, value: { outcomes, lacking: NONE } };
  const content = attachments.finish(documents.refs, folds);
  documents.writes.push(...content.writes);
  return { writes: documents.writes, places: content.named, value: { outcomes, lacking: NONE, content } };
}

type DocEdit = NewEdit | ReplicatedEdit;

/** The row after an edit that makes the winner and leaves everything else as it was; `undefined` if a fold is needed. */
function simpleRow(
  before: DocRow | undefined,
  edit: DocEdit,
  seq: number,
  { attachments }: Found,
  { autoCompaction, revsLimit }: FoldRules,
): DocRow | undefined {
  const { id, rev, body } = edit;
  if (before === undefined)
    return isFirst(edit) ? docRow(id, seq, rev, isDeletion(edit), undefined, bodyText(body)) : undefined;
  if (edit.kind !== 'new' || autoCompaction || attachments !== undefined) return undefined;
  const tip = tipAfter(before, edit, revsLimit);
  if (tip === undefined) return undefined;
  const row: Mutable<DocRow> = docRow(id, seq, rev, edit.deleted, undefined, bodyText(body));
  if (before.tree !== undefined) row.tree = before.tree;
  row.tip = tip;
  return row;
}

/** On a document that does not exist the edit makes a tree of one revision, and nothing else. */
const isFirst = (edit: DocEdit): boolean =>
  edit.attachments === undefined &&
  (edit.kind === 'new' ? edit.parent === undefined : edit.path.hashes.length === 1);

const isDeletion = (edit: DocEdit): boolean => (edit.kind === 'new' ? edit.deleted : edit.path.deleted);

const apply = (fold: DocFold, edit: DocEdit, seq: number): Applied =>
  edit.kind === 'new' ? fold.edit(edit, seq) : fold.replicate(edit, seq);
