/**
 * The indexes of one open database: queried, and kept up to date as their policies say. All handles on the database share them, so
 * that what is mapped for one is mapped for all.
 */
import {
  type CallOptions,
  type DatabaseError,
  type DatabaseTables,
  Emitter,
  INFO_QUERY,
  type IndexEntry,
  type InfoRow,
  ioError,
  type Query,
  type Store,
  type ViewStateRow,
} from '@settledb/core';
import { type FollowedEvents, followNow } from './follow-now';
import type {
  IndexAnswer,
  IndexDefinition,
  IndexRange,
  IndexReader,
  IndexReadOptions,
  IndexRow,
} from './index-reader';
import { type Due, KeptIndexes } from './kept';
import { storeRange } from './ranges';
import { remember } from './remember';
import { rowOf } from './rows';
import { type IndexingProgress, Updater } from './updater';

/** What indexes need of their database: `LocalDatabase` has it. */
export interface IndexHost {
  readonly store: Store<DatabaseTables>;
}

/** The counters, the state of the index, and the answers. */
type Looked = readonly [[InfoRow], [ViewStateRow?], ...unknown[][]];

/** The counters, and the state of an index. */
export interface Look {
  readonly info: InfoRow;
  /** Undefined for an index that was never built. */
  readonly state: ViewStateRow | undefined;
  /** Names the rows, if the index holds every change. */
  readonly tag: string | undefined;
}

/** Repeated reads because an index was dropped or changed meanwhile: each one means that another context did something. */
const TRIES_MAX = 1_000;
/** Repeated reads because others moved the index on before it was read: after so many it is taken as it is. */
const WHOLE_TRIES = 50;

const reaches = (state: ViewStateRow | undefined, seq: number): boolean => (state?.seq ?? 0) >= seq;

/** Nothing was written since, or the index is as the updater left it whole. @param seq of the last change */
const isWhole = (state: ViewStateRow | undefined, seq: number, whole: ViewStateRow | undefined): boolean =>
  reaches(state, seq) ||
  (whole !== undefined &&
    state?.tag === whole.tag &&
    state.version === whole.version &&
    state.seq === whole.seq);

interface ReadAtOptions extends CallOptions {
  readonly update?: IndexReadOptions['update'] | undefined;
}

export interface ReadStates<R> {
  /** Undefined: the index was never built, and nothing was read. */
  readonly state: ViewStateRow | undefined;
  readonly found: R;
}

/** Fires `indexing` with {@link IndexingProgress}, and `error` with what a map threw. */
export class Indexes extends Emitter implements IndexReader {
  readonly store: Store<DatabaseTables>;
  readonly #updater: Updater;
  readonly #kept: KeptIndexes;
  /** The tags found last, used to read at once. */
  readonly #tags = new Map<string, string>();
  /** By how many handles, by index. */
  readonly #registered = new Map<string, number>();
  /** By index: its state in the state {@link #lookedAt} of the store. As many as are queried between two commits. */
  readonly #looks = new Map<string, Look>();
  #lookedAt: number | undefined;

