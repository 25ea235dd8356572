/** Revision ids, `<generation>-<hash>`: reading and writing them. How an edit gets one: `next-rev.ts`. */
import { invalidRev } from './errors';

interface ParsedRev {
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
