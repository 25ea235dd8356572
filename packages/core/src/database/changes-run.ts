/**
 * What the changes feed of a local database does: it reads the `docs` table in order of seq, once, or for as long as somebody listens.
 *
 * A one-shot feed ends at the `update_seq` found at its beginning, so each document comes at most once whatever is written
 * meanwhile. Whenever a live feed is woken it reads on after the last seq it saw; the wake-up is only a hint, so doubled,
 * late or lost ones neither repeat nor lose a change. Rows are made in a plain loop: no promise per row where nobody iterates.
 */
import { joinDoc } from '../model/document';
import { badRequest } from '../model/errors';
import { leaves } from '../model/tree';
import type { Cancelled, Change, ChangesResult, ExistingDoc } from '../model/types';
import { nextTask } from '../store/next-task';
import { type DocRow, storedBody } from '../store/schema';
import type { Range } from '../store/store';
import type { FillOptions } from './attachment-fill';
import type { ChangesSource } from './changes';
import { checkChangesOptions } from './changes-check';
import { filterCode, loadAttachments, wantsData } from './code';
import { isCount } from './count';
import type { ChangesOptions } from './database';
import type { FeedController } from './feed-controller';
import type { Filter, FilterSource } from './filter';
import { INFO_QUERY } from './info';
import { Patience } from './patience';
import { ReadSize } from './read-size';
import { losersOf, TREE_TEXTS, treeOf } from './tip';
import { Waker } from './waker';

type Controller = FeedController<Change>;
type Outcome = ChangesResult | Cancelled;
/** Rows read at a time without documents: each takes some 100 bytes, so for most databases one read is enough. */
const ROWS_PER_READ = 20_000;
/** Most rows read at a time with documents. */
const DOCS_PER_READ = 1_000;
/** Up to this many `doc_ids` are looked up one by one; for more, every row is read. */
const IDS_BY_KEY = 1_000;
/** ms of filtering at a time: a selector may have thousands of conditions, and memory answers many reads within one task. */
const FILTER_MS = 10;
/** The options after checking, with their defaults. */
interface Plan {
  readonly since: number;
  readonly limit: number;
  /** Whether a limit was asked for: the result then says how many changes it left out. */
  readonly counts: boolean;
  readonly descending: boolean;
  /** Most rows read at a time. */
  readonly perRead: number;
  /** As many rows are read, not fewer when documents are long. */
  readonly isExact: boolean;
  readonly filter: Filter;
  /** Long fields needed of rows that may pass. */
  readonly texts: readonly ('tree' | 'tip' | 'body')[];
  readonly allLeaves: boolean;
  readonly includeDocs: boolean;
  readonly conflicts: boolean;
  readonly keepResults: boolean;
  /** Every row that is read is a change by itself: nothing is looked for in it, left out or added. */
  readonly plain: boolean;
  /** Set when documents come with more of their attachments than stubs. */
  readonly fill: FillOptions | undefined;
}

const cancelled = (): Cancelled => ({ status: 'cancelled' });

/** @param begin the seq to begin after, if it is well-formed: the feed's `since`, or where 'now' was */
export async function run(
  source: ChangesSource,
  options: ChangesOptions,
  begin: unknown,
  controller: Controller,
): Promise<Outcome> {
  const live = options.live || options.continuous;
  checkChangesOptions(options);
  const plan = makePlan(options, parseSince(begin), await filterOf(source, options));
  if (controller.cancelled) return cancelled();
  return live ? runLive(source, plan, controller) : runOnce(source, plan, controller);
}

function makePlan(options: ChangesOptions, since: number, filter: Filter): Plan {
  const { limit, batch_size, include_docs, style } = options;
  const trees =
    style === 'all_docs' ? TREE_TEXTS : include_docs && options.conflicts ? (['tree'] as const) : [];
  const needsBody = include_docs || filter.acceptDoc !== undefined;
  const descending = Boolean(options.descending);
  return {
    since,
    limit: limit === undefined || limit < 0 ? Number.POSITIVE_INFINITY : limit || 1,
    counts: limit !== undefined && limit >= 0,
    descending,
    perRead: batch_size || (needsBody ? DOCS_PER_READ : ROWS_PER_READ),
    isExact: Boolean(batch_size) || !needsBody,
    filter,
    texts: [...trees, ...(needsBody ? (['body'] as const) : [])],
    allLeaves: style === 'all_docs',
    includeDocs: Boolean(include_docs),
    conflicts: Boolean(options.conflicts),
    keepResults: options.return_docs !== false && !(options.live || options.continuous),
    plain: !needsBody && style !== 'all_docs' && !descending,
    fill: include_docs && wantsData(options) ? options : undefined,
  };
}

/** Most feeds want everything: the code for the other filters is loaded when needed. */
async function filterOf(source: FilterSource, options: ChangesOptions): Promise<Filter> {
  const { filter, view, doc_ids, selector } = options;
  if ([filter, view, doc_ids, selector].every((given) => given === undefined)) return {};
  return (await filterCode.load()).makeFilter(source, options);
}

function parseSince(since: unknown): number {
  if (since === undefined || since === null) return 0;
  const seq = typeof since === 'string' && /^\d+$/.test(since) ? Number(since) : since;
  if (!isCount(seq)) throw badRequest("Malformed sequence supplied in 'since' parameter.");
  return seq;
}

