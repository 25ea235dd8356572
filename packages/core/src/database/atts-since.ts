/** The option `atts_since`, of here and of remote databases. */
import { badRequest, isRev, parseRev } from '../model';
import type { Rev } from '../model/types';

/** `null` says nothing, as what is left out. @throws bad_request unless it is a list of revisions */
export function checkAttsSince(value: unknown): readonly Rev[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value) || !value.every((rev) => typeof rev === 'string'))
    throw badRequest('`atts_since` must be a list of revisions');
  for (const rev of value) parseRev(rev);
  return value;
}

/** May an entry of `bulkGet` have it? */
export const isAttsSince = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.every(isRev));
