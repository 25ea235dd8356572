/** `find`: runs a plan, tests its documents, sorts them if necessary, and cuts them to a page. */
import {
  compileSelector,
  type ExistingDoc,
  type FindResult,
  isQuotaExceeded,
  type Json,
  type Selector,
} from '@settledb/core';
import { Slices } from '../slices';
import type { Place, ReadOptions, Source, Tally } from './batches';
import { NO_BOOKMARK, writeBookmark } from './bookmark';
import { choosePlan, orderName } from './choose';
import { documentsOf } from './documents';
import { orderBy, sortable, TopOf } from './in-memory';
import type { MangoIndex } from './mango-index';
import type { Plan } from './planner';
import type { Find } from './request';
import { textsIn } from './texts';
import { warningOf } from './warning';

/**
 * An index and its documents are read one after the other, and a write in between shows in only one of them. Then both are
 * read again, up to so many times; if somebody keeps writing, the documents answered are right, but some may be missing whose
 * fields changed just then.
 */
const MAX_ATTEMPTS = 4;

/** The result of a plan: whole documents, tested, in order, from `skip` up to `limit`. */
interface Page {
  readonly plan: Plan;
  readonly tally: Tally;
  readonly docs: readonly ExistingDoc<object>[];
  /** The place of the last document; everything before it was examined. */
  readonly last?: Place | undefined;
}

export async function find(source: Source, asked: Find, indexes: readonly MangoIndex[]): Promise<FindResult> {
  const started = performance.now();
  const { plan, tally, docs, last } = await findPage(source, asked, indexes);
  const warning = warningOf(asked, plan, tally, docs.length);
  return {
    docs: (await projected(docs, asked)) as FindResult['docs'],
    bookmark: last
      ? writeBookmark({ order: orderName(asked, plan), ...last })
      : asked.request.bookmark || NO_BOOKMARK,
    ...(asked.request.execution_stats && {
      execution_stats: {
        total_keys_examined: tally.keys,
        total_docs_examined: tally.docs,
        total_quorum_docs_examined: 0,
        results_returned: docs.length,
        execution_time_ms: performance.now() - started,
      },
    }),
    ...(warning && { warning }),
  };
}

async function projected(docs: readonly ExistingDoc<object>[], { project }: Find): Promise<object[]> {
  const slices = new Slices();
  const parts: object[] = [];
  for (const doc of docs) {
    parts.push(project(doc));
    const wait = slices.pause();
    if (wait !== undefined) await wait;
  }
  return parts;
}

/**
 * The documents of an answer, and how they were found. If an index cannot be brought up to date because the storage is full, the
 * answer is made without it: full storage can still be read. Not if that changes the answer, or if the caller is in the middle of its
 * pages.
 */
export async function findPage(source: Source, asked: Find, indexes: readonly MangoIndex[]): Promise<Page> {
  const plan = choosePlan(asked, indexes);
  try {
    return await pageOf(source, asked, plan);
  } catch (error) {
    const isSame = asked.bookmark === undefined && partialOf(plan) === undefined;
    if (plan.kind === 'scan' || !isSame || !isQuotaExceeded(error)) throw error;
    return pageOf(source, asked, choosePlan({ ...asked, useIndex: undefined }, []));
  }
}

async function pageOf(source: Source, asked: Find, plan: Plan): Promise<Page> {
  for (let attempt = 1; ; attempt++) {
    const tally = newTally();
    const read = plan.sorts ? sortedPage : orderedPage;
    const found = asked.limit > 0 ? await read(source, asked, plan, tally) : { docs: [] };
    const isOneState = plan.kind === 'scan' || tally.seqs.size <= 1 || asked.request.update === false;
    if (isOneState || attempt === MAX_ATTEMPTS) return { plan, tally, ...found };
  }
}

type FoundDocs = Pick<Page, 'docs' | 'last'>;

const newTally = (): Tally => ({ keys: 0, docs: 0, seqs: new Set() });

