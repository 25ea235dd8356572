/**
 * The plan of a write: many edits → rows, counters and one outcome per edit.
 *
 * Nearly every write can name beforehand what it reads: rows, trees and counters, never body text. The exception is a
 * document whose winner dies while another leaf lives: that leaf's body moves from `bodies` to `docs`. (And a past revision that
 * comes after its children: is its body there?) The plan then writes nothing and says which documents it needs whole, and {@link writeEdits} plans again with their bodies.
 */
import { isDatabaseError } from '../model/errors';
import type { Rev, WriteFailure } from '../model/types';
import type { BlobRefRow, BodyRow, DatabaseTables, DocRow, InfoRow, LocalRow } from '../store/schema';
import type { Durability, FoundAll, Plan, Store, Write } from '../store/store';
import type { AttachmentQueries, AttachmentsFound, ContentDecision } from './attachment-plan';
import { loadAttachments } from './code';
import { COMPACTED, compactedRow, compactedSeq } from './compacted';
import {
  type Applied,
  type BodyKey,
  bodyRow,
  bodyText,
  DocFold,
  docRow,
  type FoldRules,
  type Mutable,
} from './doc-fold';
import { type Edit, failureRow, localKey, type NewEdit, type ReplicatedEdit } from './edits';
import { infoOf } from './info';
import { applyLocal } from './local-docs';
import { isUnread, TREE_TEXTS, tipAfter } from './tip';

/** What an edit came to. */
export type Outcome = { readonly ok: true; readonly id: string; readonly rev: Rev } | WriteFailure;

type Writes = Write<DatabaseTables>[];

/** Edits by what they are about: which document, or which `_local/` document, each edit's place in its list. */
interface Batch {
  readonly edits: readonly Edit[];
  readonly ids: readonly string[];
  readonly locals: readonly string[];
  /** By edit: its document's place in `ids`, or `~place` in `locals`. */
  readonly places: readonly number[];
}

/** What a plan finds; rows in the order of the batch's ids. */
interface Found {
  readonly docs: readonly (DocRow | undefined)[];
  /** By id, where they were read. */
  readonly bodies: ReadonlyMap<string, readonly BodyRow[]> | undefined;
  readonly locals: readonly (LocalRow | undefined)[];
  /** Where bodies were read, and something was compacted. */
  readonly compacted?: LocalRow | undefined;
  readonly info: InfoRow;
  /** Where an edit has attachments, or bodies may go that had some. */
  readonly attachments: AttachmentsFound | undefined;
}

interface Decision {
  readonly outcomes: readonly Outcome[];
  /** Documents whose bodies must be read first; when there are any, nothing is written. */
  readonly lacking: readonly string[];
  /** Trees must be read first; nothing is written. */
  readonly lacksTrees?: true;
  /** Where there were attachments. */
  readonly content?: ContentDecision;
}

const NONE: readonly never[] = [];

/**
 * As {@link writeEdits}, at once, where the store does that and no more than rows and counters are read.
 *
 * @returns undefined when nothing was written
 */
export function writeEditsNow(
  store: Store<DatabaseTables>,
  edits: readonly Edit[],
  rules: FoldRules,
  durability: Durability | undefined,
): readonly Outcome[] | undefined {
  if (store.writeNow === undefined || rules.autoCompaction) return undefined;
  for (let i = 0; i < edits.length; i++) if (edits[i]!.attachments !== undefined) return undefined;
  const batch = batchOf(edits);
  // Not taken apart in the head of the function: until V8 has optimised that, it is a walk with an iterator.
  const plan = (found: FoundFirst): Plan<DatabaseTables, Decision> => {
    const info = infoOf(found[0]);
    return planEdits(
      batch,
      { info, docs: found[1], locals: found[2], bodies: undefined, attachments: undefined },
      rules,
    );
  };
  const decided = store.writeNow(firstQueries(batch, takesTrees(edits)), plan, durability)?.value;
  if (decided === undefined || decided.lacksTrees || decided.lacking.length > 0) return undefined;
  return decided.outcomes;
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
  const batch = batchOf(edits);
  let whole: readonly string[] = rules.autoCompaction ? batch.ids : NONE;
  const needed = rules.autoCompaction || edits.some((edit) => edit.attachments !== undefined);
  const attaching = needed ? await loadAttachments() : undefined;
  let trees = needed || takesTrees(edits);
  // At most once around for trees and once per document that lacks its bodies, and more than twice only when other writers interfere.
  for (;;) {
    const asked = whole;
    const attached = attaching?.attachmentQueries(edits, rules.autoCompaction ? asked : NONE);
    const decided = store.write(
      queriesOf(batch, trees, asked, attached),
      ([info, docs, locals, [compacted], ...rest]) => {
        const bodies = rest as BodyRow[][];
        const byId = asked.length === 0 ? undefined : new Map(asked.map((id, i) => [id, bodies[i] ?? NONE]));
        const attachments = attached && attaching?.attachmentsFound(attached, rest.slice(asked.length));
        const found = { info: infoOf(info), docs, locals, compacted, bodies: byId, attachments };
        return planEdits(batch, found, rules);
      },
      { durability },
    );
    const decision = await (attaching === undefined
      ? decided
      : decided.catch((error) => attaching.gone(store, edits, error)));
    if (decision === undefined) continue;
    const { outcomes, lacking, content } = decision;
    if (decision.lacksTrees) {
      trees = true;
      continue;
    }
    if (lacking.length > 0) {
      whole = [...new Set([...whole, ...lacking])];
      continue;
    }
    if (content === undefined || attaching === undefined) return outcomes;
    attaching.settle(edits, content.named);
    // The write is done, whatever becomes of the rest: a compaction does it too.
    if (content.replaced.length > 0) await store.blobs.drop(content.replaced).catch(() => {});
    if (content.freed.length > 0)
      await attaching.sweepBlobs(store, content.freed, durability).catch(() => {});
    return outcomes;
  }
}

