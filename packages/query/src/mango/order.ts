/** The order in which a plan answers, as a comparison of documents: for callers that keep an answer and change parts of it. */
import type { ExistingDoc, Json } from '@settledb/core';
import { pathsOf } from './access';
import { orderBy, orderOf, type Standing, sortable } from './in-memory';
import { keysOf } from './mango-index';
import type { Plan } from './planner';
import type { Find } from './request';

export interface AnswerOrder {
  /** @param doc an accepted one: it has all that the order needs */
  standingOf(doc: ExistingDoc<object>): Standing;
  compare(one: Standing, other: Standing): number;
}

export function answerOrder({ sort }: Find, plan: Plan): AnswerOrder {
  if (plan.sorts) return ordered(orderBy(sort), (doc) => sortable(doc, sort)!.values);
  const { descending } = plan;
  if (plan.kind !== 'index') return ordered(orderOf([], descending), () => []);
  const paths = pathsOf(plan.access.index);
  return ordered(orderOf([descending], descending), (doc) => [keysOf(paths, doc)[0] ?? null]);
}

const ordered = (
  compare: AnswerOrder['compare'],
  valuesOf: (doc: ExistingDoc<object>) => readonly Json[],
): AnswerOrder => ({ standingOf: (doc) => ({ values: valuesOf(doc), id: doc._id }), compare });
