/**
 * Documents that only pass through: they are taken apart where their text arrives, so that nobody has to make the text again, and what
 * is parsed to check that it is a document becomes garbage at once.
 *
 * A document taken apart has `_id`, `_rev`, `_revisions`, and the rest under {@link SPLIT}. Code that wraps a method must not be
 * handed one, so they pass only between methods that are known not to be wrapped (`takes-apart.ts`).
 */
import { joinDoc } from './document';
import { MAX_DEPTH } from './json';
import { SPLIT, type SplitDoc } from './split-doc';
import type { ExistingDoc, Revisions } from './types';

export interface ApartDoc {
  readonly _id: string;
  readonly _rev: string;
  readonly _revisions: Revisions;
  readonly [SPLIT]: SplitDoc;
}

const UNDERSCORE = 95;

/**
 * @param members JSON of the members of the content
 * @returns undefined when the document has more to it, or its text, once parsed, would not be written again as it is
 * @throws SyntaxError when `members` is not JSON
 */
export function apartDoc(
  id: string,
  rev: string,
  members: string,
  revisions: Revisions,
): ApartDoc | undefined {
  const body = `{${members}}`;
  const content = JSON.parse(body) as object;
  for (const key in content) if (key.charCodeAt(0) === UNDERSCORE) return undefined;
  if (!isPlain(content, 1)) return undefined;
  return { _id: id, _rev: rev, _revisions: revisions, [SPLIT]: { id, rev, deleted: false, body, revisions } };
}

/** Numbers that JSON can express but nobody writes (`1e999`, `-0`) are written differently; too deep nesting is refused. */
function isPlain(value: object, depth: number): boolean {
  if (depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) {
    // Lists separately: `for … in` makes a string of each index.
    for (let i = 0; i < value.length; i++) if (!isPlainMember(value[i], depth)) return false;
    return true;
  }
  for (const key in value) {
    if (!isPlainMember((value as Record<string, unknown>)[key], depth)) return false;
  }
  return true;
}

function isPlainMember(value: unknown, depth: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  return typeof value !== 'object' || value === null || isPlain(value, depth + 1);
}

/** The document as it would otherwise have come; any other document as it is. */
export function wholeDoc<D extends object>(doc: D): D {
  const apart = (doc as Partial<ApartDoc>)[SPLIT];
  if (apart === undefined) return doc;
  const { _id, _rev, _revisions } = doc as unknown as ApartDoc;
  return joinDoc(_id, _rev, apart.deleted, apart.body, { _revisions }) as ExistingDoc & D;
}

/** Characters of JSON that a document holds besides its own fields. */
export const apartLength = (doc: object): number => (doc as Partial<ApartDoc>)[SPLIT]?.body.length ?? 0;
