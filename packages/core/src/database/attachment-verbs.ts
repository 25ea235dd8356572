/** The calls about one attachment, which go by way of its document; and calls that read documents with attachments' data. */

import { conflict, type DatabaseError, isMissing } from '../model/errors';
import { parseRev } from '../model/revision';
import type {
  AllDocsResult,
  AttachmentsInput,
  BulkGetRequest,
  BulkGetResult,
  Doc,
  ExistingDoc,
  OpenRevsRow,
  Rev,
  Written,
} from '../model/types';
import { allDocs, DOCS_AS_TEXT } from './all-docs';
import { checkAttachmentName, putAttachmentArguments } from './attachment-arguments';
import { type AttachmentSource, unswept } from './attachment-bytes';
import { type FillOptions, fill } from './attachment-fill';
import { bulkGet } from './bulk-get';
import type { AllDocsOptions, BulkGetOptions, CallOptions, Database, GetOptions } from './database';
import { getAny } from './get-history';
import { checkAttsSince, commonGeneration } from './many-revs';

type AnyDoc = ExistingDoc<object>;

/** What the calls about one attachment are made of. */
export interface Steps extends Pick<Database, 'get'> {
  /** @param makesRoom see `Edit` */
  put(doc: Doc & { _id: string }, options: CallOptions, makesRoom?: boolean): Promise<Written>;
}

/** The options of reads and writes (`force`, `new_edits`, `open_revs`) are none of the calls about one attachment. */
const signalOf = ({ signal }: CallOptions): CallOptions => ({ signal });

/** See `Database.putAttachment`. */
export async function putAttachment(db: Steps, given: readonly unknown[]): Promise<Written> {
  const { id, name, rev, data, type, options: all } = putAttachmentArguments(given);
  const options = signalOf(all);
  const attachment = type === undefined ? { data } : { data, content_type: type };
  const doc = await editable(db, id, rev, options);
  return db.put(withAttachments(doc, { ...attachmentsOf(doc), [name]: attachment as never }), options);
}

/** See `Database.removeAttachment`. */
export async function removeAttachment(
  db: Steps,
  id: string,
  name: string,
  rev: Rev,
  all: CallOptions,
): Promise<Written> {
  const options = signalOf(all);
  parseRev(rev);
  checkAttachmentName(id, name);
  let doc: AnyDoc;
  try {
    doc = await db.get(id, { ...options, rev });
  } catch (error) {
    if (!isMissing(error)) throw error;
    await db.get(id, options);
    throw conflict(id); // The document exists, but not this revision.
  }
  const attachments = attachmentsOf(doc);
  if (!Object.hasOwn(attachments, name)) {
    // Nothing is written, so no write checks that the revision is a leaf: a caller would go on with a past one.
    const { _rev, _conflicts } = await db.get(id, { ...options, conflicts: true });
    if (_rev !== rev && !_conflicts?.includes(rev)) throw conflict(id);
    return { ok: true, id, rev };
  }
  delete attachments[name];
  return db.put(withAttachments(doc, attachments), options, true);
}

/**
 * The revision to edit. Where there is none: a new document, which conflicts if a revision was named. After a tombstone: a live
 * document, since an edit that left the document deleted would not keep its attachments.
 */
async function editable(
  db: Steps,
  id: string,
  rev: Rev | undefined,
  options: CallOptions,
): Promise<Doc & { _id: string }> {
  try {
    const doc: AnyDoc = await db.get(id, rev === undefined ? options : { ...options, rev });
    if (rev === undefined) throw conflict(id);
    return doc._deleted ? { _id: id, _rev: doc._rev } : (doc as Doc & { _id: string });
  } catch (error) {
    if (!isMissing(error)) throw error;
    return rev === undefined ? { _id: id } : { _id: id, _rev: rev };
  }
}

const attachmentsOf = (doc: { readonly _attachments?: object | undefined }): AttachmentsInput => ({
  ...(doc._attachments as AttachmentsInput | undefined),
});

