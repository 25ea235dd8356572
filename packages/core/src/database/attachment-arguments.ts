/** The arguments of the verbs of one attachment, read and refused alike wherever the database is. */
import { badRequest, invalidIdType, noData, notFound } from '../model/errors';
import { isLocalId } from '../model/ids';
import { parseRev } from '../model/revision';
import type { AttachmentData, Rev } from '../model/types';
import type { CallOptions } from '../store/store';
import { checkName } from './attachment-set';
import { errorWith } from './edits';

export interface PutAttachment {
  readonly id: string;
  readonly name: string;
  readonly rev: Rev | undefined;
  readonly data: AttachmentData;
  /** `undefined`: that of the data, if it has one. */
  readonly type: string | undefined;
  readonly options: CallOptions;
}

/** `id, name, rev, data, type?, options?`, or without the revision. @throws bad_request */
export function putAttachmentArguments(given: readonly unknown[]): PutAttachment {
  const [id, name, third, fourth, fifth, options] = given as [string, string, ...unknown[]];
  const [rev, data, type] = namesRevision(given)
    ? [third || undefined, fourth, fifth]
    : [undefined, third, fourth];
  checkName(name);
  if (rev !== undefined) parseRev(rev);
  if (type != null && typeof type !== 'string')
    throw badRequest('The content type of an attachment must be text');
  // It could be stored, and then be served by nobody.
  if (type && /[^\t\x20-\x7e\x80-\xff]/.test(type))
    throw badRequest(`No header can carry the content type ${JSON.stringify(type)}`);
  if (data === undefined || data === null) throw errorWith(noData(name), { _id: id });
  return { id, name, rev, data, type: type ?? undefined, options: options ?? {} } as PutAttachment;
}

/**
 * PouchDB's two forms: is the third argument a revision, and not the data? Base64 has no dash, so the two are told apart; and what
 * follows is the type unless it can be none.
 */
function namesRevision({ 2: third, 3: fourth, 4: type, length }: readonly unknown[]): boolean {
  if (type !== undefined || (typeof third === 'string' && /^\d+-/.test(third))) return true;
  const isNone = third === undefined || third === null || third === '';
  const isData = fourth !== undefined && typeof fourth !== 'string';
  return isNone ? length > 4 || isData : typeof third === 'string' && isData;
}

/** Of one that is to be read or taken off. @throws not_found for what nobody can have put; bad_request */
export function checkAttachmentName(id: string, name: string): void {
  if (typeof id !== 'string') throw invalidIdType();
  if (id === '' || isLocalId(id)) throw notFound('missing', id);
  if (typeof name !== 'string' || name === '' || name.startsWith('_'))
    throw notFound('Document is missing attachment', id);
}
