/**
 * What `put` and `bulkDocs` make of documents before they go to the writer: each is checked, split, stringified and hashed once,
 * outside any commit.
 */

import type { RevPath } from '../model';
import { pathOf } from '../model/document';
import { type DatabaseError, invalidRev, isDatabaseError, missingBulkDocs, missingId } from '../model/errors';
import { isLocalId, uuid } from '../model/ids';
import { nextRev } from '../model/next-rev';
import { formatRev, generationOf, MAX_GENERATION } from '../model/revision';
import { type SplitDoc, splitDoc } from '../model/split-doc';
import type { Rev, Revisions, WriteFailure } from '../model/types';
import type { AttachmentSet } from './attachment-set';

/** Fields of edits whose document has attachments. */
interface Attached {
  /** The edit is made to remove content. */
  readonly makesRoom?: boolean;
  /** As the user wrote them; an edit with these is not ready to be written. */
  readonly given?: Record<string, unknown>;
  /** With their content taken in. `body` and `rev` do not include them yet: the plan resolves them. */
  readonly attachments?: AttachmentSet;
  /** Keys of the contents referred to, once resolved. */
  readonly blobs?: readonly string[];
}

/** A user's edit of the revision `parent`, or of nothing. */
export interface NewEdit extends Attached {
  readonly kind: 'new';
  readonly id: string;
  readonly parent: Rev | undefined;
  readonly deleted: boolean;
  readonly body: string;
  /** The revision that the edit makes if it extends `parent` as it says. */
  readonly rev: Rev;
  /** Whether it may extend a revision that is not a leaf. */
  readonly force: boolean;
  /** The hash part of the revision, if revisions are random. */
  readonly random?: string;
}

/** A revision made elsewhere, kept as it is (`new_edits: false`). */
export interface ReplicatedEdit extends Attached {
  readonly kind: 'replicated';
  readonly id: string;
  readonly rev: Rev;
  readonly path: RevPath;
  readonly body: string;
}

/** A write of a `_local/` document: no tree, no seq. */
export interface LocalEdit extends Attached {
  readonly kind: 'local';
  readonly id: string;
  readonly rev: Rev | undefined;
  readonly deleted: boolean;
  readonly body: string;
}

export type Edit = NewEdit | ReplicatedEdit | LocalEdit;

export interface EditOptions {
  readonly newEdits: boolean;
  readonly force: boolean;
  readonly deterministic: boolean;
}

const NONE: readonly never[] = [];

/**
 * One document as the edit that it asks for. A document without an id gets a random one; a revision made elsewhere must have one. The
 * caller's object is not changed.
 *
 * @param mustName its `_id` must be among the fields of its JSON: an accessor of its class does not count
 * @param json its JSON, if known: see {@link TEXTS}
 * @throws DatabaseError by the field rules
 */
export function toEdit(doc: unknown, options: EditOptions, mustName = false, json?: string): Edit {
  const split = splitDoc(doc, json);
  const { id: named, rev, deleted, body, revisions, attachments } = split;
  if (named !== undefined && isLocalId(named)) return localEdit(named, split);
  if (named === undefined && (mustName || !options.newEdits)) throw missingId();
  const id = named ?? uuid();
  const edit = options.newEdits
    ? newEdit(id, rev, deleted, body, options)
    : replicatedEdit(id, rev, deleted, body, revisions);
  // As in PouchDB a deletion keeps no attachments; a tombstone made elsewhere is taken as it is.
  if (attachments === undefined || (deleted && options.newEdits)) return edit;
  return { ...edit, given: attachments };
}

/** As {@link toEdit}, for a document that must have an `_id`: errors name it. */
export function toOneEdit(doc: unknown, options: EditOptions): Edit {
  try {
    return toEdit(doc, options, true);
  } catch (error) {
    throw errorWith(error, doc);
  }
}

