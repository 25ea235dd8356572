/** The documents of a view's rows that are in memory. */
import {
  type BareRow,
  copyOf,
  type DatabaseTables,
  isLink,
  keptDocs,
  linkedId,
  type Store,
  type ViewRow,
} from '@settledb/core';

/** Like `withDocs`, for rows of this turn, if their documents are in memory and no row names a revision; else `undefined`. */
export function withDocsNow(store: Store<DatabaseTables>, rows: readonly BareRow[]): ViewRow[] | undefined {
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
