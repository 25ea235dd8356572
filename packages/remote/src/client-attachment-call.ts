/** The arguments of attachment calls, read as a local database reads them. */
import {
  type AttachmentData,
  badRequest,
  type CallOptions,
  invalidIdType,
  isLocalId,
  notFound,
  parseRev,
  type Rev,
} from '@settledb/core';
import { isDotId } from './wire';

/** @throws not_found: before anything is asked */
export function checkAttachmentName(id: string, name: string): void {
  if (typeof id !== 'string') throw invalidIdType();
  if (isLocalId(id)) throw notFound('missing', id);
  // No attachment is called so.
  if (typeof name !== 'string' || name === '' || name.startsWith('_'))
    throw notFound('Document is missing attachment', id);
}

/** True where no URL can carry one of both: such an attachment is read by another way, but not put or taken off by itself. */
export const isDotName = (id: string, name: string): boolean => isDotId(id) || isDotId(name);

/** @throws as {@link checkAttachmentName}; bad_request for one that no URL can carry */
export function checkAttachmentUrl(id: string, name: string): void {
  checkAttachmentName(id, name);
  if (isDotName(id, name)) throw badRequest('No URL can name this attachment');
}

export interface PutAttachment {
  readonly id: string;
  readonly name: string;
  readonly rev: Rev | undefined;
  readonly data: AttachmentData;
  readonly type: string | undefined;
  readonly options: CallOptions;
}

/** `id, name, rev, data, type?, options?`, or without the revision. @throws bad_request */
export function putAttachmentCall(given: readonly unknown[]): PutAttachment {
  const [id, name, third, fourth, fifth, options = {}] = given as [string, string, ...unknown[]];
  const [rev, data, type] =
    given.length < 5 && !isRevArgument(third, fourth)
      ? [undefined, third, fourth]
      : [third || undefined, fourth, fifth];
  if (typeof name !== 'string' || name === '' || name.startsWith('_'))
    throw badRequest(`An attachment cannot be named ${JSON.stringify(name)}`);
  checkAttachmentUrl(id, name);
  if (rev !== undefined) parseRev(rev);
  if (typeof type === 'string' && /[^\t\x20-\x7e\x80-\xff]/.test(type))
    throw badRequest(`No header can carry the content type ${JSON.stringify(type)}`);
  return { id, name, rev, data, type, options } as PutAttachment;
}

/** PouchDB's two forms: of four arguments, the last is the type and the one before the data, unless that can be no data. */
function isRevArgument(third: unknown, fourth: unknown): boolean {
  if (third === undefined || third === null || third === '')
    return fourth !== undefined && typeof fourth !== 'string';
  return typeof third === 'string' && typeof fourth !== 'string' && fourth !== undefined;
}
