/**
 * Checkpoint and compaction: what is recent becomes pages, texts that lie in the log or in mostly dead blocks move to new
 * segments, and a new manifest makes it so.
 *
 *   1 snapshot   entries of every order as of commit `through`; rows never change, so holding them is enough
 *   2 slices     new segments and pages are put while reads and writes go on; nothing names them yet
 *   3 install    in turn with writes: manifest in, old blocks out, epoch + 1; then memory follows
 *
 * A crash before 3 leaves blocks that nobody names; compaction sweeps them. A write between 1 and 3 stays recent. Such a
 * write may have kept a reference to a text that moved: the text lives on where it was, its block stays, the copy is dead.
 *
 * The manifest counts dead texts as of `through`: what later commits free is in their own lists, and is counted when they
 * are applied to the manifest. So of a row that was written meanwhile, the old text is not dead yet, whatever became of it.
 */
import { corrupt, ioError, type SortKey, type TextRef } from '@settledb/core';
import type { Rewritable } from './checkpoint';
import { type Fences, noFences, noRowFences, type OrderState, orderOf, type TableState } from './directory';
import type { Image } from './image';
import { BLOCKS_PER_COMMIT } from './journal';
import { isRef, type Row } from './layout';
import { encodeManifest, type Manifest } from './manifest';
import { chunks, type Entries, mergeInto } from './merge-rows';
import { NewBlocks, Overtaken } from './new-blocks';
import {
  encodeOrder,
  encodeRows,
  type OrderPage,
  PAGE_ROWS,
  type Page,
  pageOfRows,
  type RowPage,
  rowAt,
} from './page';
import { PAGES_LOADED_MAX } from './page-cache';
import { runsOf } from './runs';
import { isTail } from './texts';

/** New pages kept in memory until they are installed; a directory may be larger than memory should be. */
const PAGES_KEPT_MAX = PAGES_LOADED_MAX / 2;
/** Pages up to this long go into the manifest too, where they are the only one of their order: so a few KB in all. */
const INLINE_LENGTH_MAX = 1024;
/** Installing keeps writes of this context waiting, and loses to every commit of another: so it does not try for ever. */
const INSTALL_TRIES_MAX = 100;

interface Use {
  size: number;
  dead: number;
}

/** A row whose texts moved: as it was at the snapshot, and as its new page has it. */
interface Moved {
  readonly table: TableState;
  readonly key: SortKey;
  readonly from: Row;
  readonly to: Row;
}

interface NewOrder {
  readonly table: string;
  readonly order: number;
  readonly entries: Entries<unknown>;
  readonly fences: Fences;
}

