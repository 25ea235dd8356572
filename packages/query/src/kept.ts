/**
 * Which indexes are brought up to date unasked, and when: those whose policy says so, and those without a policy that were asked for
 * in this context. Besides, in a pass that goes on anyway, all that were asked for before. Nobody's write waits for it, and a stream of
 * writes is not disturbed: it is let end first.
 *
 * Work that nobody asks for is bounded: after {@link UNASKED_DOCS_MAX} documents an index rests until it is asked.
 */
import type { DatabaseTables, Store } from '@settledb/core';
import type { IndexDefinition } from './index-reader';

/** Documents mapped for an index that nobody asked for meanwhile: a quarter of a second of work, or half of one. */
const UNASKED_DOCS_MAX = 10_000;
/** Indexes remembered for a handle's lifetime; programs that make up queries all the time must not fill memory. */
const INDEXES_MAX = 200;
/** Of those without a policy so many follow, those asked for last: a document then costs less than a ms. */
const FOLLOWED_MAX = 20;
/** ms between a write and a look at what was written, and between looks while writes go on. */
const LOOK_MS = 100;
/**
 * Changes between two looks that are no stream of writes: a person who types, a few edits that come in by replication. To map
 * them takes less than a hundredth of the time between; and whoever writes so all day finds his indexes ready, too.
 */
const FEW_CHANGES = 10;

interface Kept {
  index: IndexDefinition;
  /** By somebody who wants it up to date. */
  asked: boolean;
  /** Documents mapped since it was asked for last. */
  unasked: number;
}

/** An index, and the seq that it is to hold. */
export interface Due {
  readonly index: IndexDefinition;
  readonly target: number;
}

export class KeptIndexes {
  readonly #store: Store<DatabaseTables>;
  readonly #update: (due: readonly Due[], signal?: AbortSignal) => Promise<void>;
  /** The one asked for last at the end. */
  readonly #kept = new Map<string, Kept>();
  #last: Kept | undefined;
  #hasEager = false;
  #watching = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** `update_seq` at the last look. */
  #seq = 0;
  /** Under way since writes paused. */
  #pass: AbortController | undefined;
  /** Eager ones are brought up to date, and something was written meanwhile. */
  #busy = false;
  #again = false;

  /** @param update brings indexes up to date in the background, until it is aborted */
  constructor(
    store: Store<DatabaseTables>,
    update: (due: readonly Due[], signal?: AbortSignal) => Promise<void>,
  ) {
    this.#store = store;
    this.#update = update;
  }

  /** Takes an index in, without having been asked for it. */
  keep(index: IndexDefinition): void {
    const kept = this.#kept.get(index.id) ?? this.#put({ index, asked: false, unasked: 0 });
    if (follows(kept)) this.#watch();
  }

  /** It was asked for. @param asIs as it stands, which alone is no reason to follow */
  asked(index: IndexDefinition, asIs = false): void {
    const last = this.#last;
    if (last?.index === index && last.unasked === 0 && (last.asked || asIs)) return; // as nearly always
    const kept = this.#kept.get(index.id) ?? { index, asked: false, unasked: UNASKED_DOCS_MAX };
    const rested = kept.unasked >= UNASKED_DOCS_MAX || !follows(kept);
    kept.index = index;
    kept.asked ||= !asIs;
    kept.unasked = 0;
    this.#last = this.#put(kept);
    if (rested && follows(kept)) this.#watch();
  }

  unasked(view: string, docs: number): void {
    const kept = this.#kept.get(view);
    if (kept !== undefined) kept.unasked += docs;
  }

  /** `given`, and those that are in use. */
  companions(given: readonly IndexDefinition[]): IndexDefinition[] {
    const inUse = [...this.#kept.values()].filter(({ unasked }) => unasked < UNASKED_DOCS_MAX);
    return [...given, ...inUse.map(({ index }) => index)];
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

  /** Those that follow and do not rest. */
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

  /** After every commit: not much may happen here. */
  #heard(): void {
    if (this.#hasEager) void this.#followNow();
    this.#lookSoon();
  }

  #lookSoon(): void {
    if (this.#timer === undefined) this.#timer = unrefed(() => void this.#look(), LOOK_MS);
  }

  /** Eager ones, and those beside them whose policy it is to follow soon: documents are read once for all. */
  async #followNow(): Promise<void> {
    this.#again = this.#busy;
    const following = this.#following().filter(({ index }) => index.policy !== undefined);
    if (this.#busy || !following.some(({ index }) => index.policy === 'eager')) return;
    this.#busy = true;
    await this.#bring(following);
    this.#busy = false;
    if (this.#again) void this.#followNow();
  }

  /** All that follow, when writes pause. In the middle of a stream of them: not yet, and what was begun is broken off. */
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
      // Writes may have paused while it was ending, and a look found it still there.
      if (signal.aborted) this.#lookSoon();
    }
  }

  /** `undefined`: the database is closed. */
  async #updateSeq(): Promise<number | undefined> {
    try {
      const [[info]] = await this.#store.read([{ from: 'info', keys: ['info'] }]);
      return info?.update_seq;
    } catch {
      return undefined;
    }
  }

  /** Those of them that are behind, in so far as they may without being asked. */
  async #bring(following: readonly Kept[], signal?: AbortSignal): Promise<void> {
    try {
      const views = following.map(({ index }) => index.id);
      const [[info], states] = await this.#store.read([
        { from: 'info', keys: ['info'] },
        { from: 'views', keys: views },
      ]);
      const now = info?.update_seq ?? 0;
      const due = following.flatMap(({ index, unasked }, i): Due[] => {
        const state = states[i];
        // One without a policy was asked for: where it is not there, it was dropped since.
        if (state === undefined && index.policy === undefined) return [];
        const seq = state?.seq ?? 0;
        return seq < now ? [{ index, target: Math.min(now, seq + UNASKED_DOCS_MAX - unasked) }] : [];
      });
      if (due.length > 0) await this.#update(due, signal);
    } catch {
      // Nobody asked, so there is nobody to tell: whoever asks next meets what went wrong.
    }
  }
}

/** As far as its policy goes: there, or none but that it was asked for. */
const follows = ({ index: { policy }, asked }: Kept): boolean =>
  policy === undefined ? asked : policy !== 'lazy';

/** A timer that does not keep a Node process alive. */
function unrefed(work: () => void, ms: number): ReturnType<typeof setTimeout> {
  const timer = setTimeout(work, ms);
  (timer as { unref?: () => void }).unref?.();
  return timer;
}
