/**
 * Checkpoint and compaction: recent entries become pages, texts that lie in the log or in mostly dead blocks move to new
 * segments, and a new manifest puts all of it into force.
 *
 *   1 snapshot   entries of every order as of commit `through`; rows never change, so holding them is enough
 *   2 slices     new segments and pages are put while reads and writes go on; nothing names them yet
 *   3 install    in turn with writes: manifest in, old blocks out, epoch + 1; then memory follows
 *
 * A crash before 3 leaves blocks that nobody names; the first checkpoint of the next context sweeps them, and any compaction. A write
 * between 1 and 3 stays recent. Such a write may have kept a reference to a text that moved: the text then stays where it was, its
 * block is kept, and the copy is dead.
 *
 * The manifest counts dead texts as of `through`: what later commits free is in their own lists, and is counted when they
 * are applied to the manifest. So the old text of a row written meanwhile is not dead yet, whatever became of the row.
 */
import { ioError, lowerBound, type SortKey } from '@settledb/core';
import type { Aside } from './aside';
import { BlockUse, isMostlyDead, type Use } from './block-use';
import type { Rewritable } from './checkpoint';
import { chunks } from './cuts';
import { orderOf, type TableState } from './directory';
import { encodeManifest, encodeOrderPage, encodeRowPage, runsOf } from './encode';
import { areBlocks, FENCES_DECODER, type FenceBlocks, type Fences, fencesWholeMax } from './fences';
import { forget } from './forget';
import type { Image } from './image';
import { BLOCKS_PER_COMMIT, isTail } from './journal';
import type { Row } from './layout';
import type { Manifest } from './manifest';
import { type Entries, type Kind, mergePlaces, orderKind, partsBy, rowKind } from './merge-rows';
import { TextMover } from './move-texts';
import { NewBlocks, Overtaken } from './new-blocks';
import { NewFences } from './new-fences';
import { type Decoder, decoderFor, type OrderPage, PAGES_LOADED_MAX, type Page, type RowPage } from './page';
import type { Runs } from './runs';
import { PAGE_GROUPS, StoredPage } from './stored-page';

/** Weight of new pages kept in memory until they are installed; a directory may be larger than memory should hold. */
const WEIGHT_KEPT_MAX = (PAGES_LOADED_MAX / 2) * PAGE_GROUPS;
/** Pages up to this long also go into the manifest, if they are the only one of their order: a few KB in all. */
const INLINE_LENGTH_MAX = 1024;
/** Installing keeps writes of this context waiting, and loses to every commit of another: so it does not try for ever. */
const INSTALL_TRIES_MAX = 100;

/** An order as it was when the rewrite began. */
interface Snapshot<Value> {
  readonly table: TableState;
  readonly order: number;
  readonly entries: Entries<Value>;
  readonly fences: Fences | FenceBlocks;
}

/** Takes a page and its changes; `undefined`: there is no page yet. */
type Visit<Value> = (page: StoredPage | undefined, part: Entries<Value>) => Promise<void>;

export interface Scope {
  /** All pages, and texts of blocks that are mostly dead; otherwise only pages that changed. */
  readonly full: boolean;
  /** Whether what a crash left is dropped. */
  readonly sweeps: boolean;
  /** Whether texts of pages made anew move from the log into segments, since opening reads the log. */
  readonly tails: boolean;
  /** See `Rewrite.makesRoom`. */
  readonly makesRoom: boolean;
}

export const CHECKPOINT: Scope = { full: false, sweeps: false, tails: true, makesRoom: false };
export const COMPACTION: Scope = { full: true, sweeps: true, tails: true, makesRoom: false };

export async function rewrite(
  store: Rewritable,
  scope: Scope,
  aside: Aside,
  signal: AbortSignal | undefined,
): Promise<void> {
  const leftovers = scope.sweeps ? await store.journal.blockIds() : [];
  const work = new Rewriting(store, scope, aside, signal);
  try {
    await work.build();
    await store.inTurn(() => work.install(leftovers));
  } catch (error) {
    await work.abandon();
    throw error;
  }
}

class Rewriting {
  readonly #store: Rewritable;
  readonly #image: Image;
  readonly #scope: Scope;
  readonly #signal: AbortSignal | undefined;
  readonly #blocks: NewBlocks;
  readonly #epoch: number;
  readonly #through: number;
  /** {@link Image.written} then. */
  readonly #written: number;
  readonly #snapshots: Snapshot<unknown>[] = [];
  /** The same with their new fences. */
  readonly #orders: Snapshot<unknown>[] = [];
  /** The latest of the new pages and new blocks of fences, which are kept in memory as they are. */
  readonly #pages = new Map<number, StoredPage>();
  #pagesWeight = 0;
  /** Ids of the pages, and of the blocks of fences, that they replace. */
  readonly #gone: number[] = [];
  /** If this sweeps: pages, and blocks of fences, that the new manifest names and that may have been there before. */
  #named: ReadonlySet<number> | undefined;
  /** Short pages; unchanged ones are from before. */
  readonly #short: Map<number, string>;
  readonly #useBefore: ReadonlyMap<number, Use>;
  readonly #texts: TextMover;

