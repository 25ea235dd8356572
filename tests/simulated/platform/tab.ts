/**
 * A tab, and what may happen to it. A frozen one runs no task, and what comes
 * meanwhile waits, and so may what it has sent; a killed one ends between two tasks and says no farewell, and what it had sent before arrives.
 * A worker is one, too, without a page (see worker.ts); what happens to a tab happens to its workers.
 */
import type { Browser } from './browser';
import { Clock } from './clock';
import type { Connection } from './connection';
import { SimulatedEvent, SimulatedTarget } from './events';
import { type Globals, makeGlobals, makeWorkerGlobals } from './globals';
import { Pipe } from './pipe';
import type { Standing } from './world';

/** How long, at most, what waited for a frozen tab takes to come when it goes on, … */
const THAW_MS = 40;
/** … and what is new of locks and of other tabs, if that comes last. */
const NEWS_MS = 250;

/** Within this a page that was told to go stands still. */
const AWAY_MS = 20;
/** How long at most messages come late. */
const LAG_LASTS_MS = 5_000;
/** What was on its way when a page was told to go may come before it has let go of all. */
const GOING_MS = 100;

export class Tab implements Standing {
  readonly browser: Browser;
  readonly name: string;
  readonly connections = new Set<Connection>();
  readonly toStorage: Pipe;
  readonly fromStorage: Pipe;
  readonly toLocks: Pipe;
  readonly fromLocks: Pipe;
  readonly toChannels: Pipe;
  readonly fromChannels: Pipe;
  readonly clock: Clock;
  readonly globals: Globals;
  readonly workers: Tab[] = [];
  readonly #toTab = new Set<Pipe>();
  readonly #page = new SimulatedTarget();
  readonly #document = Object.assign(new SimulatedTarget(), { hidden: false });
  /** What it has sent, which its whole process may keep: when that is stopped, not only its program. */
  readonly #out: Standing & { isFrozen: boolean } = { isDead: false, isFrozen: false, hold: () => {} };
  #isFrozen = false;
  /** Given the stores of a transaction that is to write, if one begins. */
  #freezesAt: ((stores: string | undefined) => boolean) | undefined;
  #isDead = false;
  /** Until when it may not have heard others, or not been heard. */
  #deafUntil = Number.NEGATIVE_INFINITY;
  /** When it was told that it goes, if it has not been told since that it is back. */
  #goesAt: number | undefined;
  #held: (() => void)[] = [];
  readonly #whenEnded: (() => void)[] = [];

