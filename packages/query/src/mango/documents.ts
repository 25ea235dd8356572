/**
 * The documents of a plan, in its order, a batch at a time, and what was looked at to find them. Not yet tested with the selector.
 */
import {
  type CallOptions,
  compareKeys,
  type Database,
  type DatabaseTables,
  type ExistingDoc,
  isDesignId,
  type Json,
  keptDocs,
  type Range,
  type Seq,
  type Store,
} from '@settledb/core';
import type { IndexBound, IndexRange, IndexReader, IndexRow } from '../index-reader';
import { Slices } from '../slices';
import type { Access } from './access';
import { ALL, type Intervals, intersect, pointOf } from './interval';
import { definitionOf } from './mango-index';
import type { GatherPlan, IndexPlan, Plan, ScanPlan } from './planner';
import { mayMatch, type WantedText } from './texts';

export interface Source {
  readonly database: Pick<Database, 'name' | 'allDocs'>;
  readonly reader: IndexReader;
}

/** A place in the order of a plan. */
export interface Place {
  /** Of the row; `null` in the order of ids. */
  readonly key: Json;
  readonly id: string;
}

export interface ReadOptions extends CallOptions {
  readonly update?: boolean | 'lazy' | undefined;
  readonly conflicts?: boolean | undefined;
  /** What each document that matches has. */
  readonly texts?: readonly WantedText[] | undefined;
  /** Documents that will do, if all of them match. */
  readonly wanted: number;
  /** Goes on behind this place. */
  readonly after?: Place | undefined;
}

export interface Found {
  readonly key: Json;
  readonly doc: ExistingDoc<object>;
}

/** What was looked at, and the seqs of the states that answered. */
export interface Tally {
  keys: number;
  docs: number;
  readonly seqs: Set<Seq>;
}

/** Documents in memory at a time: at 1 KB each a megabyte. */
const MAX_BATCH = 1_000;
/** When what was wanted did not match, there is more that does not. */
const MIN_BATCH = 32;
/** Ranges of an index that are read at a time, of which each may give a batch. */
const RANGES_PER_READ = 32;
/** Rows of a range read at a time where only their ids are kept. */
const ROWS_PER_READ = 5_000;
/**
 * Ids that a gather collects, about 50 bytes each. Where there are more the question leaves out so little that all documents are
 * read instead: the same answer in the same order.
 */
const MAX_GATHERED = 500_000;

export function documentsOf(
  source: Source,
  plan: Plan,
  options: ReadOptions,
  tally: Tally,
): AsyncGenerator<readonly Found[]> {
  if (plan.kind === 'scan') return scanned(source, plan, options, tally);
  return plan.kind === 'index'
    ? indexed(source, plan, options, tally)
    : gathered(source, plan, options, tally);
}

/** What is wanted first, which mostly is enough; then more and more. */
function* batchSizes(wanted: number): Generator<number, never> {
  for (let size = firstBatch(wanted); ; size = nextBatch(size)) yield size;
}

export const firstBatch = (wanted: number): number => Math.min(wanted, MAX_BATCH);
export const nextBatch = (size: number): number => Math.min(Math.max(size * 2, MIN_BATCH), MAX_BATCH);

/** Ids of design documents lie between these: they are no content. */
const NO_DESIGN: Intervals = [
  { to: { key: '_design/', inclusive: false } },
  { from: { key: '_design0', inclusive: true } },
];

