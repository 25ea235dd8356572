/**
 * The rows' short fields: for each order of each table the recent entries, over fenced pages of which only those that were
 * needed are in memory.
 *
 *   docs by id    recent { b: row, c: null }    pages  [a … f] [g … m] [n … z]     fences a g n
 *   docs by seq   recent { 7: 'b' }             pages  [1 … 256] …
 *
 * Every look-up is synchronous. What it lacks it puts into a {@link Wanted}, and its answer then means nothing; the caller
 * loads and asks again. So all answers of one call come from one moment.
 */
import {
  endOfAll,
  type KeyPart,
  lowerBound,
  type RowsWatcher,
  type SortKey,
  sortKey,
  upperBound,
} from '@settledb/core';
import type { BlockCache } from './block-cache';
import { endOf, OrderState, type PageSpan, type Places, pageSpan, partAt, partSpan } from './fences';
import { HeldPages } from './held-pages';
import type { Layout, OrderLayout, Row, TableLayout } from './layout';
import {
  decoderFor,
  filled,
  type OrderPage,
  type Page,
  positionOf,
  type RowPage,
  rowAt,
  type TextFill,
} from './page';
import type { Recent } from './recent';
import { blockAt } from './runs';
import type { StoredPage } from './stored-page';
import { type Bounds, Walk } from './walk';
import type { Wanted } from './wanted';

export interface TableState {
  readonly layout: TableLayout;
  readonly rows: OrderState<Row>;
  /** The other orders; values are primary keys. */
  readonly orders: readonly OrderState<SortKey>[];
  /** See `Store.watchRows`. */
  readonly watchers: RowsWatcher[];
}

/** The span of pages, or groups, of which none is in memory: the first of them is then found to be lacking. */
const NOT_LOADED: PageSpan = { first: 0, last: 0 };
/** From this many pages of an order on it is worth knowing where all its rows lie: that takes 0.3 ms for 10,000. */
const PLACES_PAGES_MIN = 3;
/** Numbers that spread over up to this many times the number of rows get places: most documents were written few times. */
const SPREAD_MAX = 4;
/** More than the rows of any page: a place is page × this + position + 1, or 0. */
const PLACE = 4096;

export class Directory {
  readonly tables: ReadonlyMap<string, TableState>;
  readonly held: HeldPages;

  constructor(layout: Layout, pages: BlockCache<StoredPage>) {
    this.held = new HeldPages(pages);
    this.tables = new Map([...layout].map(([name, table]) => [name, stateOf(table)]));
  }

  table(name: string): TableState {
    const table = this.tables.get(name);
    if (table === undefined) throw new TypeError(`no table is called ${name}`);
    return table;
  }

  /** The row at a primary key. */
  row(table: TableState, key: SortKey, wanted: Wanted, fill?: TextFill): Row | undefined {
    const recent = table.rows.recent.get(key);
    if (recent === null) return undefined;
    if (recent !== undefined) return fill === undefined ? recent : filled(recent, fill);
    const { rows } = table;
    if (rows.near?.keys[rows.nearAt + 1] === key)
      return rowAt(table.layout, rows.near as RowPage, ++rows.nearAt, fill);
    const fences = this.held.fences(rows, partAt(rows, key), wanted);
    if (fences === undefined || fences.ids.length === 0) return undefined;
    const number = upperBound(fences.keys, key) - 1;
    const group = this.held.at(fences, number, wanted)?.around(key) as RowPage | undefined;
    if (group === undefined) {
      this.held.with(fences, number, decoderFor(table.layout, 0), wanted, { lower: key, upper: key });
      return undefined;
    }
    const at = positionOf(group, key);
    if (at < 0) return undefined;
    rows.near = group;
    rows.nearAt = at;
    return rowAt(table.layout, group, at, fill);
  }

  /** The block that most likely holds the last long field of the row at `key`, if the row's page is not in memory. */
  likelyBlock(table: TableState, key: SortKey): number | undefined {
    const { rows } = table;
    const fences = this.held.fences(rows, partAt(rows, key));
    if (fences === undefined) return undefined;
    const page = Math.max(upperBound(fences.keys, key) - 1, 0);
    if (rows.recent.get(key) !== undefined || this.held.pages.get(fences.ids[page] as number) !== undefined)
      return undefined;
    return blockAt(fences.runs?.[page], key);
  }

