/**
 * Calls about many revisions at once, for local and remote databases: what is refused of them, and what is done if one of many spoils the
 * others.
 */
import {
  badRequest,
  checkId,
  invalidRev,
  isDatabaseError,
  isLocalRev,
  isObject,
  isRev,
  isTexts,
  parseRev,
} from '../model';
import type { BulkGetResult, Rev, Revisions } from '../model/types';

/** Lists of revisions by document id, as `revsDiff` takes them. @throws bad_request */
export function checkRevLists(revs: unknown): void {
  if (typeof revs !== 'object' || revs === null || Array.isArray(revs))
    throw badRequest('revsDiff takes an object of lists of revisions by document id');
  for (const list of Object.values(revs)) {
    if (!Array.isArray(list)) throw badRequest('revsDiff takes a list of revisions for each document id');
    // `_local/` documents are never replicated, but may be asked for: they are missing.
    for (const rev of list) if (!isRev(rev) && !isLocalRev(rev)) throw invalidRev();
  }
}

/** The option `atts_since`. `null` counts as not given. @throws bad_request unless the value is a list of revisions */
export function checkAttsSince(value: unknown): readonly Rev[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isTexts(value)) throw badRequest('`atts_since` must be a list of revisions');
  for (const rev of value) parseRev(rev);
  return value;
}

/** Whether an entry of `bulkGet` may have this value. */
const isAttsSince = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.every(isRev));

/** The last generation in which `revisions` is what a reader with the revisions `known` has. @returns -1 if there is none */
export function commonGeneration({ start, ids }: Revisions, known: ReadonlySet<Rev>): number {
  const at = known.size === 0 ? -1 : ids.findIndex((hash, i) => known.has(`${start - i}-${hash}`));
  return at < 0 ? -1 : start - at;
}

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

/**
 * What `work` comes to for each half of a list, one after the other: to find out for which items something failed that was asked for
 * all of them.
 */
export async function inHalves<Item, Answer>(
  list: readonly Item[],
  work: (half: readonly Item[]) => Promise<Answer>,
): Promise<[Answer, Answer]> {
  const middle = Math.ceil(list.length / 2);
  const lower = await work(list.slice(0, middle));
  return [lower, await work(list.slice(middle))];
}
