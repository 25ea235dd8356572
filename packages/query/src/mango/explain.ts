/** `explain`: how `find` would answer, and why. CouchDB's members, and `plan` with what this planner does. */
import type { Explanation, IndexDescription } from '@settledb/core';
import type { IndexRange } from '../index-reader';
import { type Access, accessOf } from './access';
import { NO_BOOKMARK } from './bookmark';
import { choosePlan, openIndexes } from './choose';
import { conjunctionOf } from './constraint';
import { allDocsIndex, describe } from './describe';
import { formulaOf } from './formula';
import type { MangoIndex } from './mango-index';
import type { Plan } from './planner';
import type { Find } from './request';
import { warningOf } from './warning';

export function explain(dbname: string, asked: Find, indexes: readonly MangoIndex[]): Explanation {
  const plan = choosePlan(asked, indexes);
  const { request, limit, skip } = asked;
  const accesses = accessesOf(plan);
  const range = rangeOf(plan);
  const warning = warningOf(asked, plan, { keys: 0, docs: 0, seqs: new Set() }, 0);
  const fields = request.fields?.length ? request.fields : 'all_fields';
  return {
    dbname,
    index: accesses[0] === undefined ? allDocsIndex() : describe(accesses[0].index),
    partitioned: false,
    selector: asked.selector,
    opts: {
      use_index: request.use_index ?? [],
      bookmark: request.bookmark ?? NO_BOOKMARK,
      limit,
      skip,
      sort: Object.fromEntries(asked.sortFields.map(({ name, direction }) => [name, direction])),
      fields,
      conflicts: request.conflicts ?? false,
      execution_stats: request.execution_stats ?? false,
      update: request.update ?? true,
      stable: request.stable ?? false,
    },
    limit,
    skip,
    fields,
    ...(range && { range }),
    index_candidates: candidates(asked, indexes, accesses),
    plan: {
      kind: plan.kind,
      steps: steps(plan),
      in_memory_sort: plan.sorts,
      descending: plan.descending,
      ...(warning && { warning }),
    },
  };
}

const accessesOf = (plan: Plan): readonly Access[] =>
  plan.kind === 'scan' ? [] : plan.kind === 'index' ? [plan.access] : plan.accesses;

/** From the first to the last key that is read, of a plan with one index. */
function rangeOf(plan: Plan): Explanation['range'] {
  if (plan.kind === 'scan') {
    const [from, to] = [plan.ids[0]?.from, plan.ids.at(-1)?.to];
    return { start_key: from?.key ?? null, end_key: to?.key ?? { '\uffff': {} } };
  }
  const accesses = accessesOf(plan);
  const [first, last] = [accesses[0]?.ranges[0], accesses[0]?.ranges.at(-1)];
  if (accesses.length !== 1 || first === undefined) return undefined;
  return { start_key: first.from?.key, end_key: last?.to?.key };
}

/** The steps of a plan, one line each. */
function steps(plan: Plan): string[] {
  if (plan.kind === 'scan') {
    const [only] = plan.ids;
    if (plan.ids.length === 0) return ['read nothing: no document can match'];
    if (only?.from === undefined && only?.to === undefined) return ['read all documents'];
    return [`read documents by id: ${JSON.stringify(plan.ids)}`];
  }
  const reads = accessesOf(plan).map(
    ({ index, ranges, byElements }) =>
      `read ${plural(ranges.length, 'range')} of ${index.ddoc}/${index.name} (${names(index)})` +
      `${byElements ? ', elements of lists included' : ''}: ${ranges.slice(0, SHOWN).map(shown).join(', ')}` +
      `${ranges.length > SHOWN ? ', …' : ''}`,
  );
  if (plan.kind === 'index') return [...reads, 'test each document with the selector'];
  const byId = plan.ids.length === 0 ? [] : [`look up ${plural(plan.ids.length, 'id')}`];
  return [...reads, ...byId, 'read the documents found, each once, and test them with the selector'];
}

/** Ranges shown in full. */
const SHOWN = 5;
const names = ({ fields }: MangoIndex): string => fields.map(({ name }) => name).join(', ');
const plural = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

function shown({ from, to }: IndexRange): string {
  const low = from === undefined ? '(' : `${from.inclusive ? '[' : '('}${JSON.stringify(from.key)}`;
  const high = to === undefined ? ')' : `${JSON.stringify(to.key)}${to.inclusive ? ']' : ')'}`;
  return `${low} … ${high}`;
}

function candidates(
  asked: Find,
  indexes: readonly MangoIndex[],
  used: readonly Access[],
): readonly { readonly index: IndexDescription; readonly analysis: object }[] {
  const conjunction = conjunctionOf(formulaOf(asked.exact));
  const open = new Set(openIndexes(indexes));
  const chosen = new Set(used.map(({ index }) => index));
  return indexes
    .filter((index) => !chosen.has(index))
    .map((index) => {
      const access = accessOf(index, conjunction, false);
      const name = !open.has(index) ? 'is_partial' : access === undefined ? 'field_mismatch' : 'less_overlap';
      return {
        index: describe(index),
        analysis: { usable: open.has(index) && access !== undefined, reasons: [{ name }] },
      };
    });
}