  /** Rows of a range by primary key (order 0) or another order, at most `limit` after `skip`. */
  range(
    table: TableState,
    order: number,
    bounds: Bounds,
    how: { reverse: boolean; skip: number; limit: number },
    wanted: Wanted,
    fill?: TextFill,
  ): Row[] {
    if (how.limit <= 0) return [];
    const few =
      order === 0 && !how.reverse && how.skip === 0 && this.#few(table, bounds, how.limit, fill, undefined);
    if (few) return few as Row[];
    const rows: Row[] = [];
    let skip = how.skip;
    let lacking = 0;
    const take = (row: Row | undefined): boolean => {
      if (row !== undefined) rows.push(row);
      else if (wanted.any) lacking++; // its page is wanted; if it did not count, the scan would want the pages of all rows
      return rows.length + lacking < how.limit;
    };
    const expected = how.skip + how.limit;
    if (order === 0) {
      this.#scan<Row>(table, 0, bounds, how.reverse, expected, wanted, (recent, page, at) => {
        if (skip > 0) return skip-- > 0;
        if (recent === undefined) return take(rowAt(table.layout, page as RowPage, at, fill));
        return take(fill === undefined ? recent : filled(recent, fill));
      });
    } else {
      const places = this.#places(table, order, bounds);
      const changed = table.rows.recent;
      this.#scan<SortKey>(table, order, bounds, how.reverse, expected, wanted, (recent, page, at) => {
        if (skip > 0) return skip-- > 0;
        const key = recent ?? ((page as OrderPage).primary[at] as SortKey);
        const isPlaced = page !== undefined && places !== undefined && changed.get(key) === undefined;
        const placed = isPlaced ? this.#rowAt(table, places, page.keys[at]!, fill) : undefined;
        return take(placed ?? this.row(table, key, wanted, fill));
      });
    }
    return rows;
  }

  /** One field of the rows whose primary keys begin with `under`. @returns undefined if it is not so simple, as in {@link #few} */
  fieldUnder(
    table: TableState,
    field: string,
    under: readonly KeyPart[],
    limit: number,
  ): Row[string][] | undefined {
    const lower = sortKey(under) as string; // the key is a list
    return this.#few(table, { lower, upper: endOfAll(lower) }, limit, undefined, field) as
      | Row[string][]
      | undefined;
  }

  /**
   * The short way for rows that lie together by primary key, as those of one key of an index do: in one page and none of them recent,
   * or all of them recent.
   * @param field the only field wanted of each, not a long one; otherwise rows are answered
   * @returns undefined if it is not so simple
   */
  #few(
    { layout, rows: state }: TableState,
    { lower, lowerOpen, upper, upperOpen }: Bounds,
    limit: number,
    fill: TextFill | undefined,
    field: string | undefined,
  ): (Row | Row[string])[] | undefined {
    if (lower === undefined || upper === undefined) return undefined;
    const find = lowerOpen ? upperBound : lowerBound;
    const part = partAt(state, lower);
    const fences = this.held.fences(state, part);
    if (fences === undefined) return undefined;
    const { recent } = state;
    const changed = recent.keys();
    const rows: (Row | Row[string])[] = [];
    if (fences.ids.length === 0) {
      for (
        let at = find(changed, lower);
        rows.length < limit && isUpTo(changed[at], upper, upperOpen);
        at++
      ) {
        const row = recent.at(at);
        if (row === null) continue;
        if (field !== undefined) rows.push(row[field]);
        else rows.push(fill === undefined ? row : filled(row, fill));
      }
      return rows;
    }
    const number = Math.max(upperBound(fences.keys, lower) - 1, 0);
    if (isUpTo(endOf(state, part, fences, number), upper, upperOpen)) return undefined;
    const page = this.held.pages.get(fences.ids[number]!);
    if (!page?.has({ lower, upper }) || isUpTo(changed[find(changed, lower)], upper, upperOpen))
      return undefined;
    const groups = page.within(lower, upper) as RowPage[];
    for (let i = 0; i < groups.length; i++) {
      const group = groups[i]!;
      const { keys } = group;
      const column = field === undefined ? undefined : group.columns[layout.fields.indexOf(field)];
      for (let at = find(keys, lower); rows.length < limit && isUpTo(keys[at], upper, upperOpen); at++) {
        if (field === undefined) rows.push(rowAt(layout, group, at, fill));
        else rows.push((column?.[at] ?? undefined) as Row[string]);
      }
    }
    return rows;
  }

  /**
   * Where the rows of an order by numbers, such as seqs, lie; made once many of them are asked for whose pages are in memory. Looking
   * each up by its key takes some 14 comparisons of texts.
   */
  #places(table: TableState, order: number, bounds: Bounds): Places | undefined {
    const state = orderOf(table, order);
    const { fences } = table.rows;
    if (fences === undefined) return undefined;
    if (state.places?.fences === fences) return state.places;
    const { field } = state.layout;
    if (field < 0) return undefined;
    const parts = partSpan(state, bounds);
    if (parts.last <= parts.first) {
      const part = this.held.fences(state, parts.first);
      if (part === undefined) return undefined;
      const { first, last } = pageSpan(part, bounds);
      if (last - first + 1 < PLACES_PAGES_MIN) return undefined;
    }
    // Checked first: building an index of more pages than are kept used to go through hundreds of them for each batch, in vain.
    if (!fences.ids.every((id) => this.held.pages.peek(id)?.isWhole)) return undefined;
    const columns: number[][] = [];
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    let count = 0;
    for (const id of fences.ids) {
      const groups = this.held.pages.get(id)?.within() as RowPage[] | undefined;
      const column = groups?.flatMap(({ columns }) => columns[field] as number[]);
      if (typeof column?.[0] !== 'number') return undefined;
      columns.push(column);
      count += column.length;
      for (const key of column) {
        if (key < low) low = key;
        if (key > high) high = key;
      }
    }
    // Without rows there is no range from lowest to highest.
    const at = new Int32Array(count > 0 && high - low < count * SPREAD_MAX ? high - low + 1 : 0);
    for (const [number, column] of columns.entries())
      for (let i = 0; i < column.length; i++) at[column[i]! - low] = number * PLACE + i + 1;
    state.places = { fences, low, at };
    return state.places;
  }

  /** The row for a number in an order's page; `undefined`: look it up by its key. */
  #rowAt(table: TableState, { low, at, fences }: Places, key: SortKey, fill?: TextFill): Row | undefined {
    const place = (at[(key as number) - low] ?? 0) - 1;
    const page = this.held.pages.get(fences.ids[Math.floor(place / PLACE)] as number);
    if (!page?.isWhole) return undefined;
    const [group, within] = page.place(place % PLACE);
    return rowAt(table.layout, group as RowPage, within, fill);
  }

  /** Visits the live entries of an order: from `recent`, or at a position of a page. Stops when `visit` answers false. */
  #scan<Value>(
    table: TableState,
    order: number,
    bounds: Bounds,
    reverse: boolean,
    expected: number,
    wanted: Wanted,
    visit: Visit<Value>,
  ): void {
    const state = orderOf<Value>(table, order);
    const { recent } = state;
    const walk = new Walk(recent.keys(), bounds, reverse);
    const parts = partSpan(state, bounds);
    for (let p = 0; p <= parts.last - parts.first; p++) {
      const part = reverse ? parts.last - p : parts.first + p;
      const fences = this.held.fences(state, part, wanted);
      const { first, last } = fences === undefined ? NOT_LOADED : pageSpan(fences, bounds);
      for (let i = 0; i <= last - first; i++) {
        const number = reverse ? last - i : first + i;
        const page = fences && this.held.at(fences, number, wanted);
        const groups = page?.span(bounds) ?? NOT_LOADED;
        for (let g = 0; g <= groups.last - groups.first; g++) {
          const at = reverse ? groups.last - g : groups.first + g;
          const group = page?.group(at);
          if (group === undefined) {
            const lower = g === 0 || reverse ? bounds.lower : page?.keyOf(at);
            const from = { part, number, lower, bounds, reverse, expected };
            this.held.wantMore(state, from, decoderFor(table.layout, order), wanted);
            return;
          }
          if (!visitGroup(group, new Walk(group.keys, bounds, reverse), recent, walk, visit)) return;
        }
      }
    }
    for (; walk.more; walk.step()) {
      const value = recent.at(walk.at);
      if (value !== null && !visit(value, undefined, 0)) return;
    }
  }
}

