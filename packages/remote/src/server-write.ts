/**
 * The checks for every document on its way in, however it came (PUT, POST, COPY, `_bulk_docs`, an attachment): who may write
 * design documents, the rules of `_users`, the form of design documents, `validate_doc_update`.
 */
import { type DatabaseError, type Doc, isDatabaseError } from '@settledb/core';
import { checkDesignWrite } from './server-access';
import { failure } from './server-answer';
import { USERS_DATABASE } from './server-auth';
import type { DatabaseContext, Limits } from './server-context';
import { checkDesign } from './server-design';
import { checkInline } from './server-multipart';
import { checkSelectors } from './server-selector';
import { DEFAULT_SECURITY } from './server-settings';
import { prepareUser } from './server-users';

/** A document as it is to be stored, or the error that refuses it: {@link isDatabaseError} tells. */
type Prepared = Doc | DatabaseError;

/** @throws the error that refuses it */
export async function prepareWrite(context: DatabaseContext, doc: Doc): Promise<Doc> {
  const [prepared] = await prepareWrites(context, [doc]);
  if (isDatabaseError(prepared)) throw prepared;
  return prepared!;
}

/** One result for each document, in order. */
export async function prepareWrites(context: DatabaseContext, docs: readonly Doc[]): Promise<Prepared[]> {
  const checked = docs.map((doc) => checkOne(context, doc));
  const prepared = context.name === USERS_DATABASE ? await prepareAccounts(context, checked) : checked;
  const { validators, settings } = context.server;
  if (validators === undefined) return prepared;
  const asked = prepared.filter(isToBeStored);
  if (asked.length === 0) return prepared;
  const { security = DEFAULT_SECURITY } = await settings.of(context.name);
  const refusals = await validators.check({ ...context, security }, asked as Record<string, unknown>[]);
  let next = 0;
  return prepared.map((each) => (isDatabaseError(each) ? each : (refusals[next++] ?? each)));
}

export const isToBeStored = (each: Prepared): each is Doc => !isDatabaseError(each);

function checkOne(context: DatabaseContext, doc: Doc): Prepared {
  try {
    checkDesignWrite(context, doc._id);
    if (doc._id?.startsWith('_design/') && doc._deleted !== true) {
      checkDesign(doc as Record<string, unknown>);
      // Mango indexes, some of which have a filter.
      if ((doc as Record<string, unknown>).language === 'query') checkSelectors(context, doc);
    }
    return doc;
  } catch (error) {
    return refusedBy(error);
  }
}

/** One after the other: only so many passwords may wait for their turn, and those of who logs in are among them. */
async function prepareAccounts(context: DatabaseContext, docs: readonly Prepared[]): Promise<Prepared[]> {
  const prepared: Prepared[] = [];
  for (const each of docs) prepared.push(isDatabaseError(each) ? each : await prepareAccount(context, each));
  return prepared;
}

async function prepareAccount({ server }: DatabaseContext, doc: Doc): Promise<Prepared> {
  try {
    const content = doc as Record<string, unknown>;
    return (await prepareUser(String(doc._id), content, server.auth.iterations)) as Doc;
  } catch (error) {
    return refusedBy(error);
  }
}

/** @throws an error that is no refusal */
function refusedBy(error: unknown): DatabaseError {
  if (isDatabaseError(error)) return error;
  throw error;
}

/** Most bytes that a character of JSON may become when it is written anew: `1e20` becomes 21 digits. */
const MOST_BYTES = 6;

/**
 * A document's JSON has a limit of its own, not counting its attachments.
 *
 * @param sent characters of the JSON it came in, alone or among others: usually so few that the JSON need not be made to be measured
 * @throws document_too_large, attachment_too_large
 */
export function checkSize(
  doc: Doc,
  { document: limit, attachment }: Limits,
  sent = Number.POSITIVE_INFINITY,
): void {
  checkInline(doc, attachment);
  // Id and revision may have come in the path and the headers.
  const length = lengthOf(doc._id) + lengthOf(doc._rev);
  if ((sent + length) * MOST_BYTES <= limit) return;
  // Characters are counted first: UTF-8 takes one to three bytes for each.
  const text = JSON.stringify(doc._attachments === undefined ? doc : withoutAttachments(doc));
  if (text.length * 3 <= limit) return;
  if (text.length <= limit && new TextEncoder().encode(text).length <= limit) return;
  throw failure(413, 'document_too_large', doc._id ?? '');
}

/** A copy, which takes longer than all else if there are hundreds of thousands of fields. */
const withoutAttachments = ({ _attachments: _, ...rest }: Doc): object => rest;

const lengthOf = (text: unknown): number => (typeof text === 'string' ? text.length : 0);
