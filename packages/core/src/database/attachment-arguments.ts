/** The arguments of the calls about one attachment, read and refused alike wherever the database is. */
import { noData, rangeNotSatisfiable } from '../model/attachment-errors';
import { badRequest, invalidIdType, notFound } from '../model/errors';
import { isLocalId } from '../model/ids';
import { parseRev } from '../model/revision';
import type { AttachmentData, Rev } from '../model/types';
import type { CallOptions } from '../store/store';
import { checkName } from './attachment-set';
import { isCount } from './count';
import type { OpenAttachmentOptions } from './database';
import { errorWith } from './edits';

/**
 * An option of `openAttachment` for callers that have the document, read with `att_encoding_info`: its stub of the attachment. A document
 * whose tree or stubs are long is then not read once for each attachment, but only if the content is no longer there. Other databases
 * than local and remote ones take no notice.
 */
export const STUB_AT_HAND = Symbol.for('settledb.stubAtHand');

export interface PutAttachment {
  readonly id: string;
  readonly name: string;
  readonly rev: Rev | undefined;
  readonly data: AttachmentData;
  /** `undefined`: the data's own type, if it has one. */
  readonly type: string | undefined;
  readonly options: CallOptions;
}

/** `id, name, rev, data, type?, options?`, with or without the revision. @throws bad_request */
export function putAttachmentArguments(given: readonly unknown[]): PutAttachment {
  const [id, name, third, fourth, fifth, options] = given as [string, string, ...unknown[]];
  const [rev, data, type] = namesRevision(given)
    ? [third || undefined, fourth, fifth]
    : [undefined, third, fourth];
  checkName(name);
  if (rev !== undefined) parseRev(rev);
  if (type != null && typeof type !== 'string')
    throw badRequest('The content type of an attachment must be text');
  // Such a type could be stored, but no server could send it.
  if (type && /[^\t\x20-\x7e\x80-\xff]/.test(type))
    throw badRequest(`No header can carry the content type ${JSON.stringify(type)}`);
  if (data === undefined || data === null) throw errorWith(noData(name), { _id: id });
  return { id, name, rev, data, type: type ?? undefined, options: options ?? {} } as PutAttachment;
}

/**
 * Tells PouchDB's two forms apart: is the third argument a revision, or the data? Base64 has no dash; and what follows the data is
 * the type, unless it cannot be one.
 */
function namesRevision({ 2: third, 3: fourth, 4: type, length }: readonly unknown[]): boolean {
  if (type !== undefined || (typeof third === 'string' && /^\d+-/.test(third))) return true;
  const isNone = third === undefined || third === null || third === '';
  const isData = fourth !== undefined && typeof fourth !== 'string';
  return isNone ? length > 4 || isData : typeof third === 'string' && isData;
}

/** Checks the name of an attachment to be read or removed. @throws not_found for a name that no attachment can have; bad_request */
export function checkAttachmentName(id: string, name: string): void {
  if (typeof id !== 'string') throw invalidIdType();
  if (id === '' || isLocalId(id)) throw notFound('missing', id);
  if (typeof name !== 'string' || name === '' || name.startsWith('_'))
    throw notFound('Document is missing attachment', id);
}

/** @throws DatabaseError 400 where it is no range of any content */
export function checkRange({ start = 0, end }: OpenAttachmentOptions): void {
  for (const at of [start, end ?? 0])
    if (!isCount(at)) throw badRequest('start and end must be whole numbers, not negative');
}

/** What is given of `size` bytes. @throws as {@link checkRange}; DatabaseError 416 when nothing of the range is there */
export function rangeOf(options: OpenAttachmentOptions, size: number): [start: number, end: number] {
  checkRange(options);
  const { start = 0, end } = options;
  const until = Math.min(end ?? size, size);
  if (start >= until && !(start === 0 && size === 0)) throw rangeNotSatisfiable();
  return [start, until];
}