export async function rewrite(store: Rewritable, full: boolean, signal?: AbortSignal): Promise<void> {
  const leftovers = full ? await store.journal.blockIds() : [];
  const work = new Rewriting(store, full, signal);
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
  readonly #full: boolean;
  readonly #signal: AbortSignal | undefined;
  readonly #blocks: NewBlocks;
  readonly #epoch: number;
  readonly #through: number;
  readonly #snapshots: { table: TableState; order: number; entries: Entries<unknown>; fences: Fences }[] = [];
  readonly #orders: NewOrder[] = [];
  readonly #pages = new Map<number, Page>();
  /** Short pages; those not changed are of before. */
  readonly #short: Map<number, string>;
  readonly #moved: Moved[] = [];
  readonly #useBefore: ReadonlyMap<number, Use>;
  readonly #sparse: ReadonlySet<number>;

  constructor(store: Rewritable, full: boolean, signal: AbortSignal | undefined) {
    this.#store = store;
    this.#image = store.image;
    this.#full = full;
    this.#signal = signal;
    this.#epoch = store.image.epoch;
    this.#through = store.image.n;
    this.#blocks = new NewBlocks(store, { epoch: this.#epoch, n: this.#through }, signal);
    this.#useBefore = copyOf(store.image.use.sizes);
    this.#short = new Map(store.image.inline);
    this.#sparse = full ? sparseBlocks(this.#image) : new Set();
    for (const table of this.#image.directory.tables.values()) {
      for (let order = 0; order < table.layout.orders.length; order++) {
        const { recent, fences } = orderOf<unknown>(table, order);
        const keys = [...recent.keys()];
        const values = keys.map((key) => recent.values.get(key) ?? null);
        this.#snapshots.push({ table, order, entries: { keys, values }, fences });
      }
    }
  }

  /** Puts all new segments and pages. */
  async build(): Promise<void> {
    for (const { table, order, entries, fences } of this.#snapshots) {
      const made =
        order === 0
          ? await this.#rewriteRows(table, entries as Entries<Row>, fences)
          : await this.#rewriteOrder(table, order, entries as Entries<SortKey>, fences);
      this.#orders.push({ table: table.layout.name, order, entries, fences: made });
    }
    await this.#blocks.end();
  }

  async #rewriteRows(table: TableState, entries: Entries<Row>, fences: Fences): Promise<Fences> {
    const made = noRowFences();
    let keys: SortKey[] = [];
    let rows: Row[] = [];
    const emit = async (all: boolean): Promise<void> => {
      for (const [from, to] of chunks(keys.length, all)) {
        const pageKeys = keys.slice(from, to);
        const pageRows = await this.#moveTexts(table, pageKeys, rows.slice(from, to));
        const page = pageOfRows(table.layout, pageKeys, pageRows);
        made.runs.push(runsOf(pageKeys, pageRows, table.layout.textFields.at(-1)));
        await this.#putPage(made, page, encodeRows(page));
      }
      const rest = all ? keys.length : keys.length - (keys.length % PAGE_ROWS);
      keys = keys.slice(rest);
      rows = rows.slice(rest);
    };
    await this.#eachPart(table, 0, entries, fences, made, async (page, part) => {
      mergeInto(keys, rows, page?.keys ?? [], (at) => rowAt(table.layout, page as RowPage, at), part);
      await emit(!this.#full);
    });
    await emit(true);
    return made;
  }

  async #rewriteOrder(
    table: TableState,
    order: number,
    entries: Entries<SortKey>,
    fences: Fences,
  ): Promise<Fences> {
    const made = noFences();
    let keys: SortKey[] = [];
    let primary: SortKey[] = [];
    const emit = async (all: boolean): Promise<void> => {
      for (const [from, to] of chunks(keys.length, all)) {
        const page = { keys: keys.slice(from, to), primary: primary.slice(from, to) };
        await this.#putPage(made, page, encodeOrder(page));
      }
      const rest = all ? keys.length : keys.length - (keys.length % PAGE_ROWS);
      keys = keys.slice(rest);
      primary = primary.slice(rest);
    };
    await this.#eachPart(table, order, entries, fences, made, async (page, part) => {
      mergeInto(keys, primary, page?.keys ?? [], (at) => (page as OrderPage).primary[at] as SortKey, part);
      await emit(!this.#full);
    });
    await emit(true);
    return made;
  }

  /** Calls `visit` for each page that changes with the entries that fall into it; takes the others over as they are. */
  async #eachPart<Value>(
    table: TableState,
    order: number,
    entries: Entries<Value>,
    fences: Fences,
    made: Fences,
    visit: (page: Page | undefined, part: Entries<Value>) => Promise<void>,
  ): Promise<void> {
    if (fences.ids.length === 0) return visit(undefined, entries);
    let from = 0;
    for (let i = 0; i < fences.ids.length; i++) {
      const end = fences.keys[i + 1];
      let to = from;
      while (to < entries.keys.length && (end === undefined || (entries.keys[to] as SortKey) < end)) to++;
      if (to === from && !this.#full) {
        made.keys.push(fences.keys[i] as SortKey);
        made.ids.push(fences.ids[i] as number);
        made.counts.push(fences.counts[i] as number);
        made.runs?.push(fences.runs?.[i] ?? 0);
      } else {
        const page = await this.#load(table, order, fences.ids[i] as number);
        await visit(page, { keys: entries.keys.slice(from, to), values: entries.values.slice(from, to) });
      }
      from = to;
    }
  }

  async #load(table: TableState, order: number, id: number): Promise<Page> {
    const cached = this.#image.pages.get(id);
    if (cached !== undefined) return cached;
    const [text] = await this.#store.journal.load([id]);
    if (text === undefined) throw this.#missing(id);
    return this.#image.pages.decoderFor(table.layout, order)(text);
  }

  #missing(id: number): Error {
    return this.#image.epoch === this.#epoch && !this.#store.journal.shared
      ? corrupt(`block ${id}, which the directory names, is not in the storage`)
      : new Overtaken('a block went while it was being rewritten');
  }

  /** The rows with texts that lie in the log or in sparse blocks put into new segments. */
  async #moveTexts(table: TableState, keys: readonly SortKey[], rows: readonly Row[]): Promise<Row[]> {
    const { textFields } = table.layout;
    const moving = (ref: Row[string]): ref is TextRef =>
      isRef(ref) && ref.length > 0 && (isTail(ref.block) || this.#sparse.has(ref.block));
    const blocks = new Set<number>();
    for (const row of rows)
      for (const field of textFields) if (moving(row[field])) blocks.add((row[field] as TextRef).block);
    if (blocks.size === 0) return [...rows];
    const texts = await this.#loadTexts(blocks);
    return rows.map((row, i) => {
      if (!textFields.some((field) => moving(row[field]))) return row;
      const copy = { ...row } as { [field: string]: Row[string] };
      for (const field of textFields) {
        const ref = row[field];
        if (!moving(ref)) continue;
        const block = texts.get(ref.block) as string;
        copy[field] = this.#blocks.addText(block.slice(ref.at, ref.at + ref.length));
      }
      this.#moved.push({ table, key: keys[i] as SortKey, from: row, to: copy });
      return copy;
    });
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
      if (text === undefined) throw this.#missing(id);
      texts.set(id, text);
    }
    return texts;
  }

  async #putPage(fences: Fences, page: Page, text: string): Promise<void> {
    const id = await this.#blocks.addPage(text, page.keys.length);
    if (text.length <= INLINE_LENGTH_MAX) this.#short.set(id, text);
    fences.keys.push(page.keys[0] as SortKey);
    fences.ids.push(id);
    fences.counts.push(page.keys.length);
    this.#pages.set(id, page);
    if (this.#pages.size > PAGES_KEPT_MAX) this.#pages.delete(this.#pages.keys().next().value as number);
  }

  /** Installs the manifest; the last look at what was written meanwhile, in turn with writes. */
  async install(leftovers: readonly number[]): Promise<void> {
    const image = this.#image;
    for (let tries = 0; tries < INSTALL_TRIES_MAX; tries++) {
      this.#signal?.throwIfAborted();
      if (image.epoch !== this.#epoch) throw new Overtaken('another context rewrote the storage');
      const { use, drop } = this.#outcome(leftovers);
      const manifest = { text: encodeManifest(this.#manifest(use)), through: this.#through };
      if (!(await this.#store.follower.rewrite({ manifest, drop }, image.position))) continue;
      if (image.epoch === this.#epoch) this.#take(use, drop);
      return;
    }
    throw ioError(`a checkpoint lost ${INSTALL_TRIES_MAX} races against other contexts`);
  }

  /** Should the manifest be in force after all, the epoch is another one, and what it names stays. */
  async abandon(): Promise<void> {
    if (this.#image.epoch === this.#epoch) await this.#blocks.abandon();
  }

  #manifest(use: ReadonlyMap<number, Use>): Manifest {
    const tables: Record<string, Fences[]> = Object.create(null) as Record<string, Fences[]>;
    for (const { table, order, fences } of this.#orders) {
      const orders = tables[table] ?? [];
      orders[order] = fences;
      tables[table] = orders;
    }
    const blocks = [...use].map(([id, { size, dead }]) => [id, size, dead] as const);
    return { tables, blocks, inline: [...this.#inline()] };
  }

  /** Of the short pages, those that are all of an order. */
  #inline(): Map<number, string> {
    const inline = new Map<number, string>();
    for (const { fences } of this.#orders) {
      const [id = 0] = fences.ids;
      const text = this.#short.get(id);
      if (fences.ids.length === 1 && text !== undefined) inline.set(id, text);
    }
    return inline;
  }

  /** What each block of texts is worth as of `through`, and which blocks go. Commits after it are applied to that again. */
  #outcome(leftovers: readonly number[]): { use: Map<number, Use>; drop: number[] } {
    const use = copyOf(this.#useBefore);
    for (const [id, size] of this.#blocks.use) use.set(id, { size, dead: 0 });
    for (const moved of this.#moved) this.#countMoved(moved, use);
    const drop = this.#oldPages();
    for (const [id, { size, dead }] of use) {
      if (dead + this.#freedSince(id) < size) continue;
      use.delete(id);
      if (!isTail(id) && !this.#blocks.use.has(id)) drop.push(id);
    }
    for (const id of this.#recordsCovered(use)) drop.push(id);
    const named = new Set(this.#orders.flatMap(({ fences }) => fences.ids));
    const firstLater = (this.#through + 1) * BLOCKS_PER_COMMIT;
    for (const id of leftovers) if (id < firstLater && !use.has(id) && !named.has(id)) drop.push(id);
    return { use, drop: [...new Set(drop)] };
  }

  /** Of each text that moved one is dead: where it was, or, if its row was written meanwhile, the copy. */
  #countMoved({ table, key, from, to }: Moved, use: ReadonlyMap<number, Use>): void {
    const recent = table.rows.recent.values.get(key);
    const isAsItWas = recent === undefined || recent === from;
    for (const field of table.layout.textFields) {
      const [old, copy] = [from[field], to[field]];
      if (!isRef(old) || !isRef(copy) || copy === old) continue;
      const dead = isAsItWas ? old : copy;
      const block = use.get(dead.block);
      if (block !== undefined) block.dead += dead.length;
    }
  }

  /** Characters of a block that commits after `through` freed, as far as this context knows. */
  #freedSince(id: number): number {
    const before = this.#useBefore.get(id);
    return before === undefined ? 0 : (this.#image.use.sizes.get(id)?.dead ?? before.dead) - before.dead;
  }

  #oldPages(): number[] {
    const named = new Set(this.#orders.flatMap(({ fences }) => fences.ids));
    return this.#snapshots.flatMap(({ fences }) => fences.ids.filter((id) => !named.has(id)));
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

  /** Memory follows what was installed. */
  #take(use: ReadonlyMap<number, Use>, drop: readonly number[]): void {
    const image = this.#image;
    for (const { table, order, entries, fences } of this.#orders) {
      const state = orderOf<unknown>(image.directory.table(table), order) as OrderState<unknown>;
      state.recent.forget(entries.keys, entries.values);
      state.fences = fences;
    }
    const now = copyOf(image.use.sizes);
    image.use.sizes.clear();
    for (const [id, { size, dead }] of use) {
      const freedSince = (now.get(id)?.dead ?? 0) - (this.#useBefore.get(id)?.dead ?? 0);
      image.use.add(id, size, dead + Math.max(freedSince, 0));
    }
    for (const [id, { size, dead }] of now) if (!this.#useBefore.has(id)) image.use.add(id, size, dead);
    for (const id of drop) image.texts.delete(id);
    for (const [id, page] of this.#pages) image.pages.set(id, page);
    image.pages.retain(new Set(this.#orders.flatMap(({ fences }) => fences.ids)));
    image.inline = this.#inline();
    image.through = this.#through;
    image.epoch = this.#epoch + 1;
  }
}

const copyOf = (use: ReadonlyMap<number, Use>): Map<number, Use> =>
  new Map([...use].map(([id, { size, dead }]) => [id, { size, dead }]));

/** Blocks of which more than half is dead. */
function sparseBlocks(image: Image): Set<number> {
  const sparse = new Set<number>();
  for (const [id, { size, dead }] of image.use.sizes) if (dead * 2 > size) sparse.add(id);
  return sparse;
}
