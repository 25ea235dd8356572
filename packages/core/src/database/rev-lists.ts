/** Lists of revisions by document id, as `revsDiff` takes them, for local and remote databases. */
import { badRequest, invalidRev, isLocalRev, isRev } from '../model';

/** @throws bad_request */
export function checkRevLists(revs: unknown): void {
  if (typeof revs !== 'object' || revs === null || Array.isArray(revs))
    throw badRequest('revsDiff takes an object of lists of revisions by document id');
  for (const list of Object.values(revs)) {
    if (!Array.isArray(list)) throw badRequest('revsDiff takes a list of revisions for each document id');
    // `_local/` documents are never replicated, but may be asked for: they are missing.
    for (const rev of list) if (!isRev(rev) && !isLocalRev(rev)) throw invalidRev();
  }
}
