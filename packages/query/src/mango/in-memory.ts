/**
 * Sorts documents that no index has in order: keeps the best so far, by values at paths and then by id. Only as many are
 * kept as are answered, so a page of a large result takes the room of a page.
 */
import { badRequest, compareJson, type ExistingDoc, fieldAt, type Json } from '@settledb/core';
import type { SortPath } from './fields';

/**
 * Documents of an answer that is sorted in memory: at 1 KB each 50 MB, and twice that while it is made. Above this a find fails
 * rather than bring the page down; with a `limit`, or an index that has the order, no sort is needed.
 */
export const SORT_BUDGET = 50_000;

/** The position of a document. */
export interface Standing {
  readonly values: readonly Json[];
  readonly id: string;
}

export interface Sorted extends Standing {
  readonly doc: ExistingDoc<object>;
}

/** Ties are ordered by id, descending if the whole sort is. */
export function orderBy(sort: readonly SortPath[]): (one: Standing, other: Standing) => number {
  const directions = sort.map(({ descending }) => descending);
  return orderOf(directions, directions.length > 0 && !directions.includes(false));
}

/** By values, each in its direction, and then by id. */
export function orderOf(
  descending: readonly boolean[],
  idDescending: boolean,
): (one: Standing, other: Standing) => number {
  return (one, other) => {
    for (let at = 0; at < descending.length; at++) {
      const order = compareJson(one.values[at], other.values[at]!); // one value for each direction
      if (order !== 0) return descending[at] ? -order : order;
    }
    if (one.id === other.id) return 0;
    return one.id < other.id === idDescending ? 1 : -1;
  };
}

/** @returns undefined for a document that lacks one of the fields: it has no place in the order */
export function sortable(doc: ExistingDoc<object>, sort: readonly SortPath[]): Sorted | undefined {
  const values: Json[] = [];
  for (const { path } of sort) {
    const value = fieldAt(doc, path);
    if (value === undefined) return undefined;
    values.push(value as Json);
  }
  return { values, id: doc._id, doc };
}

export class TopOf {
  readonly #compare: (one: Sorted, other: Sorted) => number;
  readonly #count: number;
  #kept: Sorted[] = [];
  /** The last one that still counts, once there are enough. */
  #bar: Sorted | undefined;

  /** @param count number of documents that will be taken */
  constructor(sort: readonly SortPath[], count: number) {
    this.#compare = orderBy(sort);
    this.#count = count;
  }

  /** @throws DatabaseError 400 when more than {@link SORT_BUDGET} documents would have to be kept */
  add(item: Sorted): void {
    if (this.#bar !== undefined && this.#compare(item, this.#bar) >= 0) return;
    this.#kept.push(item);
    // Sorting only at twice the number costs a constant share per document.
    if (this.#kept.length >= 2 * this.#count) this.#prune();
    else if (this.#kept.length > SORT_BUDGET && this.#count > SORT_BUDGET) throw overBudget();
  }

  /** In order, as many as were asked for. */
  take(): readonly Sorted[] {
    this.#prune();
    return this.#kept;
  }

  #prune(): void {
    this.#kept.sort(this.#compare);
    if (this.#kept.length < this.#count) return;
    this.#kept.length = this.#count;
    this.#bar = this.#kept.at(-1);
  }
}

const overBudget = (): Error =>
  badRequest(
    `This sort would keep more than ${SORT_BUDGET} documents in memory: create an index that begins with the sorted fields, or ask for fewer with \`limit\``,
  );
