/** Finds in an answer what belongs to the revision that was asked for. */
import { DatabaseError, generationOf, isDatabaseError, isObject } from '@settledb/core';
import { attachmentFault, hasAttachments, type Unfilled } from './attachments';
import { type AnyDoc, type Fetched, faultOf, firstText, isNotFound, type MissingRev, statusOf } from './peer';

/** True for exactly that revision; nothing more has to be looked at. */
export const isAskedFor = (doc: AnyDoc, { id, rev }: MissingRev): boolean =>
  doc._rev === rev && !hasAttachments(doc) && faultOf(doc, id) === undefined;

/** Faults found in the documents of one answer: a document with many revisions is looked at for each, and checked once. */
export type Faults = Map<AnyDoc, string | undefined>;

/** What in the answer belongs to the revision asked for, or else why it is not there. */
export function sort(
  { own, all }: Fetched,
  { id, rev }: MissingRev,
  stubs: Unfilled | undefined,
  faults: Faults,
): { readonly docs: readonly AnyDoc[]; readonly failure?: unknown } {
  const docs: AnyDoc[] = [];
  let failure: unknown;
  for (const row of all) {
    if ('error' in row) {
      if (own.length > 0 ? own.includes(row) : concerns(row.error, rev))
        failure = failureOf(row.error, { id, rev });
      continue;
    }
    const { ok } = row;
    if (!faults.has(ok)) faults.set(ok, faultOf(ok, id));
    let fault = faults.get(ok);
    // What is wrong with the attachments of another revision is told to the request for that.
    if (fault === undefined && !descendsFrom(ok, rev, own.includes(row))) continue;
    fault ??= attachmentFault(ok, stubs?.doc._rev === ok._rev ? stubs : undefined);
    if (fault !== undefined) failure = malformed(id, fault);
    else docs.push(ok);
  }
  if (failure === undefined && docs.length === 0) failure = malformed(id, `${rev} is missing in the answer`);
  return failure === undefined ? { docs } : { docs, failure };
}

/** An error row that names a revision is about that one. */
const concerns = (error: unknown, rev: string): boolean =>
  !isObject(error) || typeof error.rev !== 'string' || error.rev === rev;

/**
 * Whether `doc` is that revision or a descendant of it.
 *
 * @param answersIt `doc` is the answer to the request for `rev`: if its ancestry is cut off before `rev`, it is trusted
 */
function descendsFrom(doc: AnyDoc, rev: string, answersIt: boolean): boolean {
  if (doc._rev === rev) return true;
  const back = generationOf(doc._rev) - generationOf(rev);
  if (back <= 0) return false;
  const { start, ids } = doc._revisions!; // Checked by faultOf.
  return back >= ids.length ? answersIt : `${start - back}-${ids[back]}` === rev;
}

export const malformed = (id: string, fault: string): DatabaseError =>
  new DatabaseError({
    status: 502,
    name: 'malformed_document',
    reason: `Document ${id}: ${fault}`,
    docId: id,
  });

/** An error row of any form, as an error. */
export function failureOf(error: unknown, { id, rev }: MissingRev): DatabaseError {
  if (isDatabaseError(error) && error.docId !== undefined) return error;
  const told = isObject(error) ? error : {};
  const word = firstText(told.name === 'Error' ? undefined : told.name, told.error) ?? 'fetch_failed';
  const name = isNotFound(error) ? 'not_found' : word;
  const reason = firstText(told.reason, told.message) ?? name;
  const status = statusOf(error) || (name === 'not_found' ? 404 : 500);
  const message = `Document ${id}, revision ${rev}, could not be read: ${reason}`;
  return new DatabaseError({ status, name, reason, message, docId: id, cause: error });
}
