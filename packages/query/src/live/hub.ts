/** One changes feed for all live queries of a handle: open while one of them runs. */
import {
  type Cancelled,
  type ChangesFeed,
  type ChangesOptions,
  type ChangesResult,
  type DatabaseInfo,
  inMicrotask,
  isDatabaseError,
} from '@settledb/core';

export type Changed = ReadonlySet<string>;

export interface Ending {
  readonly error?: unknown;
}

/** If the database is closed during a request, or while its feed is opened, the live results end as at any other time. */
export const endingOf = (error: unknown): Ending =>
  isDatabaseError(error) && error.name === 'closed' ? {} : { error };

interface HubListener {
  /** From now on no change is missed: time to query. */
  ready(): void;
  /** Ids of documents that were written; `undefined`: too many to say. */
  changed(ids: Changed | undefined): void;
  /** Nothing follows: the database was closed, or the feed failed. */
  end(ending: Ending): void;
  /** Whether it waits if the feed failed in a way that will pass: then `ready` is called again. Default: it does not. */
  waits?(): boolean;
}

/** Whether a failure will pass. */
export type IsPassing = (error: unknown) => boolean;

/** ms until a feed is opened, or a query repeated, after a failure that will pass. */
export const RETRY_MS = 1_000;

interface HubSource {
  info(): Promise<DatabaseInfo>;
  changes(options: ChangesOptions): ChangesFeed;
}

/** Calls back after each commit of any context. @returns a function that stops this */
export type WatchCommits = (listener: () => void) => () => void;

/** Ids collected before they are passed on; if there are more, everything is queried anew, which is then cheaper too. */
export const MAX_IDS = 1_000;

export class ChangeHub {
  readonly #source: HubSource;
  readonly #listeners = new Set<HubListener>();
  #feed: ChangesFeed | undefined;
  #opening: object | undefined;
  /** A purge leaves no change, only a higher number. */
  #watch: WatchCommits | undefined;
  #unwatch: (() => void) | undefined;
  #looking = false;
  #purges: number | undefined;
  /** Collected within one turn. */
  #ids = new Set<string>();
  #passing = false;
  readonly isPassing: IsPassing;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param watch if purges can be noticed: for a local database
   * @param isPassing which failures, of the feed or of a query, will pass
   */
  constructor(source: HubSource, watch: WatchCommits | undefined, isPassing: IsPassing) {
    this.#source = source;
    this.#watch = watch;
    this.isPassing = isPassing;
  }

  /** The database whose commits it hears is no more. */
  leave(): void {
    this.#watch = undefined;
  }

  /** @returns a function to leave */
  join(listener: HubListener): () => void {
    this.#listeners.add(listener);
    if (this.#feed !== undefined) inMicrotask(() => this.#listeners.has(listener) && listener.ready());
    else if (this.#opening === undefined) void this.#open();
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#close();
    };
  }

  async #open(): Promise<void> {
    const opening = {};
    this.#opening = opening;
    try {
      // Not `since: 'now'`: for a remote database that would be the moment when the request arrives.
      const { update_seq: since, purge_seq } = await this.#source.info();
      if (this.#opening !== opening) return;
      this.#purges = purge_seq as number | undefined;
      this.#unwatch = this.#watch?.(() => void this.#look(opening));
      const feed = this.#source.changes({ live: true, since, return_docs: false });
      this.#feed = feed;
      feed.on('change', ({ id }: { id: string }) => this.#hear(id));
      feed.then(
        (result: ChangesResult | Cancelled) => this.#over(feed, result && {}),
        (error: unknown) => this.#feed === feed && this.#fail(error),
      );
      for (const listener of [...this.#listeners]) listener.ready();
    } catch (error) {
      if (this.#opening === opening) this.#fail(error);
    }
  }

  #hear(id: string): void {
    if (this.#ids.size <= MAX_IDS) this.#ids.add(id);
    if (this.#passing) return;
    this.#passing = true;
    inMicrotask(() => {
      this.#passing = false;
      const ids = this.#ids;
      this.#ids = new Set();
      for (const listener of [...this.#listeners]) listener.changed(ids.size > MAX_IDS ? undefined : ids);
    });
  }

  /** Called after a commit. One look serves all commits that come before it begins. */
  async #look(opening: object): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    await undefined;
    this.#looking = false;
    // If the database is closed or gone, its feed ends, and reports that.
    const { purge_seq } = await this.#source.info().catch(() => ({ purge_seq: this.#purges }));
    if (this.#opening !== opening || purge_seq === this.#purges) return;
    this.#purges = purge_seq as number | undefined;
    for (const listener of [...this.#listeners]) listener.changed(undefined);
  }

  #over(feed: ChangesFeed, ending: Ending): void {
    if (this.#feed === feed) this.#end(ending);
  }

  #fail(error: unknown): void {
    if (!this.isPassing(error)) {
      this.#end(endingOf(error));
      return;
    }
    this.#close();
    for (const listener of [...this.#listeners]) {
      if (listener.waits?.()) continue;
      this.#listeners.delete(listener);
      listener.end({ error });
    }
    if (this.#listeners.size === 0) return;
    const waiting = {};
    this.#opening = waiting;
    this.#timer = setTimeout(() => this.#opening === waiting && void this.#open(), RETRY_MS);
  }

  #end(ending: Ending): void {
    this.#close();
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener.end(ending);
  }

  #close(): void {
    const feed = this.#feed;
    this.#feed = undefined;
    this.#opening = undefined;
    clearTimeout(this.#timer);
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#ids = new Set();
    feed?.cancel();
  }
}
