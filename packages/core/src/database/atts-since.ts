/** The option `atts_since`, for local and remote databases. */
import { badRequest, isRev, isTexts, parseRev } from '../model';
import type { Rev, Revisions } from '../model/types';

/** `null` counts as not given. @throws bad_request unless the value is a list of revisions */
export function checkAttsSince(value: unknown): readonly Rev[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isTexts(value)) throw badRequest('`atts_since` must be a list of revisions');
  for (const rev of value) parseRev(rev);
  return value;
}

/** Whether an entry of `bulkGet` may have this value. */
export const isAttsSince = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.every(isRev));

/** The last generation in which `revisions` is what a reader with the revisions `known` has. @returns -1 if there is none */
export function commonGeneration({ start, ids }: Revisions, known: ReadonlySet<Rev>): number {
  const at = known.size === 0 ? -1 : ids.findIndex((hash, i) => known.has(`${start - i}-${hash}`));
  return at < 0 ? -1 : start - at;
}
