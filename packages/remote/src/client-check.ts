/**
 * Checks the answers of a server before anything relies on them.
 *
 * Only an answer of exactly the right form can say "nothing new", "nothing missing" or "written". Everything else is
 * `bad_response`.
 */
import {
  type AllDocsResult,
  type BulkDocsRow,
  type BulkGetResult,
  type ChangesResult,
  corrupt,
  type DatabaseError,
  type ExistingDoc,
  failureRow,
  isObject,
  isSeq,
  isTexts,
  type OpenRevsRow,
  type Rev,
  type RevsDiffResult,
  type WriteFailure,
  type Written,
} from '@settledb/core';
import { badResponse } from './client-error';
import { fromWireError } from './wire';

const isRevText = (value: unknown): value is Rev => typeof value === 'string' && /^\d+-/.test(value);

/**
 * Some servers, ours too, write numeric positions as texts, as CouchDB writes opaque ones: this tells the numbers from positions that
 * cannot be compared. @param answer whose field is a position, if it has the field
 */
export function readSeq(answer: object, field: string): void {
  const values = answer as Record<string, unknown>;
  const seq = values[field];
  if (typeof seq === 'string' && /^\d{1,15}$/.test(seq)) values[field] = Number(seq);
}

export function checkObject(answer: unknown, what: string): Record<string, unknown> {
  if (!isObject(answer)) throw badResponse(`${what} is no object`);
  return answer;
}

/** What an answer says of an attachment. */
export function checkAttachment(info: unknown, name: string): asserts info is Record<string, unknown> {
  if (!isObject(info)) throw badResponse(`attachment ${JSON.stringify(name)} is none`);
}

export function checkOk(answer: unknown, what: string): { ok: true } {
  if (!isObject(answer) || answer.ok !== true) throw badResponse(`${what} is not ok`);
  return { ok: true };
}

export function checkWritten(answer: unknown, id: string): Written {
  if (!isObject(answer) || answer.ok !== true || answer.id !== id || !isRevText(answer.rev)) {
    const isOther = isObject(answer) && answer.ok === true && typeof answer.id === 'string';
    const other = isOther ? `, but ${answer.id}: does a proxy before it decode paths?` : '';
    throw badResponse(`it does not say that ${id} was written${other}`);
  }
  return { ok: true, id, rev: answer.rev };
}

export function checkDoc<Content extends object>(answer: unknown, id: string): ExistingDoc<Content> {
  if (!isObject(answer) || answer._id !== id || !isRevText(answer._rev))
    throw badResponse(`it is not document ${id}`);
  return answer as ExistingDoc<Content>;
}

export function checkOpenRevs<Content extends object>(answer: unknown, id: string): OpenRevsRow<Content>[] {
  if (!Array.isArray(answer)) throw badResponse('revisions are no list');
  return answer.map((row: unknown): OpenRevsRow<Content> => {
    if (isObject(row) && isObject(row.ok)) return { ok: checkDoc<Content>(row.ok, id) };
    if (isObject(row) && typeof row.missing === 'string') return { missing: row.missing };
    throw badResponse('a revision is neither there nor missing');
  });
}

/** One row per document, in order; with `newEdits` false, only the failures. */
export function checkBulkDocs(
  answer: unknown,
  ids: readonly (string | undefined)[],
  newEdits: boolean,
): BulkDocsRow[] {
  if (!Array.isArray(answer)) throw badResponse('_bulk_docs is no list');
  if (newEdits && answer.length !== ids.length)
    throw badResponse('_bulk_docs has not a row for each document');
  const known = new Set(ids);
  const rows: BulkDocsRow[] = [];
  const given: readonly unknown[] = newEdits ? inOrder(answer, ids) : answer;
  given.forEach((row) => {
    if (!isObject(row)) throw badResponse('_bulk_docs has a malformed row');
    const { id, error, reason, status } = row;
    if (typeof id !== 'string' || (!newEdits && !known.has(id))) throw forAnother();
    if (typeof error === 'string') {
      const wire = { error, reason: typeof reason === 'string' ? reason : error };
      rows.push(failureRow(id, fromWireError(wire, id, typeof status === 'number' ? status : undefined)));
    } else if (row.ok === true && isRevText(row.rev)) {
      if (newEdits) rows.push({ ok: true, id, rev: row.rev });
    } else throw badResponse('_bulk_docs has a row that is neither written nor refused');
  });
  return rows;
}

const forAnother = (): Error => badResponse('_bulk_docs has a row for another document');

/**
 * The rows in the order of the documents, as CouchDB has them. express-pouchdb now and then has them in that of their writing:
 * each goes to its document by id then; documents without an id take what is left.
 */
function inOrder(answer: readonly unknown[], ids: readonly (string | undefined)[]): readonly unknown[] {
  const idOf = (row: unknown): unknown => (isObject(row) ? row.id : undefined);
  if (answer.every((row, i) => ids[i] === undefined || ids[i] === idOf(row))) return answer;
  const left = new Set(answer);
  const take = (fits: (row: unknown) => boolean): unknown => {
    for (const row of left) {
      if (!fits(row)) continue;
      left.delete(row);
      return row;
    }
    throw forAnother();
  };
  const named = ids.map((id) => (id === undefined ? undefined : take((row) => idOf(row) === id)));
  return named.map((row) => row ?? take(() => true));
}

