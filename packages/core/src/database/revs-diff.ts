/**
 * `revsDiff`: which of these revisions the database lacks. A replicator asks before it fetches anything.
 */
import { generationOf, hasRev, type Leaf, leaves } from '../model';
import type { Rev, RevsDiffResult } from '../model/types';
import type { DatabaseTables, DocRow } from '../store/schema';
import type { CallOptions, Store } from '../store/store';
import { checkRevLists } from './many-revs';
import { hasPast, TREE_TEXTS, treeOf } from './tip';

/** Ids that lack nothing are absent. The answer has no prototype, since ids may be named like its members. */
export async function revsDiff(
  store: Store<DatabaseTables>,
  revs: Record<string, readonly Rev[]>,
  options: CallOptions,
): Promise<RevsDiffResult> {
  options.signal?.throwIfAborted();
  checkRevLists(revs);
  const ids = Object.keys(revs);
  const queries = [{ from: 'docs', keys: ids, texts: TREE_TEXTS }] as const;
  const [rows] = store.readNow(queries) ?? (await store.read(queries, { signal: options.signal }));
  const result: RevsDiffResult = Object.create(null);
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i]!;
    const row = rows[i];
    const asked = revs[id]!; // a key of this object
    const tree = row === undefined || !hasPast(row) ? undefined : treeOf(row);
    const isMissing = (rev: Rev): boolean => (tree === undefined ? rev !== row?.rev : !hasRev(tree, rev));
    // Nearly always all are missing. An array filled by `filter` has room for 17.
    const missing = asked.every(isMissing) ? asked.slice() : asked.filter(isMissing);
    if (missing.length > 0) result[id] = row ? { missing, ...possibleAncestors(row, missing) } : { missing };
  }
  return result;
}

/**
 * Leaves of a lower generation than some missing revision, highest first: revisions that a source may assume the asker has, so that it
 * need not send their attachments again. Left out if there are none, as in CouchDB.
 */
function possibleAncestors(row: DocRow, missing: readonly Rev[]): { possible_ancestors?: Rev[] } {
  const highest = missing.reduce((most, rev) => Math.max(most, generationOf(rev)), 0);
  const lower = leaves(treeOf(row)).filter(({ generation }) => generation < highest);
  return lower.length === 0 ? {} : { possible_ancestors: lower.sort(byRev).map(({ rev }) => rev) };
}

const byRev = (a: Leaf, b: Leaf): number =>
  b.generation - a.generation || (a.hash < b.hash ? 1 : a.hash > b.hash ? -1 : 0);
