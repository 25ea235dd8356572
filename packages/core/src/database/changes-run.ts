/**
 * What the changes feed of a local database does: it reads the `docs` table in order of seq, once, or for as long as somebody listens.
 *
 * A one-shot feed ends at the `update_seq` found at its beginning, so each document comes at most once whatever is written
 * meanwhile. Whenever a live feed is woken it reads on after the last seq it saw; the wake-up is only a hint, so doubled,
 * late or lost ones neither repeat nor lose a change.
 */
import type { Cancelled, Change, ChangesResult } from '../model/types';
import type { DocRow } from '../store/schema';
import type { Range } from '../store/store';
import type { ChangesSource } from './changes';
import { Delivery } from './changes-delivery';
import { type Plan, planOf } from './changes-plan';
import type { ChangesOptions } from './database';
import type { FeedController } from './feed-controller';
import { INFO_QUERY } from './info';
import { Patience } from './patience';
import { ReadSize } from './read-size';
import { Waker } from './waker';

type Controller = FeedController<Change>;
type Outcome = ChangesResult | Cancelled;

/** Up to this many `doc_ids` are looked up one by one; for more, every row is read. */
const IDS_BY_KEY = 1_000;

const cancelled = (): Cancelled => ({ status: 'cancelled' });

/** @param begin the seq to begin after, if it is well-formed: the feed's `since`, or where 'now' was */
export async function run(
  source: ChangesSource,
  options: ChangesOptions,
  begin: unknown,
  controller: Controller,
): Promise<Outcome> {
  const plan = await planOf(source, options, begin);
  if (controller.cancelled) return cancelled();
  return plan.live ? runLive(source, plan, controller) : runOnce(source, plan, controller);
}

async function runOnce(source: ChangesSource, plan: Plan, controller: Controller): Promise<Outcome> {
  const delivery = new Delivery(source, plan, controller);
  const { ids } = plan.filter;
  const last_seq =
    ids !== undefined && ids.size <= IDS_BY_KEY
      ? await lookUp(source, plan, ids, delivery)
      : await readThrough(source, plan, delivery, controller);
  return withPending(source, plan, { results: delivery.results, last_seq });
}

/** @returns the seq that is reached, as of {@link readThrough} */
async function lookUp(
  source: ChangesSource,
  plan: Plan,
  ids: ReadonlySet<string>,
  delivery: Delivery,
): Promise<number> {
  const { rows, updateSeq, lowest } = await readByIds(source, plan, ids);
  await delivery.deliver(rows);
  return delivery.reached(plan.descending ? (lowest ?? updateSeq) : updateSeq);
}

async function readThrough(
  source: ChangesSource,
  plan: Plan,
  delivery: Delivery,
  controller: Controller,
): Promise<number> {
  const { limit, since, descending, perRead, filter } = plan;
  // Without a filter every row is a result, so no more than `limit` need be read.
  const max = filter.acceptId || filter.acceptDoc ? perRead : Math.min(perRead, limit);
  const sizes = new ReadSize(max, plan.isExact);
  let range: Range = { gt: since };
  let from = since;
  let until: number | undefined;
  let looked: number | undefined;
  for (;;) {
    const size = sizes.next;
    const { rows, updateSeq } = await readRows(source, range, size, early(plan), descending);
    until ??= updateSeq;
    if (from === since) looked = rows.at(-1)?.seq ?? looked;
    const selected = await select(source, plan, rows);
    sizes.saw(rows.length, selected);
    await delivery.deliver(selected);
    if (controller.cancelled || delivery.full) break;
    if (rows.length === size) {
      const { seq } = rows.at(-1)!; // a page has at least one row
      range = descending ? { gt: from, lt: seq } : { gt: seq, lte: until };
    } else if (descending && updateSeq > until) {
      // Documents edited meanwhile have left the part yet to be read: now follows everything newer than the beginning.
      from = until;
      until = undefined;
      range = { gt: from };
    } else break;
  }
  const reached = delivery.reached(until ?? from);
  // With `descending`, as in CouchDB: the last row looked at, or delivered.
  return descending && (from !== since || !delivery.full) ? (looked ?? reached) : reached;
}

