/** What a program in one tab does with a database: it opens it, follows it, makes one call after the other, leaves it, or destroys it. */
import type { indexeddb } from '@settledb/adapter-indexeddb';
import type { SettleDB } from '../../packages/settledb/src/entry.browser';
import { Calls } from './calls';
import { DatabaseReads } from './database-reads';
import { DatabaseWrites } from './database-writes';
import type { Known } from './known';
import type { Tab } from './platform/tab';
import type { World } from './platform/world';

/** What the program in each tab exports. */
export interface DatabaseExports {
  readonly SettleDB: typeof SettleDB;
  readonly indexeddb: typeof indexeddb;
}
export const DATABASE = `
  export { indexeddb } from './adapters/indexeddb/src/index';
  export { SettleDB } from './packages/settledb/src/entry.browser';
`;

export interface DatabaseHabits {
  /** How often a write changes attachments. */
  readonly contents: number;
  /** Programs destroy the database now and then. */
  readonly isRemoved?: boolean;
}

const NAME = 'db';
const DESTROYS = 0.01;

export class DatabaseLife {
  readonly tab: Tab;
  readonly calls: Calls;
  readonly reads: DatabaseReads;
  readonly writes: DatabaseWrites;
  isOver = false;
  readonly #world: World;
  readonly #known: Known;
  readonly #habits: DatabaseHabits;
  readonly #exports: DatabaseExports;
  /** What the feed of this handle has told of: the seq of each document's last change. */
  followed: Map<string, number> | undefined;
  #db: SettleDB;
  /** Whether this program has closed its handle, or destroys the database. */
  #isLeaving = false;

  constructor(world: World, known: Known, tab: Tab, exports: DatabaseExports, habits: DatabaseHabits) {
    this.tab = tab;
    this.calls = new Calls(world, tab);
    this.#world = world;
    this.#known = known;
    this.#exports = exports;
    this.#habits = habits;
    this.#db = this.open();
    this.reads = new DatabaseReads(world, known, tab, () => this.#db);
    this.writes = new DatabaseWrites(world, known, tab, habits.contents, () => this.#db);
  }

  get db(): SettleDB {
    return this.#db;
  }

  /** A handle, mostly with a feed. */
  open(follows = this.#world.random.chance(0.7)): SettleDB {
    const { SettleDB, indexeddb } = this.#exports;
    this.followed = undefined;
    this.#db = new SettleDB(NAME, {
      adapter: indexeddb(),
      views: { byK: { map: (doc, emit) => emit(doc.k as number, doc.n as number) } },
      auto_compaction: this.#world.random.chance(0.3),
    });
    if (follows) this.follow();
    return this.#db;
  }

  /** @param isEnough then it makes no more calls, and keeps its handle */
  async run(isEnough: () => boolean): Promise<void> {
    const { random } = this.#world;
    const running = new Set<Promise<unknown>>();
    while (!isEnough()) {
      if (this.#known.isQuiet) {
        await this.tab.sleep(20);
        continue;
      }
      if (random.chance(0.02)) await this.#reopen();
      const [what, work] = this.#next(random.next());
      const call = this.#call(what, work).finally(() => running.delete(call));
      running.add(call);
      if (random.chance(0.85)) await call;
      if (random.chance(0.4)) await this.tab.sleep(random.next() * 40);
      if (random.chance(0.03)) await this.tab.sleep(random.next() * 1200);
    }
    await Promise.all(running);
    this.isOver = true;
  }

  /** A handle that its program has not closed, of a database that nobody destroys, is open. */
  async #call(what: string, work: () => Promise<unknown>): Promise<void> {
    const { era } = this.#known;
    const db = this.#db;
    const error = await this.calls.call(what, work);
    if (error?.name !== 'closed' || this.#isLeaving || db !== this.#db || !this.#known.isIn(era)) return;
    this.#world.wrong(`${this.tab.name} ${what}: the handle was closed by nobody`);
  }

  #next(chance: number): [what: string, work: () => Promise<unknown>] {
    const { reads, writes } = this;
    if (this.#habits.isRemoved && this.#known.era === undefined && this.#world.random.chance(DESTROYS))
      return ['destroy', () => this.#destroy()];
    if (chance < 0.38) return ['count', () => writes.count()];
    if (chance < 0.52) return ['put notes', () => writes.putNotes()];
    if (chance < 0.6) return ['remove', () => writes.remove()];
    if (chance < 0.68) return ['allDocs', () => reads.all()];
    if (chance < 0.75) return ['contents', () => reads.contents()];
    if (chance < 0.8) return ['changes', () => reads.changes()];
    if (chance < 0.83) return ['info', () => reads.info()];
    if (chance < 0.9) return ['find', () => reads.find()];
    if (chance < 0.95) return ['query', () => reads.query()];
    if (chance < 0.97) return ['local', () => writes.local()];
    if (chance < 0.98) return ['createIndex', () => this.#db.createIndex({ index: { fields: ['k'] } })];
    return ['compact', () => this.#db.compact()];
  }

  async #reopen(): Promise<void> {
    const db = this.#db;
    this.#isLeaving = true;
    await this.calls.call('close', () => db.close());
    this.#isLeaving = false;
    this.open();
  }

  /** The next database of this name is another one. */
  async #destroy(): Promise<void> {
    const db = this.#db;
    const before = await db.id();
    await db.destroy();
    this.#world.note(`${this.tab.name} has destroyed ${before}`);
    if (this.#db === db) this.open();
    if ((await this.#db.id()) === before)
      this.#world.wrong(`${this.tab.name}: ${before} was destroyed, and is there`);
  }

  follow(): void {
    const followed = new Map<string, number>();
    this.followed = followed;
    const feed = this.#db.changes({ live: true, since: 0 });
    let last = 0;
    feed.on('change', ({ id, seq }) => {
      if (!(Number(seq) > last)) this.#world.wrong(`${this.tab.name}: the feed has ${seq} after ${last}`);
      last = Number(seq);
      followed.set(id, last);
    });
    // It has ended: nothing more is expected of it.
    const end = (): void => {
      if (this.followed === followed) this.followed = undefined;
    };
    feed.then(end, end);
  }
}
