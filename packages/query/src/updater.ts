/**
 * Brings indexes up to date: all that are needed in one pass over the changes, a batch at a time.
 *
 *   states of the wanted indexes ─→ changes after the lowest seq, with bodies ─→ map, in slices ─→ one commit of all their rows
 *
 * An index that is needed while a pass runs joins it at the next batch; one that misses little goes first, in every other turn, so
 * that its queries need not wait until another one is built. A query is answered from an index that is *whole*: it holds
 * the documents of one moment, at the earliest when the query came. It is not whole after just any batch: a document that was edited
 * before its batch was read is no longer in that batch, and the index has its former rows, or none. It is whole after a batch that
 * read all there was. What a batch found is committed even if nobody waits any more, so that the next call goes on from there.
 */
import {
  type CallOptions,
  type DatabaseError,
  type DatabaseTables,
  type DocRow,
  INFO,
  INFO_QUERY,
  type InfoRow,
  isDesignId,
  ReadSize,
  type Store,
  type ViewStateRow,
} from '@settledb/core';
import { commitMapped, type Mapped } from './chunk';
import type { IndexDefinition } from './index-reader';
import { DOC_TEXTS } from './map';
import { Slices } from './slices';
import { mapOne, Source } from './source';
import { inTurn } from './turns';
import { mayBuild, type Wanted, WantedIndexes, waitsForWhole } from './wanted';

/** Most documents in a batch. */
const BATCH_DOCS = 1_000;
/** An index that misses no more than this part of what another one misses goes first: few documents are then read twice. */
const NEAR_PART = 0.1;
/** Batches after what was asked for, while others write, until one reads all there is. */
const BATCHES_BEYOND_MAX = 10;
/** Rows in a commit, about: some 6 ms of work in one go. */
const COMMIT_ROWS = 1_200;
/**
 * Most ms of one turn, not counting its last batch: each batch is read and mapped while the one before is written. Other contexts wait
 * for their turns, though not for ever.
 */
const TURN_MS = 250;

/** One step of building: first `{ indexed_docs: 0 }`, then one after each commit. */
export interface IndexingProgress {
  /** Changes mapped in this pass. */
  readonly indexed_docs: number;
  readonly last_seq?: number;
  /** Changes mapped in this step. */
  readonly results_count?: number;
}

interface UpdaterEvents {
  indexing(progress: IndexingProgress): void;
  /** A map threw: its document is left out of that index. */
  error(error: DatabaseError): void;
  /** Changes were mapped for an index that nobody waits for. */
  unasked(view: string, docs: number): void;
}

interface UpdateOptions extends CallOptions {
  /** Other indexes of its design document: they come along in the same pass while it lasts, without being waited for. */
  readonly siblings?: readonly IndexDefinition[];
  /** Indexes that come along likewise, unless they were dropped. */
  readonly inUse?: readonly IndexDefinition[];
  /** For a query, which is the default. */
  readonly asked?: boolean;
  /** Whether the index is built if it does not exist, which is the default. Otherwise the call is rejected then. */
  readonly builds?: boolean;
}

/** What a batch begins with. */
interface Batch {
  readonly info: InfoRow;
  readonly docs: readonly DocRow[];
  /** The seq up to which the batch has every change. */
  readonly through: number;
  /** The batch has as many as were requested: there are more. */
  readonly isFull: boolean;
}

/** The commit under way, or the last one: whether it succeeded. */
class Writing {
  last: Promise<boolean> = Promise.resolve(true);
}

export class Updater {
  readonly #store: Store<DatabaseTables>;
  readonly #events: UpdaterEvents;
  readonly #wanted = new WantedIndexes();
  #slices = new Slices();
  readonly #size = new ReadSize(BATCH_DOCS);
  #running = false;
  /** The turn is of those that miss little. */
  #isNearTurn = false;
  #indexed: number | undefined;
  /** Batches that held all that was asked for, but did not make the awaited indexes whole. */
  #beyond = 0;

