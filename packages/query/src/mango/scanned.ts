/** Documents in the order of their ids, all or those between bounds. */
import { type DatabaseTables, type DocRow, keptDocs, type Range, type Store } from '@settledb/core';
import type { IndexReader } from '../index-reader';
import { Slices } from '../slices';
import {
  type Found,
  firstBatch,
  nextBatch,
  nextBatchAfter,
  type ReadOptions,
  type Source,
  type Tally,
} from './batches';
import { byIds, inOrder } from './by-ids';
import { ALL, type Intervals, intersect, pointOf } from './interval';
import type { ScanPlan } from './planner';
import { mayMatch } from './texts';

/** The ids outside those of design documents, which are no content. */
const NO_DESIGN: Intervals = [
  { to: { key: '_design/', inclusive: false } },
  { from: { key: '_design0', inclusive: true } },
];

export async function* scanned(
  { database, reader }: Source,
  { ids, descending }: Pick<ScanPlan, 'ids' | 'descending'>,
  options: ReadOptions,
  tally: Tally,
): AsyncGenerator<readonly Found[]> {
  const points = ids.map((each) => pointOf(each)?.key);
  if (points.every((each) => each !== undefined)) {
    yield* byIds(database, inOrder(points as string[], descending), options, tally);
    return;
  }
  let size = firstBatch(options.wanted);
  const slices = new Slices();
  const { after } = options;
  const behind: Intervals = after ? [outward(after.id, descending)] : ALL;
  const pieces = intersect(intersect(ids, NO_DESIGN), behind);
  for (const piece of descending ? [...pieces].reverse() : pieces) {
    for (let rest: Intervals = [piece]; rest[0] !== undefined; ) {
      const limit = size;
      const { from, to } = rest[0];
      const read = 'store' in reader && !options.conflicts && rangeOfIds(rest[0]);
      if (read) {
        const page = await scanPage((reader as LocalReader).store, read, descending, limit, options, tally);
        size = nextBatchAfter(limit, page.rows.length, page.rows);
        if (page.found.length > 0) yield page.found;
        rest = page.last === undefined ? [] : intersect(rest, [outward(page.last, descending)]);
        const wait = slices.pause();
        if (wait !== undefined) await wait;
        continue;
      }
      const [start, end] = descending ? [to, from] : [from, to];
      // The start is always included: one more is read if it is not wanted.
      const room = start && !start.inclusive ? limit + 1 : limit;
      const { rows } = await database.allDocs({
        ...(start && { startkey: start.key as string }),
        ...(end && { endkey: end.key as string, inclusive_end: end.inclusive }),
        include_docs: true,
        conflicts: options.conflicts,
        descending,
        limit: room,
        signal: options.signal,
      });
      size = nextBatch(limit);
      const found: Found[] = [];
      for (const row of rows) {
        if (!('doc' in row) || !row.doc) continue;
        if (start && !start.inclusive && row.id === start.key) continue;
        found.push({ key: null, doc: row.doc });
      }
      tally.keys += found.length;
      tally.docs += found.length;
      if (found.length > 0) yield found;
      const last = found.at(-1)?.doc._id;
      rest = rows.length < room || last === undefined ? [] : intersect(rest, [outward(last, descending)]);
    }
  }
}

type LocalReader = IndexReader & { readonly store: Store<DatabaseTables> };

/** The range in the store's form; `undefined`: the bounds are no ids. */
function rangeOfIds({ from, to }: Intervals[number]): Range | undefined {
  if (![from, to].every((bound) => bound === undefined || typeof bound.key === 'string')) return undefined;
  return {
    ...(from && { [from.inclusive ? 'gte' : 'gt']: from.key }),
    ...(to && { [to.inclusive ? 'lte' : 'lt']: to.key }),
  };
}

/** Documents from the store; those that surely do not match are not parsed. */
async function scanPage(
  store: Store<DatabaseTables>,
  range: Range,
  reverse: boolean,
  limit: number,
  { texts = [], signal }: ReadOptions,
  tally: Tally,
): Promise<{
  readonly rows: readonly DocRow[];
  readonly found: readonly Found[];
  readonly last: string | undefined;
}> {
  signal?.throwIfAborted();
  const queries = [{ from: 'docs', range, reverse, limit, texts: BODY }] as const;
  const kept = keptDocs(store);
  const now = store.readNow(queries);
  const state = now && kept.state;
  const [rows] = now ?? (await store.read(queries, { signal }));
  const found: Found[] = [];
  let looked = 0;
  for (const row of rows) {
    if (row.deleted) continue;
    looked++;
    if (mayMatch((row.body as string | undefined) ?? '{}', texts))
      found.push({ key: null, doc: kept.doc(row, state) });
  }
  tally.keys += looked;
  tally.docs += looked;
  return { rows, found, last: rows.length < limit ? undefined : rows.at(-1)?.id };
}

const BODY = ['body'] as const;

/** The ids after `key`. */
function outward(key: string, descending: boolean): Intervals[number] {
  return descending ? { to: { key, inclusive: false } } : { from: { key, inclusive: false } };
}