function withAttachments(doc: object, attachments: AttachmentsInput): Doc & { _id: string } {
  return { ...(doc as { _id: string }), _attachments: attachments };
}

/** `get`, with attachments' data. */
export function getWithData(
  source: AttachmentSource,
  id: string,
  options: GetOptions,
): Promise<ExistingDoc | OpenRevsRow[]> {
  return unswept(async () => {
    const since = checkAttsSince(options.atts_since);
    const found = await getAny(source.store, id, since === undefined ? options : { ...options, revs: true });
    const docs = Array.isArray(found) ? found.flatMap((row) => ('ok' in row ? [row.ok] : [])) : [found];
    await fillSince(source, new Map(docs.map((doc) => [doc, since])), options);
    return found;
  });
}

/** An empty list counts as none, as in CouchDB. */
const sinceOf = ({ atts_since }: BulkGetRequest['docs'][number]): readonly Rev[] | undefined =>
  atts_since?.length ? atts_since : undefined;

/** `bulkGet`, with attachments' data. */
export function bulkGetWithData(
  source: AttachmentSource,
  request: BulkGetRequest & BulkGetOptions,
): Promise<BulkGetResult> {
  const anySince = request.docs?.some?.((entry) => entry?.atts_since?.length) ?? false;
  return unswept(async () => {
    const answer = await bulkGet(source.store, anySince ? { ...request, revs: true } : request);
    const docs = answer.results.flatMap((result, i) =>
      result.docs.flatMap((row) => ('ok' in row ? [[row.ok, sinceOf(request.docs[i]!)] as const] : [])),
    );
    const damaged = new Map<AnyDoc, DatabaseError>();
    await fillSince(source, new Map(docs), { ...request, damaged: (doc, error) => damaged.set(doc, error) });
    return damaged.size === 0 ? answer : withoutDamaged(answer, damaged);
  });
}

/** A document whose attachments are damaged fails alone: a caller that copies documents must not take it for whole. */
function withoutDamaged(answer: BulkGetResult, damaged: ReadonlyMap<AnyDoc, DatabaseError>): BulkGetResult {
  const results = answer.results.map(({ id, docs }) => ({
    id,
    docs: docs.map((row) => {
      const error = 'ok' in row ? damaged.get(row.ok) : undefined;
      if (error === undefined || !('ok' in row)) return row;
      return { error: { id, rev: row.ok._rev, error: error.name, reason: error.reason } };
    }),
  }));
  return { results };
}

/** @param docs each with the revisions its reader has already, and read with its ancestry if there are any */
async function fillSince(
  source: AttachmentSource,
  docs: ReadonlyMap<AnyDoc, readonly Rev[] | undefined>,
  options: BulkGetOptions & Pick<FillOptions, 'damaged'>,
): Promise<void> {
  const after = new Map<AnyDoc, number>();
  let any = options.attachments;
  for (const [doc, since] of docs) {
    if (since !== undefined) {
      any = true;
      const { _revisions: known } = doc;
      after.set(doc, known === undefined ? -1 : commonGeneration(known, new Set(since)));
    } else if (!options.attachments) after.set(doc, Number.POSITIVE_INFINITY);
  }
  await fill(source, [...docs.keys()], { ...options, attachments: any, after });
  if (!options.revs) for (const doc of docs.keys()) delete doc._revisions;
}

/** `allDocs`, with attachments' data. */
export function allDocsWithData(source: AttachmentSource, options: AllDocsOptions): Promise<AllDocsResult> {
  return unswept(async () => {
    const answer = await allDocs(source.store, { ...options, [DOCS_AS_TEXT]: false } as AllDocsOptions);
    await fill(
      source,
      answer.rows.flatMap((row) => ('doc' in row && row.doc ? [row.doc] : [])),
      options,
    );
    return answer;
  });
}
