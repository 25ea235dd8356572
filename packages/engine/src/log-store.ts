/**
 * The store contract over a journal.
 *
 * Reads are answered from memory in one go; what memory lacks is loaded and the answer made again, so that all of it comes
 * from one moment. Writes go one at a time: answer, plan, append; when another context committed first, the journal says
 * what, and the plan is made again from there.
 */
import {
  type CallOptions,
  closed,
  corrupt,
  type Durability,
  type FoundAll,
  ioError,
  type Key,
  type KeyPart,
  type Plan,
  type Query,
  type RowsWatcher,
  type Schema,
  type Store,
  type StoreEvent,
  type StoreStats,
  type Tables,
} from '@settledb/core';
import type { AnyQuery } from './answer';
import { type BlobLimits, JournalBlobs } from './blobs';
import { Checkpointer } from './checkpoint';
import { Follower } from './follower';
import { Image } from './image';
import type { Journal, Position } from './journal';
import { layoutOf } from './layout';
import type { PlannedWrite, Prepared } from './prepare';
import { TEXT_CACHE_LENGTH } from './texts';
import { Wanted } from './wanted';

/** Rounds of loading for one call before it is taken for a storage that contradicts itself. */
const LOAD_ROUNDS_MAX = 1000;
/** Of what `readNow` loads: pages and blocks at a time, and how often it looks what is lacking then. More is the long way's. */
const NOW_MAX = 128;
const NOW_ROUNDS_MAX = 4;
/** Races a write may lose; each one lost means another context's write was done. */
const RACES_MAX = 10_000;

export interface LogStoreOptions extends BlobLimits {
  /** Characters of documents kept in memory. Default {@link TEXT_CACHE_LENGTH}. */
  readonly textCacheLength?: number;
  /** Checkpoint by itself after enough commits. Default true; tests choose their moments. */
  readonly checkpoint?: boolean;
}

/**
 * Opens a store over a journal and takes the journal over: closing the store closes it.
 * @throws DatabaseError `corrupt` when what is stored contradicts itself, or was written by a newer version
 */
export async function openLogStore<T extends Tables>(
  journal: Journal,
  schema: Schema,
  options: LogStoreOptions = {},
): Promise<Store<T>> {
  const image = new Image(layoutOf(schema), options.textCacheLength ?? TEXT_CACHE_LENGTH);
  image.absorb(journal.takeOpened?.() ?? (await journal.read()));
  return new LogStore<T>(journal, image, options.checkpoint ?? true, options);
}

/** What a plan came to: a commit, or nothing to write, or what it threw. */
interface Attempt<R> {
  readonly position: Position;
  readonly prepared: Prepared | undefined;
  /** Of content that it is the first to name. */
  readonly places?: readonly string[] | undefined;
  readonly value: R | undefined;
  readonly failure: { readonly error: unknown } | undefined;
}

const COMMITTED: StoreEvent = { type: 'commit' };

const isEmpty = (write: PlannedWrite): boolean =>
  (write.put?.length ?? 0) + (write.delete?.length ?? 0) === 0;

class LogStore<T extends Tables> implements Store<T> {
  readonly blobs: JournalBlobs;
  readonly #journal: Journal;
  readonly #image: Image;
  readonly #follower: Follower;
  readonly #checkpointer: Checkpointer;
  readonly #watchers = new Set<(event: StoreEvent) => void>();
  readonly #unlisten: () => void;
  /** The last write there is, under way or waiting for its turn. */
  #writes: Promise<unknown> | undefined;
  #refreshing: Promise<void> | undefined;
  /** For the next {@link readNow}: nearly none wants anything. */
  #unused = new Wanted();
  /** While calls are taken that memory answers as it is. */
  #asOpened = false;
  #closing: Promise<void> | undefined;
  #gone: StoreEvent | undefined;

