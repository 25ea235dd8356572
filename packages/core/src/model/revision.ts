/**
 * Revision ids, `<generation>-<hash>`: reading, writing and deriving them.
 *
 * Equal id, parent, deletedness and body give the same revision in every database, so replicas that make the same edit
 * agree without a conflict. The hash is ours (docs/decisions/0001-revision-hash.md); other databases' hashes are opaque.
 */
import { invalidRev } from './errors';
import { hash128 } from './hash';

export interface ParsedRev {
  /** 1, 2, 3 …: how many edits led here. */
  readonly generation: number;
  /** Whatever follows the dash; may be `''` in revisions made elsewhere. */
  readonly hash: string;
}

/**
 * More edits than anybody makes of a document. No revision from outside may claim more, since the edits that follow it must be counted
 * exactly and named. All numbers of this many digits are exact in JavaScript, and so are sums of them.
 */
export const MAX_GENERATION = 10 ** 15 - 1;

/** Exactly one dash, a whole number without leading zeros before it, {@link MAX_GENERATION} at most. */
const REV = /^[1-9]\d{0,14}-[^-]*$/;

/** True for a primitive string that is a well-formed revision id. */
export function isRev(value: unknown): value is string {
  return typeof value === 'string' && REV.test(value);
}

/** The revision of a `_local/` document, which counts its writes: generation 0, that other documents never have. */
const LOCAL_REV = /^0-\d{1,15}$/;

/** True for a primitive string that is a well-formed revision of a `_local/` document. */
export function isLocalRev(value: unknown): value is string {
  return typeof value === 'string' && LOCAL_REV.test(value);
}

/** How often a `_local/` document was written, by its revision, which is known to be well-formed. */
export const localWrites = (rev: string): number => Number(rev.slice('0-'.length));

/** The revision that the next write of a `_local/` document makes. @param before its revision; `undefined` if there is none */
export const nextLocalRev = (before: string | undefined): string =>
  `0-${before === undefined ? 1 : localWrites(before) + 1}`;

/** @throws DatabaseError 400 `Invalid rev format` */
export function parseRev(rev: unknown): ParsedRev {
  if (!isRev(rev)) throw invalidRev();
  return { generation: generationOf(rev), hash: hashOf(rev) };
}

/** The generation of a revision that is known to be well-formed. */
export function generationOf(rev: string): number {
  return Number.parseInt(rev, 10);
}

/** What follows the generation of a revision that is known to be well-formed. */
export const hashOf = (rev: string): string => rev.slice(rev.indexOf('-') + 1);

export function formatRev(generation: number, hash: string): string {
  return `${generation}-${hash}`;
}

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
