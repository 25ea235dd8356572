/**
 * `bulkGet`: many revisions of many documents, as a replicator asks for them. What is wrong with one entry is the answer to
 * that entry.
 */
import { checkId, type DatabaseError, hasRev, isDatabaseError, missingBulkDocs, parseRev } from '../model';
import type { BulkGetRequest, BulkGetResult, ExistingDoc } from '../model/types';
import type { DatabaseTables } from '../store/schema';
import type { Store } from '../store/store';
import type { BulkGetOptions } from './database';
import { docOf, followed } from './get';
import { type KnownDoc, type RevisionRequest, readRevisions } from './revisions';

interface Entry {
  readonly id: unknown;
  readonly rev?: unknown;
}
type EntryDocs = BulkGetResult['results'][number]['docs'];

/** CouchDB's word for the revision of an entry that named none. */
const NO_REV = 'undefined';

/** One answer per entry, in order. Without `rev` the winner is meant; a deleted document is then an error, as in `get`. */
export async function bulkGet(
  store: Store<DatabaseTables>,
  request: BulkGetRequest & BulkGetOptions,
): Promise<BulkGetResult> {
  request.signal?.throwIfAborted();
  if (!Array.isArray(request.docs)) throw missingBulkDocs();
  const entries = request.docs.map((entry): Entry => entry ?? { id: undefined });
  const refusals = entries.map(refusalOf);
  const wanted = entries.filter((_, i) => refusals[i] === undefined) as { id: string; rev?: string }[];
  const latest = request.latest === true;
  const documents = await readRevisions(
    store,
    wanted.map(({ id, rev }) => requestFor(id, rev, latest)),
    request,
  );
  let at = 0;
  const results = entries.map((entry, i) => {
    const refusal = refusals[i];
    const docs =
      refusal === undefined
        ? answer(documents[at++], entry as { id: string; rev?: string }, request)
        : [refusal];
    return { id: entry.id as string, docs };
  });
  return { results };
}

function requestFor(id: string, rev: string | undefined, latest: boolean): RevisionRequest {
  // No guess: the revision is the winner nearly always, and that comes with the document.
  if (rev === undefined) return { id, guess: [], choose: () => [] };
  return {
    id,
    guess: [],
    choose: ({ row, tree }) => (row.rev === rev ? [rev] : followed(tree, [rev], latest)),
  };
}

function answer(
  document: KnownDoc | undefined,
  { id, rev }: { readonly id: string; readonly rev?: string },
  request: BulkGetOptions,
): EntryDocs {
  if (document === undefined) return [failure(id, rev, 'not_found', 'missing')];
  const { row } = document;
  if (rev === undefined) {
    if (row.deleted) return [failure(id, rev, 'not_found', 'deleted')];
    return [{ ok: docOf(document, row.rev, { revs: request.revs })! }]; // the winner's body comes with its row
  }
  const revs = row.rev === rev ? [rev] : followed(document.tree, [rev], request.latest === true);
  return revs.map((each) => {
    const known = each === row.rev || hasRev(document.tree, each);
    const doc: ExistingDoc | undefined = known ? docOf(document, each, { revs: request.revs }) : undefined;
    return doc === undefined ? failure(id, each, 'not_found', 'missing') : { ok: doc };
  });
}

function failure(id: unknown, rev: unknown, error: string, reason: string): EntryDocs[number] {
  return { error: { id: id as string, rev: (rev ?? NO_REV) as string, error, reason } };
}

/** Why an entry cannot be looked up at all. */
function refusalOf({ id, rev }: Entry): EntryDocs[number] | undefined {
  try {
    if (id === undefined) return failure(null, rev, 'bad_request', 'document id missed');
    checkId(id);
    if (rev !== undefined) parseRev(rev);
    return undefined;
  } catch (error) {
    if (!isDatabaseError(error)) throw error;
    const { name, reason } = error as DatabaseError;
    return failure(id, rev, name, reason);
  }
}
