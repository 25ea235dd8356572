/**
 * `_local/` documents: kept in their own table, without tree, seq or count; they never leave the database.
 *
 * Their revision is `0-n`, where n is the number of writes. To change one, an edit must name its revision.
 */

import { joinDoc } from '../model/document';
import { conflict, notFound } from '../model/errors';
import { localKey } from '../model/ids';
import { nextLocalRev } from '../model/revision';
import type { ExistingDoc } from '../model/types';
import type { DatabaseTables, LocalRow } from '../store/schema';
import type { CallOptions, Store } from '../store/store';
import { failureRow, type LocalEdit } from './edits';
import type { Outcome } from './plan-edits';

/** The revision with which a deletion is answered. */
const DELETED = '0-0';

/** Applies `edit` to the row at `place` of `rows`, an array of the plan's own: the row is replaced, removed or left as it is. */
export function applyLocal(edit: LocalEdit, rows: (LocalRow | undefined)[], place: number): Outcome {
  const before = rows[place];
  if (edit.deleted && before === undefined) return failureRow(edit.id, notFound('missing', edit.id));
  if (edit.rev !== before?.rev) return failureRow(edit.id, conflict(edit.id));
  if (edit.deleted) {
    rows[place] = undefined;
    return { ok: true, id: edit.id, rev: DELETED };
  }
  const rev = nextLocalRev(before?.rev);
  rows[place] = { id: localKey(edit.id), rev, body: edit.body };
  return { ok: true, id: edit.id, rev };
}

/** @throws DatabaseError 404 when there is none, or when `rev` is given and is not its revision */
export async function getLocal(
  store: Store<DatabaseTables>,
  id: string,
  options: CallOptions & { readonly rev?: string | undefined },
): Promise<ExistingDoc> {
  const queries = [{ from: 'local', keys: [localKey(id)], texts: true }] as const;
  const [rows] = store.readNow(queries) ?? (await store.read(queries, { signal: options.signal }));
  const row = rows[0];
  if (row === undefined || (options.rev !== undefined && options.rev !== row.rev)) {
    throw notFound('missing', id);
  }
  return joinDoc(id, row.rev, false, row.body as string);
}
