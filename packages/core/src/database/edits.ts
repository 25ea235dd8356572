/**
 * What `put` and `bulkDocs` make of documents before they go to the writer: checked, split, stringified and hashed once,
 * outside any commit.
 */

import type { RevPath } from '../model';
import { pathOf, splitDoc } from '../model/document';
import { type DatabaseError, invalidRev, notImplemented } from '../model/errors';
import { isLocalId, uuid } from '../model/ids';
import { formatRev, generationOf, nextRev } from '../model/revision';
import type { Rev, Revisions, WriteFailure } from '../model/types';

/** A user's edit of the revision `parent`, or of nothing. */
export interface NewEdit {
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
export interface ReplicatedEdit {
  readonly kind: 'replicated';
  readonly id: string;
  readonly rev: Rev;
  readonly path: RevPath;
  readonly body: string;
}

/** A write of a `_local/` document: no tree, no seq. */
export interface LocalEdit {
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

/** `_rev` of a `_local/` document counts its writes. */
const LOCAL_REV = /^0-\d{1,15}$/;
const LOCAL_PREFIX_LENGTH = '_local/'.length;

/** The key of a `_local/` document's row. */
export const localKey = (id: string): string => id.slice(LOCAL_PREFIX_LENGTH);

/**
 * One document as the edit it asks for; a random id when it has none. The caller's object is not changed.
 *
 * @returns a failure in place of an edit where only this document, not the call, is refused
 * @throws DatabaseError by the field rules, and for what is not supported
 */
export function toEdit(doc: unknown, options: EditOptions): Edit | WriteFailure {
  const local = localIdOf(doc);
  if (local !== undefined) return toLocalEdit(doc as object, local);
  const { id = uuid(), rev, deleted, body, revisions, attachments } = splitDoc(doc);
  if (attachments !== undefined && !deleted) {
    const error = attachmentsRefused(id);
    if (options.newEdits) throw error;
    return failureRow(id, error);
  }
  return options.newEdits
    ? newEdit(id, rev, deleted, body, options)
    : replicatedEdit(id, rev, deleted, body, revisions);
}

function newEdit(
  id: string,
  parent: Rev | undefined,
  deleted: boolean,
  body: string,
  options: EditOptions,
): NewEdit {
  const { force } = options;
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
  return { kind: 'replicated', id, rev: formatRev(path.generation, path.hashes[0]!), path, body };
}

/** The revision that `edit` makes of `parent`, which may be another one than the edit named (a tombstone). */
export function revOf(edit: NewEdit, parent: Rev | undefined): Rev {
  if (parent === edit.parent) return edit.rev;
  if (edit.random !== undefined) return randomRev(parent, edit.random);
  return nextRev(edit.id, parent, edit.deleted, edit.body);
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
  if (attachments !== undefined && !deleted) throw attachmentsRefused(id);
  return { kind: 'local', id, rev, deleted, body };
}

function attachmentsRefused(id: string): DatabaseError {
  return notImplemented(`Attachments are not supported yet: document '${id}' has some in _attachments`);
}

/** An error as a row of a bulk answer. */
export function failureRow(id: string, error: DatabaseError): WriteFailure {
  const { status, name, message, reason } = error;
  return { id, error: true, status, name, message, reason };
}

/** The documents of a `bulkDocs` argument. @throws DatabaseError when it is neither a list nor has one */
export function docsOf(input: unknown, missing: () => DatabaseError): readonly unknown[] {
  const docs = Array.isArray(input) ? input : (input as { docs?: unknown } | null | undefined)?.docs;
  if (!Array.isArray(docs)) throw missing();
  return docs;
}
