/**
 * Checkpoint and compaction: what is recent becomes pages, texts that lie in the log or in mostly dead blocks move to new
 * segments, and a new manifest makes it so.
 *
 *   1 snapshot   entries of every order as of commit `through`; rows never change, so holding them is enough
 *   2 slices     new segments and pages are put while reads and writes go on; nothing names them yet
 *   3 install    in turn with writes: manifest in, old blocks out, epoch + 1; then memory follows
 *
 * A crash before 3 leaves blocks that nobody names; compaction sweeps them. A write between 1 and 3 stays recent. Such a
 * write may have kept a reference to a text that moved: its block then stays until the next time.
 */
import { corrupt, type SortKey, type TextRef } from '@settledb/core';
import type { Rewritable } from './checkpoint';
import { type Fences, noFences, type OrderState, orderOf, type TableState } from './directory';
import type { Image } from './image';
import { BLOCKS_PER_COMMIT, type Block } from './journal';
import { isRef, type Row } from './layout';
import { encodeManifest, type Manifest } from './manifest';
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
import { isTail, Segments } from './texts';

/** Another context rewrote the storage meanwhile: what was prepared here is void, and nothing is lost. */
export class Overtaken extends Error {}

/** Blocks are handed to the journal in slices of this many characters: a few ms of storage each. */
const SLICE_LENGTH = 512 * 1024;
/** Rows between pauses, in which the page may draw: about 10 ms of work. */
const SLICE_ROWS = 2048;
/** Random part of the ids of one rewrite, so that ids never meet those of one that was broken off. */
const SALT_MAX = 2 ** 32;
const BLOCKS_PER_REWRITE = 2 ** 20;

interface Entries<Value> {
  readonly keys: readonly SortKey[];
  readonly values: readonly (Value | null)[];
}

interface Use {
  size: number;
  dead: number;
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
  await work.build();
  await store.inTurn(() => work.install(leftovers));
}

class Rewriting {
  readonly #store: Rewritable;
  readonly #image: Image;
  readonly #full: boolean;
  readonly #signal: AbortSignal | undefined;
  readonly #epoch: number;
  readonly #through: number;
  readonly #snapshots: { table: TableState; order: number; entries: Entries<unknown>; fences: Fences }[] = [];
  readonly #orders: NewOrder[] = [];
  readonly #pages = new Map<number, Page>();
  readonly #segments: Segments;
  readonly #newUse = new Map<number, number>();
  readonly #movedFrom = new Map<number, number>();
  readonly #moved: { table: TableState; key: SortKey; from: Row; to: Row }[] = [];
  readonly #useBefore: ReadonlyMap<number, Use>;
  readonly #sparse: ReadonlySet<number>;
  readonly #nextId: () => number;
  #waiting: Block[] = [];
  #waitingLength = 0;
  #rowsSincePause = 0;

  constructor(store: Rewritable, full: boolean, signal: AbortSignal | undefined) {
    this.#store = store;
    this.#image = store.image;
    this.#full = full;
    this.#signal = signal;
    this.#epoch = store.image.epoch;
    this.#through = store.image.n;
    const base = Math.floor(Math.random() * SALT_MAX) * BLOCKS_PER_REWRITE + 1;
    let next = 0;
    this.#nextId = () => -(base + next++);
    this.#segments = new Segments(this.#nextId);
    this.#useBefore = copyOf(store.image.use.sizes);
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
    this.#segments.flush();
    this.#takeSegments();
    await this.#flush();
  }