/** What is told of a live entry: its value if it is recent, else where it is in a page. Answers false to stop. */
type Visit<Value> = (recent: Value | undefined, page: Page | undefined, at: number) => boolean;

/** Visits the live entries of a group, and of the recent ones those that come before its last. @returns false when `visit` did */
function visitGroup<Value>(
  group: Page,
  inGroup: Walk,
  recent: Recent<Value>,
  walk: Walk,
  visit: Visit<Value>,
): boolean {
  for (; inGroup.more; inGroup.step()) {
    let isRecent = false;
    // Most keys of a page have no recent ones between them: one comparison each.
    while (walk.more && !walk.after(inGroup.key)) {
      const { key } = walk;
      const value = recent.at(walk.at);
      walk.step();
      if (key === inGroup.key) isRecent = true;
      if (value !== null && !visit(value, undefined, 0)) return false;
    }
    if (!isRecent && !visit(undefined, group, inGroup.at)) return false;
  }
  return true;
}

function stateOf(layout: TableLayout): TableState {
  const [primary, ...others] = layout.orders;
  return {
    layout,
    rows: new OrderState<Row>(primary as OrderLayout),
    orders: others.map((order) => new OrderState<SortKey>(order)),
    watchers: [],
  };
}

export function orderOf<Value>(table: TableState, order: number): OrderState<Value> {
  return (order === 0 ? table.rows : table.orders[order - 1]) as unknown as OrderState<Value>;
}

/** Not a closure of its caller: closures are made anew for each call, until V8 has optimised it. */
const isUpTo = (key: SortKey | undefined, upper: SortKey, open: boolean | undefined): boolean =>
  key !== undefined && (open ? key < upper : key <= upper);
