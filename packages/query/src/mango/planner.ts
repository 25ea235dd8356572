/**
 * How to find the documents of a `find`: a pure function of its selector, its sort, and the existing indexes.
 *
 *   scan    all documents by id, or a range of them, or some of them
 *   index   rows of one index in its order
 *   gather  rows of one index or of several: the ids are collected and sorted, then their documents read
 *
 * Of several indexes, the one is chosen that holds most leading fields to single values; then the one with the narrower range, the
 * one that saves a sort, the one with fewer fields, and the first by name. Every document found is tested with the whole
 * selector, so a plan can be slow but not wrong.
 */
import { type Access, accessOf, isFixed, isSelective, MAX_RANGES, pathsOf } from './access';
import { type Conjunction, conjunctionOf, joinedWith, narrowness, pathKey } from './constraint';
import type { SortPath } from './fields';
import { formulaOf } from './formula';
import { ALL, type Interval, type Intervals, intersect, pointOf } from './interval';
import type { MangoIndex } from './mango-index';
import type { Find } from './request';
import { STRINGS } from './spans';

type Question = Pick<Find, 'exact' | 'sort'>;

/** The order in which the documents of a plan come. */
interface Order {
  /** Not in the order asked for: they have to be sorted. */
  readonly sorts: boolean;
  /** Backwards. */
  readonly descending: boolean;
}
export interface ScanPlan extends Order {
  readonly kind: 'scan';
  /** The ids that can match; single ids are looked up. */
  readonly ids: Intervals;
}
export interface IndexPlan extends Order {
  readonly kind: 'index';
  readonly access: Access;
}
export interface GatherPlan extends Order {
  readonly kind: 'gather';
  readonly accesses: readonly Access[];
  /** Ids that are looked up in addition. */
  readonly ids: readonly string[];
}
export type Plan = ScanPlan | IndexPlan | GatherPlan;

const ID = ['_id'];

/** Whether no document is left out. */
export const isFullScan = (plan: Plan): boolean => plan.kind === 'scan' && narrowness(plan.ids) === 0;

/** The best plan if no index is named. @param indexes those that may be used */
export function makePlan(asked: Question, indexes: readonly MangoIndex[]): Plan {
  const conjunction = conjunctionFor(asked);
  const { sort } = asked;
  const ids = idsOf(conjunction);
  const scan: ScanPlan = { kind: 'scan', ids, ...orderOf(sort, [ID], conjunction) };
  // Documents named by their ids are found faster than by any index.
  if (narrowness(ids) === 3) return scan;
  const best = bestOf(indexes, conjunction, sort);
  if (best !== undefined && isSelectivePlan(best)) return best;
  const union = unionOf(indexes, conjunction);
  if (union !== undefined) return { ...union, ...orderOf(sort, [ID], conjunction) };
  // The remaining indexes only leave out documents without the field, or save a sort.
  const saves = best !== undefined && scan.sorts && !best.sorts;
  return best !== undefined && (saves || narrowness(ids) === 0) ? best : scan;
}

/** Like {@link makePlan}, with only these indexes; `undefined` if none of them has all documents that can match. */
export function makePlanWith(asked: Question, indexes: readonly MangoIndex[]): Plan | undefined {
  return bestOf(indexes, conjunctionFor(asked), asked.sort);
}

/** A document without a field of the sort has no place in the order, and is not part of the answer. */
function conjunctionFor({ exact, sort }: Question): Conjunction {
  const present = sort.map(({ path }) => [pathKey(path), { path, absent: false, values: ALL }] as const);
  return joinedWith(conjunctionOf(formulaOf(exact)), { fields: new Map(present), ors: [] });
}

function isSelectivePlan(plan: Plan): boolean {
  if (plan.kind === 'scan') return false;
  return (plan.kind === 'index' ? [plan.access] : plan.accesses).every(isSelective);
}

type Candidate = { readonly plan: IndexPlan | GatherPlan; readonly access: Access };

function bestOf(
  indexes: readonly MangoIndex[],
  conjunction: Conjunction,
  sort: readonly SortPath[],
): IndexPlan | GatherPlan | undefined {
  const candidates = indexes
    .map((index) => candidateOf(index, conjunction, sort))
    .filter((each) => each !== undefined);
  return candidates.sort(compareCandidates)[0]?.plan;
}

