/**
 * Queries → rows, from memory alone. Texts that are not in the cache go into `wanted`, as pages do; the answer then serves only to
 * find out what else is wanted.
 */
import {
  type CountQuery,
  endOfAll,
  type Key,
  type KeysQuery,
  type Range,
  type RangeQuery,
  sortKey,
} from '@settledb/core';
import type { BlockCache } from './block-cache';
import { countRange } from './count';
import type { Directory, TableState } from './directory';
import type { Row } from './layout';
import { NO_TEXTS, type TextFill } from './page';
import type { Bounds } from './walk';
import type { Wanted } from './wanted';

export type AnyQuery = KeysQuery<string> | RangeQuery<string> | CountQuery<string>;
const NONE: readonly never[] = [];

export type Answer = (Row | undefined)[] | number;

export function answer(
  queries: readonly AnyQuery[],
  directory: Directory,
  cache: BlockCache<string>,
  wanted: Wanted,
): Answer[] {
  const answers = new Array<Answer>(queries.length);
  for (let i = 0; i < queries.length; i++) {
    const query = queries[i] as AnyQuery;
    const table = directory.table(query.from);
    if ('count' in query) {
      const bounds = boundsOf(query.count);
      answers[i] = countRange(directory, table, orderNumber(table, query.by), bounds, wanted);
      continue;
    }
    const texts = textFields(query.texts, table);
    const none = query.texts === false ? NO_TEXTS : undefined;
    const fill = texts.length === 0 ? none : new Texts(texts, cache, wanted);
    const rows =
      'keys' in query
        ? byKeys(query, table, directory, wanted, fill)
        : byRange(query, table, directory, wanted, fill);
    if (wanted.any && 'keys' in query && texts.includes(table.layout.textFields.at(-1) as string))
      hint(query.keys, table, directory, cache, wanted);
    answers[i] = rows;
  }
  return answers;
}

function byKeys(
  query: KeysQuery<string>,
  table: TableState,
  directory: Directory,
  wanted: Wanted,
  fill: TextFill | undefined,
): (Row | undefined)[] {
  const { keys } = query;
  const rows = new Array<Row | undefined>(keys.length);
  for (let i = 0; i < keys.length; i++) rows[i] = directory.row(table, sortKey(keys[i] as Key), wanted, fill);
  return rows;
}

/** Hints at the blocks of rows whose pages are wanted, so that page and block come in one turn of the storage. */
function hint(
  keys: KeysQuery<string>['keys'],
  table: TableState,
  directory: Directory,
  cache: BlockCache<string>,
  wanted: Wanted,
): void {
  for (const key of keys) {
    const block = directory.likelyBlock(table, sortKey(key as Key));
    if (block !== undefined && cache.get(block) === undefined) wanted.hintBlock(block);
  }
}

function byRange(
  query: RangeQuery<string>,
  table: TableState,
  directory: Directory,
  wanted: Wanted,
  fill: TextFill | undefined,
): Row[] {
  const order = orderNumber(table, query.by);
  const { reverse = false, skip = 0, limit = Number.POSITIVE_INFINITY } = query;
  return directory.range(table, order, boundsOf(query.range), { reverse, skip, limit }, wanted, fill);
}

function orderNumber(table: TableState, by: string | undefined): number {
  if (by === undefined) return 0;
  const number = table.layout.orders.findIndex((order) => order.name === by);
  if (number < 1) throw new TypeError(`table ${table.layout.name} has no order ${by}`);
  return number;
}

function boundsOf({ gt, gte, lt, lte }: Range): Bounds {
  const low = gt ?? gte;
  const high = lt ?? lte;
  const lower = low && sortKey(low);
  const upper = high && (isAllUnder(low, high) ? endOfAll(lower as string) : sortKey(high));
  return { lower, lowerOpen: gt !== undefined, upper, upperOpen: lt !== undefined };
}

/** Whether `high` is the end of all keys under `low`, as in most ranges: its sort key is then made from that of `low`. */
function isAllUnder(low: Key | undefined, high: Key): boolean {
  if (typeof low !== 'object' || typeof high !== 'object' || high.length !== low.length + 1) return false;
  for (let i = 0; i < low.length; i++) if (low[i] !== high[i]) return false;
  return typeof high[low.length] === 'object';
}

function textFields(texts: boolean | readonly string[] | undefined, table: TableState): readonly string[] {
  if (texts === true) return table.layout.textFields;
  return texts === undefined || texts === false ? NONE : texts;
}

/** Takes texts from the cache; those it lacks are wanted. */
export class Texts implements TextFill {
  readonly fields: readonly string[];
  readonly #cache: BlockCache<string>;
  readonly #wanted: Wanted;

  constructor(fields: readonly string[], cache: BlockCache<string>, wanted: Wanted) {
    this.fields = fields;
    this.#cache = cache;
    this.#wanted = wanted;
  }

  text(block: number, at: number, length: number): string | undefined {
    if (length === 0) return '';
    const text = this.#cache.get(block) ?? this.#wanted.block(block);
    if (text !== undefined) return text.slice(at, at + length);
    const part = this.#wanted.part(block, at);
    if (part === undefined) this.#wanted.wantText(block, at, length);
    return part;
  }
}
