/**
 * `bulkGet`: many revisions of many documents, as a replicator asks for them. An error in one entry is the answer to that entry
 * alone.
 */
import { ancestry, type DatabaseError, docText, hasRev, isDatabaseError, missingBulkDocs } from '../model';
import type { BulkGetRequest, BulkGetResult, Rev } from '../model/types';
import type { DatabaseTables } from '../store/schema';
import type { Store } from '../store/store';
import type { BulkGetOptions, CallOptions } from './database';
import { docOf, followed } from './get-history';
import { bulkGetRefusal, type Failure, failure, inHalves } from './many-revs';
import { type KnownDoc, type RevisionRequest, readRevisions } from './revisions';

type ValidEntry = BulkGetRequest['docs'][number];

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
 * As {@link bulkGet}, but each answer is its JSON, put together from stored texts.
 *
 * @param withData given if documents are to come with more of their attachments than stubs: answers for those that have any
 */
export async function bulkGetJson(
  store: Store<DatabaseTables>,
  request: BulkGetRequest & BulkGetOptions,
  withData?: (request: BulkGetRequest & BulkGetOptions) => Promise<BulkGetResult>,
): Promise<string[]> {
  const results = await lookUp(store, request, (document, rev) => docJson(document, rev, request.revs));
  const texts = results.map(({ id, docs }) => {
    let json = '';
    for (const row of docs) {
      if (!('ok' in row)) json += `${json && ','}${JSON.stringify(row)}`;
      else if (withData && row.ok.includes(ATTACHMENTS)) return undefined;
      else json += `${json && ','}{"ok":${row.ok}}`;
    }
    return `{"id":${JSON.stringify(id)},"docs":[${json}]}`;
  });
  const docs = request.docs.filter((_, i) => texts[i] === undefined);
  if (withData === undefined || docs.length === 0) return texts as string[];
  const others = await withData({ ...request, docs });
  let next = 0;
  return texts.map((json) => json ?? JSON.stringify(others.results[next++]));
}

/** Appears in every document that has attachments, and in few others. */
const ATTACHMENTS = '"_attachments":';

interface Answer<D> {
  readonly id: string;
  readonly docs: (Failure | { readonly ok: D })[];
}

/** @param make makes the answer from a revision of a document; `undefined`: its body is not there */
async function lookUp<D>(
  store: Store<DatabaseTables>,
  request: BulkGetRequest & BulkGetOptions,
  make: (document: KnownDoc, rev: Rev) => D | undefined,
): Promise<Answer<D>[]> {
  request.signal?.throwIfAborted();
  if (!Array.isArray(request.docs)) throw missingBulkDocs();
  const entries = request.docs;
  const refusals = entries.map(bulkGetRefusal);
  const wanted = entries.filter((_, i) => refusals[i] === undefined);
  const latest = Boolean(request.latest);
  const documents = await readSound(
    store,
    wanted.map(({ id, rev }) => requestFor(id, rev, latest)),
    request,
  );
  let at = 0;
  return entries.map((entry, i) => {
    const refusal = refusals[i];
    if (refusal !== undefined) return { id: refusal.error.id, docs: [refusal] };
    return { id: entry.id, docs: answer(documents[at++], entry, latest, make) };
  });
}

/** As {@link readRevisions}. What is damaged, which fails all that is read with it, is the answer to its own requests alone. */
async function readSound(
  store: Store<DatabaseTables>,
  requests: readonly RevisionRequest[],
  options: CallOptions,
): Promise<(KnownDoc | DatabaseError | undefined)[]> {
  try {
    return await readRevisions(store, requests, options);
  } catch (error) {
    if (!isDatabaseError(error) || error.name !== 'corrupt') throw error;
    if (requests.length === 1) return [error];
    return (await inHalves(requests, (half) => readSound(store, half, options))).flat();
  }
}

function requestFor(id: string, rev: string | undefined, latest: boolean): RevisionRequest {
  // No body to guess: the revision is nearly always the winner, and the winner's body comes with the document.
  return { id, choose: (document) => (rev === undefined ? [] : meant(document, rev, latest)) };
}

/** The revisions that an entry with `rev` is about: often the winner, and then the tree is not looked at. */
const meant = (document: KnownDoc, rev: Rev, latest: boolean): readonly Rev[] =>
  document.row.rev === rev ? [rev] : followed(document.tree, [rev], latest);

function answer<D>(
  document: KnownDoc | DatabaseError | undefined,
  { id, rev }: ValidEntry,
  latest: boolean,
  make: (document: KnownDoc, rev: Rev) => D | undefined,
): Answer<D>['docs'] {
  if (document === undefined) return [failure(id, rev, 'not_found', 'missing')];
  if (isDatabaseError(document)) return [failure(id, rev, document.name, document.reason)];
  const { row } = document;
  if (rev === undefined) {
    if (row.deleted) return [failure(id, rev, 'not_found', 'deleted')];
    return [{ ok: make(document, row.rev)! }]; // the winner's body comes with its row
  }
  return meant(document, rev, latest).map((each) => {
    const known = each === row.rev || hasRev(document.tree, each);
    const doc = known ? make(document, each) : undefined;
    return doc === undefined ? failure(id, each, 'not_found', 'missing') : { ok: doc };
  });
}

/** The same as JSON, without parsing it. */
function docJson(document: KnownDoc, rev: Rev, revs: boolean | undefined): string | undefined {
  const body = document.body(rev);
  if (body === undefined) return undefined;
  const text = docText(document.row.id, rev, body.deleted, body.text);
  const revisions = revs ? ancestry(document.tree, rev) : undefined;
  return revisions === undefined ? text : `${text.slice(0, -1)},"_revisions":${JSON.stringify(revisions)}}`;
}
