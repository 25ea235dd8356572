/** Where the pages of an order begin, and what else is known of an order. */
import type { SortKey } from '@settledb/core';
import type { OrderLayout } from './layout';
import { Recent, upperBound } from './recent';
import type { Runs } from './runs';
import type { Bounds } from './walk';

/** By page: first key, block id, rows. */
export interface Fences {
  readonly keys: SortKey[];
  readonly ids: number[];
  readonly counts: number[];
  /** Of pages of rows: where their last long fields lie. Older manifests have none. */
  readonly runs?: Runs[];
}

/** Fences that are made when somebody looks: of a million documents those of one order take a ms. */
export interface StoredFences {
  readonly pages: number;
  /** Of all pages. */
  readonly rows: number;
  /** Called once. */
  read(): Fences;
}

/** Where rows lie, in the pages that have these fences, by number; see `directory.ts`. */
export interface Places {
  readonly fences: Fences;
  readonly low: number;
  readonly at: Int32Array;
}

export class OrderState<Value> {
  readonly layout: OrderLayout;
  readonly recent = new Recent<Value>();
  places?: Places;
  /** As they are numbered: page count and rows are asked after each write. */
  pages = 0;
  rows = 0;
  #fences: Fences | undefined = noFences();
  #stored: StoredFences | undefined;

  constructor(layout: OrderLayout) {
    this.layout = layout;
  }

  get fences(): Fences {
    if (this.#fences === undefined) {
      this.#fences = this.#stored!.read();
      this.#stored = undefined;
    }
    return this.#fences;
  }

  set fences(fences: Fences) {
    this.#fences = fences;
    this.#stored = undefined;
    this.pages = fences.ids.length;
    this.rows = rowsOf(fences);
  }

  /** As setting {@link fences}, to be made when they are asked for. */
  store(stored: StoredFences): void {
    this.#fences = undefined;
    this.#stored = stored;
    this.pages = stored.pages;
    this.rows = stored.rows;
  }
}

export const noFences = (): Fences => ({ keys: [], ids: [], counts: [] });
/** Not `noFences()` and a field behind it: in Node 20 each such object has a form of its own, and what V8 made for the last one is thrown away. */
export const noRowFences = (): Fences & { readonly runs: Runs[] } => ({
  keys: [],
  ids: [],
  counts: [],
  runs: [],
});

export function rowsOf({ counts }: Fences): number {
  let rows = 0;
  for (const count of counts) rows += count;
  return rows;
}

/** The first and the last page that may hold keys within the bounds; the last before the first where there are none. */
export function pageSpan({ keys }: Fences, { lower, upper }: Bounds): { first: number; last: number } {
  const first = lower === undefined ? 0 : Math.max(upperBound(keys, lower) - 1, 0);
  return { first, last: (upper === undefined ? keys.length : upperBound(keys, upper)) - 1 };
}
