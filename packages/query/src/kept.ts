/**
 * Which indexes are brought up to date unasked: those whose policy says so, and, in a pass that goes on anyway, those asked
 * for before. Work that nobody asks for is bounded: after {@link UNASKED_DOCS_MAX} documents an index rests until it is asked.
 */
import type { DatabaseTables, Store } from '@settledb/core';
import type { IndexDefinition } from './index-reader';

/** Documents mapped for an index that nobody asked for meanwhile: about a second of work altogether. */
const UNASKED_DOCS_MAX = 10_000;
/** Indexes remembered for a handle's lifetime; programs that make up queries all the time must not fill memory. */
const INDEXES_MAX = 200;
/** ms after a write before idle indexes follow, so that a burst is mapped together. */
const IDLE_MS = 100;

interface Kept {
  readonly index: IndexDefinition;
  /** Documents mapped since it was asked for last. */
  unasked: number;
}

export class KeptIndexes {
  readonly #store: Store<DatabaseTables>;
  readonly #update: (indexes: readonly IndexDefinition[]) => Promise<void>;
  /** The one asked for last at the end. */
  readonly #kept = new Map<string, Kept>();
  #watching = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #busy = false;
  #again = false;

  constructor(store: Store<DatabaseTables>, update: (indexes: readonly IndexDefinition[]) => Promise<void>) {
    this.#store = store;
    this.#update = update;
  }

  /** Takes an index in, without having been asked for it. */
  keep(index: IndexDefinition): void {
    if (!this.#kept.has(index.id)) this.#put({ index, unasked: 0 });
    if (isKept(index)) this.#watch();
  }

  /** It was asked for. */
  asked(index: IndexDefinition): void {
    this.#kept.delete(index.id);
    this.#put({ index, unasked: 0 });
    if (isKept(index)) this.#watch();
  }

  unasked(view: string, docs: number): void {
    const kept = this.#kept.get(view);
    if (kept !== undefined) kept.unasked += docs;
  }

  /** `given`, and those that are in use. */
  companions(given: readonly IndexDefinition[]): IndexDefinition[] {
    return [...given, ...this.#active(() => true)];
  }

  /** Brings these up to date in the background. */
  soon(indexes: readonly IndexDefinition[]): void {
    this.#update(indexes).catch(() => undefined); // Whoever asks next meets the error.
  }

  #put(kept: Kept): void {
    this.#kept.set(kept.index.id, kept);
    if (this.#kept.size <= INDEXES_MAX) return;
    const [oldest] = this.#kept.keys();
    this.#kept.delete(oldest as string);
  }

  #active(which: (index: IndexDefinition) => boolean): IndexDefinition[] {
    return [...this.#kept.values()]
      .filter(({ index, unasked }) => unasked < UNASKED_DOCS_MAX && which(index))
      .map(({ index }) => index);
  }

  #watch(): void {
    if (!this.#watching) this.#store.watch((event) => event.type === 'commit' && this.#follow());
    this.#watching = true;
    this.#follow();
  }

  /** Eager ones now, together with the idle ones if there are any; idle ones alone a little later. */
  #follow(): void {
    if (this.#active((index) => index.policy === 'eager').length > 0) this.#now();
    else if (this.#active(isKept).length > 0) this.#timer ??= unrefed(() => this.#now(), IDLE_MS);
  }

  #now(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#busy) {
      this.#again = true;
      return;
    }
    this.#busy = true;
    this.#again = false;
    this.#update(this.#active(isKept))
      .catch(() => undefined)
      .finally(() => {
        this.#busy = false;
        if (this.#again) this.#follow();
      });
  }
}

const isKept = ({ policy }: IndexDefinition): boolean => policy === 'eager' || policy === 'idle';

/** A timer that does not keep a Node process alive. */
function unrefed(work: () => void, ms: number): ReturnType<typeof setTimeout> {
  const timer = setTimeout(work, ms);
  (timer as { unref?: () => void }).unref?.();
  return timer;
}
