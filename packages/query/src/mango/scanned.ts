/** Documents in the order of their ids, all or those between bounds. */
import { type DatabaseTables, keptDocs, type Range, type Store } from '@settledb/core';
import { DESIGN_IDS } from '../design';
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
import { ALL, type Interval, type Intervals, intersect, pointOf } from './interval';
import type { ScanPlan } from './planner';
import { mayMatch } from './texts';

/** The ids outside those of design documents, which are no content. */
const NO_DESIGN: Intervals = [
  { to: { key: DESIGN_IDS.gte, inclusive: false } },
  { from: { key: DESIGN_IDS.lt, inclusive: true } },
];

export async function* scanned(
  source: Source,
  { ids, descending }: Pick<ScanPlan, 'ids' | 'descending'>,
  options: ReadOptions,
  tally: Tally,
): AsyncGenerator<readonly Found[]> {
  const points = ids.map((each) => pointOf(each)?.key);
  if (points.every((each) => each !== undefined)) {
    yield* byIds(source.database, inOrder(points as string[], descending), options, tally);
    return;
  }
  let limit = firstBatch(options.wanted);
  const slices = new Slices();
  const { after } = options;
  const behind: Intervals = after ? [outward(after.id, descending)] : ALL;
  const pieces = intersect(intersect(ids, NO_DESIGN), behind);
  for (const piece of descending ? [...pieces].reverse() : pieces) {
    for (let rest: Intervals = [piece]; rest[0] !== undefined; ) {
      const page = await readPage(source, { bounds: rest[0], descending, limit }, options);
      tally.keys += page.looked;
      tally.docs += page.looked;
      limit = page.next;
      if (page.found.length > 0) yield page.found;
      rest = page.last === undefined ? [] : intersect(rest, [outward(page.last, descending)]);
      const wait = slices.pause();
      if (wait !== undefined) await wait;
    }
  }
}

/** The first documents of an interval of ids. */
interface Wanted {
  readonly bounds: Interval;
  readonly descending: boolean;
  readonly limit: number;
}

interface Page {
  readonly found: readonly Found[];
  /** Number of documents examined. */
  readonly looked: number;
  /** The last id read; `undefined`: nothing follows. */
  readonly last: string | undefined;
  /** How many should be read next. */
  readonly next: number;
}

function readPage({ database, reader }: Source, wanted: Wanted, options: ReadOptions): Promise<Page> {
  const range = 'store' in reader && !options.conflicts ? rangeOfIds(wanted.bounds) : undefined;
  return range === undefined
    ? pageOfDatabase(database, wanted, options)
    : pageOfStore((reader as LocalReader).store, range, wanted, options);
}

async function pageOfDatabase(
  database: Source['database'],
  { bounds: { from, to }, descending, limit }: Wanted,
  { conflicts, signal }: ReadOptions,
): Promise<Page> {
  const [start, end] = descending ? [to, from] : [from, to];
  // The start is always included: one more is read if it is not wanted.
  const unwanted = start !== undefined && !start.inclusive ? start.key : undefined;
  const room = unwanted === undefined ? limit : limit + 1;
  const { rows } = await database.allDocs({
    ...(start && { startkey: start.key as string }),
    ...(end && { endkey: end.key as string, inclusive_end: end.inclusive }),
    include_docs: true,
    conflicts,
    descending,
    limit: room,
    signal,
  });
  const found: Found[] = [];
  for (const row of rows)
    if ('doc' in row && row.doc && row.id !== unwanted) found.push({ key: null, doc: row.doc });
  const last = rows.length < room ? undefined : found.at(-1)?.doc._id;
  return { found, looked: found.length, last, next: nextBatch(limit) };
}

type LocalReader = IndexReader & { readonly store: Store<DatabaseTables> };

/** The range in the store's form; `undefined`: the bounds are no ids. */
function rangeOfIds({ from, to }: Interval): Range | undefined {
  if (![from, to].every((bound) => bound === undefined || typeof bound.key === 'string')) return undefined;
  return {
    ...(from && { [from.inclusive ? 'gte' : 'gt']: from.key }),
    ...(to && { [to.inclusive ? 'lte' : 'lt']: to.key }),
  };
}

/** Documents from the store; those that surely do not match are not parsed. */
async function pageOfStore(
  store: Store<DatabaseTables>,
  range: Range,
  { descending: reverse, limit }: Wanted,
  { texts = [], signal }: ReadOptions,
): Promise<Page> {
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
  const last = rows.length < limit ? undefined : rows.at(-1)?.id;
  return { found, looked, last, next: nextBatchAfter(limit, rows.length, rows) };
}

const BODY = ['body'] as const;

/** The ids after `key`. */
function outward(key: string, descending: boolean): Interval {
  return descending ? { to: { key, inclusive: false } } : { from: { key, inclusive: false } };
}
