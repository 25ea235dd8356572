/** The order in which a plan answers, as a comparison of documents: for callers that keep an answer and change parts of it. */
import { compareJson, type ExistingDoc, type Json } from '@settledb/core';
import { pathsOf } from './access';
import { sortable } from './in-memory';
import { keysOf } from './mango-index';
import type { Plan } from './planner';
import type { Find } from './request';

/** The position of a document. */
export interface Standing {
  readonly values: readonly Json[];
  readonly id: string;
}

export interface AnswerOrder {
  /** @param doc an accepted one: it has all that the order needs */
  standingOf(doc: ExistingDoc<object>): Standing;
  compare(one: Standing, other: Standing): number;
}

export function answerOrder({ sort }: Find, plan: Plan): AnswerOrder {
  if (plan.sorts) {
    const descending = sort.map((each) => each.descending);
    return ordered(descending, !descending.includes(false), (doc) => sortable(doc, sort)!.values);
  }
  if (plan.kind !== 'index') return ordered([], plan.descending, () => []);
  const paths = pathsOf(plan.access.index);
  return ordered([plan.descending], plan.descending, (doc) => [keysOf(paths, doc)[0] ?? null]);
}

/** By values, each in its direction, and then by id. */
function ordered(
  descending: readonly boolean[],
  idDescending: boolean,
  valuesOf: (doc: ExistingDoc<object>) => readonly Json[],
): AnswerOrder {
  return {
    standingOf: (doc) => ({ values: valuesOf(doc), id: doc._id }),
    compare(one, other) {
      for (let at = 0; at < descending.length; at++) {
        const order = compareJson(one.values[at], other.values[at]!); // one value for each direction
        if (order !== 0) return descending[at] ? -order : order;
      }
      if (one.id === other.id) return 0;
      return one.id < other.id === idDescending ? 1 : -1;
    },
  };
}
