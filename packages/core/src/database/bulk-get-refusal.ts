/** What is wrong with one entry of a `bulkGet`, for local and remote databases. */
import { badRequest, checkId, isDatabaseError, isObject, parseRev } from '../model';
import type { BulkGetResult } from '../model/types';
import { isAttsSince } from './atts-since';

export type Failure = Extract<BulkGetResult['results'][number]['docs'][number], { readonly error: unknown }>;

/** What CouchDB answers as the revision of an entry that named none. */
const NO_REV = 'undefined';

export function failure(id: unknown, rev: unknown, error: string, reason: string): Failure {
  return { error: { id: id as string, rev: typeof rev === 'string' ? rev : NO_REV, error, reason } };
}

/** Why an entry cannot be looked up at all: this is then the answer in its place. */
export function bulkGetRefusal(entry: unknown): Failure | undefined {
  if (!isObject(entry)) return failure(null, undefined, 'bad_request', 'document must be a JSON object');
  const { id, rev, atts_since } = entry;
  try {
    if (id === undefined) throw badRequest('document id missed');
    checkId(id);
    if (rev !== undefined) parseRev(rev);
    if (!isAttsSince(atts_since)) throw badRequest('att_since value must be array of revs.');
    return undefined;
  } catch (error) {
    if (!isDatabaseError(error)) throw error;
    return failure(id ?? null, rev, error.name, error.reason);
  }
}
