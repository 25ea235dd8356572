/** The option `atts_since`, for local and remote databases. */
import { badRequest, isRev, parseRev } from '../model';
import type { Rev } from '../model/types';

/** `null` counts as not given. @throws bad_request unless the value is a list of revisions */
export function checkAttsSince(value: unknown): readonly Rev[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value) || !value.every((rev) => typeof rev === 'string'))
    throw badRequest('`atts_since` must be a list of revisions');
  for (const rev of value) parseRev(rev);
  return value;
}

/** Whether an entry of `bulkGet` may have this value. */
export const isAttsSince = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.every(isRev));
