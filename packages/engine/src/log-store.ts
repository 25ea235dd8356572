/**
 * The store contract over a journal.
 *
 * Reads are answered from memory in one go; if memory lacks something, it is loaded and the whole answer made again, so that all of
 * it comes from one moment. Writes go one at a time: answer, plan, append. If another context committed first, the journal answers
 * with its commits, and the plan is made again from there.
 */
import {
  type CallOptions,
  closed,
  type Durability,
  type FoundAll,
  inMicrotask,
  ioError,
  isPromise,
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
  type WriteOptions,
} from '@settledb/core';
import type { AnyQuery } from './answer';
import { type BlobLimits, JournalBlobs } from './blobs';
import { Follower } from './follower';
import { Image } from './image';
import type { Journal, Position } from './journal';
import { layoutOf } from './layout';
import { LazyCheckpointer } from './lazy-checkpointer';
import { Loading } from './loading';
import type { PlannedWrite, Prepared } from './prepare';
import { TEXT_CACHE_LENGTH } from './texts';
import { Turn } from './turn';
import { Wanted } from './wanted';

/** Races that a write may lose; each lost race means that another context's write was done. */
const RACES_MAX = 10_000;

interface LogStoreOptions extends BlobLimits {
  /** Characters of documents kept in memory. Default {@link TEXT_CACHE_LENGTH}. */
  readonly textCacheLength?: number;
  /** Whether to make checkpoints unasked after enough commits. Default true; tests choose their own moments. */
  readonly checkpoint?: boolean;
}

/**
 * Opens a store over a journal and takes the journal over: closing the store closes it, and so does a failure to open the store.
 * @param opening may still be pending: what else the store needs is made meanwhile
 * @throws DatabaseError `corrupt` when the stored data contradicts itself, or was written by a newer version
 */
export async function openLogStore<T extends Tables>(
  opening: Journal | Promise<Journal>,
  schema: Schema,
  options: LogStoreOptions = {},
): Promise<Store<T>> {
  const image = new Image(layoutOf(schema), options.textCacheLength ?? TEXT_CACHE_LENGTH);
  const journal = await opening;
  try {
    image.absorb(journal.takeOpened?.() ?? (await journal.read()));
  } catch (error) {
    await journal.close().catch(() => {}); // Whatever it says, the first error is the one to report.
    throw error;
  }
  return new LogStore<T>(journal, image, options.checkpoint ?? true, options);
}

/** The outcome of a plan: a commit, or nothing to write, or the error that it threw. */
interface Attempt<R> {
  readonly position: Position;
  readonly prepared: Prepared | undefined;
  /** Places of content that it is the first to name. */
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
  readonly #loading: Loading;
  readonly #checkpointer: LazyCheckpointer;
  readonly #watchers = new Set<(event: StoreEvent) => void>();
  readonly #unlisten: () => void;
  readonly #turn = new Turn();
  /** The last of the writes that are running or waiting for their turn. */
  #writes: Promise<unknown> | undefined;
  #refreshing: Promise<void> | undefined;
  /** While calls are answered from memory as it is. */
  #asOpened = false;
  #closing: Promise<void> | undefined;
  #gone: StoreEvent | undefined;

