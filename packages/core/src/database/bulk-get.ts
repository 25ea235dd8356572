/**
 * `bulkGet`: many revisions of many documents, as a replicator asks for them. What is wrong with one entry is the answer to
 * that entry.
 */
import {
  ancestry,
  checkId,
  type DatabaseError,
  docText,
  hasRev,
  isDatabaseError,
  missingBulkDocs,
  parseRev,
} from '../model';
import type { BulkGetRequest, BulkGetResult, Rev } from '../model/types';
import type { DatabaseTables } from '../store/schema';
import type { Store } from '../store/store';
import type { BulkGetOptions } from './database';
import { docOf, followed } from './get-history';
import { type KnownDoc, type RevisionRequest, readRevisions } from './revisions';

interface Entry {
  readonly id: unknown;
  readonly rev?: unknown;
}
type ValidEntry = BulkGetRequest['docs'][number];
type Failure = Extract<BulkGetResult['results'][number]['docs'][number], { readonly error: unknown }>;

/** CouchDB's word for the revision of an entry that named none. */
const NO_REV = 'undefined';

/** One answer per entry, in order. Without `rev` the winner is meant; a deleted document is then an error, as in `get`. */
export async function bulkGet(
  store: Store<DatabaseTables>,
  request: BulkGetRequest & BulkGetOptions,
): Promise<BulkGetResult> {
  const meta = { revs: request.revs };
  const results = await lookUp(store, request, (document, rev) => docOf(document, rev, meta));
  return { results };
}

/**
 * As {@link bulkGet}, each answer as its JSON, of texts as they are stored.
 *
 * @param wantsMore attachments are to come with more than stubs: a document that has some is then `undefined`
 */
export async function bulkGetJson(
  store: Store<DatabaseTables>,
  request: BulkGetRequest & BulkGetOptions,
  wantsMore: boolean,
): Promise<(string | undefined)[]> {
  const results = await lookUp(store, request, (document, rev) => docJson(document, rev, request.revs));
  return results.map(({ id, docs }) => {
    let json = '';
    for (const row of docs) {
      if (!('ok' in row)) json += `${json && ','}${JSON.stringify(row)}`;
      else if (wantsMore && row.ok.includes(ATTACHMENTS)) return undefined;
      else json += `${json && ','}{"ok":${row.ok}}`;
    }
    return `{"id":${JSON.stringify(id)},"docs":[${json}]}`;
  });
}

/** In every document that has some, and in few others. */
const ATTACHMENTS = '"_attachments":';

interface Answer<D> {
  readonly id: string;
  readonly docs: (Failure | { readonly ok: D })[];
}

/** @param make a revision of a document as it is answered; `undefined`: its body is not there */
async function lookUp<D>(
  store: Store<DatabaseTables>,
  request: BulkGetRequest & BulkGetOptions,
  make: (document: KnownDoc, rev: Rev) => D | undefined,
): Promise<Answer<D>[]> {
  request.signal?.throwIfAborted();
  if (!Array.isArray(request.docs)) throw missingBulkDocs();
  const entries = request.docs.map((entry): Entry => entry ?? { id: undefined });
  const refusals = entries.map(refusalOf);
  const wanted = entries.filter((_, i) => refusals[i] === undefined) as ValidEntry[];
  const latest = request.latest === true;
  const documents = await readRevisions(
    store,
    wanted.map(({ id, rev }) => requestFor(id, rev, latest)),
    request,
  );
  let at = 0;
  return entries.map((entry, i) => {
    const refusal = refusals[i];
    const docs =
      refusal === undefined ? answer(documents[at++], entry as ValidEntry, latest, make) : [refusal];
    return { id: entry.id as string, docs };
  });
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

function answer<D>(
  document: KnownDoc | undefined,
  { id, rev }: ValidEntry,
  latest: boolean,
  make: (document: KnownDoc, rev: Rev) => D | undefined,
): Answer<D>['docs'] {
  if (document === undefined) return [failure(id, rev, 'not_found', 'missing')];
  const { row } = document;
  if (rev === undefined) {
    if (row.deleted) return [failure(id, rev, 'not_found', 'deleted')];
    return [{ ok: make(document, row.rev)! }]; // the winner's body comes with its row
  }
  const revs = row.rev === rev ? [rev] : followed(document.tree, [rev], latest);
  return revs.map((each) => {
    const known = each === row.rev || hasRev(document.tree, each);
    const doc = known ? make(document, each) : undefined;
    return doc === undefined ? failure(id, each, 'not_found', 'missing') : { ok: doc };
  });
}

function failure(id: unknown, rev: unknown, error: string, reason: string): Failure {
  return { error: { id: id as string, rev: (rev ?? NO_REV) as string, error, reason } };
}

/** Why an entry cannot be looked up at all. */
function refusalOf({ id, rev }: Entry): Failure | undefined {
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

/** The same as JSON, without reading it. */
function docJson(document: KnownDoc, rev: Rev, revs: boolean | undefined): string | undefined {
  const body = document.body(rev);
  if (body === undefined) return undefined;
  const text = docText(document.row.id, rev, body.deleted, body.text);
  const revisions = revs ? ancestry(document.tree, rev) : undefined;
  return revisions === undefined ? text : `${text.slice(0, -1)},"_revisions":${JSON.stringify(revisions)}}`;
}
