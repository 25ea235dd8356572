/**
 * What one context knows of a journal: its position, the directory, the caches. Commits and manifests change it, in order;
 * it is asked synchronously; what an answer lacked is loaded.
 */
import { corrupt, type Key, type StoreStats, sortKey, type TextRef } from '@settledb/core';
import { Ahead } from './ahead';
import { type Answer, type AnyQuery, answer, Texts } from './answer';
import { applyTo } from './apply';
import { BlockCache } from './block-cache';
import { BlockUse } from './block-use';
import { type CommitHead, decodeHead } from './commit';
import { Directory, orderOf } from './directory';
import { noFences } from './fences';
import {
  BLOCKS_PER_COMMIT,
  type CommitRead,
  type Journal,
  type JournalState,
  type Position,
} from './journal';
import type { Layout, Row, TableLayout } from './layout';
import { decodeManifest } from './manifest';
import { type Decoder, decoderFor, PAGES_LOADED_MAX } from './page';
import { loadGroups } from './page-parts';
import { type PlannedWrite, type Prepared, prepare } from './prepare';
import { PAGE_GROUPS, type StoredPage } from './stored-page';
import type { Wanted } from './wanted';

/** Blocks requested from the journal at a time, so that a read of everything does not hold all texts twice. */
const LOAD_BLOCKS_MAX = 64;

export class Image {
  epoch = 0;
  n = 0;
  /** The last commit that the manifest in force covers. */
  through = 0;
  /** Characters of keys and tails of all commits that were applied, … */
  written = 0;
  /** … and of those that the manifest covers. */
  writtenThrough = 0;
  readonly layout: Layout;
  readonly directory: Directory;
  readonly pages = new BlockCache<StoredPage>(PAGES_LOADED_MAX * PAGE_GROUPS, ({ weight }) => weight);
  readonly texts: BlockCache<string>;
  use = new BlockUse();
  /** See {@link Manifest.inline}. */
  inline: ReadonlyMap<number, string> = new Map();
  readonly #tables: readonly TableLayout[];
  readonly #ahead = new Ahead();
  #groupsLoaded = 0;

  constructor(layout: Layout, textCacheLength: number) {
    this.layout = layout;
    this.#tables = [...layout.values()];
    this.texts = new BlockCache(textCacheLength, (text) => text.length);
    this.directory = new Directory(layout, this.pages);
  }

  get position(): Position {
    return { epoch: this.epoch, n: this.n };
  }

  /** Rows held outside pages. */
  get recentRows(): number {
    let rows = 0;
    for (const table of this.directory.tables.values()) rows += table.rows.recent.size;
    return rows;
  }

  /**
   * Characters of keys and tails since the checkpoint: what is in memory of recent rows, and what an opening reads of the log; and of
   * the texts that died since, which the next checkpoint gives back.
   */
  get recentLength(): number {
    return this.written - this.writtenThrough + this.use.deadLength;
  }