/** A row of a bulk answer as the error that a single request would have given. */
export function rowError({ id, status, name, reason }: WriteFailure): DatabaseError {
  return fromWireError({ error: name, reason }, id, status);
}

/** The revisions of `id` that are gone. */
export function checkPurged(answer: unknown, id: string): Rev[] {
  const purged = isObject(answer) && isObject(answer.purged) ? answer.purged : {};
  const revs = Object.hasOwn(purged, id) ? purged[id] : undefined;
  if (!isTexts(revs)) throw badResponse('it does not say what was purged');
  return revs;
}

/** Every id that was asked for must be answered. */
export function checkBulkGet<Content extends object>(
  answer: unknown,
  asked: readonly string[],
): BulkGetResult<Content> {
  if (!isObject(answer) || !Array.isArray(answer.results)) throw badResponse('_bulk_get has no results');
  const missing = new Set(asked);
  const known = new Set(asked);
  const results = answer.results.map((result: unknown) => {
    if (
      !isObject(result) ||
      typeof result.id !== 'string' ||
      !Array.isArray(result.docs) ||
      !known.has(result.id)
    ) {
      throw badResponse('_bulk_get has a result for nothing that was asked');
    }
    const { id } = result;
    missing.delete(id);
    return { id, docs: result.docs.map((row: unknown) => checkBulkGetRow<Content>(row, id)) };
  });
  if (missing.size > 0) throw badResponse('_bulk_get leaves out documents');
  return { results };
}

export function checkBulkGetRow<Content extends object>(
  row: unknown,
  id: string,
): BulkGetResult<Content>['results'][number]['docs'][number] {
  if (isObject(row) && isObject(row.ok)) {
    checkDoc(row.ok, id);
    return row as unknown as { ok: ExistingDoc<Content> };
  }
  if (!isObject(row) || 'ok' in row) throw badResponse('_bulk_get has a malformed row');
  const { rev, error, reason } = failureIn(row);
  return {
    error: {
      id,
      rev: typeof rev === 'string' ? rev : 'undefined',
      error: typeof error === 'string' ? error : 'unknown_error',
      reason: typeof reason === 'string' ? reason : 'unknown',
    },
  };
}

/** PouchDB Server gives no member `error`: for a revision that it lacks the row is `{ missing }`, for a document that it lacks `{}`. */
function failureIn(row: Record<string, unknown>): Record<string, unknown> {
  if (isObject(row.error)) return row.error;
  return typeof row.missing === 'string' ? { rev: row.missing, error: 'not_found', reason: 'missing' } : row;
}

/** @param count of the rows, if it is known */
export function checkAllDocs<Content extends object>(
  answer: unknown,
  count?: number | undefined,
): AllDocsResult<Content> {
  if (!isObject(answer) || !Array.isArray(answer.rows) || typeof answer.total_rows !== 'number') {
    throw badResponse('_all_docs has no rows');
  }
  if (count !== undefined && answer.rows.length !== count)
    throw badResponse('_all_docs has not a row for each key');
  const sound = answer.rows.every(
    (row: unknown) =>
      isObject(row) &&
      // A key that was asked for may be anything, and then belongs to no document.
      (typeof row.error === 'string'
        ? 'key' in row
        : typeof row.key === 'string' && isObject(row.value) && isRevText(row.value.rev)),
  );
  if (!sound) throw badResponse('_all_docs has a malformed row');
  readSeq(answer, 'update_seq');
  return answer as unknown as AllDocsResult<Content>;
}

/** @param asked what the answer may speak of */
export function checkRevsDiff(answer: unknown, asked: Record<string, readonly Rev[]>): RevsDiffResult {
  if (!isObject(answer)) throw badResponse('_revs_diff is no object');
  const result = Object.create(null) as RevsDiffResult;
  for (const [id, row] of Object.entries(answer)) {
    if (!Object.hasOwn(asked, id) || !isObject(row) || !isTexts(row.missing)) {
      throw badResponse('_revs_diff has a malformed row');
    }
    const ancestors = isTexts(row.possible_ancestors) ? { possible_ancestors: row.possible_ancestors } : {};
    result[id] = { missing: row.missing, ...ancestors };
  }
  return result;
}

export function checkChanges<Content extends object>(answer: unknown): ChangesResult<Content> {
  if (!isObject(answer) || !Array.isArray(answer.results) || !isSeq(answer.last_seq)) {
    throw badResponse('_changes has no results');
  }
  if (!answer.results.every(isChange)) throw badResponse('_changes has a malformed row');
  readSeq(answer, 'last_seq');
  for (const row of answer.results) readSeq(row, 'seq');
  const { results, last_seq, pending } = answer;
  return { results, last_seq, ...(typeof pending === 'number' ? { pending } : {}) };
}

function isChange(row: unknown): boolean {
  if (!isObject(row) || typeof row.id !== 'string' || !Array.isArray(row.changes)) return false;
  if (!isSeq(row.seq) && row.seq !== null) return false;
  return row.changes.length > 0 && row.changes.every((change) => isObject(change) && isRevText(change.rev));
}

/** Of the bytes of an attachment. */
export const differs = (name: string): DatabaseError =>
  corrupt(`Attachment ${JSON.stringify(name)} came with another length than the server said`);
export const substituted = (name: string): DatabaseError =>
  corrupt(`Attachment ${JSON.stringify(name)} came with other bytes than its digest is of`);
