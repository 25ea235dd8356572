/**
 * The most usual find of all, by a shorter way: each field of an index held to one value and nothing else asked, `{ name: 'x' }`. All
 * its rows have one key, which is known, so no range is made, no key read and nothing tested.
 */
import {
  copyOf,
  type DatabaseTables,
  type ExistingDoc,
  type FindRequest,
  type FindResult,
  isDesignId,
  type Json,
  keptDocs,
  type Store,
  toKey,
} from '@settledb/core';
import { keyOf } from './access';
import { NO_BOOKMARK, writeBookmark } from './bookmark';
import { firstBatch } from './documents';
import { DEFAULT_LIMIT } from './request';
import type { Prepared } from './shape';

/** Whether a request, of a shape that {@link Prepared.isPoint}, begins at the beginning, and wants nothing counted. */
export function asksForPoint({ bookmark, skip, execution_stats }: FindRequest): boolean {
  return !bookmark && !skip && !execution_stats;
}

/**
 * @param tag names the rows of the index
 * @returns undefined where something is not in memory, or more rows have to be read
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
  // Of so many the last ones may be others, backwards.
  if (ids === undefined || (descending && ids.length === size)) return undefined;
  if (descending) ids.reverse();
  const found = documentsNow(store, ids);
  if (found === undefined) return undefined;
  const docs: ExistingDoc<object>[] = [];
  let last: string | undefined;
  for (let i = 0; i < ids.length; i++) {
    const doc = found[i];
    if (doc === undefined || isDesignId(doc._id)) continue;
    docs.push(project(doc));
    last = doc._id;
  }
  if (docs.length < limit && ids.length === size) return undefined;
  return { docs, bookmark: last === undefined ? NO_BOOKMARK : writeBookmark({ order, key, id: last }) };
}

const BODY = ['body'] as const;

/** The documents by `ids`; `undefined` for those that are deleted. They belong to the caller. */
function documentsNow(
  store: Store<DatabaseTables>,
  ids: readonly string[],
): (ExistingDoc | undefined)[] | undefined {
  const kept = keptDocs(store);
  const docs: (ExistingDoc | undefined)[] = [];
  let lacking: string[] | undefined;
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i]!;
    const doc = kept.current(id);
    docs.push(doc && copyOf(doc));
    if (doc !== undefined) continue;
    if (lacking === undefined) lacking = [id];
    else lacking.push(id);
  }
  if (lacking === undefined) return docs;
  const found = store.readNow([{ from: 'docs', keys: lacking, texts: BODY }])?.[0];
  if (found === undefined) return undefined;
  for (let i = 0, next = 0; i < docs.length; i++) {
    if (docs[i] !== undefined) continue;
    const row = found[next++];
    if (row !== undefined && !row.deleted) docs[i] = kept.doc(row, kept.state);
  }
  return docs;
}
