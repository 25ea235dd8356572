/** Which attachments a URL can name. */
import {
  badRequest,
  checkAttachmentName,
  checkId,
  errorWith,
  isLocalId,
  notFound,
  type PutAttachment,
  putAttachmentArguments,
  type Rev,
} from '@settledb/core';
import { hasNoUrl, isDotId } from './wire';

/** True if no URL can carry the id or the name: such an attachment is read in another way, but cannot be put or removed by itself. */
export const isDotName = (id: string, name: string): boolean => isDotId(id) || isDotId(name);

/** True also for one whose URL would be too long to be read by. */
export const isApart = (id: string, name: string, rev: Rev | undefined): boolean =>
  isDotName(id, name) || hasNoUrl(id, name, rev);

/** For an attachment to be removed. @throws not_found, before anything is sent; bad_request if no URL can carry it */
export function checkAttachmentUrl(id: string, name: string): void {
  checkAttachmentName(id, name);
  checkCarried(id, name);
}

/** Reads the arguments like a local database. @throws bad_request; not_found for a local document, whose attachments have no URLs */
export function putAttachmentCall(given: readonly unknown[]): PutAttachment {
  const call = putAttachmentArguments(given);
  try {
    checkId(call.id);
  } catch (error) {
    throw errorWith(error, { _id: call.id });
  }
  if (isLocalId(call.id)) throw notFound('missing', call.id);
  checkCarried(call.id, call.name);
  return call;
}

function checkCarried(id: string, name: string): void {
  if (isDotName(id, name)) throw badRequest('No URL can name this attachment');
}
