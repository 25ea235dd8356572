/**
 * Which indexes are brought up to date without a query, and when: those whose policy says so, and those without a policy that were
 * queried in this context. Whenever a pass runs anyway, all that were queried before come along. No write waits for this, and a
 * burst of writes is not disturbed: indexes follow after its end.
 *
 * Work without a query is bounded: after {@link UNASKED_DOCS_MAX} documents an index rests until it is queried.
 */
import { type DatabaseTables, INFO, INFO_QUERY, type Store, unref } from '@settledb/core';
import type { IndexDefinition } from './index-reader';

/** Documents mapped for an index without a query meanwhile: a quarter of a second of work, or half of one. */
const UNASKED_DOCS_MAX = 10_000;
/** Indexes remembered for a handle's lifetime; programs that make up queries all the time must not fill memory. */
const INDEXES_MAX = 200;
/** Of the indexes without a policy, so many follow, the last queried ones: a document then costs less than a ms. */
const FOLLOWED_MAX = 20;
/** ms between a write and a look at what was written, and between looks while writes go on. */
const LOOK_MS = 100;
/**
 * So many changes between two looks are not yet a burst: a person who types, a few edits that come in by replication. Mapping
 * them takes less than a hundredth of the time between; and a program that writes like this all day finds its indexes ready, too.
 */
const FEW_CHANGES = 10;

interface Kept {
  index: IndexDefinition;
  /** The program defines it: no cleanup of its own drops it. */
  registered: boolean;
  /** It was seen to exist: if it does not any more, it was dropped. */
  exists: boolean;
  /** It was queried by a caller that wants it up to date. */
  asked: boolean;
  /** Documents mapped since it was last queried. */
  unasked: number;
}

/** An index, and the seq that it is to reach. */
export interface Due {
  readonly index: IndexDefinition;
  readonly target: number;
  /** It does not exist yet, and is to be built. */
  readonly isNew: boolean;
}

export class KeptIndexes {
  readonly #store: Store<DatabaseTables>;
  readonly #update: (due: readonly Due[], signal?: AbortSignal) => Promise<void>;
  /** The last queried one stands at the end. */
  readonly #kept = new Map<string, Kept>();
  #last: Kept | undefined;
  #hasEager = false;
  #watching = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** `update_seq` at the last look. */
  #seq = 0;
  /** The pass that began when writes paused. */
  #pass: AbortController | undefined;
  /** Eager indexes are being brought up to date, and something was written meanwhile. */
  #busy = false;
  #again = false;

  /** @param update brings indexes up to date in the background, until its signal aborts */
  constructor(
    store: Store<DatabaseTables>,
    update: (due: readonly Due[], signal?: AbortSignal) => Promise<void>,
  ) {
    this.#store = store;
    this.#update = update;
  }

  /** Adds an index of the program's own, which was not queried. */
  keep(index: IndexDefinition): void {
    const kept = this.#kept.get(index.id) ?? this.#put({ ...NEW, index });
    kept.registered = true;
    if (follows(kept)) this.#watch();
  }

  /**
   * The index was queried.
   * @param asIs without bringing it up to date, which alone is no reason to follow
   * @param exists the query saw it
   */
  asked(index: IndexDefinition, asIs = false, exists = false): void {
    const last = this.#last;
    const isKnown = last?.index === index && last.unasked === 0;
    if (isKnown && (last.asked || asIs) && (last.exists || !exists)) return; // the usual case
    const kept = this.#kept.get(index.id) ?? { ...NEW, index, unasked: UNASKED_DOCS_MAX };
    const rested = kept.unasked >= UNASKED_DOCS_MAX || !follows(kept);
    kept.index = index;
    kept.asked ||= !asIs;
    kept.exists ||= exists;
    kept.unasked = 0;
    this.#last = this.#put(kept);
    if (rested && follows(kept)) this.#watch();
  }

  unasked(view: string, docs: number): void {
    const kept = this.#kept.get(view);
    if (kept !== undefined) kept.unasked += docs;
  }