async function* scanned(
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
  const sizes = batchSizes(options.wanted);
  const slices = new Slices();
  const { after } = options;
  const behind: Intervals = after ? [outward(after.id, descending)] : ALL;
  const pieces = intersect(intersect(ids, NO_DESIGN), behind);
  for (const piece of descending ? [...pieces].reverse() : pieces) {
    for (let rest: Intervals = [piece]; rest[0] !== undefined; ) {
      const limit = sizes.next().value;
      const { from, to } = rest[0];
      const read = 'store' in reader && !options.conflicts && rangeOfIds(rest[0]);
      if (read) {
        const page = await scanPage((reader as LocalReader).store, read, descending, limit, options, tally);
        if (page.found.length > 0) yield page.found;
        rest = page.last === undefined ? [] : intersect(rest, [outward(page.last, descending)]);
        const wait = slices.pause();
        if (wait !== undefined) await wait;
        continue;
      }
      const [start, end] = descending ? [to, from] : [from, to];
      // The start is always included: one more, where it is not wanted.
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

/** As the store has it; `undefined`: bounds that are no ids. */
function rangeOfIds({ from, to }: Intervals[number]): Range | undefined {
  if (![from, to].every((bound) => bound === undefined || typeof bound.key === 'string')) return undefined;
  return {
    ...(from && { [from.inclusive ? 'gte' : 'gt']: from.key }),
    ...(to && { [to.inclusive ? 'lte' : 'lt']: to.key }),
  };
}

/** Documents out of the store, of which those that surely do not match are not made. */
async function scanPage(
  store: Store<DatabaseTables>,
  range: Range,
  reverse: boolean,
  limit: number,
  { texts = [], signal }: ReadOptions,
  tally: Tally,
): Promise<{ readonly found: readonly Found[]; readonly last: string | undefined }> {
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
  return { found, last: rows.length < limit ? undefined : rows.at(-1)?.id };
}

const BODY = ['body'] as const;

/** What comes behind an id. */
function outward(key: string, descending: boolean): Intervals[number] {
  return descending ? { to: { key, inclusive: false } } : { from: { key, inclusive: false } };
}

async function* byIds(
  database: Source['database'],
  ids: readonly string[],
  options: ReadOptions,
  tally: Tally,
): AsyncGenerator<readonly Found[]> {
  const { after } = options;
  const rest = after === undefined ? ids : ids.slice(ids.indexOf(after.id) + 1);
  const sizes = batchSizes(options.wanted);
  for (let at = 0; at < rest.length; ) {
    const size = sizes.next().value;
    const rows = rest.slice(at, at + size).map((id) => ({ id, key: null, value: null }));
    yield await joined(database, rows, options, tally);
    at += size;
  }
}

function inOrder(ids: readonly string[], descending: boolean): readonly string[] {
  return descending ? [...ids].reverse() : ids;
}

/** The documents of rows; those that are gone, and design documents, are left out. */
async function joined(
  database: Source['database'],
  rows: readonly IndexRow[],
  { conflicts, signal }: ReadOptions,
  tally: Tally,
): Promise<readonly Found[]> {
  const keys = rows.map(({ id }) => id);
  const answer = await database.allDocs({ keys, include_docs: true, conflicts, update_seq: true, signal });
  if (answer.update_seq !== undefined) tally.seqs.add(answer.update_seq);
  const found = answer.rows.flatMap((row, at) =>
    'doc' in row && row.doc && !isDesignId(row.id) ? [{ key: rows[at]!.key, doc: row.doc }] : [],
  );
  tally.docs += found.length;
  return found;
}

async function* indexed(
  { database, reader }: Source,
  { access, descending }: IndexPlan,
  options: ReadOptions,
  tally: Tally,
): AsyncGenerator<readonly Found[]> {
  const { signal, update = true, after } = options;
  const definition = definitionOf(access.index);
  const inTurn = descending ? [...access.ranges].reverse() : access.ranges;
  let ranges = after === undefined ? inTurn : behind(inTurn, after, descending);
  const sizes = batchSizes(options.wanted);
  while (ranges.length > 0) {
    const limit = sizes.next().value;
    const asked = ranges.slice(0, RANGES_PER_READ);
    const answers = await reader.read(definition, asked, { descending, limit, update, signal });
    tally.seqs.add(answers[0]!.update_seq);
    // A range that gave its fill may have more, and comes before the others.
    const full = answers.findIndex(({ rows }) => rows.length >= limit);
    const complete = full < 0 ? answers : answers.slice(0, full + 1);
    const rows = complete.flatMap((answer) => answer.rows);
    tally.keys += rows.length;
    ranges =
      full < 0
        ? ranges.slice(asked.length)
        : behind(ranges.slice(full), answers[full]!.rows.at(-1)!, descending);
    for (let at = 0; at < rows.length; at += limit)
      yield await joined(database, rows.slice(at, at + limit), options, tally);
  }
}

/** What of the ranges comes behind a place. */
export function behind(ranges: readonly IndexRange[], place: Place, descending: boolean): IndexRange[] {
  const { key, id } = place;
  const sign = descending ? -1 : 1;
  const [near, far] = descending ? (['to', 'from'] as const) : (['from', 'to'] as const);
  return ranges.flatMap((range) => {
    const end = range[far];
    const ends = end === undefined ? 1 : sign * compareKeys(end.key, key);
    if (ends < 0 || (ends === 0 && endsBy(end!, id, sign))) return [];
    const start = range[near];
    const starts = start === undefined ? -1 : sign * compareKeys(start.key, key);
    if (starts > 0 || (starts === 0 && startsBehind(start!, id, sign))) return [range];
    return [{ ...range, [near]: { key, id, inclusive: false } }];
  });
}

/** Whether what ends at this bound, in the same key, has nothing behind `id`. */
const endsBy = (end: IndexBound, id: string, sign: number): boolean =>
  end.id === undefined ? !end.inclusive : sign > 0 ? end.id <= id : end.id >= id;

/** Whether what begins at this bound, in the same key, lies wholly behind `id`. */
function startsBehind(start: IndexBound, id: string, sign: number): boolean {
  if (start.id === undefined || start.id === id) return !start.inclusive;
  return sign > 0 ? start.id > id : start.id < id;
}

async function* gathered(
  source: Source,
  plan: GatherPlan,
  options: ReadOptions,
  tally: Tally,
): AsyncGenerator<readonly Found[]> {
  const ids = new Set(plan.ids);
  for (const access of plan.accesses) await gather(source.reader, access, options, tally, ids);
  if (ids.size > MAX_GATHERED) {
    yield* scanned(source, { ids: ALL, descending: plan.descending }, options, tally);
    return;
  }
  const { after } = options;
  const sign = plan.descending ? -1 : 1;
  const sorted = [...ids].sort((one, other) => (one < other ? -sign : sign));
  const rest = after && sorted.filter((id) => (plan.descending ? id < after.id : id > after.id));
  yield* byIds(source.database, rest ?? sorted, { ...options, after: undefined }, tally);
}

async function gather(
  reader: IndexReader,
  { index, ranges }: Access,
  { signal, update = true }: ReadOptions,
  tally: Tally,
  into: Set<string>,
): Promise<void> {
  const definition = definitionOf(index);
  for (let rest = ranges; rest.length > 0 && into.size <= MAX_GATHERED; ) {
    const asked = rest.slice(0, RANGES_PER_READ);
    const answers = await reader.read(definition, asked, { limit: ROWS_PER_READ, update, signal });
    tally.seqs.add(answers[0]!.update_seq);
    const more: IndexRange[] = [];
    answers.forEach(({ rows }, at) => {
      tally.keys += rows.length;
      for (const { id } of rows) into.add(id);
      if (rows.length >= ROWS_PER_READ) more.push(...behind([asked[at]!], rows.at(-1)!, false));
    });
    rest = [...more, ...rest.slice(asked.length)];
  }
}
