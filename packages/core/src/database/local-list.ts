/** The list of `_local/` documents. */
import { joinDoc } from '../model/document';
import { isLocalId, LOCAL_END, LOCAL_PREFIX, localId, localKey } from '../model/ids';
import type { ExistingDoc } from '../model/types';
import type { DatabaseTables } from '../store/schema';
import type { Store } from '../store/store';
import { rangeOf } from './all-docs';
import type { AllDocsOptions } from './database';

export type LocalDocsOptions = Pick<
  AllDocsOptions,
  'startkey' | 'endkey' | 'inclusive_end' | 'descending' | 'limit' | 'skip' | 'signal'
> & {
  /** `false`: the documents have id and revision alone, and their bodies are not read. Default: true. */
  readonly include_docs?: boolean | undefined;
};

/** The documents between two ids, which include the prefix, listed as `allDocs` lists others. */
export async function listLocal(
  store: Store<DatabaseTables>,
  options: LocalDocsOptions,
): Promise<ExistingDoc[]> {
  const { startkey, endkey, inclusive_end, descending = false, limit, skip, signal } = options;
  const { include_docs: texts = true } = options;
  const [low, high] = descending ? [endkey, startkey] : [startkey, endkey];
  // A bound outside the prefix admits all of the documents, or none.
  if ((low !== undefined && low >= LOCAL_END) || (high !== undefined && high < LOCAL_PREFIX)) return [];
  const [start, end] = [startkey, endkey].map((id) =>
    id !== undefined && isLocalId(id) ? localKey(id) : undefined,
  );
  const range = rangeOf({ startkey: start, endkey: end, inclusive_end, descending }) ?? {};
  const query = { from: 'local', range, texts, reverse: descending } as const;
  const bounded = { ...query, ...(limit === undefined ? {} : { limit }), ...(skip ? { skip } : {}) };
  const [rows] = await store.read([bounded], { signal });
  return rows.map(({ id, rev, body }) =>
    texts ? joinDoc(localId(id), rev, false, body as string) : { _id: localId(id), _rev: rev },
  );
}