  constructor(host: IndexHost) {
    super();
    this.store = host.store;
    this.#updater = new Updater(host.store, {
      indexing: (progress: IndexingProgress) => this.fire('indexing', progress),
      error: (error) => this.report(error),
      unasked: (view, docs) => this.#kept.unasked(view, docs),
    });
    this.#kept = new KeptIndexes(host.store, async (due, signal) => {
      const update = ({ index, target, isNew }: Due) =>
        this.#updater.update(index, target, { asked: false, builds: isNew, signal });
      await Promise.allSettled(due.map(update)); // If one was dropped meanwhile, the others go on.
    });
  }

  /** Fires `error`; without listeners, nothing happens. */
  report(error: DatabaseError): void {
    this.fire('error', error);
  }

  /** An index that a handle defines: until the handle is closed, it follows its policy, and is never dropped as unused. */
  register(index: IndexDefinition): void {
    this.#registered.set(index.id, (this.#registered.get(index.id) ?? 0) + 1);
    this.#kept.keep(index);
  }

  /** The handle is closed. If no other one defines the index, nobody can query it: it neither follows nor stays in a cleanup. */
  unregister({ id }: IndexDefinition): void {
    const others = (this.#registered.get(id) ?? 1) - 1;
    if (others > 0) {
      this.#registered.set(id, others);
      return;
    }
    this.#registered.delete(id);
    this.#kept.forget(id);
  }

  get registered(): ReadonlySet<string> {
    return new Set(this.#registered.keys());
  }

  async read(
    index: IndexDefinition,
    ranges: readonly IndexRange[],
    options: IndexReadOptions = {},
  ): Promise<IndexAnswer[]> {
    const { descending: reverse = false, limit } = options;
    const queries = (tag: string) =>
      ranges.map((range) => ({
        from: 'index' as const,
        range: storeRange(tag, range),
        reverse,
        ...(limit === undefined ? {} : { limit }),
        texts: true,
      }));
    const { state, found } = await this.readAt(index, queries, options);
    return ranges.map((_, i) => ({
      rows: ((found[i] ?? []) as readonly IndexEntry[]).map(rowOf) as readonly IndexRow[],
      update_seq: state?.seq ?? 0,
    }));
  }

  /**
   * Answers to queries on the rows of `index`, all from one state of it, brought up to date first or not.
   *
   * @param companions indexes brought up to date in the same pass, if one is needed
   */
  async readAt(
    index: IndexDefinition,
    queries: (tag: string) => readonly Query<DatabaseTables>[],
    options: ReadAtOptions = {},
    companions: readonly IndexDefinition[] = [],
  ): Promise<ReadStates<readonly unknown[][]>> {
    const { update = true, signal } = options;
    let target: number | undefined;
    let whole: ViewStateRow | undefined;
    this.#kept.asked(index, update === false);
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const { state, found, seq } = await this.#look(index.id, queries, signal);
      target ??= seq;
      if (
        update === true &&
        !isWhole(state, seq, whole) &&
        (tries < WHOLE_TRIES || !reaches(state, target))
      ) {
        const inUse = this.#kept.inUse();
        whole = await this.#updater.update(index, target, { siblings: companions, inUse, signal });
        continue;
      }
      if (state !== undefined && found === undefined) continue; // It was built anew since its tag was read.
      if (state !== undefined) this.#kept.asked(index, update === false, true);
      if (update === 'lazy') this.#updateSoon([index, ...companions], seq);
      return { state, found: found ?? [] };
    }
    throw ioError(`the index changed under a read ${TRIES_MAX} times`);
  }

  /**
   * Like {@link readAt}, but at once, if everything is in memory, few changes are missing and no other context can have written;
   * otherwise `undefined`.
   */
  readNow(
    index: IndexDefinition,
    queries: (tag: string) => readonly Query<DatabaseTables>[],
    update: boolean,
    companions: readonly IndexDefinition[] = [],
  ): ReadStates<readonly unknown[][]> | undefined {
    const look = update ? this.#followed(index, companions) : this.#stands(index.id);
    if (look?.state === undefined || (update && look.tag === undefined)) return undefined;
    // In the same turn, so of the same state; and only once it is known that this state is the one to answer from.
    const found = this.store.readNow(queries(look.state.tag));
    if (found === undefined) return undefined;
    this.#kept.asked(index, !update, true);
    return { state: look.state, found: found as readonly unknown[][] };
  }

  /** The state of the index, as far as memory tells. */
  #stands(view: string): Look | undefined {
    const now = this.store.stateNow();
    if (now !== this.#lookedAt) this.#looks.clear();
    this.#lookedAt = now;
    const known = this.#looks.get(view);
    if (known !== undefined) return known;
    const asked = [INFO_QUERY, { from: 'views', keys: [view] }] as const;
    const [[info], [state]] = this.store.readNow(asked) ?? [[], []];
    if (info === undefined) return undefined;
    const isCurrent = state !== undefined && state.seq >= info.update_seq;
    const look = { info, state, tag: isCurrent ? state.tag : undefined };
    if (now !== undefined) this.#looks.set(view, look);
    return look;
  }

  /** The same after missing changes were mapped, if that can be done at once. */
  #followed(index: IndexDefinition, companions: readonly IndexDefinition[] = []): Look | undefined {
    const look = this.#stands(index.id);
    if (look?.state === undefined || look.tag !== undefined || this.#updater.isAwaited(index.id)) return look;
    const { state, info } = look;
    const along = [...companions, ...this.#kept.inUse()];
    return followNow(this.store, index, state, info, along, this.#events) ? this.#stands(index.id) : look;
  }

  readonly #events: FollowedEvents = {
    followed: (docs, last_seq, errors) => {
      const isAlone = !this.#updater.running; // Else listeners hear of a pass, whose numbers go on.
      if (isAlone) this.fire('indexing', { indexed_docs: 0 });
      for (const error of errors) this.fire('error', error);
      if (isAlone) this.fire('indexing', { indexed_docs: docs, last_seq, results_count: docs });
    },
    unasked: (view, docs) => this.#kept.unasked(view, docs),
  };

  /** One read of an index: its state, and the answers if its tag was known beforehand. */
  async #look(
    view: string,
    queries: (tag: string) => readonly Query<DatabaseTables>[],
    signal: AbortSignal | undefined,
  ): Promise<{ state: ViewStateRow | undefined; found: readonly unknown[][] | undefined; seq: number }> {
    const tag = this.#tags.get(view);
    const asked = [
      INFO_QUERY,
      { from: 'views', keys: [view] },
      ...(tag === undefined ? [] : queries(tag)),
    ] as const;
    const answer = this.store.readNow(asked) ?? (await this.store.read(asked, { signal }));
    const [[info], [state], ...found] = answer as unknown as Looked;
    if (state === undefined) this.#tags.delete(view);
    else remember(this.#tags, view, state.tag);
    return {
      state,
      found: state !== undefined && state.tag === tag ? found : undefined,
      seq: info.update_seq,
    };
  }

  /** The state of an index, which is brought up to date if that can be done at once; `undefined` if memory cannot tell. */
  lookNow(index: IndexDefinition): Look | undefined {
    const look = this.#followed(index);
    if (look !== undefined) this.#kept.asked(index, false, look.state !== undefined);
    return look;
  }

  /** In the background. Errors reach the next query. */
  #updateSoon(indexes: readonly IndexDefinition[], target: number): void {
    for (const index of indexes) this.#updater.update(index, target, { asked: false }).catch(() => undefined);
  }

  /** Like `readAt`, but only brings the index up to date. */
  async update(index: IndexDefinition, options: CallOptions = {}): Promise<void> {
    await this.readAt(index, () => [], options);
  }

  /** Whether an update is under way. */
  get updating(): boolean {
    return this.#updater.running;
  }
}