  /** @param tell for a worker: how it posts to its page */
  constructor(browser: Browser, name: string, tell?: (message: unknown) => void) {
    const { world } = browser;
    this.browser = browser;
    this.name = name;
    const out = this.#out;
    this.toStorage = new Pipe(world, out);
    this.fromStorage = new Pipe(world, this);
    this.toLocks = new Pipe(world, out);
    this.fromLocks = new Pipe(world, this);
    this.toChannels = new Pipe(world, out);
    this.fromChannels = new Pipe(world, this);
    this.clock = new Clock(world, this);
    this.globals =
      tell === undefined
        ? makeGlobals(this, this.#page, this.#document)
        : makeWorkerGlobals(this, this.#page, tell);
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  hold(run: () => void): void {
    this.#held.push(run);
  }

  /** Calls back when it is killed, where the storage is. */
  whenEnded(call: () => void): void {
    this.#whenEnded.push(call);
  }

  /** For messages to it: they wait while it stands still. */
  makePipe(): Pipe {
    const pipe = new Pipe(this.browser.world, this);
    this.#toTab.add(pipe);
    return pipe;
  }

  dropPipe(pipe: Pipe): void {
    this.#toTab.delete(pipe);
  }

  /** @param tell how it posts to this tab */
  beginWorker(tell: (message: unknown) => void): Tab {
    const worker = new Tab(this.browser, `${this.name}w${this.workers.length + 1}`, tell);
    this.workers.push(worker);
    return worker;
  }

  /** Of a worker: a message of its page has come. */
  hear(data: unknown): void {
    this.#page.dispatch(new SimulatedEvent('message', { data, origin: '' }));
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.browser.world.at(ms, resolve, this));
  }

  /**
   * Between the tab's tasks: `pagehide`, `pageshow` of the page, `freeze`, `resume` of the document.
   *
   * @returns false if the program refuses
   */
  tell(type: 'pagehide' | 'pageshow' | 'freeze' | 'resume'): boolean {
    const isOfPage = type.startsWith('page');
    this.#goesAt = type === 'pagehide' || type === 'freeze' ? this.browser.world.now : undefined;
    const event = new SimulatedEvent(type, isOfPage ? { persisted: true } : {});
    if (isOfPage) this.#page.dispatch(event);
    else this.#document.dispatch(event, this.#page);
    return !event.defaultPrevented;
  }

  /** @param isProcess what it has sent waits, too; `all`: its workers stand still with it */
  freeze(isProcess = this.browser.world.random.chance(0.5), all = true): void {
    this.browser.world.note(`${this.name} is frozen`);
    this.#isFrozen = true;
    this.#out.isFrozen = isProcess;
    for (const worker of all ? this.workers : []) if (!worker.isDead) worker.freeze(isProcess);
  }

  get deafUntil(): number {
    return this.#isFrozen ? this.browser.world.now : this.#deafUntil;
  }

  /** Whether it was told to go, and could still say what it had to: of something that it has had for so long. */
  isToldToGo(sinceMs: number): boolean {
    return this.#goesAt !== undefined && sinceMs < this.#goesAt - GOING_MS && !this.#out.isFrozen;
  }

  /** Its whole process is stopped as soon as it asks the storage for something, which does not arrive before it goes on. */
  freezeWhenItAsks(): void {
    for (const worker of this.workers) worker.freezeWhenItAsks();
    this.#freezesAt = () => true;
  }

  /** The same as soon as it begins to write to just these stores, by their names with commas: nobody else waits behind that. */
  freezeWhenItWrites(stores: string): void {
    for (const worker of this.workers) worker.freezeWhenItWrites(stores);
    this.#freezesAt = (its) => its === stores;
  }

  /** @param stores of a transaction that begins, and is to write */
  hasAsked(stores: string | undefined): void {
    if (!this.#freezesAt?.(stores)) return;
    this.#freezesAt = undefined;
    this.browser.world.at(0, () => this.freeze(true));
  }

  /** @param isNewsLast what became of its locks, and what others said meanwhile, comes after all else */
  thaw(isNewsLast = this.browser.world.random.chance(0.2)): void {
    for (const worker of this.workers) worker.thaw(isNewsLast);
    this.#freezesAt = undefined;
    if (!this.#isFrozen) return;
    const { world } = this.browser;
    world.note(`${this.name} goes on`);
    this.#isFrozen = false;
    this.#deafUntil = Math.max(this.#deafUntil, world.now + NEWS_MS);
    const delay = (): number => (world.random.chance(0.5) ? 0 : world.random.next() * THAW_MS);
    const newsMs = (): number => (isNewsLast ? world.random.next() * NEWS_MS : delay());
    for (const pipe of [this.fromStorage, ...this.#toTab]) pipe.resume(delay());
    for (const pipe of [this.fromLocks, this.fromChannels]) pipe.resume(newsMs());
    this.#sendOn();
    const timersMs = delay();
    for (const run of this.#held.splice(0)) world.at(timersMs, run, this);
  }

  /**
   * As a page that goes into the back/forward cache, or that the browser freezes with a word, for so long. A worker is told by its page, and
   * of the first only; it ends if it refuses.
   */
  putAway(ms: number): void {
    const { world } = this.browser;
    const { random } = world;
    const [hide, show] =
      this.browser.kind.isOfWorkers || random.chance(0.5)
        ? (['pagehide', 'pageshow'] as const)
        : (['freeze', 'resume'] as const);
    if (!this.tell(hide)) this.kill();
    world.at(random.next() * AWAY_MS, () => this.freeze());
    world.at(AWAY_MS + ms, () => {
      this.thaw();
      world.at(0, () => this.tell(show), this);
    });
  }

  kill(): void {
    if (this.#isDead) return;
    this.browser.world.note(`${this.name} is killed`);
    for (const worker of this.workers) worker.kill();
    this.#isDead = true;
    this.#held = [];
    this.#sendOn();
    this.toStorage.send(() => {
      for (const connection of [...this.connections]) connection.end();
      for (const call of this.#whenEnded) call();
    });
    this.toLocks.send(() => this.browser.locks.end(this));
    this.toChannels.send(() => this.browser.channels.end(this));
  }

  #sendOn(): void {
    this.#out.isFrozen = false;
    for (const pipe of [this.toStorage, this.toLocks, this.toChannels]) pipe.resume(0);
  }

  /** The browser closes its connections by itself. */
  loseConnections(): void {
    for (const worker of this.workers) worker.loseConnections();
    this.browser.world.note(`${this.name} loses its connections`);
    for (const connection of [...this.connections]) connection.lose();
  }

  /** The same when something was written that nobody is told of any more. @param then called when that has happened */
  loseConnectionsWhenWritten(then: () => void): void {
    for (const worker of this.workers) worker.loseConnectionsWhenWritten(then);
    for (const connection of this.connections)
      connection.breaks = () => {
        this.browser.world.note(`${this.name} loses its connections when it has written`);
        then();
      };
  }

  /** The browser ends its channels by itself. */
  loseChannels(): void {
    for (const worker of this.workers) worker.loseChannels();
    this.browser.world.note(`${this.name} loses its channels`);
    this.#deafUntil = Number.POSITIVE_INFINITY;
    for (const channel of [...this.browser.channels.open]) if (channel.tab === this) channel.die();
  }

  /** What it says to others, and they to it, takes up to so many ms longer. */
  lag(ms: number): void {
    for (const worker of this.workers) worker.lag(ms);
    this.#deafUntil = Math.max(this.#deafUntil, this.browser.world.now + LAG_LASTS_MS);
    this.browser.world.note(`${this.name} hears, and is heard, ${ms.toFixed(0)} ms later`);
    for (const pipe of [this.toChannels, this.fromChannels]) pipe.lag(ms);
  }

  set isHidden(isHidden: boolean) {
    this.#document.hidden = isHidden;
  }
}
