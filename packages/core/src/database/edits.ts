/**
 * What `put` and `bulkDocs` make of documents before they go to the writer: checked, split, stringified and hashed once,
 * outside any commit.
 */

import type { RevPath } from '../model';
import { pathOf, splitDoc } from '../model/document';
import { type DatabaseError, invalidRev, isDatabaseError, missingId } from '../model/errors';
import { isLocalId, uuid } from '../model/ids';
import { formatRev, generationOf, MAX_GENERATION, nextRev } from '../model/revision';
import type { Rev, Revisions, WriteFailure } from '../model/types';
import type { AttachmentSet } from './attachment-set';

/** What an edit has only when its document has attachments. */
interface Attached {
  /** Made to take content away. */
  readonly makesRoom?: boolean;
  /** As the user wrote them; such an edit is not ready to be written. */
  readonly given?: Record<string, unknown>;
  /** With their content taken in. `body` and `rev` are then without them: the plan resolves them. */
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
  /** The revision that the edit makes when it extends `parent` as it says. */
  readonly rev: Rev;
  /** May extend a revision that is no leaf. */
  readonly force: boolean;
  /** Hash part of the revision where revisions are random. */
  readonly random?: string;
}

/** A revision made elsewhere, to be kept as it is (`new_edits: false`). */
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

/** `_rev` of a `_local/` document counts its writes. */
const LOCAL_REV = /^0-\d{1,15}$/;
const LOCAL_PREFIX_LENGTH = '_local/'.length;

/** The key of a `_local/` document's row. */
export const localKey = (id: string): string => id.slice(LOCAL_PREFIX_LENGTH);

/**
 * One document as the edit it asks for; a random id when it has none, which a revision made elsewhere has. The caller's object is
 * not changed.
 *
 * @param mustName it must have an `_id` where its JSON has its fields: an accessor of its class is none
 * @param json of it, where that is known: see {@link TEXTS}
 * @throws DatabaseError by the field rules
 */
export function toEdit(doc: unknown, options: EditOptions, mustName = false, json?: string): Edit {
  const local = localIdOf(doc);
  if (local !== undefined) return toLocalEdit(doc as object, local);
  const { id: given, rev, deleted, body, revisions, attachments } = splitDoc(doc, json);
  if (given === undefined && (mustName || !options.newEdits)) throw missingId();
  const id = given ?? uuid();
  const edit = options.newEdits
    ? newEdit(id, rev, deleted, body, options)
    : replicatedEdit(id, rev, deleted, body, revisions);
  // As in PouchDB a deletion keeps none of its own; a tombstone made elsewhere is taken as it is.
  if (attachments === undefined || (deleted && options.newEdits)) return edit;
  return { ...edit, given: attachments };
}

/** As {@link toEdit}, of a document that must have an `_id`: what is wrong with it names it. */
export function toOneEdit(doc: unknown, options: EditOptions): Edit {
  try {
    return toEdit(doc, options, true);
  } catch (error) {
    throw errorWith(error, doc);
  }
}

/** As {@link toEdit}, for a list: what is wrong with a document names it, and its place. @param texts see {@link TEXTS} */
export function toEdits(
  docs: readonly unknown[],
  options: EditOptions,
  texts: readonly string[] = NONE,
): Edit[] {
  const edits: Edit[] = [];
  // By number: `map` would pass over a hole, which is no document, and leave one.
  for (let index = 0; index < docs.length; index++) {
    try {
      edits.push(toEdit(docs[index], options, false, texts[index]));
    } catch (error) {
      throw errorInList(error, docs[index], index);
    }
  }
  return edits;
}

/** What was wrong with a document of a list, told by its id and place. */
export const errorInList = (error: unknown, doc: unknown, index: number): unknown =>
  isDatabaseError(error) ? Object.assign(errorWith(error, doc) as object, { index }) : error;

/** What was wrong with a document, told by its id; not what is wrong with the database. */
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
  // No edit can follow: what it made could not be named.
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

/** The revision that `edit` makes of `parent`, which may be another one than the edit named (a tombstone). */
export function revOf(edit: NewEdit, parent: Rev | undefined): Rev {
  return parent === edit.parent ? edit.rev : derivedRev(edit, parent);
}

/** As {@link revOf}, of an edit that is another one by now. */
export function derivedRev({ id, deleted, body, random }: NewEdit, parent: Rev | undefined): Rev {
  return random === undefined ? nextRev(id, parent, deleted, body) : randomRev(parent, random);
}

const randomRev = (parent: Rev | undefined, hash: string): Rev =>
  formatRev(parent === undefined ? 1 : generationOf(parent) + 1, hash);

function localIdOf(doc: unknown): string | undefined {
  if (typeof doc !== 'object' || doc === null) return undefined;
  const id = (doc as { _id?: unknown })._id;
  return typeof id === 'string' && isLocalId(id) ? id : undefined;
}

function toLocalEdit(doc: object, id: string): LocalEdit {
  const { _rev: rev, ...rest } = doc as { _rev?: unknown };
  if (rev !== undefined && (typeof rev !== 'string' || !LOCAL_REV.test(rev))) throw invalidRev();
  const { deleted, body, attachments } = splitDoc(rest);
  const edit: LocalEdit = { kind: 'local', id, rev, deleted, body };
  return attachments === undefined || deleted ? edit : { ...edit, given: attachments };
}

/** An error as a row of a bulk answer. */
export function failureRow(id: string, error: DatabaseError): WriteFailure {
  const { status, name, message, reason } = error;
  return { id, error: true, status, name, message, reason };
}

/** Characters of a tombstone that is about its document's end, and nothing that is kept. */
const TOMBSTONE_LENGTH = 1024;

/** Whether a write of nothing else takes more away, with the next compaction, than it brings. */
export function makesRoom(edits: readonly Edit[]): boolean {
  return edits.every((edit) => {
    if (edit.makesRoom === true) return true;
    return edit.kind !== 'replicated' && edit.deleted && edit.body.length <= TOMBSTONE_LENGTH;
  });
}

/** The documents of a `bulkDocs` argument. @throws DatabaseError when it is neither a list nor has one */
export function docsOf(input: unknown, missing: () => DatabaseError): readonly unknown[] {
  const docs = Array.isArray(input) ? input : (input as { docs?: unknown } | null | undefined)?.docs;
  if (!Array.isArray(docs)) throw missing();
  return docs;
}
