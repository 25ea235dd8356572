/** `get`: the winner, by the shortest way. Everything that needs the revision tree is in `get-history.ts`. */

import { docText, joinDoc } from '../model/document';
import { invalidIdType, notFound } from '../model/errors';
import { isLocalId } from '../model/ids';
import type { ExistingDoc } from '../model/types';
import { type DatabaseTables, type DocRow, storedBody } from '../store/schema';
import type { Store } from '../store/store';
import type { GetOptions } from './database';
import { copyOf, type KeptDocs, keptDocs } from './kept-docs';
import { getLocal } from './local-docs';

type DatabaseStore = Store<DatabaseTables>;
const BODY = ['body'] as const;
/** Most reads ask for a document and nothing else. */
const PLAIN: GetOptions = {};
/** With this very object as options, the answer is the document's JSON text: for a host that sends it on as it is. */
export const GET_AS_TEXT: GetOptions = {};

/**
 * One document as it is now. Ignores all options that {@link needsHistory}, except the `rev` of a `_local/` document.
 *
 * @throws DatabaseError 404 `missing`, or `deleted` when only its tombstone is left
 */
export async function getDoc(
  store: DatabaseStore,
  id: unknown,
  options: GetOptions = PLAIN,
): Promise<ExistingDoc> {
  options.signal?.throwIfAborted();
  if (typeof id !== 'string') throw invalidIdType();
  if (options === PLAIN || options === GET_AS_TEXT) {
    const kept = keptDocs(store);
    const doc = options === PLAIN ? kept.current(id) : undefined;
    if (doc !== undefined && store.stateNow() !== undefined) return copyOf(doc);
    const row = store.rowNow('docs', id, BODY);
    if (row !== undefined) return winnerOf(id, row, options, kept, kept.state);
  }
  if (isLocalId(id)) return getLocal(store, id, options);
  return getWinner(store, id, options);
}

/** Whether other revisions are asked for, or what the tree says of this one. */
export const needsHistory = (options: GetOptions): boolean => {
  const { open_revs, rev, revs, revs_info, conflicts, deleted_conflicts, local_seq } = options;
  if (open_revs !== undefined || rev !== undefined) return true;
  return Boolean(revs || revs_info || conflicts || deleted_conflicts || local_seq);
};

async function getWinner(store: DatabaseStore, id: string, options: GetOptions): Promise<ExistingDoc> {
  const queries = [{ from: 'docs', keys: [id], texts: BODY }] as const;
  const [rows] = store.readNow(queries) ?? (await store.read(queries, { signal: options.signal }));
  return winnerOf(id, rows[0], options, keptDocs(store));
}

/** @param state see {@link KeptDocs.doc} */
function winnerOf(
  id: string,
  row: DocRow | undefined,
  options: GetOptions,
  kept: KeptDocs,
  state?: number,
): ExistingDoc {
  if (row === undefined) throw notFound('missing', id);
  if (row.deleted) throw notFound('deleted', id);
  if (options === PLAIN) return kept.doc(row, state);
  const text = storedBody(row);
  if (options === GET_AS_TEXT) return docText(id, row.rev, false, text) as never;
  return joinDoc(id, row.rev, false, text);
}
