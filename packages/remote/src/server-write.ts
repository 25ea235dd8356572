/**
 * What every document passes on its way in, however it came (PUT, POST, COPY, `_bulk_docs`, an attachment): who may write
 * design documents, the rules of `_users`, the form of design documents, `validate_doc_update`.
 */
import { type DatabaseError, type Doc, isDatabaseError, type WriteFailure } from '@settledb/core';
import { checkDesignWrite } from './server-access';
import { USERS_DATABASE } from './server-auth';
import type { DatabaseContext, Limits } from './server-context';
import { checkDesign } from './server-design';
import { failure } from './server-http';
import { checkInline } from './server-multipart';
import { DEFAULT_SECURITY } from './server-settings';
import { prepareUser } from './server-users';

/** A document as it is to be stored, or why it is not. */
export type Prepared = { readonly doc: Doc } | { readonly refused: DatabaseError };

/** @throws what refuses it */
export async function prepareWrite(context: DatabaseContext, doc: Doc): Promise<Doc> {
  const [prepared] = await prepareWrites(context, [doc]);
  if ('refused' in prepared!) throw prepared.refused;
  return prepared!.doc;
}

/** One for each document, in order. */
export async function prepareWrites(context: DatabaseContext, docs: readonly Doc[]): Promise<Prepared[]> {
  const prepared = await Promise.all(docs.map((doc) => prepareOne(context, doc)));
  const { validators, settings } = context.server;
  const asked = prepared.flatMap((each) => ('doc' in each ? [each.doc] : []));
  if (validators === undefined || asked.length === 0) return prepared;
  const { security = DEFAULT_SECURITY } = await settings.of(context.name);
  const refusals = await validators.check({ ...context, security }, asked as Record<string, unknown>[]);
  let next = 0;
  return prepared.map((each) => {
    const refused = 'doc' in each ? refusals[next++] : undefined;
    return refused === undefined ? each : { refused };
  });
}

async function prepareOne(context: DatabaseContext, doc: Doc): Promise<Prepared> {
  try {
    checkDesignWrite(context, doc._id);
    if (doc._id?.startsWith('_design/') && doc._deleted !== true) checkDesign(doc as Record<string, unknown>);
    if (context.name !== USERS_DATABASE) return { doc };
    const id = String(doc._id);
    return {
      doc: (await prepareUser(id, doc as Record<string, unknown>, context.server.auth.iterations)) as Doc,
    };
  } catch (error) {
    if (isDatabaseError(error)) return { refused: error };
    throw error;
  }
}

/**
 * A document's JSON is bounded by itself, without its attachments.
 *
 * @throws document_too_large, attachment_too_large
 */
export function checkSize(doc: Doc, { document: limit, attachment }: Limits): void {
  checkInline(doc, attachment);
  const { _attachments: _, ...rest } = doc;
  // Counted in characters first: UTF-8 has at least as many bytes, and at most three times as many.
  const text = JSON.stringify(rest);
  if (text.length * 3 <= limit) return;
  if (text.length <= limit && new TextEncoder().encode(text).length <= limit) return;
  throw failure(413, 'document_too_large', doc._id ?? '');
}

/** The row of a bulk answer for a document that was refused. */
export const refusedRow = (id: string, { status, name, message, reason }: DatabaseError): WriteFailure => ({
  id,
  error: true,
  status,
  name,
  message,
  reason,
});
