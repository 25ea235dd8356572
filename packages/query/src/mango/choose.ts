/** The plan of a `find`, with the caller's own choices: the index to use, and the place to go on from. */
import { DatabaseError } from '@settledb/core';
import { type Bookmark, invalidBookmark, isRowKey } from './bookmark';
import { definitionOf, type MangoIndex } from './mango-index';
import { makePlan, makePlanWith, type Plan } from './planner';
import type { Find, UseIndex } from './request';

/**
 * @throws DatabaseError `unknown_error` for an index that does not exist, `no_usable_index` for one that lacks documents which can
 *   match, 400 `invalid_bookmark` for one of an order that no longer exists, or of a place that the order does not have
 */
export function choosePlan(asked: Find, indexes: readonly MangoIndex[]): Plan {
  const { bookmark } = asked;
  const preferred = preferredPlan(asked, indexes);
  if (bookmark === undefined) return preferred;
  const isOfPlan = bookmark.order === orderName(asked, preferred);
  // The bookmark of another plan: since then an index was created or removed.
  const plan = isOfPlan ? preferred : planOfOrder(asked, indexes, preferred, bookmark.order);
  if (plan === undefined || bookmark.order !== orderName(asked, plan) || !isPlaceIn(asked, plan, bookmark))
    throw invalidBookmark(asked.request.bookmark);
  return plan;
}

/** Whether the order has such places. If not, the bookmark is none of ours. */
function isPlaceIn({ sort }: Find, plan: Plan, { key }: Bookmark): boolean {
  if (plan.sorts) return Array.isArray(key) && key.length === sort.length;
  return plan.kind !== 'index' || isRowKey(key);
}

/** Names the order in which a plan answers. Plans of the same order can go on from each other's bookmarks. */
export function orderName({ sortFields }: Find, plan: Plan): string {
  if (plan.sorts) return `sort ${JSON.stringify(sortFields.map(({ name, direction }) => [name, direction]))}`;
  const way = plan.kind === 'index' ? definitionOf(plan.access.index).id : 'ids';
  return plan.descending ? `${way} backwards` : way;
}

/** Indexes that may be used without being named: a partial one does not have all documents. */
export const openIndexes = (indexes: readonly MangoIndex[]): MangoIndex[] =>
  indexes.filter(({ partial }) => partial === undefined);

function preferredPlan(asked: Find, indexes: readonly MangoIndex[]): Plan {
  const { useIndex } = asked;
  if (useIndex === undefined) return makePlan(asked, openIndexes(indexes));
  if (useIndex.ddoc === null) return makePlan(asked, []);
  const named = indexes.filter((index) => isNamed(index, useIndex));
  if (named.length === 0)
    throw indexError('unknown_error', 'Could not find that index or could not use that index for the query');
  const plan = makePlanWith(asked, named);
  if (plan !== undefined) return plan;
  throw indexError(
    'no_usable_index',
    'There is no index available for this selector: the index that was named may lack documents that match',
  );
}

const isNamed = (index: MangoIndex, { ddoc, name }: UseIndex): boolean =>
  name === undefined
    ? index.ddoc === ddoc || `${index.ddoc}/${index.name}` === ddoc
    : index.ddoc === ddoc && index.name === name;

/** With the name in `error` too, because PouchDB's users look for it there. */
function indexError(name: string, reason: string): DatabaseError {
  return Object.assign(new DatabaseError({ status: 400, name, reason }), { error: name });
}

function planOfOrder(
  asked: Find,
  indexes: readonly MangoIndex[],
  preferred: Plan,
  order: string,
): Plan | undefined {
  if (order.startsWith('sort ')) {
    const { sorts: _, ...way } = preferred;
    if (way.kind !== 'index') return { ...way, sorts: true, descending: false };
    return { kind: 'gather', accesses: [way.access], ids: [], sorts: true, descending: false };
  }
  if (order.startsWith('ids')) return makePlan(asked, []);
  const index = indexes.find((each) => order.startsWith(definitionOf(each).id));
  return index && makePlanWith(asked, [index]);
}
