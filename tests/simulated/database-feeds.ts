/** What goes on beside a program's calls while its handle is open: a feed that tells of every change, and a replication. */
import type { SettleDB } from '../../packages/settledb/src/entry.browser';
import type { Calls } from './calls';
import { COPY } from './homes';
import type { Known } from './known';
import type { Tab } from './platform/tab';
import type { World } from './platform/world';

export class DatabaseFeeds {
  /** What the feed of this handle has told of, if there is one: the seq of each document's last change. */
  followed: ReadonlyMap<string, number> | undefined;
  /** Whether the replication of this handle goes on. */
  replicates = false;
  readonly #world: World;
  readonly #known: Known;
  readonly #tab: Tab;
  readonly #calls: Calls;
  #db: SettleDB | undefined;

  constructor(world: World, known: Known, tab: Tab, calls: Calls) {
    this.#world = world;
    this.#known = known;
    this.#tab = tab;
    this.#calls = calls;
  }

  follow(db: SettleDB): void {
    const { era } = this.#known;
    const followed = new Map<string, number>();
    this.#db = db;
    this.followed = followed;
    const feed = db.changes({ live: true, since: 0 });
    let last = 0;
    feed.on('change', ({ id, seq }) => {
      if (!(Number(seq) > last)) this.#wrong(`the feed has ${seq} after ${last}`);
      last = Number(seq);
      followed.set(id, last);
    });
    const end = (): boolean => {
      const isOpen = this.followed === followed;
      if (isOpen) this.followed = undefined;
      return isOpen;
    };
    // With an error, after which nothing more is expected of it; otherwise only with its handle, or the database.
    feed.then(
      () => end() && this.#known.isIn(era) && this.#wrong('the feed has ended'),
      (error: Error) => {
        end();
        this.#calls.failed('feed', error);
      },
    );
  }

  /** Until the handle is closed. */
  replicate(db: SettleDB): void {
    this.#db = db;
    const feed = db.replicate.to(COPY, { live: true, retry: true });
    this.replicates = true;
    const end = (): void => {
      if (this.#db === db) this.replicates = false;
    };
    let state = '';
    for (const event of ['active', 'paused'] as const)
      feed.on(event, () => {
        if (event === state) this.#wrong(`its replication is ${event} twice`);
        state = event;
      });
    feed.then(end, (error: Error) => {
      end();
      this.#calls.failed('replicate', error);
    });
  }

  /** The handle is closed: nothing more is expected. */
  leave(): void {
    this.#db = undefined;
    this.followed = undefined;
    this.replicates = false;
  }

  #wrong(text: string): void {
    this.#world.wrong(`${this.#tab.name}: ${text}`);
  }
}