/** Adds the number of changes that follow, without regard to the filter, as CouchDB counts them. */
async function withPending(
  { store }: ChangesSource,
  { counts, descending, since }: Plan,
  result: ChangesResult & { readonly last_seq: number },
): Promise<ChangesResult> {
  if (!counts) return result;
  const { last_seq } = result;
  const count = descending ? { gt: since, lt: last_seq } : { gt: last_seq };
  const queries = [{ from: 'docs', by: 'seq', count }] as const;
  const [pending] = store.readNow(queries) ?? (await store.read(queries));
  return { ...result, pending };
}

async function runLive(source: ChangesSource, plan: Plan, controller: Controller): Promise<Outcome> {
  const delivery = new Delivery(source, plan, controller);
  const waker = new Waker(source, controller);
  const sizes = new ReadSize(plan.perRead, plan.isExact);
  const patience = new Patience();
  let since = plan.since;
  /** @returns whether there may be more to read */
  const readOn = async (): Promise<boolean> => {
    const size = sizes.next;
    const { rows } = await readRows(source, { gt: since }, size, early(plan));
    const selected = await select(source, plan, rows);
    sizes.saw(rows.length, selected);
    await delivery.deliver(selected);
    since = rows.at(-1)?.seq ?? since;
    patience.renew();
    return rows.length === size;
  };
  const failed = async (error: unknown): Promise<true> => {
    const wait = patience.after(error);
    if (wait === undefined) throw error;
    since = Math.max(since, delivery.lastSeq);
    await waker.rest(wait);
    return true;
  };
  const isOver = (): boolean => controller.cancelled || delivery.full;
  try {
    do {
      waker.arm();
      const isMore = await readOn().catch(failed);
      if (!isMore && !isOver()) await waker.woken();
    } while (!isOver());
    return cancelled();
  } finally {
    waker.stop();
  }
}

/** Which texts are read with the rows: none if most rows are going to be passed over by their id. */
const early = (plan: Plan): Texts => (plan.filter.acceptId === undefined ? wantedOf(plan.texts) : false);

/** Where no text is wanted, no references are wanted either. */
const wantedOf = (texts: readonly string[]): Texts => texts.length > 0 && texts;

/** The `rows` whose id passes, with the texts that are needed. */
async function select(
  source: ChangesSource,
  { filter: { acceptId }, texts }: Plan,
  rows: readonly DocRow[],
): Promise<readonly DocRow[]> {
  if (acceptId === undefined) return rows;
  const accepted = rows.filter(({ id }) => acceptId(id));
  if (texts.length === 0 || accepted.length === 0) return accepted;
  const keys = accepted.map(({ id }) => id);
  const [filled] = await source.store.read([{ from: 'docs', keys, texts }]);
  // A document changed or purged since is left out: if it still exists it comes at its new seq.
  return filled.filter((row, at): row is DocRow => row !== undefined && row.seq === accepted[at]!.seq);
}

type Texts = false | readonly string[];
type Read = { readonly rows: readonly DocRow[]; readonly updateSeq: number };

async function readRows(
  { store }: ChangesSource,
  range: Range,
  limit: number,
  texts: Texts,
  reverse = false,
): Promise<Read> {
  const queries = [{ from: 'docs', by: 'seq', range, limit, reverse, texts }, INFO_QUERY] as const;
  const [rows, [info]] = store.readNow(queries) ?? (await store.read(queries));
  return { rows, updateSeq: info?.update_seq ?? 0 };
}

async function readByIds(
  source: ChangesSource,
  plan: Plan,
  ids: ReadonlySet<string>,
): Promise<Read & { readonly lowest: number | undefined }> {
  const { since, descending, texts, filter } = plan;
  const [found, [first], [info]] = await source.store.read([
    { from: 'docs', keys: [...ids], texts: wantedOf(texts) },
    { from: 'docs', by: 'seq', range: { gt: since }, limit: 1, texts: false },
    INFO_QUERY,
  ]);
  const rows = found.filter(
    (row): row is DocRow => row !== undefined && row.seq > since && filter.acceptId!(row.id),
  );
  rows.sort((a, b) => (descending ? b.seq - a.seq : a.seq - b.seq));
  return { rows, updateSeq: info?.update_seq ?? 0, lowest: first?.seq };
}
