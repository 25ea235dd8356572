/**
 * Writes documents to the target as they are (`new_edits: false`), which can be repeated without harm.
 *
 * Sorts what the target says about single documents: refused ones are skipped, anything else stops the run.
 */
import { type Doc, inHalves, isDatabaseError, whyOf } from '@settledb/core';
import type { Fetcher } from './fetcher';
import {
  type AnyDoc,
  ask,
  checkBulkDocs,
  type FailedRow,
  isClosed,
  isRefusal,
  isTooLarge,
  type Peer,
  revisionOf,
  statusOf,
} from './peer';
import { RevSet } from './rev-set';
import type { SourceFailure } from './source-failure';

/** What the target did not take, with the revision that it is about. */
type FailedWrite = FailedRow & { readonly rev: string };

export interface WriteOutcome {
  readonly written: readonly AnyDoc[];
  /** Refused for good: not allowed (401, 403), no design document by the target's rules, or too large even alone (413, 414, 431). */
  readonly denied: readonly FailedWrite[];
  /** Not written, though nobody said that they can never be. Those that are gone from the source are in no list: their successors come later. */
  readonly failed: readonly FailedWrite[];
}

/** Requests in a row that may fail while searching for the documents that make one fail: log2 of a batch, and some. */
const SPLITS = 16;

/**
 * @throws what the target rejects the whole request with; {@link SourceFailure} for a failure of the source, not of a document,
 * while its attachments were read. Then nothing of `docs` counts as written
 */
export async function writeDocs(
  target: Peer,
  docs: readonly AnyDoc[],
  fetcher: Fetcher,
  signal: AbortSignal,
): Promise<WriteOutcome> {
  const anew = (): Writing => ({ target, fetcher, signal, splits: { left: SPLITS } });
  const first = await writeSome(anew(), docs);
  const incomplete = first.failed.filter(({ status }) => status === 412);
  if (incomplete.length === 0) return first;
  // The target lacks the attachment that a stub stands for, although it said that it has the revision: it gets the whole document.
  const wanted = RevSet.of(incomplete);
  const outcomes: WriteOutcome[] = [
    { ...first, failed: first.failed.filter((row) => !incomplete.includes(row)) },
  ];
  const again = docs.filter(({ _id, _rev }) => wanted.has(_id, _rev));
  const unread = new RevSet();
  for await (const portion of fetcher.complete(again)) {
    for (const { id, rev } of portion.failures) unread.add(id, rev);
    if (portion.docs.length > 0) outcomes.push(await writeSome(anew(), portion.docs));
  }
  const failed = incomplete.filter(({ id, rev }) => unread.has(id, rev));
  return joined([...outcomes, { written: [], denied: [], failed }]);
}

const joined = (outcomes: readonly WriteOutcome[]): WriteOutcome => ({
  written: outcomes.flatMap(({ written }) => written),
  denied: outcomes.flatMap(({ denied }) => denied),
  failed: outcomes.flatMap(({ failed }) => failed),
});

/** One request, and the smaller ones it may be taken apart into. */
interface Writing {
  readonly target: Peer;
  readonly fetcher: Fetcher;
  readonly signal: AbortSignal;
  readonly splits: { left: number };
}

async function writeSome(writing: Writing, docs: readonly AnyDoc[]): Promise<WriteOutcome> {
  const { target, fetcher, signal, splits } = writing;
  fetcher.takeStreamFailure();
  let rows: FailedWrite[];
  try {
    const request = { docs: docs as readonly Doc[], new_edits: false };
    const answer = await ask(signal, () => target.bulkDocs(request, { new_edits: false, signal }));
    rows = named(checkBulkDocs(answer, docs), docs);
    splits.left = SPLITS;
  } catch (error) {
    const failure = fetcher.takeStreamFailure();
    if (failure !== undefined) return sourceFailed(docs, failure, fetcher);
    // Each half is judged anew by its size (413) or its stubs (412), so these are split without limit, up to twice as many requests as
    // documents; any other error may be the fault of some documents, as long as others are taken, or of none.
    const isOfSome = [412, 413].includes(statusOf(error)) && !isClosed(error);
    if (!isOfSome && !(isInvalid(error) && splits.left-- > 0)) throw error;
    if (docs.length > 1) return joined(await inHalves(docs, (half) => writeSome(writing, half)));
    rows = docs.map((doc) => refusedAlone(doc, error));
  }
  const failure = fetcher.takeStreamFailure();
  if (rows.length > 0 && failure !== undefined) return sourceFailed(docs, failure, fetcher);
  const denied = rows.filter((row) => isRefusal(row) || isTooLarge(row) || isNoDesign(row));
  const failed = rows.filter((row) => !denied.includes(row));
  return { written: without(docs, rows), denied, failed };
}

/** Not written, because the source failed while being read: no refusal, whatever the target answered. @throws what concerns all */
async function sourceFailed(
  docs: readonly AnyDoc[],
  failure: SourceFailure,
  fetcher: Fetcher,
): Promise<WriteOutcome> {
  if (!failure.ofDocument) throw failure;
  const { error } = failure;
  const status = statusOf(error);
  const name = isDatabaseError(error) ? error.name : 'fetch_failed';
  const message = whyOf(error);
  const reason = isDatabaseError(error) ? error.reason : message;
  const row = { error: true, status, name, message, reason } as const;
  // Some may have been edited and compacted before their attachments could be read.
  const left = await fetcher.notGone(docs.map((doc) => ({ ...revisionOf(doc), error })));
  return { written: [], denied: [], failed: left.map(({ id, rev }) => ({ id, rev, ...row })) };
}

/** CouchDB checks design documents. An invalid one stays invalid, and must not keep all others waiting. */
const isNoDesign = ({ name }: FailedRow): boolean => name === 'invalid_design_doc';

/** A target may refuse a whole request for one document that is invalid by its rules. */
const isInvalid = (error: unknown): boolean =>
  statusOf(error) === 400 ||
  error instanceof RangeError ||
  (isDatabaseError(error) && error.name === 'doc_validation');

/** Every row with the revision it is about, once; a row that names none is about all revisions of its document that no other names. */
function named(rows: readonly FailedRow[], docs: readonly AnyDoc[]): FailedWrite[] {
  if (rows.length === 0) return []; // the usual case
  const written = RevSet.of(docs.map(revisionOf));
  const isExact = (row: FailedRow): row is FailedWrite =>
    row.rev !== undefined && written.has(row.id, row.rev);
  const others = rows
    .filter((row) => !isExact(row))
    .flatMap((row) => docs.filter(({ _id }) => _id === row.id).map(({ _rev }) => ({ ...row, rev: _rev })));
  const seen = new RevSet();
  return [...rows.filter(isExact), ...others].filter(({ id, rev }) => seen.add(id, rev));
}

function refusedAlone(doc: AnyDoc, error: unknown): FailedWrite {
  const reason = error instanceof Error ? error.message : 'refused';
  const status = statusOf(error);
  const name = status === 413 ? 'too_large' : status === 412 ? 'missing_stub' : 'doc_validation';
  return { ...revisionOf(doc), error: true, status, name, message: reason, reason };
}

/** The documents that no row is about. */
function without(docs: readonly AnyDoc[], rows: readonly FailedWrite[]): readonly AnyDoc[] {
  if (rows.length === 0) return docs;
  const failed = RevSet.of(rows);
  return docs.filter(({ _id, _rev }) => !failed.has(_id, _rev));
}