function batchOf(edits: readonly Edit[]): Batch {
  if (edits.length === 1) {
    const { kind, id } = edits[0]!;
    if (kind === 'local') return { edits, ids: NONE, locals: [localKey(id)], places: [~0] };
    return { edits, ids: [id], locals: NONE, places: [0] };
  }
  const ids: string[] = [];
  const locals: string[] = [];
  const known = new Map<string, number>();
  const places = new Array<number>(edits.length);
  for (let i = 0; i < edits.length; i++) {
    const { id, kind } = edits[i]!;
    let place = known.get(id);
    if (place === undefined) {
      // One map for both: an id that begins with `_local/` is never a document's.
      place = kind === 'local' ? ~(locals.push(localKey(id)) - 1) : ids.push(id) - 1;
      known.set(id, place);
    }
    places[i] = place;
  }
  return { edits, ids, locals, places };
}

/** Of edits made here that delete nothing the tree is hardly ever read ({@link tipAfter}). */
const takesTrees = (edits: readonly Edit[]): boolean =>
  edits.some((edit) => edit.kind === 'replicated' || (edit.kind === 'new' && edit.deleted));

const INFO_KEYS = ['info'];
const TIP = ['tip'];

function firstQueries({ ids, locals }: Batch, trees: boolean) {
  return [
    { from: 'info', keys: INFO_KEYS },
    { from: 'docs', keys: ids, texts: trees ? TREE_TEXTS : TIP },
    { from: 'local', keys: locals },
  ] as const;
}

type FoundFirst = FoundAll<DatabaseTables, ReturnType<typeof firstQueries>>;

function queriesOf(
  batch: Batch,
  trees: boolean,
  whole: readonly string[],
  attached: AttachmentQueries | undefined,
) {
  return [
    ...firstQueries(batch, trees),
    { from: 'local', keys: whole.length === 0 ? NONE : [COMPACTED], texts: true },
    ...whole.map((id) => ({ from: 'bodies' as const, range: { gte: [id], lte: [id, []] as const } })),
    ...(attached?.queries ?? NONE),
  ] as const;
}

function planEdits(batch: Batch, found: Found, rules: FoldRules): Plan<DatabaseTables, Decision> {
  const { edits, places } = batch;
  const { attachments } = found;
  const folds = new Array<DocRow | DocFold | undefined>(batch.ids.length);
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
    // A document that is new, or its winner's next revision, as most are: nothing to fold, unless another edit follows.
    const simple = fold === undefined ? simpleRow(before, edit, seq + 1, found, rules) : undefined;
    if (simple !== undefined) {
      folds[place] = simple;
      seq += 1;
      outcomes[i] = { ok: true, id: edit.id, rev: edit.rev };
      continue;
    }
    if (!(fold instanceof DocFold)) {
      const begun = fold;
      if (isUnread(before?.tree)) return { writes: [], value: { outcomes, lacking: NONE, lacksTrees: true } };
      fold = new DocFold(edit.id, before, found.bodies?.get(edit.id), rules, attachments?.of(edit.id));
      if (begun !== undefined) apply(fold, edits[places.indexOf(place)] as DocEdit, begun.seq);
      folds[place] = fold;
    }
    const applied = apply(fold, edit, seq + 1);
    if (!isFailure(applied) && applied.changed) seq += 1;
    outcomes[i] = outcome(edit.id, applied);
  }
  const documents = finishDocuments(batch.ids, folds, found, seq);
  if (documents.lacking.length > 0) return { writes: [], value: { outcomes, lacking: documents.lacking } };
  if (locals !== NONE) localWrites(batch.locals, found.locals, locals, documents.writes);
  // One compaction more may look at a document that was in the last one; unless the edits say where compaction is themselves.
  if (documents.lateAt <= compactedSeq(found.compacted) && !batch.locals.includes(COMPACTED))
    documents.writes.push({ into: 'local', put: [compactedRow(found.compacted, documents.lateAt - 1)] });
  if (attachments === undefined) return { writes: documents.writes, value: { outcomes, lacking: NONE } };
  const content = attachments.finish(documents.refs, new Map(batch.ids.map((id, i) => [id, folds[i]])));
  documents.writes.push(...content.writes);
  return { writes: documents.writes, places: content.named, value: { outcomes, lacking: NONE, content } };
}