async function runOnce(source: ChangesSource, plan: Plan, controller: Controller): Promise<Outcome> {
  const delivery = new Delivery(source, plan, controller);
  const { limit, since, descending, perRead, filter } = plan;
  if (filter.ids !== undefined && filter.ids.size <= IDS_BY_KEY) {
    const { rows, updateSeq, lowest } = await readByIds(source, plan, filter.ids);
    await delivery.deliver(rows);
    return withPending(source, plan, delivery.result(descending ? (lowest ?? updateSeq) : updateSeq));
  }
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
  const result = delivery.result(until ?? from);
  // With `descending`, as in CouchDB: the last row looked at, or delivered.
  const last_seq =
    descending && (from !== since || !delivery.full) ? (looked ?? result.last_seq) : result.last_seq;
  return withPending(source, plan, { ...result, last_seq });
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
  // `descending` has no meaning here: each edit of a document is news.
  const delivery = new Delivery(source, { ...plan, descending: false }, controller);
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

/** Makes changes of rows and hands them on, up to the limit. */
class Delivery {
  readonly #source: ChangesSource;
  readonly #plan: Plan;
  readonly #controller: Controller;
  readonly #results: Change[] = [];
  /** Ids delivered already: a feed that reads backwards meets a document edited meanwhile again, at its new seq. */
  readonly #ids: Set<string> | undefined;
  #left: number;
  #lastSeq = 0;
  /** When others last had their turn. */
  #began = performance.now();

  constructor(source: ChangesSource, plan: Plan, controller: Controller) {
    this.#source = source;
    this.#plan = plan;
    this.#controller = controller;
    this.#left = plan.limit;
    this.#ids = plan.descending ? new Set() : undefined;
  }

  /** Whether as many changes as the limit allows have been delivered. */
  get full(): boolean {
    return this.#left === 0;
  }

  /** Of the last change delivered; 0 before the first. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  async deliver(rows: readonly DocRow[]): Promise<void> {
    const plan = this.#plan;
    const controller = this.#controller;
    if (plan.plain && !controller.heard && rows.length < this.#left) return this.#deliverAll(rows);
    for (const row of rows) {
      if (this.#ids?.has(row.id)) continue;
      if (plan.filter.acceptDoc !== undefined && performance.now() - this.#began >= FILTER_MS) {
        await this.#giveTurn();
        if (controller.cancelled) return;
      }
      const change = toChange(plan, row);
      if (change === undefined) continue;
      if (plan.fill !== undefined && !(await this.#fill(change, plan.fill))) continue;
      this.#ids?.add(row.id);
      if (plan.keepResults) this.#results.push(change);
      this.#lastSeq = row.seq;
      this.#left--;
      const wait = controller.heard ? controller.push(change) : undefined;
      if (wait !== undefined) await wait;
      if (this.#left === 0 || controller.cancelled) return;
    }
  }

  async #giveTurn(): Promise<void> {
    await nextTask();
    this.#began = performance.now();
  }

  /** Apart from the loop above, which asks much of each row: most feeds are read once in a page, before the engine has optimised it. */
  #deliverAll(rows: readonly DocRow[]): void {
    const results = this.#results;
    if (this.#plan.keepResults) for (let i = 0; i < rows.length; i++) results.push(plainChange(rows[i]!));
    this.#lastSeq = rows.at(-1)?.seq ?? this.#lastSeq;
    this.#left -= rows.length;
  }

  /** @returns false when the document was changed or purged since: if it still exists it comes at its new seq */
  async #fill({ id, seq, doc }: Change, options: FillOptions): Promise<boolean> {
    const { fill, unswept } = await loadAttachments();
    const { store, bytes } = this.#source;
    let isFirst = true;
    return unswept(async () => {
      const [[row]] = isFirst ? [[undefined]] : await store.read([{ from: 'docs', keys: [id] }]);
      if (!isFirst && row?.seq !== seq) return false;
      isFirst = false;
      await fill({ store, bytes }, doc ? [doc] : [], options);
      return true;
    });
  }

  /** @param looked the seq up to which everything was looked at, unless the limit ended it before */
  result(looked: number): ChangesResult & { readonly last_seq: number } {
    return { results: this.#results, last_seq: this.full ? this.#lastSeq : looked };
  }
}

/** The row's change, or `undefined` where the filter does not want it. */
function toChange(plan: Plan, row: DocRow): Change | undefined {
  const { filter, includeDocs, allLeaves } = plan;
  let doc: ExistingDoc<Record<string, unknown>> | undefined;
  if (includeDocs || filter.acceptDoc !== undefined) {
    doc = readDoc(row, includeDocs && plan.conflicts);
    if (filter.acceptDoc !== undefined && !filter.acceptDoc(doc)) return undefined;
  }
  const change = plainChange(row);
  if (allLeaves && row.tree !== undefined) change.changes = leaves(treeOf(row)).map(({ rev }) => ({ rev }));
  if (includeDocs && doc !== undefined) change.doc = doc;
  return change;
}

type Made = { -readonly [K in keyof Change]: Change[K] };

function plainChange({ id, seq, rev, deleted }: DocRow): Made {
  const changes = [{ rev }]; // not within the next literal: V8 makes that slowly until it has optimised the code
  const change: Made = { id, seq, changes };
  if (deleted) change.deleted = true;
  return change;
}

function readDoc(row: DocRow, withConflicts: boolean): ExistingDoc<Record<string, unknown>> {
  const losers = withConflicts && losersOf(row);
  const meta = losers ? { _conflicts: losers } : undefined;
  return joinDoc(row.id, row.rev, row.deleted === true, storedBody(row), meta);
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