  async #rewriteRows(table: TableState, entries: Entries<Row>, fences: Fences): Promise<Fences> {
    const made = noFences();
    let keys: SortKey[] = [];
    let rows: Row[] = [];
    const emit = async (all: boolean): Promise<void> => {
      for (const [from, to] of chunks(keys.length, all)) {
        const pageKeys = keys.slice(from, to);
        const pageRows = await this.#moveTexts(table, pageKeys, rows.slice(from, to));
        const page = pageOfRows(table.layout, pageKeys, pageRows);
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
      isRef(ref) && (isTail(ref.block) || this.#sparse.has(ref.block));
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
        if (moving(ref)) copy[field] = this.#move(ref, texts.get(ref.block) as string);
      }
      this.#moved.push({ table, key: keys[i] as SortKey, from: row, to: copy });
      return copy;
    });
  }

  #move(ref: TextRef, block: string): TextRef {
    const moved = this.#segments.add(block.slice(ref.at, ref.at + ref.length));
    this.#newUse.set(moved.block, (this.#newUse.get(moved.block) ?? 0) + ref.length);
    this.#movedFrom.set(ref.block, (this.#movedFrom.get(ref.block) ?? 0) + ref.length);
    return moved;
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
    const id = this.#nextId();
    fences.keys.push(page.keys[0] as SortKey);
    fences.ids.push(id);
    fences.counts.push(page.keys.length);
    this.#pages.set(id, page);
    this.#wait({ id, text });
    this.#takeSegments();
    this.#rowsSincePause += page.keys.length;
    if (this.#waitingLength > SLICE_LENGTH) await this.#flush();
    if (this.#rowsSincePause >= SLICE_ROWS) await this.#pause();
  }

  #takeSegments(): void {
    for (const block of this.#segments.blocks.splice(0)) this.#wait(block);
  }

  #wait(block: Block): void {
    this.#waiting.push(block);
    this.#waitingLength += block.text.length;
  }

  async #flush(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const put = this.#waiting;
    this.#waiting = [];
    this.#waitingLength = 0;
    const missed = await this.#store.journal.rewrite({ put }, { epoch: this.#epoch, n: this.#through });
    if (missed !== undefined) throw new Overtaken('another context rewrote the storage');
    for (const { id, text } of put) if (this.#newUse.has(id)) this.#image.texts.set(id, text);
  }

  async #pause(): Promise<void> {
    this.#signal?.throwIfAborted();
    this.#rowsSincePause = 0;
    await new Promise((resolve) => setTimeout(resolve, 0));
  }

  /** Installs the manifest; the last look at what was written meanwhile, in turn with writes. */
  async install(leftovers: readonly number[]): Promise<void> {
    const image = this.#image;
    for (;;) {
      if (image.epoch !== this.#epoch) throw new Overtaken('another context rewrote the storage');
      const { use, drop } = this.#outcome(leftovers);
      const text = encodeManifest(this.#manifest(use));
      const missed = await this.#store.journal.rewrite(
        { manifest: { text, through: this.#through }, drop },
        image.position,
      );
      if (missed === undefined) {
        if (image.epoch === this.#epoch) this.#take(use, drop);
        return;
      }
      image.absorb(missed);
    }
  }

  #manifest(use: ReadonlyMap<number, Use>): Manifest {
    const tables: Record<string, Fences[]> = Object.create(null) as Record<string, Fences[]>;
    for (const { table, order, fences } of this.#orders) {
      const orders = tables[table] ?? [];
      orders[order] = fences;
      tables[table] = orders;
    }
    return { tables, blocks: [...use].map(([id, { size, dead }]) => [id, size, dead] as const) };
  }

  /** What each block of texts is worth as of `through`, and which blocks go. Commits after it are applied to that again. */
  #outcome(leftovers: readonly number[]): { use: Map<number, Use>; drop: number[] } {
    const use = copyOf(this.#useBefore);
    for (const [id, length] of this.#movedFrom) {
      const old = use.get(id);
      if (old !== undefined) old.dead += length;
    }
    for (const [id, size] of this.#newUse) use.set(id, { size, dead: 0 });
    for (const { table, key, from, to } of this.#moved) {
      const recent = table.rows.recent.values.get(key);
      // Written meanwhile: nothing will refer to the copy that was moved.
      if (recent !== undefined && recent !== from) this.#freeCopies(table, from, to, use);
    }
    this.#keepForLaterWrites(use);
    const drop = this.#oldPages();
    for (const [id, { size, dead }] of use) {
      if (dead < size) continue;
      use.delete(id);
      if (!isTail(id) && !this.#newUse.has(id)) drop.push(id);
    }
    for (const id of this.#recordsCovered(use)) drop.push(id);
    const named = new Set(this.#orders.flatMap(({ fences }) => fences.ids));
    const firstLater = (this.#through + 1) * BLOCKS_PER_COMMIT;
    for (const id of leftovers) if (id < firstLater && !use.has(id) && !named.has(id)) drop.push(id);
    return { use, drop: [...new Set(drop)] };
  }

  #freeCopies(table: TableState, from: Row, to: Row, use: ReadonlyMap<number, Use>): void {
    for (const field of table.layout.textFields) {
      const copy = to[field];
      if (!isRef(copy) || copy === from[field]) continue;
      const target = use.get(copy.block);
      if (target !== undefined) target.dead += copy.length;
    }
  }

  /** Texts that moved but that rows written since the snapshot still refer to where they were: they live on there. */
  #keepForLaterWrites(use: ReadonlyMap<number, Use>): void {
    let movedTexts: Set<string> | undefined;
    for (const { table, order, entries } of this.#snapshots) {
      if (order !== 0) continue;
      const before = new Map(entries.keys.map((key, i) => [key, entries.values[i]]));
      for (const [key, row] of table.rows.recent.values) {
        if (row === null || before.get(key) === row) continue;
        for (const field of table.layout.textFields) {
          const ref = row[field];
          if (!isRef(ref) || !this.#movedFrom.has(ref.block)) continue;
          movedTexts ??= this.#textsMoved();
          const old = use.get(ref.block);
          if (old !== undefined && movedTexts.has(place(ref))) old.dead -= ref.length;
        }
      }
    }
  }

  #textsMoved(): Set<string> {
    const places = new Set<string>();
    for (const { table, from, to } of this.#moved) {
      for (const field of table.layout.textFields) {
        const ref = from[field];
        if (isRef(ref) && ref !== to[field]) places.add(place(ref));
      }
    }
    return places;
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
      const before = new Map(entries.keys.map((key, i) => [key, entries.values[i]]));
      state.recent.forget((key, value) => before.has(key) && before.get(key) === value);
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
    image.through = this.#through;
    image.epoch = this.#epoch + 1;
  }
}

const place = (ref: TextRef): string => `${ref.block}:${ref.at}`;

const copyOf = (use: ReadonlyMap<number, Use>): Map<number, Use> =>
  new Map([...use].map(([id, { size, dead }]) => [id, { size, dead }]));

/** Blocks of which more than half is dead. */
function sparseBlocks(image: Image): Set<number> {
  const sparse = new Set<number>();
  for (const [id, { size, dead }] of image.use.sizes) if (dead * 2 > size) sparse.add(id);
  return sparse;
}

/** Where to cut `length` rows into pages; without `all`, only into whole ones. */
function chunks(length: number, all: boolean): [from: number, to: number][] {
  const count = all ? Math.ceil(length / PAGE_ROWS) : Math.floor(length / PAGE_ROWS);
  const rows = all ? length / count : PAGE_ROWS;
  return Array.from({ length: count }, (_, i) => [Math.round(i * rows), Math.round((i + 1) * rows)]);
}

/** Appends a page's rows and the entries that fall into it, in order, entries winning; `null` ones leave the row out. */
function mergeInto<Value>(
  keys: SortKey[],
  values: Value[],
  pageKeys: readonly SortKey[],
  valueAt: (at: number) => Value,
  entries: Entries<Value>,
): void {
  let e = 0;
  const takeEntry = (): void => {
    const value = entries.values[e] as Value | null;
    if (value !== null) {
      keys.push(entries.keys[e] as SortKey);
      values.push(value);
    }
    e++;
  };
  for (let at = 0; at < pageKeys.length; at++) {
    const key = pageKeys[at] as SortKey;
    while (e < entries.keys.length && (entries.keys[e] as SortKey) < key) takeEntry();
    if (e < entries.keys.length && entries.keys[e] === key) takeEntry();
    else {
      keys.push(key);
      values.push(valueAt(at));
    }
  }
  while (e < entries.keys.length) takeEntry();
}