type DocEdit = NewEdit | ReplicatedEdit;

/** The row after an edit that makes the winner, and leaves everything else as it was; `undefined` where that takes a fold. */
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

/** Of a document that is not there it makes a tree of one revision, and nothing else. */
const isFirst = (edit: DocEdit): boolean =>
  edit.attachments === undefined &&
  (edit.kind === 'new' ? edit.parent === undefined : edit.path.hashes.length === 1);

const isDeletion = (edit: DocEdit): boolean => (edit.kind === 'new' ? edit.deleted : edit.path.deleted);

const apply = (fold: DocFold, edit: DocEdit, seq: number): Applied =>
  edit.kind === 'new' ? fold.edit(edit, seq) : fold.replicate(edit, seq);

const isFailure = (applied: Applied): applied is Extract<Applied, Error> => isDatabaseError(applied);

function outcome(id: string, applied: Applied): Outcome {
  return isFailure(applied) ? failureRow(id, applied) : { ok: true, id, rev: applied.rev };
}

/** The rows of all folds, and the counters, which change by difference (I1). */
function finishDocuments(
  ids: readonly string[],
  folds: readonly (DocRow | DocFold | undefined)[],
  found: Found,
  seq: number,
): {
  writes: Writes;
  lacking: readonly string[];
  refs: readonly BlobRefRow[];
  /** Seq of the first document of which a past revision got its body. */
  lateAt: number;
} {
  const rows: DocRow[] = [];
  let refs: readonly BlobRefRow[] = NONE;
  const bodies: BodyRow[] = [];
  const gone: BodyKey[] = [];
  const lacking: string[] = [];
  let lateAt = Number.POSITIVE_INFINITY;
  let live = 0;
  let dead = 0;
  let fresh = true;
  for (let i = 0; i < folds.length; i++) {
    const fold = folds[i];
    let row: DocRow | undefined;
    if (fold instanceof DocFold) {
      const folded = fold.finish();
      if (folded === undefined) lacking.push(ids[i]!);
      if (folded?.row === undefined) continue;
      row = folded.row;
      if (fold.isLate) lateAt = Math.min(lateAt, row.seq);
      for (const each of folded.bodies) bodies.push(each);
      for (const each of folded.gone) gone.push(each);
      if (folded.refs.length > 0) refs = [...refs, ...folded.refs];
    } else row = fold;
    if (row === undefined) continue;
    rows.push(row);
    const before = found.docs[i];
    if (row === fold && before !== undefined) bodies.push(bodyRow(before));
    if (before !== undefined) {
      before.deleted ? dead-- : live--;
      fresh = false;
    }
    row.deleted ? dead++ : live++;
  }
  const writes: Writes = [];
  if (gone.length > 0) writes.push({ into: 'bodies', delete: gone });
  if (bodies.length > 0) writes.push({ into: 'bodies', put: bodies });
  if (rows.length > 0) writes.push({ into: 'docs', put: rows, fresh });
  if (seq !== found.info.update_seq) {
    const { name, uuid, doc_count, doc_del_count, purge_seq } = found.info;
    const info: InfoRow = {
      name,
      uuid,
      update_seq: seq,
      doc_count: doc_count + live,
      doc_del_count: doc_del_count + dead,
      purge_seq,
    };
    writes.push({ into: 'info', put: [info] });
  }
  return { writes, lacking, refs, lateAt };
}

/** Rows of `local` that differ from what was found. */
function localWrites(
  keys: readonly string[],
  before: Found['locals'],
  after: Found['locals'],
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