/** As {@link toEdit}, for a list: errors name the document and its place. @param texts see {@link TEXTS} */
export function toEdits(
  docs: readonly unknown[],
  options: EditOptions,
  texts: readonly string[] = NONE,
): Edit[] {
  const edits: Edit[] = [];
  // By index: `map` would skip a hole, which is not a document, and leave one in the result.
  for (let index = 0; index < docs.length; index++) {
    try {
      edits.push(toEdit(docs[index], options, false, texts[index]));
    } catch (error) {
      throw errorInList(error, docs[index], index);
    }
  }
  return edits;
}

/** An error about a document of a list, with its id and place. */
export const errorInList = (error: unknown, doc: unknown, index: number): unknown =>
  isDatabaseError(error) ? Object.assign(errorWith(error, doc) as object, { index }) : error;

/** An error about a document, with its id; errors of the database itself stay as they are. */
export function errorWith(error: unknown, doc: unknown): unknown {
  if (!isDatabaseError(error) || error.status >= 507 || error.name === 'closed') return error;
  const id: unknown = (doc as { _id?: unknown } | null | undefined)?._id;
  return typeof id === 'string' ? Object.assign(error, { docId: id }) : error;
}

function newEdit(
  id: string,
  parent: Rev | undefined,
  deleted: boolean,
  body: string,
  options: EditOptions,
): NewEdit {
  const { force } = options;
  // No edit of it is possible: the revision that it makes could not be named.
  if (parent !== undefined && generationOf(parent) >= MAX_GENERATION) throw invalidRev();
  if (options.deterministic) {
    return { kind: 'new', id, parent, deleted, body, rev: nextRev(id, parent, deleted, body), force };
  }
  const random = uuid();
  return { kind: 'new', id, parent, deleted, body, rev: randomRev(parent, random), force, random };
}

function replicatedEdit(
  id: string,
  rev: Rev | undefined,
  deleted: boolean,
  body: string,
  revisions: Revisions | undefined,
): ReplicatedEdit {
  if (rev === undefined) throw invalidRev();
  const path = pathOf(rev, deleted, revisions);
  const [hash] = path.hashes as [string];
  const isNamed = generationOf(rev) === path.generation && rev.endsWith(`-${hash}`);
  return { kind: 'replicated', id, rev: isNamed ? rev : formatRev(path.generation, hash), path, body };
}

/** The revision that `edit` makes of `parent`, which may differ from the one it named (a tombstone). */
export function revOf(edit: NewEdit, parent: Rev | undefined): Rev {
  return parent === edit.parent ? edit.rev : derivedRev(edit, parent);
}

/** As {@link revOf}, for an edit that was changed since. */
export function derivedRev({ id, deleted, body, random }: NewEdit, parent: Rev | undefined): Rev {
  return random === undefined ? nextRev(id, parent, deleted, body) : randomRev(parent, random);
}

const randomRev = (parent: Rev | undefined, hash: string): Rev =>
  formatRev(parent === undefined ? 1 : generationOf(parent) + 1, hash);

function localEdit(id: string, { rev, deleted, body, attachments }: SplitDoc): LocalEdit {
  const edit: LocalEdit = { kind: 'local', id, rev, deleted, body };
  return attachments === undefined || deleted ? edit : { ...edit, given: attachments };
}

/** An error as a row of a bulk answer. */
export function failureRow(id: string, error: DatabaseError): WriteFailure {
  const { status, name, message, reason } = error;
  return { id, error: true, status, name, message, reason };
}

/** Most characters of a tombstone that only ends its document, and keeps nothing. */
const TOMBSTONE_LENGTH = 1024;

/** Whether a write of only these edits frees more, with the next compaction, than it takes. */
export function makesRoom(edits: readonly Edit[]): boolean {
  return edits.every((edit) => {
    if (edit.makesRoom === true) return true;
    return edit.kind !== 'replicated' && edit.deleted && edit.body.length <= TOMBSTONE_LENGTH;
  });
}

/** The documents of a `bulkDocs` argument. @throws bad_request when it is neither a list nor contains one */
export function docsOf(input: unknown): readonly unknown[] {
  const docs = Array.isArray(input) ? input : (input as { docs?: unknown } | null | undefined)?.docs;
  if (!Array.isArray(docs)) throw missingBulkDocs();
  return docs;
}