  constructor(journal: Journal, image: Image, checkpoint: boolean, limits: BlobLimits) {
    this.#journal = journal;
    const host = { check: () => this.#checkThere(), position: () => image.position };
    this.blobs = new JournalBlobs(journal, host, limits);
    this.#image = image;
    this.#follower = new Follower(journal, image, () => this.#tell(COMMITTED));
    this.#checkpointer = new Checkpointer(
      { journal, image, follower: this.#follower, inTurn: (work) => this.#inTurn(work) },
      checkpoint,
    );
    this.#unlisten = journal.listen((event) => {
      if (event.type === 'commit') this.#heard();
      else this.#end(event);
    });
  }

  async read<const Q extends readonly Query<T>[]>(
    queries: Q,
    options: CallOptions = {},
  ): Promise<FoundAll<T, Q>> {
    options.signal?.throwIfAborted();
    this.#check();
    if (!this.#current()) {
      await Promise.all([this.#refresh(), this.#prefetch(queries as readonly AnyQuery[])]);
      options.signal?.throwIfAborted();
    }
    const found = this.#complete(
      (wanted) => this.#image.answer(queries as readonly AnyQuery[], wanted),
      options.signal,
    );
    return (found instanceof Promise ? await found : found) as FoundAll<T, Q>;
  }

  readNow<const Q extends readonly Query<T>[]>(queries: Q): FoundAll<T, Q> | undefined {
    this.#check();
    if (!this.#current()) return undefined;
    const wanted = this.#unused;
    const found = this.#image.answer(queries as readonly AnyQuery[], wanted);
    if (!wanted.any) return found as FoundAll<T, Q>;
    const ask = (lacking: Wanted) => this.#image.answer(queries as readonly AnyQuery[], lacking);
    return this.#loadNow(ask, wanted) as FoundAll<T, Q> | undefined;
  }

  /** A few pages and texts, where they need not be waited for: to come back by a promise costs as much as they do. */
  #loadNow<A>(ask: (wanted: Wanted) => A, wanted: Wanted): A | undefined {
    this.#unused = new Wanted();
    if (this.#journal.loadNow === undefined) return undefined;
    try {
      for (let round = 0; round < NOW_ROUNDS_MAX && wanted.count <= NOW_MAX; round++) {
        if (!this.#image.loadNow(this.#journal, wanted)) return undefined;
        const found = ask(wanted);
        if (!wanted.any) return found;
      }
    } catch {
      // Damage, or a storage that fails: told by `read`, which meets it again.
    }
    return undefined;
  }

  rowNow<N extends keyof T & string>(from: N, key: Key, texts: readonly string[]): T[N] | undefined {
    this.#check();
    if (!this.#current()) return undefined;
    const wanted = this.#unused;
    const row = this.#image.row(from, key, texts, wanted);
    if (!wanted.any) return row as T[N] | undefined;
    const ask = (lacking: Wanted) => this.#image.row(from, key, texts, lacking);
    return this.#loadNow(ask, wanted) as T[N] | undefined;
  }

  fieldNow<N extends keyof T & string, F extends keyof T[N]>(
    from: N,
    field: F,
    under: readonly KeyPart[],
    limit: number,
  ): T[N][F][] | undefined {
    this.#check();
    if (!this.#current()) return undefined;
    const { directory } = this.#image;
    return directory.fieldUnder(directory.table(from), field as string, under, limit) as
      | T[N][F][]
      | undefined;
  }

  stateNow(): number | undefined {
    this.#check();
    return this.#current() ? this.#image.n : undefined;
  }

  asOpened<R>(work: () => R): R {
    this.#asOpened = true;
    try {
      return work();
    } finally {
      this.#asOpened = false;
    }
  }

  #current(): boolean {
    return this.#asOpened || this.#follower.current();
  }

  async write<const Q extends readonly Query<T>[], R>(
    queries: Q,
    plan: (found: FoundAll<T, Q>) => Plan<T, R>,
    options: CallOptions & { readonly durability?: Durability | undefined } = {},
  ): Promise<R> {
    options.signal?.throwIfAborted();
    this.#check();
    const value = await this.#inTurn(() => this.#commit(queries, plan, options));
    this.#checkpointer.consider();
    return value;
  }

  writeNow<const Q extends readonly Query<T>[], R>(
    queries: Q,
    plan: (found: FoundAll<T, Q>) => Plan<T, R>,
    durability: Durability = 'relaxed',
  ): { readonly value: R } | undefined {
    this.#check();
    const journal = this.#journal;
    if (journal.appendNow === undefined || durability !== 'relaxed' || this.#writes !== undefined)
      return undefined;
    if (!this.#follower.current()) return undefined;
    const wanted = new Wanted();
    const planned = this.#askNow((lacking) => this.#plan(queries, plan, lacking), wanted, NOW_ROUNDS_MAX);
    const { prepared, position, places, value, failure } = planned;
    if (wanted.any || places?.length) return undefined;
    if (failure !== undefined) throw failure.error;
    if (prepared !== undefined) {
      if (!journal.appendNow(prepared.commit, position)) return undefined;
      this.#applied(prepared);
      this.#checkpointer.consider();
    }
    return { value: value as R };
  }

  async #commit<const Q extends readonly Query<T>[], R>(
    queries: Q,
    plan: (found: FoundAll<T, Q>) => Plan<T, R>,
    { durability = 'relaxed', signal }: CallOptions & { readonly durability?: Durability | undefined },
  ): Promise<R> {
    this.#checkThere(); // Closing lets writes end that began before it.
    for (let race = 0; race < RACES_MAX; race++) {
      signal?.throwIfAborted();
      const asked = this.#complete((wanted) => this.#plan(queries, plan, wanted), signal);
      const attempt = asked instanceof Promise ? await asked : asked;
      if (attempt.prepared === undefined) {
        // Nothing to write, or a plan that threw, counts only if the moment it was made from was the latest. What came since may have
        // been taken over by another call meanwhile: so it is the position that tells, not what this look found.
        if (!this.#follower.current()) await this.#follower.catchUp();
        if (!this.#image.isAt(attempt.position)) continue;
        if (attempt.failure !== undefined) throw attempt.failure.error;
        return attempt.value as R;
      }
      const { commit } = attempt.prepared;
      const named = attempt.places?.length ? this.blobs.naming(commit, attempt.places) : commit;
      if (!(await this.#follower.append(named, attempt.position, durability))) continue;
      this.#applied(attempt.prepared);
      return attempt.value as R;
    }
    throw ioError(`the write lost ${RACES_MAX} races against other contexts`);
  }

  /** Answers and plans from one moment; worth nothing when that lacked something. */
  #plan<const Q extends readonly Query<T>[], R>(
    queries: Q,
    plan: (found: FoundAll<T, Q>) => Plan<T, R>,
    wanted: Wanted,
  ): Attempt<R> {
    const image = this.#image;
    const { position } = image;
    const found = image.answer(queries as readonly AnyQuery[], wanted);
    if (wanted.any) return { position, prepared: undefined, value: undefined, failure: undefined };
    try {
      const { writes, value, places } = plan(found as FoundAll<T, Q>);
      const planned = writes as readonly PlannedWrite[];
      const prepared = planned.every(isEmpty) ? undefined : image.prepare(planned, wanted);
      return { position, prepared, places, value, failure: undefined };
    } catch (error) {
      return { position, prepared: undefined, value: undefined, failure: { error } };
    }
  }

  /** What the journal has is in memory, too, and told. */
  #applied({ commit, head }: Prepared): void {
    const image = this.#image;
    if (image.n === commit.n - 1) image.apply(commit.n, head, commit.tail);
    // A bulk write is most likely read next; but one of all there is must not fill the memory with what nobody asked for.
    const { segments } = commit;
    for (let i = 0; i < segments.length; i++) image.texts.offer(segments[i]!.id, segments[i]!.text);
    this.#tell(COMMITTED);
  }

  /** Asks again until nothing is wanted. At once when what is can be had at once, which spares most calls a promise. */
  #complete<A>(ask: (wanted: Wanted) => A, signal: AbortSignal | undefined): A | Promise<A> {
    const wanted = new Wanted();
    const result = this.#askNow(ask, wanted, LOAD_ROUNDS_MAX);
    return wanted.any ? this.#load(ask, wanted, signal) : result;
  }

  /** Asks again while something is wanted that need not be waited for; where something is then, what it answers is worth nothing. */
  #askNow<A>(ask: (wanted: Wanted) => A, wanted: Wanted, rounds: number): A {
    let result = ask(wanted);
    if (this.#journal.loadNow === undefined) return result;
    for (let round = 0; wanted.any && round < rounds; round++) {
      const isLoaded = this.#image.loadNow(this.#journal, wanted);
      result = ask(wanted);
      if (!isLoaded) break;
    }
    return result;
  }

  async #load<A>(ask: (wanted: Wanted) => A, wanted: Wanted, signal: AbortSignal | undefined): Promise<A> {
    for (let round = 0; round < LOAD_ROUNDS_MAX; round++) {
      const { epoch } = this.#image;
      const whole = await this.#image.load(this.#journal, wanted);
      signal?.throwIfAborted();
      this.#checkThere();
      if (!whole) {
        await this.#follower.catchUp();
        if (epoch === this.#image.epoch)
          throw corrupt('a block that the directory names is not in the storage');
      }
      const result = ask(wanted);
      if (!wanted.any) return result;
    }
    throw corrupt(`a call needed more than ${LOAD_ROUNDS_MAX} rounds of loading`);
  }

  /** Loads what an answer from memory as it is would lack, while the journal is asked for what is new. */
  async #prefetch(queries: readonly AnyQuery[]): Promise<void> {
    await undefined; // with the look: a caller that stands still after its call must not keep a transaction open
    const wanted = new Wanted();
    this.#image.answer(queries, wanted);
    // A block that is gone, or a failure: the answer itself will meet it.
    if (wanted.any) await this.#image.load(this.#journal, wanted).catch(() => false);
  }

  /** One look at the journal for all reads of this turn; later ones need a later look (I9). */
  #refresh(): Promise<void> {
    this.#refreshing ??= Promise.resolve().then(async () => {
      this.#refreshing = undefined;
      await this.#follower.catchUp();
    });
    return this.#refreshing;
  }

  /** A hint of another context's commit. Without anybody to tell, the next read finds out by itself. */
  #heard(): void {
    if (this.#watchers.size === 0 || this.#closing !== undefined) return;
    this.#refresh().catch(() => undefined); // The call that needs the storage next gets this error.
  }

  watch(listener: (event: StoreEvent) => void): () => void {
    this.#watchers.add(listener);
    return () => this.#watchers.delete(listener);
  }

  watchRows(table: keyof T & string, changed: RowsWatcher): void {
    this.#image.directory.table(table).watchers.push(changed);
  }

  async compact(options: CallOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    this.#check();
    await this.#checkpointer.compact(options.signal);
  }

  stats(): StoreStats {
    return this.#image.stats();
  }

  close(discard = false): Promise<void> {
    this.#closing ??= this.#close(discard);
    return this.#closing;
  }

  async #close(discard: boolean): Promise<void> {
    await this.#checkpointer.stop(this.#gone === undefined && !discard);
    await this.#writes?.catch(() => undefined);
    this.#unlisten();
    this.#watchers.clear();
    await this.#journal.close();
  }

  #inTurn<R>(work: () => Promise<R>): Promise<R> {
    const turn = this.#writes === undefined ? work() : this.#writes.then(work, work);
    this.#writes = turn;
    const over = (): void => {
      if (this.#writes === turn) this.#writes = undefined;
    };
    turn.then(over, over);
    return turn;
  }

  #checkThere(): void {
    if (this.#gone !== undefined) throw closed('cause' in this.#gone ? this.#gone.cause : undefined);
  }

  #check(): void {
    this.#checkThere();
    if (this.#closing !== undefined) throw closed();
  }

  #end(event: StoreEvent): void {
    if (this.#gone !== undefined) return;
    this.#gone = event;
    this.#tell(event);
  }

  /** What a watcher throws is its own affair: it must not turn a write that was done into one that failed. */
  #tell(event: StoreEvent): void {
    if (this.#watchers.size === 0) return;
    const watchers = [...this.#watchers];
    for (let i = 0; i < watchers.length; i++) {
      try {
        watchers[i]!(event);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