function candidateOf(
  index: MangoIndex,
  conjunction: Conjunction,
  sort: readonly SortPath[],
): Candidate | undefined {
  const access = accessOf(index, conjunction, false);
  if (access === undefined) return undefined;
  const byId = orderOf(sort, [ID], conjunction);
  const gather: GatherPlan = { kind: 'gather', accesses: [access], ids: [], ...byId };
  const inOrder = access.byElements ? accessOf(index, conjunction, true)! : access; // usable in both cases
  const order = orderOf(sort, [...pathsOf(index), ID], conjunction);
  const plain: IndexPlan = { kind: 'index', access: inOrder, ...order };
  // What has to be sorted is gathered: by ids, each once.
  const usesOrder = !order.sorts && (!access.byElements || (sort.length > 0 && byId.sorts));
  return usesOrder ? { plan: plain, access: inOrder } : { plan: gather, access };
}

function compareCandidates(one: Candidate, other: Candidate): number {
  return (
    other.access.exact - one.access.exact ||
    other.access.narrowness - one.access.narrowness ||
    Number(one.plan.sorts) - Number(other.plan.sorts) ||
    one.access.index.fields.length - other.access.index.fields.length ||
    (nameOf(one) < nameOf(other) ? -1 : 1)
  );
}

const nameOf = ({ access: { index } }: Candidate): string => JSON.stringify([index.name, index.ddoc]);

/** How documents in the order of `paths` fit the sort. */
function orderOf(
  sort: readonly SortPath[],
  paths: readonly (readonly string[])[],
  conjunction: Conjunction,
): Order {
  const asked = sort.filter(({ path }) => !isFixed(conjunction, path));
  // A sort by fields with a single value still tells the direction of ties.
  const descending = (asked[0] ?? sort[0])?.descending ?? false;
  let at = 0;
  for (const path of paths) {
    if (at === asked.length) break;
    if (pathKey(path) === pathKey(asked[at]!.path)) at++;
    else if (!isFixed(conjunction, path)) break;
  }
  const served = at === asked.length && asked.every((each) => each.descending === descending);
  return served ? { sorts: false, descending } : { sorts: true, descending: false };
}

/** Ors for whose branches indexes are looked for: each costs as much as planning a find for each branch. */
const MAX_ORS = 16;

/** Uses an index of its own for every branch of an "or". */
function unionOf(indexes: readonly MangoIndex[], conjunction: Conjunction): GatherPlan | undefined {
  const { fields, ors } = conjunction;
  for (const branches of ors.slice(0, MAX_ORS)) {
    if (branches.length > MAX_RANGES) continue; // Each has a range at least.
    const accesses: Access[] = [];
    const ids: string[] = [];
    const served = branches.every((branch) => {
      const inner = joinedWith({ fields, ors: [] }, branch);
      const found = lookUp(idsOf(inner)) ?? unionAccess(indexes, inner);
      if (found === undefined) return false;
      accesses.push(...found.accesses);
      ids.push(...found.ids);
      return true;
    });
    const cost = ids.length + accesses.reduce((sum, { ranges }) => sum + ranges.length, 0);
    if (served && cost <= MAX_RANGES)
      return { kind: 'gather', accesses, ids, sorts: false, descending: false };
  }
  return undefined;
}

type Parts = Pick<GatherPlan, 'accesses' | 'ids'>;

function unionAccess(indexes: readonly MangoIndex[], conjunction: Conjunction): Parts | undefined {
  const best = bestOf(indexes, conjunction, []);
  if (best !== undefined && isSelectivePlan(best))
    return { accesses: best.kind === 'index' ? [best.access] : best.accesses, ids: [] };
  return unionOf(indexes, conjunction);
}

/** None for more ids than a union has. */
function lookUp(ids: Intervals): Parts | undefined {
  return ids.length <= MAX_RANGES && narrowness(ids) === 3
    ? { accesses: [], ids: ids.map((each) => pointOf(each)!.key as string) }
    : undefined;
}

/** The ids that the constraints allow. Ids are strings: a bound below or above all strings does not limit. */
function idsOf({ fields }: Conjunction): Intervals {
  const values = fields.get(pathKey(ID))?.values;
  return values === undefined ? ALL : intersect(values, STRINGS).map(withoutTypeBounds);
}

function withoutTypeBounds({ from, to }: Interval): Interval {
  return {
    ...(from && !(from.key === '' && from.inclusive) && { from }),
    ...(to && typeof to.key === 'string' && { to }),
  };
}
