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
  type IndexEntry,
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
  { leading, order, descending: reverse, project }: Prepared,
  values: readonly Json[],
  { limit = DEFAULT_LIMIT }: FindRequest,
  tag: string,
): FindResult | undefined {
  const key = keyOf(leading, values);
  const text = toKey(key);
  const size = firstBatch(limit);
  const range = { gte: [tag, text], lte: [tag, text, []] } as const;
  const rows = store.readNow([{ from: 'index', range, reverse, limit: size, texts: false }])?.[0];
  const found = rows && documentsNow(store, rows);
  if (rows === undefined || found === undefined) return undefined;
  const docs: ExistingDoc<object>[] = [];
  let id: string | undefined;
  for (let i = 0; i < rows.length; i++) {
    const doc = found[i];
    if (doc === undefined || isDesignId(doc._id)) continue;
    docs.push(project(doc));
    id = rows[i]!.id;
  }
  if (docs.length < limit && rows.length === size) return undefined;
  return { docs, bookmark: id === undefined ? NO_BOOKMARK : writeBookmark({ order, key, id }) };
}

const BODY = ['body'] as const;

/** The documents of rows; `undefined` for those that are deleted. They belong to the caller. */
function documentsNow(
  store: Store<DatabaseTables>,
  rows: readonly IndexEntry[],
): (ExistingDoc | undefined)[] | undefined {
  const kept = keptDocs(store);
  const docs = new Array<ExistingDoc | undefined>(rows.length);
  let lacking: string[] | undefined;
  for (let i = 0; i < rows.length; i++) {
    const { id } = rows[i]!;
    const doc = kept.current(id);
    if (doc !== undefined) docs[i] = copyOf(doc);
    else if (lacking === undefined) lacking = [id];
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
