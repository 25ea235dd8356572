/**
 * Edits as they were when the call was made: checked like in a local database, and turned into text at once. Their request may wait
 * for others, or for credentials, and may be sent again; what the caller makes of the document meanwhile has no effect.
 */
import {
  type BulkDocsOptions,
  badRequest,
  type Doc,
  errorInList,
  errorWith,
  isLocalId,
  isObject,
  missingId,
  parseRev,
  type Rev,
  type SplitDoc,
  splitDoc,
  uuid,
  writtenJson,
} from '@settledb/core';
import { isDotId } from './wire';

interface Named {
  readonly id: string;
  readonly rev: Rev | undefined;
}

/** Ready to be sent. */
export interface TextEdit extends Named {
  readonly json: string;
}

/** An edit of a document with attachments, whose data is still to be read. */
export interface DataEdit extends Named {
  readonly doc: Doc;
}

export type Edit = TextEdit | DataEdit;

/** An edit as it is sent. */
export interface Sent {
  readonly edit: Edit;
  readonly new_edits: boolean;
}

/** Checked before anything is sent; an error names the document. */
export function checkEdits(docs: readonly unknown[], newEdits: boolean): Edit[] {
  // Not `map`: a hole is not a document either.
  return Array.from(docs, (doc, index) => {
    try {
      return checkEdit(doc, newEdits);
    } catch (error) {
      throw errorInList(error, doc, index);
    }
  });
}

/** Like {@link checkEdits}, for one document that must have an `_id`. */
export function checkPut(doc: unknown, options: BulkDocsOptions): Sent {
  try {
    const split = splitOf(doc);
    if (split.id === undefined) throw missingId();
    return asSent(split.id, split, options);
  } catch (error) {
    throw errorWith(error, doc);
  }
}

function checkEdit(doc: unknown, newEdits: boolean): Edit {
  const split = splitOf(doc);
  const { id = newEdits ? uuid() : undefined, rev } = split;
  if (id === undefined) throw missingId();
  if (!newEdits && !isLocalId(id)) parseRev(rev);
  return editOf(id, split);
}

/** @throws the errors of the field rules */
function splitOf(doc: unknown): SplitDoc {
  const split = splitDoc(doc);
  const { id } = split;
  // Local documents are reached only by URL, which cannot carry `.` and `..`: one that could be written but never read is refused.
  if (id !== undefined && isLocalId(id) && isDotId(id))
    throw badRequest(`No URL can name ${JSON.stringify(id)}`);
  return split;
}

/**
 * What to send for `force`, which the protocol has no word for: a new branch is sent as a replicated revision with a parent that
 * is chosen here.
 */
function asSent(id: string, split: SplitDoc, { new_edits, force }: BulkDocsOptions): Sent {
  const { rev, attachments } = split;
  if (!force || new_edits === false || rev === undefined)
    return { edit: editOf(id, split), new_edits: new_edits !== false };
  const { generation, hash } = parseRev(rev);
  const made = uuid();
  const edit = editOf(id, {
    ...split,
    rev: `${generation + 1}-${made}`,
    revisions: { start: generation + 1, ids: [made, hash] },
    ...(attachments && { attachments: withRevpos(attachments, generation + 1) }),
  });
  return { edit, new_edits: false };
}

/** For a replicated revision, the server keeps a new attachment's revpos as given, and takes 0 if there is none. */
function withRevpos(attachments: Readonly<Record<string, unknown>>, revpos: number): Record<string, unknown> {
  const entries = Object.entries(attachments).map(([name, given]) => {
    const isNew = isObject(given) && given.stub !== true;
    return [name, isNew ? { ...given, revpos } : given];
  });
  return Object.fromEntries(entries);
}

function editOf(id: string, { rev, deleted, body, revisions, attachments }: SplitDoc): Edit {
  const meta = { _id: id, _rev: rev, _deleted: deleted || undefined, _revisions: revisions };
  if (attachments === undefined) {
    const head = writtenJson(meta)!;
    return { id, rev, json: body === '{}' ? head : `${head.slice(0, -1)},${body.slice(1)}` };
  }
  return { id, rev, doc: { ...meta, ...JSON.parse(body), _attachments: attachments } };
}
