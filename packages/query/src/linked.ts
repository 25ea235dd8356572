/** The documents of a view's rows: their own, or those that their values name. */
import {
  copyOf,
  type Database,
  type DatabaseTables,
  type ExistingDoc,
  isDatabaseError,
  keptDocs,
  type Loose,
  type Store,
  type ViewOptions,
  type ViewRow,
} from '@settledb/core';
import type { QueryRow } from './rows';

/**
 * Rows with their documents. A value `{ _id, _rev }` names another document, or a revision, as far as it has these fields. `null`: the
 * document is deleted, or never existed.
 */
export async function withDocs(
  database: Pick<Database, 'allDocs' | 'get'>,
  rows: readonly QueryRow[],
  options: ViewOptions,
): Promise<ViewRow[]> {
  const { conflicts, attachments, binary, signal } = options;
  const keys = rows.map(linkedId);
  const named = { keys: keys as readonly string[], include_docs: true };
  const found = await database.allDocs({ ...named, conflicts, attachments, binary, signal });
  return Promise.all(
    rows.map(async (row, i): Promise<ViewRow> => {
      const { doc = null } = (found.rows[i] ?? {}) as { doc?: ExistingDoc | null };
      const rev = isLink(row.value) && typeof row.value._rev === 'string' ? row.value._rev : undefined;
      if (rev === undefined || rev === doc?._rev) return { ...row, doc };
      return { ...row, doc: await revision(database, keys[i], rev, options) };
    }),
  );
}

/** Like {@link withDocs}, for rows of this turn, if their documents are in memory and no row names a revision; else `undefined`. */
export function withDocsNow(store: Store<DatabaseTables>, rows: readonly QueryRow[]): ViewRow[] | undefined {
  const kept = keptDocs(store);
  const ids: string[] = [];
  const known = rows.map((row) => {
    const id = linkedId(row);
    const doc = typeof id === 'string' ? kept.current(id) : undefined;
    // A value that is not an id finds nothing, and neither does the empty id.
    if (doc === undefined) ids.push(typeof id === 'string' ? id : '');
    return doc;
  });
  if (rows.some(({ value }) => isLink(value) && typeof value._rev === 'string')) return undefined;
  const found = ids.length === 0 ? [[]] : store.readNow([{ from: 'docs', keys: ids, texts: BODY }]);
  if (found === undefined) return undefined;
  let next = 0;
  return rows.map(({ id, key, value }, i): ViewRow => {
    const doc = known[i];
    if (doc !== undefined) return { id, key, value, doc: copyOf(doc) };
    const stored = found[0][next++];
    return {
      id,
      key,
      value,
      doc: stored === undefined || stored.deleted ? null : kept.doc(stored, kept.state),
    };
  });
}

const BODY = ['body'] as const;

const isLink = (value: Loose): boolean => typeof value === 'object' && value !== null;

/** A value that is not an id finds nothing. */
function linkedId({ id, value }: QueryRow): unknown {
  return isLink(value) && '_id' in value && value._id !== undefined ? value._id : id;
}

async function revision(
  database: Pick<Database, 'get'>,
  id: unknown,
  rev: string,
  { attachments, binary, signal }: ViewOptions,
): Promise<ExistingDoc | null> {
  try {
    return await database.get(id as string, { rev, attachments, binary, signal });
  } catch (error) {
    if (isDatabaseError(error) && (error.status === 404 || error.status === 400)) return null;
    throw error;
  }
}