  #pageCount(): number {
    let pages = 0;
    for (const { rows, orders } of this.directory.tables.values()) {
      pages += rows.pages;
      for (const order of orders) pages += order.pages;
    }
    return pages;
  }

  /**
   * See `page-parts.ts`. When the directory is larger than memory nearly all groups are evicted before they are wanted again, and
   * keeping them for nothing takes a fifth of a look-up: the collector copies what stays. Half of what has room counts as soon, since
   * groups that are there are wanted meanwhile too.
   */
  #soon(): number {
    const { limit } = this.pages;
    return this.#pageCount() * PAGE_GROUPS <= limit ? Number.POSITIVE_INFINITY : limit / 2;
  }

  stats(): StoreStats {
    const { pages, texts, use } = this;
    const totals = use.totals();
    return {
      commits: this.n,
      epoch: this.epoch,
      recentRows: this.recentRows,
      pages: this.#pageCount(),
      pagesLoaded: pages.size,
      cachedTextLength: texts.length,
      cachedTextLimit: texts.limit,
      liveTextLength: totals.live,
      deadTextLength: totals.dead,
    };
  }

  isAt({ epoch, n }: Position): boolean {
    return epoch === this.epoch && n === this.n;
  }

  /** Takes in what has happened since. */
  absorb(state: JournalState): void {
    if (state.epoch < this.epoch) return;
    if (state.epoch > this.epoch) this.#reload(state);
    for (const commit of state.commits) this.#apply(commit);
  }

  #apply(commit: CommitRead): void {
    if (commit.n <= this.n) return;
    if (commit.n !== this.n + 1)
      throw corrupt(`commit ${this.n + 1} is missing: the next one is ${commit.n}`);
    this.apply(commit.n, decodeHead(commit.head, this.#tables, commit.n), commit.tail);
  }

  /** Applies the next commit to memory. */
  apply(n: number, head: CommitHead, tail: string): void {
    const { changes, blocks, freed } = head;
    // By index, here and below: until V8 has optimised it, `for of` makes an object for each step.
    for (let i = 0; i < changes.length; i++)
      this.written += applyTo(this.directory.table(changes[i]!.table.name), changes[i]!);
    for (let i = 0; i < blocks.length; i++) this.use.add(blocks[i]![0], blocks[i]![1]);
    for (let i = 0; i < freed.length; i++) this.use.free(freed[i]![0], freed[i]![1]);
    if (tail !== '') this.texts.set(n * BLOCKS_PER_COMMIT, tail);
    this.written += tail.length;
    this.n = n;
  }

  #reload(state: JournalState): void {
    const { manifest } = state;
    if (manifest === undefined) throw corrupt(`epoch ${state.epoch} has no manifest`);
    const { tables, blocks, inline } = decodeManifest(manifest.text, this.layout);
    this.inline = new Map(inline);
    for (const [name, table] of this.directory.tables) {
      for (const changed of table.watchers) changed(undefined);
      for (let order = 0; order < table.layout.orders.length; order++) {
        const at = orderOf(table, order);
        at.recent.clear();
        const stored = tables[name]?.[order];
        if (stored === undefined) at.fences = noFences();
        else at.store(stored);
      }
    }
    this.#retainPages();
    this.#takeInline();
    this.use = new BlockUse(blocks);
    this.epoch = state.epoch;
    this.through = manifest.through;
    this.writtenThrough = this.written;
    this.n = manifest.through;
  }

  /** Pages that no longer exist go at once, unless fences would have to be read to tell which: then they age like any unused ones. */
  #retainPages(): void {
    if (this.pages.size === 0) return;
    const ids = new Set<number>();
    for (const { rows, orders } of this.directory.tables.values()) {
      for (const { fences } of [rows, ...orders]) {
        if (fences === undefined) return;
        for (const id of fences.ids) ids.add(id);
      }
    }
    this.pages.retain(ids);
  }

  #takeInline(): void {
    for (const { layout, rows, orders } of this.directory.tables.values()) {
      for (const [order, state] of [rows, ...orders].entries()) {
        if (state.pages !== 1) continue;
        const [id = 0] = state.fences?.ids ?? [];
        const text = this.inline.get(id);
        if (text !== undefined) this.pages.set(id, decoderFor(layout, order)(text));
      }
    }
  }

  answer(queries: readonly AnyQuery[], wanted: Wanted): Answer[] {
    return answer(queries, this.directory, this.texts, wanted);
  }

  /** As {@link answer}, for one row. */
  row(from: string, key: Key, texts: readonly string[], wanted: Wanted): Row | undefined {
    const { directory } = this;
    return directory.row(directory.table(from), sortKey(key), wanted, new Texts(texts, this.texts, wanted));
  }

  prepare(writes: readonly PlannedWrite[], wanted: Wanted): Prepared {
    return prepare(writes, this.n + 1, this.directory, wanted);
  }

  /**
   * Loads what is wanted into the caches and, should those be too small for one call, into `wanted` itself.
   * @returns false when something is no longer there: another context rewrote the storage, so its state must be read anew
   */
  async load(journal: Journal, wanted: Wanted): Promise<boolean> {
    const { ids: needed, parts, hints, decoders } = this.#sort(journal, wanted);
    // Where parts can be read, a whole block costs more than asking a second time.
    const more =
      journal.loadParts === undefined
        ? [...hints, ...this.#ahead.of(this, [...needed, ...hints], decoders)]
        : [];
    const ids = [...needed, ...more];
    const texts = await loadAll(journal, ids).catch((error) => {
      if (more.length === 0) throw error;
      return loadAll(journal, needed); // damage in what was read ahead is reported by the call that needs it
    });
    for (const [i, text] of texts.entries()) {
      const id = ids[i] as number;
      try {
        if (text !== undefined) this.#loaded(id, text, decoders.get(id), wanted);
      } catch (error) {
        if (i < needed.length) throw error; // as above
      }
    }
    return loadParts(journal, parts, wanted) && !texts.slice(0, needed.length).includes(undefined);
  }

  /**
   * As {@link load}, before it returns. @returns false also if the journal must be waited for: then `wanted` is as before, or the
   * caller, asking again, wants what is still lacking
   */
  loadNow(journal: Journal, wanted: Wanted): boolean {
    if (journal.loadNow === undefined) return false;
    const { ids, parts, decoders } = this.#sort(journal, wanted);
    if (!loadParts(journal, parts, wanted)) return false;
    const soon = this.#soon();
    for (let i = 0; i < ids.length; i += LOAD_BLOCKS_MAX) {
      const some = ids.slice(i, i + LOAD_BLOCKS_MAX);
      const texts = journal.loadNow(some);
      for (let j = 0; j < some.length; j++) {
        const text = texts?.[j];
        if (text === undefined) return false;
        this.#loaded(some[j]!, text, decoders.get(some[j]!), wanted, soon);
      }
    }
    return true;
  }

  /** Takes what is wanted, and loads groups of pages. @returns what is left, and the decoders of the pages among it */
  #sort(
    journal: Journal,
    wanted: Wanted,
  ): { ids: number[]; parts: TextRef[]; hints: number[]; decoders: Map<number, Decoder> } {
    const { pages: some, blocks, hints } = wanted.take();
    const pages = loadGroups(journal, some, {
      get: (id) => wanted.page(id) ?? this.pages.get(id),
      give: (id, page) => this.#givePage(id, page, wanted),
      count: () => ++this.#groupsLoaded,
      soon: this.#soon(),
    });
    const ids = pages.map(([id]) => id);
    const parts: TextRef[] = [];
    const haveRoom = this.use.characters <= this.texts.limit;
    for (const [id, refs] of blocks) {
      if (journal.takesParts?.(id, refs.length, haveRoom)) parts.push(...refs);
      else ids.push(id);
    }
    return { ids, parts, hints, decoders: new Map(pages.map(([id, { decoder }]) => [id, decoder])) };
  }

  /**
   * @param decode given for a page
   * @param soon see `page-parts.ts`; a page whose groups could be had only by waiting is kept
   */
  #loaded(
    id: number,
    text: string,
    decode: Decoder | undefined,
    wanted: Wanted,
    soon = Number.POSITIVE_INFINITY,
  ): void {
    if (decode === undefined) {
      this.texts.set(id, text);
      wanted.giveBlock(id, text);
      return;
    }
    const page = decode(text);
    const head = soon === Number.POSITIVE_INFINITY ? undefined : (this.pages.get(id) ?? decode.head(text));
    this.#groupsLoaded += PAGE_GROUPS;
    if (head !== undefined && head.lend({}, this.#groupsLoaded, soon) !== head) {
      page.isLent = true;
      this.pages.set(id, head);
    }
    this.#givePage(id, page, wanted);
  }

  #givePage(id: number, page: StoredPage, wanted: Wanted): void {
    if (!page.isLent) this.pages.set(id, page);
    wanted.givePage(id, page);
  }
}

/** @returns false when one is no longer there */
function loadParts(journal: Journal, parts: readonly TextRef[], wanted: Wanted): boolean {
  if (parts.length === 0) return true;
  const texts = journal.loadParts!(parts); // this journal reads parts
  for (let i = 0; i < parts.length; i++) if (texts[i] !== undefined) wanted.givePart(parts[i]!, texts[i]!);
  return !texts.includes(undefined);
}

async function loadAll(journal: Journal, ids: readonly number[]): Promise<(string | undefined)[]> {
  const texts: (string | undefined)[] = [];
  for (let i = 0; i < ids.length; i += LOAD_BLOCKS_MAX) {
    for (const text of await journal.load(ids.slice(i, i + LOAD_BLOCKS_MAX))) texts.push(text);
  }
  return texts;
}
