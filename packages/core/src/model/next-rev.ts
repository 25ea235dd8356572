/**
 * Deriving revisions. Equal id, parent, deletedness and body give the same revision in every database, so replicas that make the same
 * edit agree without a conflict. The hash is ours (docs/decisions/0001-revision-hash.md); other databases' hashes are opaque.
 */
import { hash128 } from './hash';
import { formatRev, generationOf } from './revision';

/** Up to here a generation has one digit, and {@link hash128} makes the whole revision. */
const SHORT_GENERATION_MAX = 9;

/**
 * The hash of an edit: 32 lower-case hex digits.
 *
 * @param parent the edited revision; `undefined` for the first of a document
 * @param body JSON text of the content, without the database's own fields
 * @param generation 1 to {@link SHORT_GENERATION_MAX}: it and a dash come first
 */
export function revHash(
  id: string,
  parent: string | undefined,
  deleted: boolean,
  body: string,
  generation = 0,
): string {
  // The lengths keep the fields apart: no two different edits give the same words.
  const marks = (deleted ? 1 : 0) + (parent === undefined ? 2 : 0);
  return hash128(
    id.length,
    parent === undefined ? 0 : parent.length,
    body.length,
    marks,
    id,
    parent ?? '',
    body,
    generation,
  );
}

/** The revision that an edit of `parent` makes. Deterministic: see {@link revHash}. */
export function nextRev(id: string, parent: string | undefined, deleted: boolean, body: string): string {
  const generation = parent === undefined ? 1 : generationOf(parent) + 1;
  if (generation <= SHORT_GENERATION_MAX) return revHash(id, parent, deleted, body, generation);
  return formatRev(generation, revHash(id, parent, deleted, body));
}
