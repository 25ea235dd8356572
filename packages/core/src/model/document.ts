/** A stored document as its users, and replicators, know it. How theirs are taken apart: `split-doc.ts`. */

import type { RevPath } from './chain';
import { badRequest, corrupt, invalidRev } from './errors';
import { MAX_GENERATION, parseRev } from './revision';
import type { DocMeta, ExistingDoc, Revisions } from './types';

/** The document as its JSON text. @param body made by `splitDoc` */
export function docText(id: string, rev: string, deleted: boolean, body: string): string {
  const meta = `{"_id":${JSON.stringify(id)},"_rev":${JSON.stringify(rev)}${deleted ? ',"_deleted":true' : ''}`;
  return body === '{}' ? `${meta}}` : `${meta},${body.slice(1)}`;
}

/**
 * The document as users read it.
 *
 * @param meta further fields of the database, put last
 * @throws DatabaseError `corrupt` when the storage gave another body back than it was given
 */
export function joinDoc(
  id: string,
  rev: string,
  deleted: boolean,
  body: string,
  meta?: Partial<DocMeta>,
  // biome-ignore lint/suspicious/noExplicitAny: the content is whatever was stored; the caller knows its type
): ExistingDoc<any> {
  // Spreading the parsed body is quicker than parsing a concatenated text (decisions/0014).
  const content = parsedBody(id, rev, body);
  if (deleted) return { _id: id, _rev: rev, _deleted: true, ...content, ...meta };
  return meta === undefined
    ? { _id: id, _rev: rev, ...content }
    : { _id: id, _rev: rev, ...content, ...meta };
}

function parsedBody(id: string, rev: string, body: string): object {
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw corrupt(`The stored body of revision ${rev} of document '${id}' is damaged`, cause);
  }
}

/**
 * The path that a replicated document's `_rev` and `_revisions` describe. As in CouchDB, `_revisions` decides where the two differ, so
 * the revision to store is the path's; and ids beyond generation 1 are ignored.
 *
 * @throws DatabaseError 400 when `_revisions` is malformed
 */
export function pathOf(rev: string, deleted: boolean, revisions: Revisions | undefined): RevPath {
  if (revisions === undefined) {
    const { generation, hash } = parseRev(rev);
    return { generation, hashes: [hash], deleted };
  }
  // Null, from a hostile or careless sender, is treated like any malformed value.
  const { start, ids } = revisions ?? ({} as Revisions);
  if (!Number.isSafeInteger(start) || start < 1 || !Array.isArray(ids) || ids.length === 0) throw malformed();
  if (start > MAX_GENERATION) throw invalidRev();
  // A copy has no holes, over which `every` would pass.
  if (![...ids].every((id) => typeof id === 'string' && !id.includes('-'))) throw malformed();
  return { generation: start, hashes: ids.slice(0, start), deleted };
}

const malformed = () =>
  badRequest('Malformed _revisions: a start and a list of ids, newest first, are needed');