  /** Some of them may have been dropped. */
  inUse(): IndexDefinition[] {
    const inUse = [...this.#kept.values()].filter(({ unasked }) => unasked < UNASKED_DOCS_MAX);
    return inUse.map(({ index }) => index);
  }

  /** The index does not exist any more, or nobody can query it. */
  forget(id: string): void {
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    this.#kept.delete(id);
    kept.unasked = UNASKED_DOCS_MAX; // If it was the last one, the next query adds it anew.
  }

  #put(kept: Kept): Kept {
    const { id, policy } = kept.index;
    this.#kept.delete(id);
    this.#kept.set(id, kept);
    if (policy === 'eager') this.#hasEager = true;
    if (this.#kept.size > INDEXES_MAX) {
      const [oldest] = this.#kept.keys();
      this.#kept.delete(oldest as string);
    }
    return kept;
  }

  /** Indexes that follow and do not rest. */
  #following(): Kept[] {
    let others = 0;
    const isOne = (kept: Kept): boolean =>
      kept.unasked < UNASKED_DOCS_MAX &&
      follows(kept) &&
      (kept.index.policy !== undefined || ++others <= FOLLOWED_MAX);
    return [...this.#kept.values()].reverse().filter(isOne);
  }

  #watch(): void {
    if (!this.#watching) this.#store.watch((event) => event.type === 'commit' && this.#heard());
    this.#watching = true;
    this.#heard();
  }

  /** Called after every commit: must do little. */
  #heard(): void {
    if (this.#hasEager) void this.#followNow();
    this.#lookSoon();
  }

  #lookSoon(): void {
    if (this.#timer === undefined) this.#timer = unref(setTimeout(() => void this.#look(), LOOK_MS));
  }

  /** Eager indexes, and with them those that follow soon: documents are read once for all. */
  async #followNow(): Promise<void> {
    this.#again = this.#busy;
    const following = this.#following().filter(({ index }) => index.policy !== undefined);
    if (this.#busy || !following.some(({ index }) => index.policy === 'eager')) return;
    this.#busy = true;
    await this.#bring(following);
    this.#busy = false;
    if (this.#again) void this.#followNow();
  }

  /** All that follow, when writes pause. During a burst of writes nothing begins, and a pass under way is aborted. */
  async #look(): Promise<void> {
    this.#timer = undefined;
    const following = this.#following();
    if (following.length === 0) return;
    const seq = await this.#updateSeq();
    if (seq === undefined) return;
    const isStream = seq - this.#seq > FEW_CHANGES;
    this.#seq = seq;
    if (isStream) {
      this.#pass?.abort();
      this.#lookSoon();
    } else if (this.#pass === undefined) {
      this.#pass = new AbortController();
      const { signal } = this.#pass;
      await this.#bring(following, signal);
      this.#pass = undefined;
      // Writes may have paused while the pass was ending, and a look found it still running.
      if (signal.aborted) this.#lookSoon();
    }
  }

  /** `undefined`: the database is closed. */
  async #updateSeq(): Promise<number | undefined> {
    try {
      const [[info]] = await this.#store.read(INFO);
      return info?.update_seq;
    } catch {
      return undefined;
    }
  }

  /** Those that are behind, as far as they may follow without a query. */
  async #bring(following: readonly Kept[], signal?: AbortSignal): Promise<void> {
    try {
      const views = following.map(({ index }) => index.id);
      const [[info], states] = await this.#store.read([INFO_QUERY, { from: 'views', keys: views }]);
      const now = info?.update_seq ?? 0;
      const due = following.flatMap((kept, i): Due[] => {
        const { index, unasked, registered } = kept;
        const state = states[i];
        const isNew = state === undefined;
        const wasDropped = isNew && kept.exists && !registered;
        if (wasDropped) this.forget(index.id);
        if (!isNew) kept.exists = true;
        // An index without a policy was queried: either the query is building it, or it was dropped since.
        if (wasDropped || (isNew && index.policy === undefined)) return [];
        const seq = state?.seq ?? 0;
        return seq < now ? [{ index, target: Math.min(now, seq + UNASKED_DOCS_MAX - unasked), isNew }] : [];
      });
      if (due.length > 0) await this.#update(due, signal);
    } catch {
      // No caller is waiting: the next query meets the error.
    }
  }
}

const NEW = { registered: false, exists: false, asked: false, unasked: 0 };

/** Whether its policy lets it follow; without a policy, whether it was queried. */
const follows = ({ index: { policy }, asked }: Kept): boolean =>
  policy === undefined ? asked : policy !== 'lazy';
