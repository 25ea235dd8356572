/**
 * A shortcut for the most frequent find: each field of an index held to one value and nothing else asked, `{ name: 'x' }`. All
 * its rows have one key, which is known, so no range is made, no key is read and nothing is tested.
 */
import {
  copyOf,
  type DatabaseTables,
  type ExistingDoc,
  type FindRequest,
  type FindResult,
  isDesignId,
  type Json,
  type KeptDocs,
  keptDocs,
  type Store,
  toKey,
} from '@settledb/core';
import { keyOf } from './access';
import { firstBatch } from './batches';
import { NO_BOOKMARK, writeBookmark } from './bookmark';
import { DEFAULT_LIMIT } from './request';
import type { Prepared } from './shape';

/** Whether a request whose shape is {@link Prepared.isPoint} begins at the beginning, and wants no counts. */
export function asksForPoint({ bookmark, skip, execution_stats }: FindRequest): boolean {
  return !bookmark && !skip && !execution_stats;
}

/**
 * @param tag names the rows of the index
 * @returns undefined if something is not in memory, or more rows have to be read
 */
export function findPoint(
  store: Store<DatabaseTables>,
  { leading, order, descending, project }: Prepared,
  values: readonly Json[],
  { limit = DEFAULT_LIMIT }: FindRequest,
  tag: string,
): FindResult | undefined {
  const key = keyOf(leading, values);
  const size = firstBatch(limit);
  const ids = store.fieldNow('index', 'id', [tag, toKey(key)], size);
  // If there are that many, a descending read may have to end with others.
  if (ids === undefined || (descending && ids.length === size)) return undefined;
  if (descending) ids.reverse();
  const kept = keptDocs(store);
  const docs: ExistingDoc<object>[] = [];
  let last: string | undefined;
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i]!;
    if (isDesignId(id)) continue;
    const doc = docNow(store, kept, id);
    if (doc === undefined) return undefined;
    if (doc === null) continue;
    docs.push(project(doc));
    last = id;
  }
  if (docs.length < limit && ids.length === size) return undefined;
  return { docs, bookmark: last === undefined ? NO_BOOKMARK : writeBookmark({ order, key, id: last }) };
}

const BODY = ['body'] as const;

/** The document by `id`, as the caller's own copy; `null`: it is deleted; `undefined`: it is not in memory. */
function docNow(store: Store<DatabaseTables>, kept: KeptDocs, id: string): ExistingDoc | null | undefined {
  const doc = kept.current(id);
  if (doc !== undefined) return copyOf(doc);
  const row = store.rowNow('docs', id, BODY);
  if (row === undefined) return undefined;
  return row.deleted ? null : kept.doc(row, kept.state);
}