  constructor(store: Store<DatabaseTables>, events: UpdaterEvents) {
    this.#store = store;
    this.#events = events;
  }

  /**
   * Resolves when `index` holds every change up to `target`, and, for a query, is whole.
   * @returns the state in which that was seen
   */
  update(
    index: IndexDefinition,
    target: number,
    { siblings = [], inUse = [], signal, asked = true, builds = true }: UpdateOptions = {},
  ): Promise<ViewStateRow> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const reached = this.#wanted.wait(index, { asked, builds, target }, { signal });
    for (const sibling of siblings) this.#wanted.add(sibling).isSibling = true;
    for (const other of inUse) this.#wanted.add(other);
    if (!this.#running) void this.#run();
    return reached;
  }

  /** Whether a pass is under way. */
  get running(): boolean {
    return this.#running;
  }

  /** Whether somebody waits for an index. */
  isAwaited(view: string): boolean {
    return this.#wanted.isAwaited(view);
  }

  async #run(): Promise<void> {
    this.#running = true;
    this.#indexed = undefined;
    this.#beyond = 0;
    this.#slices = new Slices();
    try {
      while (this.#wanted.awaited) await this.#step();
    } catch (error) {
      this.#wanted.fail(error);
    } finally {
      this.#running = false;
      this.#wanted.clear();
    }
  }

  async #step(): Promise<void> {
    const now = this.#store.readNow(INFO);
    const [[info]] = now ?? (await this.#store.read(INFO));
    await inTurn(info!.uuid, now !== undefined, () => this.#batch()); // Opening wrote the row.
  }

  async #batch(): Promise<void> {
    const { states, behind: all, now } = await this.#states();
    if (!this.#wanted.awaited || all.length === 0) return;
    const behind = this.#thoseInTurn(all, (each) => now - seqIn(states, each));
    const known = this.#wanted.size;
    let since = Math.min(...behind.map((each) => seqIn(states, each)));
    if (this.#indexed === undefined) {
      this.#indexed = 0;
      this.#events.indexing({ indexed_docs: 0 });
    }
    const writing = new Writing();
    for (const began = performance.now(); ; ) {
      const batch = await this.#read(since, behind);
      const isLast = !(await this.#map(batch, behind, states, writing));
      since = batch.through;
      // Calls that came meanwhile, or wait for what was written meanwhile, are served in the next turn.
      if (isLast || !batch.isFull || !this.#wanted.awaited || performance.now() - began > TURN_MS) break;
      if (this.#wanted.size > known) break;
    }
    await writing.last;
  }

  /** In every other turn those that miss little, if one of them is waited for; else all. @param missing how many changes, at most */
  #thoseInTurn(all: readonly Wanted[], missing: (wanted: Wanted) => number): readonly Wanted[] {
    const most = Math.max(...all.map(missing));
    const near = all.filter((each) => missing(each) <= most * NEAR_PART);
    const isOf = most > BATCH_DOCS && near.some(({ waiters }) => waiters.size > 0);
    this.#isNearTurn = isOf && !this.#isNearTurn;
    return this.#isNearTurn ? near : all;
  }

  /**
   * The needed indexes, and their states. Resolves the calls for which these are enough. Calls that come while states are read have to
   * wait for the next batch: the states of their indexes are not known.
   */
  async #states(): Promise<{
    states: Map<string, ViewStateRow>;
    behind: readonly Wanted[];
    /** The seq of the last change. */
    now: number;
  }> {
    const wanted = this.#wanted.all;
    const [rows, [info]] = await this.#store.read([
      { from: 'views', keys: wanted.map(({ index }) => index.id) },
      INFO_QUERY,
    ]);
    const states = new Map<string, ViewStateRow>();
    for (const row of rows) if (row !== undefined) states.set(row.view, row);
    for (const state of states.values()) this.#wanted.settle(state, state.seq >= info!.update_seq);
    const behind = wanted.filter((each) => states.has(each.index.id) || mayBuild(each));
    for (const each of wanted) if (!behind.includes(each)) this.#wanted.dropped(each);
    return { states, behind, now: info!.update_seq };
  }

