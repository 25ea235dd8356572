/** The part of a browser that has the databases of an origin: who is connected to them, and how much room there is. */
import type { Connection } from './connection';
import { Records } from './records';
import type { StoredTransaction } from './stored-transaction';
import type { World } from './world';

/** The engines differ in how they say that there is no room, and in what `commit()` does with a request that fails. */
export type Engine = 'chromium' | 'firefox' | 'webkit';

/** A database as it is stored. */
export class StoredDatabase {
  version = 0;
  readonly stores = new Map<string, Records>();
  readonly connections = new Set<Connection>();
  /** Those that have not ended, in the order in which they were begun. */
  transactions: StoredTransaction[] = [];
  /** Called when a connection is gone, if somebody waits for that. */
  released: () => void = () => {};

  get bytes(): number {
    return [...this.stores.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  createStore(name: string): void {
    this.stores.set(name, new Records());
  }

  /** Begins each transaction that nobody is in the way of: those of the same store, of which one writes, are run as they were begun. */
  beginNext(): void {
    for (const [at, transaction] of this.transactions.entries()) {
      if (
        transaction.isWaiting &&
        !this.transactions.slice(0, at).some((other) => transaction.waitsFor(other))
      )
        transaction.begin();
    }
  }
}

export class Storage {
  readonly world: World;
  readonly engine: Engine;
  readonly databases = new Map<string, StoredDatabase>();
  /** Bytes that the origin may store. */
  limit = Number.POSITIVE_INFINITY;
  /** How often a transaction that puts anything is refused though there is room. */
  refuses = 0;
  /** Openings and deletions of a name that are to be done, one after the other. */
  readonly #queues = new Map<string, ((done: () => void) => void)[]>();

  constructor(world: World, engine: Engine) {
    this.world = world;
    this.engine = engine;
  }

  get used(): number {
    return [...this.databases.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get isFull(): boolean {
    return this.used > this.limit;
  }

  /** Runs `work` when all that was asked of this name before is done; the next begins when `work` calls its argument. */
  inTurn(name: string, work: (done: () => void) => void): void {
    const queue = this.#queues.get(name) ?? [];
    this.#queues.set(name, queue);
    queue.push(work);
    if (queue.length === 1) this.#nextIn(queue);
  }

  #nextIn(queue: ((done: () => void) => void)[]): void {
    queue[0]?.(() => {
      queue.shift();
      this.#nextIn(queue);
    });
  }

  /** As when the browser needs room, or a user clears the site's data. */
  evict(name: string): void {
    const database = this.databases.get(name);
    if (database === undefined) return;
    this.world.note(`${name} is evicted`);
    this.databases.delete(name);
    for (const connection of [...database.connections]) connection.lose();
  }
}