/** Takes the documents as they come, until there are enough. */
async function orderedPage(source: Source, asked: Find, plan: Plan, tally: Tally): Promise<FoundDocs> {
  const { limit, bookmark } = asked;
  const where = { wanted: asked.skip + limit, after: bookmark };
  // By id: a document that a write moved between two reads of an index would come twice.
  const docs = new Map<string, ExistingDoc<object>>();
  let skip = asked.skip;
  let last: Place | undefined;
  await eachAccepted(source, asked, plan, where, tally, (doc, key) => {
    last = { key, id: doc._id };
    if (skip > 0) skip--;
    else if (!docs.has(doc._id)) docs.set(doc._id, doc);
    return docs.size < limit;
  });
  return { docs: [...docs.values()], last };
}

async function sortedPage(source: Source, asked: Find, plan: Plan, tally: Tally): Promise<FoundDocs> {
  const { sort, skip, limit, bookmark } = asked;
  const order = orderBy(sort);
  const after = bookmark && { values: bookmark.key as readonly Json[], id: bookmark.id };
  const top = new TopOf(sort, skip + limit);
  await eachAccepted(source, asked, plan, { wanted: Number.POSITIVE_INFINITY }, tally, (doc) => {
    const item = sortable(doc, sort)!; // accepted documents are sortable
    if (after === undefined || order(item, after) > 0) top.add(item);
    return true;
  });
  const items = top.take();
  const last = items.at(-1);
  return {
    docs: items.slice(skip).map(({ doc }) => doc),
    last: last && { key: last.values, id: last.id },
  };
}

/** Gives `take` the documents of a plan that belong to the answer, while it wants more. Not as a generator: each would cost a promise. */
async function eachAccepted(
  source: Source,
  asked: Find,
  plan: Plan,
  where: Pick<ReadOptions, 'wanted' | 'after'>,
  tally: Tally,
  take: (doc: ExistingDoc<object>, key: Json) => boolean,
): Promise<void> {
  const accepted = acceptorOf(asked, plan);
  const slices = new Slices();
  for await (const batch of documentsOf(source, plan, { ...where, ...readOptions(asked, plan) }, tally)) {
    for (const { key, doc: read } of batch) {
      const doc = accepted(read);
      const wait = slices.pause();
      if (wait !== undefined) await wait;
      if (doc !== undefined && !take(doc, key)) return;
    }
  }
}

const readOptions = (asked: Find, plan: Plan) => ({
  texts: textsIn(asked.selector),
  update: asked.request.update,
  conflicts: readsConflicts(asked, plan),
  signal: asked.request.signal,
});

/** Whether documents are read with `_conflicts`: if they are asked for, or the filter of the index names them, which saw them. */
export const readsConflicts = ({ request }: Find, plan: Plan): boolean =>
  !!request.conflicts || (JSON.stringify(partialOf(plan)) ?? '').includes('_conflicts');

/**
 * The full test, whatever the plan assumes.
 * @returns for a document read as {@link readsConflicts} says: what is answered of it, `undefined` if it is not part of the answer
 */
export function acceptorOf(
  asked: Find,
  plan: Plan,
): (read: ExistingDoc<object>) => ExistingDoc<object> | undefined {
  const { request, matches, sort } = asked;
  const partial = partialOf(plan);
  const inIndex = partial && compileSelector(partial);
  const hides = !request.conflicts && readsConflicts(asked, plan);
  return (read) => {
    if (inIndex !== undefined && !inIndex(read)) return undefined;
    const doc = hides ? withoutConflicts(read) : read;
    return matches(doc) && (sort.length === 0 || sortable(doc, sort) !== undefined) ? doc : undefined;
  };
}

function withoutConflicts(read: ExistingDoc<object>): ExistingDoc<object> {
  const { _conflicts: _, ...doc } = read;
  return doc;
}

/** A partial index is only used alone. */
function partialOf(plan: Plan): Selector | undefined {
  if (plan.kind === 'index') return plan.access.index.partial;
  return plan.kind === 'gather' ? plan.accesses[0]?.index.partial : undefined;
}