  /** @param wanted what the turn is for: others are further behind */
  async #read(since: number, wanted: readonly Wanted[]): Promise<Batch> {
    this.#beyond = waitsForWhole(since, wanted) ? this.#beyond + 1 : 0;
    const limit = this.#beyond > BATCHES_BEYOND_MAX ? Number.MAX_SAFE_INTEGER : this.#size.next;
    const [[info], docs] = await this.#store.read([
      INFO_QUERY,
      { from: 'docs', by: 'seq', range: { gt: since }, limit, texts: DOC_TEXTS },
    ]);
    this.#size.saw(docs.length, docs);
    const through = docs.length < limit ? info!.update_seq : docs.at(-1)!.seq;
    return { info: info!, docs, through, isFull: docs.length >= limit };
  }

  /**
   * Maps the batch and begins to commit it, in parts if there are many rows: while one is written, the next is mapped.
   * @returns whether it makes sense to go on
   */
  async #map(
    { info, docs, through, isFull }: Batch,
    wanted: readonly Wanted[],
    states: Map<string, ViewStateRow>,
    writing: Writing,
  ): Promise<boolean> {
    const behind = wanted.filter((each) => seqIn(states, each) < through);
    if (behind.length === 0) return false;
    let part = new Part(behind);
    const write = async (seq: number, isWhole = false): Promise<boolean> => {
      const written = part;
      part = new Part(behind);
      // Another context was quicker: what was mapped after it is worth nothing.
      if (!(await writing.last)) return false;
      writing.last = this.#write(written, states, seq, info, isWhole);
      writing.last.catch(() => undefined); // It is awaited later.
      return true;
    };
    for (const doc of docs) {
      const source = new Source(doc);
      for (const [i, wanted] of behind.entries())
        if (doc.seq > seqIn(states, wanted)) this.#mapOne(wanted, part, i, source);
      part.looked++;
      const wait = this.#slices.pause();
      if (wait !== undefined) await wait;
      if (part.rows < COMMIT_ROWS && this.#wanted.awaited) continue;
      await this.#slices.next();
      if (!(await write(doc.seq))) return false;
      if (!this.#wanted.awaited) return false;
    }
    return write(through, !isFull);
  }

  /** @returns whether all of it was committed */
  async #write(
    { mapped, looked }: Part,
    states: Map<string, ViewStateRow>,
    seq: number,
    origin: InfoRow,
    isWhole: boolean,
  ): Promise<boolean> {
    const after = await commitMapped(this.#store, mapped, states, seq, origin);
    this.#indexed = (this.#indexed ?? 0) + looked;
    this.#events.indexing({ indexed_docs: this.#indexed, last_seq: seq, results_count: looked });
    for (const { view, docs } of mapped)
      if (!this.#wanted.isAsked(view)) this.#events.unasked(view, docs.length);
    for (const state of after) {
      states.set(state.view, state);
      this.#wanted.settle(state, isWhole);
    }
    return after.length === mapped.length;
  }

  #mapOne({ index, mapper }: Wanted, part: Part, at: number, source: Source): void {
    if (isDesignId(source.row.id)) return;
    const mapped = part.mapped[at]!; // One for each index.
    part.rows += mapOne(index, mapper, source, mapped, (error) => this.#events.error(error));
  }
}

/** Up to where an index has every change. */
const seqIn = (states: ReadonlyMap<string, ViewStateRow>, { index }: Wanted): number =>
  states.get(index.id)?.seq ?? 0;

/** The content of one commit. */
class Part {
  readonly mapped: readonly Mapped[];
  rows = 0;
  /** Changes looked at. */
  looked = 0;

  constructor(behind: readonly Wanted[]) {
    this.mapped = behind.map(({ index }) => ({ view: index.id, docs: [], threw: 0 }));
  }
}
