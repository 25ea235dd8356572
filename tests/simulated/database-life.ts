/** What a program in one tab does with a database: it opens it, follows it, makes one call after the other, leaves it, or destroys it. */
import type { SettleDB } from '../../packages/settledb/src/entry.browser';
import { Calls } from './calls';
import { DatabaseFeeds } from './database-feeds';
import { DatabaseReads } from './database-reads';
import { DatabaseWrites } from './database-writes';
import { COPY, type Home } from './homes';
import type { Known } from './known';
import { giveUp, postAndHear } from './own-writes';
import type { Tab } from './platform/tab';
import type { World } from './platform/world';

export interface DatabaseHabits {
  /** How often a write changes attachments. */
  readonly contents: number;
  /** How many programs replicate the database, as long as they have their first handle. */
  readonly replicates: number;
  /** Programs destroy the database now and then. */
  readonly isRemoved?: boolean;
}

type Step = [what: string, work: () => Promise<unknown>];

const DESTROYS = 0.01;
/** How often it looks whether it is to go on. */
const QUIET_MS = 100;

export class DatabaseLife {
  readonly tab: Tab;
  readonly calls: Calls;
  readonly feeds: DatabaseFeeds;
  readonly reads: DatabaseReads;
  readonly writes: DatabaseWrites;
  isOver = false;
  readonly #world: World;
  readonly #known: Known;
  readonly #home: Home;
  readonly #habits: DatabaseHabits;
  #db: SettleDB;
  /** Whether this program has closed its handle, or destroys the database. */
  #isLeaving = false;
  /** How often it was told that the database is no more. */
  #ends = 0;

  constructor(world: World, known: Known, tab: Tab, home: Home, habits: DatabaseHabits) {
    this.tab = tab;
    this.calls = new Calls(world, tab);
    this.feeds = new DatabaseFeeds(world, known, tab, this.calls);
    this.#world = world;
    this.#known = known;
    this.#home = home;
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
    this.feeds.leave();
    this.#db = this.#home();
    this.#db.on('destroyed', () => this.#ended());
    if (follows) this.feeds.follow(this.#db);
    return this.#db;
  }

  /** What it is replicated to. */
  openCopy(): SettleDB {
    return this.#home(COPY);
  }

  close(): Promise<void> {
    this.feeds.leave();
    return this.#db.close();
  }

  /** @param isEnough then it makes no more calls, and keeps its handle */
  async run(isEnough: () => boolean): Promise<void> {
    const { random } = this.#world;
    const running = new Set<Promise<unknown>>();
    if (random.chance(this.#habits.replicates)) this.feeds.replicate(this.#db);
    while (!isEnough()) {
      if (this.#known.isQuiet) {
        await this.tab.sleep(QUIET_MS);
        continue;
      }
      if (random.chance(0.02)) await this.#reopen();
      // One that has ended, with its database or an error.
      if (this.feeds.followed === undefined && random.chance(0.02)) this.feeds.follow(this.#db);
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

  #next(chance: number): Step {
    const { reads, writes } = this;
    if (this.#habits.isRemoved && this.#known.era === undefined && this.#world.random.chance(DESTROYS))
      return ['destroy', () => this.#destroy()];
    if (chance < 0.38) return ['count', () => writes.count()];
    if (chance < 0.49) return ['put notes', () => writes.putNotes()];
    if (chance < 0.53) return this.#ownWrite(this.#world.random.next());
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

  #ownWrite(chance: number): Step {
    const { random } = this.#world;
    if (chance < 0.4) return ['post', () => this.writes.post()];
    if (chance < 0.7) return ['post and hear', () => postAndHear(this.#db, this.writes)];
    const afterMs = random.next() * (random.chance(0.5) ? 10 : 500);
    return ['give up', () => giveUp(this.#db, this.writes, this.tab, afterMs, random.chance(0.5))];
  }

  async #reopen(): Promise<void> {
    this.#isLeaving = true;
    await this.calls.call('close', () => this.close());
    this.#isLeaving = false;
    this.open();
  }

  /** The next database of this name is another one. */
  async #destroy(): Promise<void> {
    const db = this.#db;
    const before = await db.id();
    this.#known.removals++;
    await db.destroy();
    this.#world.note(`${this.tab.name} has destroyed ${before}`);
    if (this.#db === db) this.open();
    if ((await this.#db.id()) === before)
      this.#world.wrong(`${this.tab.name}: ${before} was destroyed, and is there`);
  }

  #ended(): void {
    this.#ends++;
    this.#world.note(`${this.tab.name} hears of an end`);
    const { removals } = this.#known;
    if (this.#ends > removals)
      this.#world.wrong(`${this.tab.name} heard of ${this.#ends} ends, of ${removals} that there were`);
  }
}