  constructor(store: Rewritable, scope: Scope, aside: Aside, signal: AbortSignal | undefined) {
    this.#store = store;
    this.#image = store.image;
    this.#scope = scope;
    this.#signal = signal;
    this.#epoch = store.image.epoch;
    this.#through = store.image.n;
    this.#written = store.image.written;
    const since = { epoch: this.#epoch, n: this.#through };
    this.#blocks = new NewBlocks(store, since, scope.makesRoom, aside, signal);
    this.#useBefore = copyOf(store.image.use.sizes);
    this.#short = new Map(store.image.inline);
    const sparse = scope.full ? sparseBlocks(this.#image) : new Set<number>();
    const isMoving = (block: number): boolean => (scope.tails && isTail(block)) || sparse.has(block);
    this.#texts = new TextMover(this.#blocks, isMoving, (ids) => this.#loadTexts(ids));
    for (const table of this.#image.directory.tables.values()) {
      for (let order = 0; order < table.layout.orders.length; order++) {
        const { recent, fences, blocks } = orderOf<unknown>(table, order);
        const keys = [...recent.keys()];
        const values = keys.map((_, i) => recent.at(i));
        this.#snapshots.push({ table, order, entries: { keys, values }, fences: (blocks ?? fences)! }); // one of the two is there
      }
    }
  }

  /** Puts all new segments and pages. */
  async build(): Promise<void> {
    for (const snapshot of this.#snapshots) {
      const { table, order } = snapshot;
      const put = (fences: Fences): Promise<number> => this.#put(fences, JSON.stringify(fences));
      const made = new NewFences(order === 0, fencesWholeMax(table.layout, order), put);
      if (order === 0) await this.#rewriteRows(snapshot as Snapshot<Row>, made);
      else await this.#rewriteOrder(snapshot as Snapshot<SortKey>, made);
      this.#orders.push({ ...snapshot, fences: await made.end() });
    }
    await this.#blocks.end();
    // Where a block of fences is damaged, or gone, nothing is swept: that does not keep other pages from being made anew.
    if (this.#scope.sweeps) this.#named = await this.#namedBefore().catch(() => undefined);
  }

  async #namedBefore(): Promise<ReadonlySet<number>> {
    const named = new Set<number>();
    if (this.#scope.full) return named;
    for (const { fences } of this.#orders) {
      for (const id of fences.ids) {
        named.add(id);
        if (!areBlocks(fences)) continue;
        const block = this.#pages.get(id) ?? (await this.#load(id, FENCES_DECODER));
        for (const page of (block.group(0) as Fences).ids) named.add(page);
      }
    }
    return named;
  }

  async #rewriteRows(snapshot: Snapshot<Row>, made: NewFences): Promise<void> {
    const { layout } = snapshot.table;
    const texts = layout.fields.indexOf(layout.textFields.at(-1) ?? '');
    const put = async (page: RowPage): Promise<void> => {
      await this.#texts.move(snapshot.table, page);
      await this.#putPage(made, page, encodeRowPage(page, layout), runsOf(page, page.columns[texts]));
    };
    await this.#merge(snapshot, made, rowKind(layout), put);
  }

  async #rewriteOrder(snapshot: Snapshot<SortKey>, made: NewFences): Promise<void> {
    const put = (page: OrderPage): Promise<void> => this.#putPage(made, page, encodeOrderPage(page));
    await this.#merge(snapshot, made, orderKind, put);
  }

  /** Makes the changed pages of an order anew, and puts them; rows that do not fill a page go with those that follow. */
  async #merge<P extends Page, Value>(
    snapshot: Snapshot<Value>,
    made: NewFences,
    kind: Kind<P, Value>,
    put: (page: P) => Promise<void>,
  ): Promise<void> {
    let rest: P | undefined;
    const take = async (page: P | undefined, part: Entries<Value>, all: boolean): Promise<void> => {
      const whole = rest !== undefined && page !== undefined ? kind.join(rest, page) : (rest ?? page);
      const places = mergePlaces(whole?.keys ?? [], part);
      let end = 0;
      const lengthAt = (at: number): number => kind.length(places[at]!, whole, part);
      for (const [from, to] of chunks(places.length, all, lengthAt)) {
        await put(kind.pick(places.subarray(from, to), whole, part));
        end = to;
      }
      rest = end === places.length ? undefined : kind.pick(places.subarray(end), whole, part);
    };
    await this.#eachPart(snapshot, made, (page, part) => {
      const groups = page?.within() as P[] | undefined;
      return take(
        groups?.reduce((all, group) => kind.join(all, group)),
        part,
        !this.#scope.full,
      );
    });
    if (rest !== undefined) await take(undefined, { keys: [], values: [] }, true);
  }

  /** As {@link #eachPage}, for all parts; fences that lie in blocks are read if one of their pages changes. */
  async #eachPart<Value>(snapshot: Snapshot<Value>, made: NewFences, visit: Visit<Value>): Promise<void> {
    const { fences, entries } = snapshot;
    if (!areBlocks(fences)) return this.#eachPage(snapshot, made, visit);
    for (const [i, part] of partsBy(fences.keys, entries).entries()) {
      if (part.keys.length === 0 && !this.#scope.full) {
        await made.keep(fences, i);
        continue;
      }
      const block = await this.#load(fences.ids[i]!, FENCES_DECODER);
      await this.#eachPage({ ...snapshot, entries: part, fences: block.group(0) as Fences }, made, visit);
      this.#gone.push(fences.ids[i]!);
    }
  }

  /** Calls `visit` for each page that changes with the entries that fall into it; the other pages are kept as they are. */
  async #eachPage<Value>(
    { table, order, entries, fences }: Snapshot<Value>,
    made: NewFences,
    visit: Visit<Value>,
  ): Promise<void> {
    const { keys, ids, counts, runs } = fences;
    if (ids.length === 0) return visit(undefined, entries);
    for (const [i, part] of partsBy(keys, entries).entries()) {
      if (part.keys.length === 0 && !this.#scope.full) {
        made.add(keys[i]!, ids[i]!, counts[i]!, runs?.[i]);
        continue;
      }
      await visit(await this.#load(ids[i]!, decoderFor(table.layout, order)), part);
      this.#gone.push(ids[i]!);
    }
  }

  async #load(id: number, decode: Decoder): Promise<StoredPage> {
    const cached = this.#image.pages.get(id);
    if (cached?.isWhole) return cached;
    const [text] = await this.#store.journal.load([id]);
    if (text === undefined) throw new Overtaken(`block ${id} went while it was being rewritten`);
    return decode(text);
  }

  async #loadTexts(ids: ReadonlySet<number>): Promise<Map<number, string>> {
    const texts = new Map<number, string>();
    const missing: number[] = [];
    for (const id of ids) {
      const text = this.#image.texts.get(id);
      if (text === undefined) missing.push(id);
      else texts.set(id, text);
    }
    const loaded = missing.length === 0 ? [] : await this.#store.journal.load(missing);
    for (const [i, id] of missing.entries()) {
      const text = loaded[i];
      if (text === undefined) throw new Overtaken(`block ${id} went while it was being rewritten`);
      texts.set(id, text);
    }
    return texts;
  }

  async #putPage(made: NewFences, page: RowPage | OrderPage, text: string, runs?: Runs): Promise<void> {
    const id = await this.#put(page, text);
    if (text.length <= INLINE_LENGTH_MAX) this.#short.set(id, text);
    made.add(page.keys[0] as SortKey, id, page.keys.length, runs);
  }

  async #put(page: Page, text: string): Promise<number> {
    const id = await this.#blocks.addPage(text);
    this.#keep(id, new StoredPage([], [page], text.length));
    return id;
  }

  #keep(id: number, page: StoredPage): void {
    this.#pages.set(id, page);
    this.#pagesWeight += page.weight;
    for (const [oldest, { weight }] of this.#pages) {
      if (this.#pagesWeight <= WEIGHT_KEPT_MAX) return;
      this.#pages.delete(oldest);
      this.#pagesWeight -= weight;
    }
  }

  /** Installs the manifest, after a last look at what was written meanwhile; in turn with writes. */
  async install(leftovers: readonly number[]): Promise<void> {
    const image = this.#image;
    for (let tries = 0; tries < INSTALL_TRIES_MAX; tries++) {
      this.#signal?.throwIfAborted();
      if (image.epoch !== this.#epoch) throw new Overtaken('another context rewrote the storage');
      const { use, drop } = this.#outcome(leftovers);
      const manifest = { text: encodeManifest(this.#manifest(use)), through: this.#through };
      const { makesRoom } = this.#scope;
      if (!(await this.#store.follower.rewrite({ manifest, drop, makesRoom }, image.position))) continue;
      if (image.epoch === this.#epoch) this.#take(use, drop);
      return;
    }
    throw ioError(`a checkpoint lost ${INSTALL_TRIES_MAX} races against other contexts`);
  }

  /** If the manifest is in force after all, the epoch has changed, and what it names stays. */
  abandon(): Promise<void> {
    return this.#blocks.abandon();
  }

  #manifest(use: ReadonlyMap<number, Use>): Manifest {
    const tables: { [name: string]: (Fences | FenceBlocks)[] } = Object.create(null);
    for (const { table, order, fences } of this.#orders) {
      const { name } = table.layout;
      tables[name] ??= [];
      tables[name][order] = fences;
    }
    const blocks = [...use].map(([id, { size, dead }]) => [id, size, dead] as const);
    return { tables, blocks, inline: [...this.#inline()] };
  }

  /** Those short pages that are the only one of their order. */
  #inline(): Map<number, string> {
    const inline = new Map<number, string>();
    for (const { fences } of this.#orders) {
      const [id = 0] = fences.ids;
      const text = this.#short.get(id);
      if (fences.ids.length === 1 && text !== undefined) inline.set(id, text);
    }
    return inline;
  }

  /** The use of each block of texts as of `through`, and which blocks are dropped. Commits after it are applied to that again. */
  #outcome(leftovers: readonly number[]): { use: Map<number, Use>; drop: number[] } {
    const use = copyOf(this.#useBefore);
    for (const [id, size] of this.#blocks.use) use.set(id, { size, dead: 0 });
    this.#texts.count(use, (table, key) => this.#entryOf(table, key));
    const drop = [...this.#gone];
    for (const [id, { size, dead }] of use) {
      if (dead + this.#freedSince(id) < size) continue;
      use.delete(id);
      if (!isTail(id) && !this.#blocks.use.has(id)) drop.push(id);
    }
    for (const id of this.#recordsCovered(use)) drop.push(id);
    const firstLater = (this.#through + 1) * BLOCKS_PER_COMMIT;
    // They were listed before anything was put.
    for (const id of leftovers)
      if (id < firstLater && !use.has(id) && this.#named?.has(id) === false) drop.push(id);
    return { use, drop: [...new Set(drop)] };
  }

  #entryOf(table: TableState, key: SortKey): unknown {
    const { entries } = this.#snapshots.find((one) => one.table === table && one.order === 0)!; // there is one for every table
    const at = lowerBound(entries.keys, key);
    return entries.keys[at] === key ? entries.values[at] : undefined;
  }

  /** Characters of a block freed by commits after `through`, as far as this context knows. */
  #freedSince(id: number): number {
    const before = this.#useBefore.get(id);
    return before === undefined ? 0 : (this.#image.use.sizes.get(id)?.dead ?? before.dead) - before.dead;
  }

  /** Records of the log that the manifest covers and whose tails nobody needs. */
  #recordsCovered(use: ReadonlyMap<number, unknown>): number[] {
    const ids: number[] = [];
    for (let n = this.#image.through + 1; n <= this.#through; n++) {
      if (!use.has(n * BLOCKS_PER_COMMIT)) ids.push(n * BLOCKS_PER_COMMIT);
    }
    for (const id of this.#useBefore.keys()) {
      if (isTail(id) && id <= this.#image.through * BLOCKS_PER_COMMIT && !use.has(id)) ids.push(id);
    }
    return ids;
  }

  /** Brings memory up to what was installed. */
  #take(use: ReadonlyMap<number, Use>, drop: readonly number[]): void {
    const image = this.#image;
    const isAsItWas = image.n === this.#through;
    for (const { table, order, entries, fences } of this.#orders) {
      const state = orderOf<unknown>(table, order);
      if (isAsItWas) state.recent.clear();
      else forget(state.recent, entries.keys, entries.values);
      state.fences = fences;
    }
    const now = image.use.sizes;
    image.use = new BlockUse();
    for (const [id, { size, dead }] of use) {
      const freedSince = (now.get(id)?.dead ?? 0) - (this.#useBefore.get(id)?.dead ?? 0);
      image.use.add(id, size, dead);
      image.use.free(id, Math.max(freedSince, 0));
    }
    for (const [id, { size, dead }] of now) {
      if (this.#useBefore.has(id)) continue;
      image.use.add(id, size);
      image.use.free(id, dead);
    }
    for (const id of drop) {
      image.texts.delete(id);
      image.pages.delete(id);
    }
    for (const [id, page] of this.#pages) image.pages.set(id, page);
    image.inline = this.#inline();
    image.through = this.#through;
    image.writtenThrough = this.#written;
    image.epoch = this.#epoch + 1;
  }
}

const copyOf = (use: ReadonlyMap<number, Use>): Map<number, Use> =>
  new Map([...use].map(([id, { size, dead }]) => [id, { size, dead }]));

/** Blocks of which more than half is dead. */
function sparseBlocks(image: Image): Set<number> {
  const sparse = new Set<number>();
  for (const [id, use] of image.use.sizes) if (isMostlyDead(use)) sparse.add(id);
  return sparse;
}
