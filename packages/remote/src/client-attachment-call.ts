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
} from '@settledb/core';
import { isDotId } from './wire';

/** True where no URL can carry one of both: such an attachment is read by another way, but not put or taken off by itself. */
export const isDotName = (id: string, name: string): boolean => isDotId(id) || isDotId(name);

/** Of one that is to be taken off. @throws not_found: before anything is asked; bad_request for one that no URL can carry */
export function checkAttachmentUrl(id: string, name: string): void {
  checkAttachmentName(id, name);
  checkCarried(id, name);
}

/** As a local database reads its arguments. @throws bad_request; not_found of a local document, which has none of its own */
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
