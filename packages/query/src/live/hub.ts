/** One changes feed for all live queries of a handle: open while one of them runs. */
import {
  type Cancelled,
  type ChangesFeed,
  type ChangesOptions,
  type ChangesResult,
  type DatabaseInfo,
  isDatabaseError,
} from '@settledb/core';

export type Changed = ReadonlySet<string>;

export interface Ending {
  readonly error?: unknown;
}

/** A database that is closed while it is asked, or while its feed is opened, ends what lives on it, as at any other time. */
export const endingOf = (error: unknown): Ending =>
  isDatabaseError(error) && error.name === 'closed' ? {} : { error };

export interface HubListener {
  /** From now on nothing is missed: time to ask. */
  ready(): void;
  /** Ids of documents that were written; `undefined`: too many to say. */
  changed(ids: Changed | undefined): void;
  /** No more: the database was closed, or the feed failed. */
  end(ending: Ending): void;
}

export interface HubSource {
  info(): Promise<DatabaseInfo>;
  changes(options: ChangesOptions): ChangesFeed;
}

/** Calls back after each commit, whoever made it. @returns the way to stop */
export type WatchCommits = (listener: () => void) => () => void;

/** Ids collected before they are passed on; where there are more, all is asked anew, which is then cheaper too. */
export const MAX_IDS = 1_000;

export class ChangeHub {
  readonly #source: HubSource;
  readonly #listeners = new Set<HubListener>();
  #feed: ChangesFeed | undefined;
  #opening: object | undefined;
  /** A purge leaves no change behind, but a number. */
  readonly #watch: WatchCommits | undefined;
  #unwatch: (() => void) | undefined;
  #looking = false;
  #purges: number | undefined;
  /** Collected within one turn. */
  #ids = new Set<string>();
  #passing = false;

  /** @param watch where purges can be told: of a database that is here */
  constructor(source: HubSource, watch?: WatchCommits | undefined) {
    this.#source = source;
    this.#watch = watch;
  }

  /** @returns the way to leave */
  join(listener: HubListener): () => void {
    this.#listeners.add(listener);
    if (this.#feed !== undefined) queueMicrotask(() => this.#listeners.has(listener) && listener.ready());
    else if (this.#opening === undefined) void this.#open();
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#close();
    };
  }

  async #open(): Promise<void> {
    const opening = {};
    this.#opening = opening;
    try {
      // Not `since: 'now'`, which a remote database would take for the moment when it gets to the request.
      const { update_seq: since, purge_seq } = await this.#source.info();
      if (this.#opening !== opening) return;
      this.#purges = purge_seq as number | undefined;
      this.#unwatch = this.#watch?.(() => void this.#look(opening));
      const feed = this.#source.changes({ live: true, since, return_docs: false });
      this.#feed = feed;
      feed.on('change', ({ id }: { id: string }) => this.#hear(id));
      feed.then(
        (result: ChangesResult | Cancelled) => this.#over(feed, result && {}),
        (error: unknown) => this.#over(feed, endingOf(error)),
      );
      for (const listener of [...this.#listeners]) listener.ready();
    } catch (error) {
      if (this.#opening === opening) this.#end(endingOf(error));
    }
  }

  #hear(id: string): void {
    if (this.#ids.size <= MAX_IDS) this.#ids.add(id);
    if (this.#passing) return;
    this.#passing = true;
    queueMicrotask(() => {
      this.#passing = false;
      const ids = this.#ids;
      this.#ids = new Set();
      for (const listener of [...this.#listeners]) listener.changed(ids.size > MAX_IDS ? undefined : ids);
    });
  }

  /** After a commit. One look serves all commits that come before it begins. */
  async #look(opening: object): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    await undefined;
    this.#looking = false;
    // A database that is closed or gone ends the feed, which tells.
    const { purge_seq } = await this.#source.info().catch(() => ({ purge_seq: this.#purges }));
    if (this.#opening !== opening || purge_seq === this.#purges) return;
    this.#purges = purge_seq as number | undefined;
    for (const listener of [...this.#listeners]) listener.changed(undefined);
  }

  #over(feed: ChangesFeed, ending: Ending): void {
    if (this.#feed === feed) this.#end(ending);
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
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#ids = new Set();
    feed?.cancel();
  }
}