  constructor(journal: Journal, image: Image, checkpoint: boolean, limits: BlobLimits) {
    this.#journal = journal;
    const host = { check: () => this.#checkThere(), position: () => image.position };
    this.blobs = new JournalBlobs(journal, host, limits);
    this.#image = image;
    this.#follower = new Follower(journal, image, () => this.#tell(COMMITTED));
    this.#loading = new Loading(journal, image, this.#follower, host.check);
    this.#checkpointer = new LazyCheckpointer(
      {
        journal,
        image,
        follower: this.#follower,
        turn: this.#turn,
        rows: this as Pick<Store<Tables>, 'read' | 'write'>,
        inTurn: (work) => this.#inTurn(work),
      },
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
    const pause = this.#turn.pause();
    if (pause !== undefined) {
      await pause;
      options.signal?.throwIfAborted();
      this.#checkThere();
    }
    if (!this.#current()) {
      await Promise.all([this.#refresh(), this.#loading.prefetch(queries as readonly AnyQuery[])]);
      options.signal?.throwIfAborted();
    }
    const found = this.#loading.complete(
      (wanted) => this.#image.answer(queries as readonly AnyQuery[], wanted),
      options.signal,
    );
    return (isPromise(found) ? await found : found) as FoundAll<T, Q>;
  }

  readNow<const Q extends readonly Query<T>[]>(queries: Q): FoundAll<T, Q> | undefined {
    this.#check();
    if (this.#turn.isLate() || !this.#current()) return undefined;
    return this.#loading.now((wanted) => this.#image.answer(queries as readonly AnyQuery[], wanted)) as
      | FoundAll<T, Q>
      | undefined;
  }

  rowNow<N extends keyof T & string>(from: N, key: Key, texts: readonly string[]): T[N] | undefined {
    this.#check();
    if (this.#turn.isOver() || !this.#current()) return undefined;
    return this.#loading.now((wanted) => this.#image.row(from, key, texts, wanted)) as T[N] | undefined;
  }

  fieldNow<N extends keyof T & string, F extends keyof T[N]>(
    from: N,
    field: F,
    under: readonly KeyPart[],
    limit: number,
  ): T[N][F][] | undefined {
    this.#check();
    if (this.#turn.isOver() || !this.#current()) return undefined;
    const { directory } = this.#image;
    return directory.fieldUnder(directory.table(from), field as string, under, limit) as
      | T[N][F][]
      | undefined;
  }

  stateNow(): number | undefined {
    this.#check();
    return !this.#turn.isOver() && this.#current() ? this.#image.n : undefined;
  }

  pause(): Promise<void> | undefined {
    return this.#turn.pause();
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
    options: WriteOptions = {},
  ): Promise<R> {
    options.signal?.throwIfAborted();
    this.#check();
    const value = await this.#inTurn(async () => {
      await this.#turn.pause();
      return this.#commit(queries, plan, options);
    });
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
    if (this.#turn.isLate() || !this.#follower.current()) return undefined;
    const wanted = new Wanted();
    const planned = this.#loading.few((lacking) => this.#plan(queries, plan, lacking), wanted);
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
    { durability = 'relaxed', signal, makesRoom }: WriteOptions,
  ): Promise<R> {
    this.#checkThere(); // closing waits for writes that began before it
    for (let race = 0; race < RACES_MAX; race++) {
      signal?.throwIfAborted();
      const asked = this.#loading.complete((wanted) => this.#plan(queries, plan, wanted), signal);
      const attempt = isPromise(asked) ? await asked : asked;
      if (attempt.prepared === undefined) {
        // If there is nothing to write, or the plan threw, that counts only if it came from the latest moment. Another call may have
        // taken in later commits meanwhile: so the position decides, not what this look found.
        if (!this.#follower.current()) await this.#follower.catchUp();
        if (!this.#image.isAt(attempt.position)) continue;
        if (attempt.failure !== undefined) throw attempt.failure.error;
        return attempt.value as R;
      }
      const { commit } = attempt.prepared;
      const named = attempt.places?.length ? this.blobs.naming(commit, attempt.places) : commit;
      if (!(await this.#follower.append(named, attempt.position, durability, makesRoom))) continue;
      this.#applied(attempt.prepared);
      return attempt.value as R;
    }
    throw ioError(`the write lost ${RACES_MAX} races against other contexts`);
  }

  /** Answers and plans from one moment; the result means nothing if memory lacked something. */
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

  /** Brings memory up to what the journal has, and tells the watchers. */
  #applied({ commit, head }: Prepared): void {
    const image = this.#image;
    if (image.n === commit.n - 1) image.apply(commit.n, head, commit.tail);
    // A bulk write is most likely read next; but a bulk write of everything must not fill the memory with what nobody asked for.
    const { segments } = commit;
    for (let i = 0; i < segments.length; i++) image.texts.offer(segments[i]!.id, segments[i]!.text);
    this.#tell(COMMITTED);
  }

  /** One look at the journal serves all reads of this turn; later ones need a later look (I9). */
  #refresh(): Promise<void> {
    this.#refreshing ??= Promise.resolve().then(async () => {
      this.#refreshing = undefined;
      await this.#follower.catchUp();
    });
    return this.#refreshing;
  }

  /** Called on a hint of another context's commit. If nobody is watching, the next read finds out by itself. */
  #heard(): void {
    if (this.#watchers.size === 0 || this.#closing !== undefined) return;
    this.#refresh().catch(() => undefined); // the next call that needs the storage gets this error
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
    await this.#turn.pausing; // calls that wait for it came before closing, and read the journal next
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

  /** An error that a watcher throws stays with the watcher: it must not make a completed write look failed. */
  #tell(event: StoreEvent): void {
    if (this.#watchers.size === 0) return;
    const watchers = [...this.#watchers];
    for (let i = 0; i < watchers.length; i++) {
      try {
        watchers[i]!(event);
      } catch (error) {
        inMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
