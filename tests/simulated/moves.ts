/** What happens to the tabs and to their storage, whatever their programs do. */
import { Duels } from './duels';
import type { Browser } from './platform/browser';
import type { Tab } from './platform/tab';

/** More than this many tabs at a time show nothing that these do not. */
const TABS_MAX = 5;
/** How long a tab stands still: mostly so short that nobody takes its lock by force, which others do after a second. */
const SHORT_MS = 900;
const LONG_MS = 4_000;
/** How long the browser closes each connection that is opened, at most. */
const BROKEN_MS = 100;
/** How late messages between tabs are, at most. */
const LAG_MS = 300;

export interface Kind {
  /** Tabs at the beginning. */
  readonly tabs: number;
  /** Milliseconds between two moves, at most. */
  readonly everyMs: number;
  /** Rather two tabs: one stands still for some time, or until the other has taken its lock by force and is alone, or it ends when that comes. */
  readonly fights?: 'duel' | 'theft' | 'succession';
  /** The storage has no room now and then. */
  readonly fills?: boolean;
}

export class Moves {
  readonly #browser: Browser;
  readonly #kind: Kind;
  readonly #spawn: () => void;
  readonly #isBusy: (tab: Tab) => boolean;
  readonly #duels: Duels;
  #isOver = false;

  /** @param spawn opens another tab, in which a program runs; `isBusy`: one does in this tab */
  constructor(browser: Browser, kind: Kind, spawn: () => void, isBusy: (tab: Tab) => boolean) {
    this.#browser = browser;
    this.#kind = kind;
    this.#spawn = spawn;
    this.#isBusy = isBusy;
    this.#duels = new Duels(browser, spawn, isBusy);
  }

  begin(untilMs: number): void {
    const { world } = this.#browser;
    this.#isOver = false;
    const next = (): void => {
      if (this.#isOver || world.now > untilMs) return;
      this.#move();
      world.at(world.random.next() * this.#kind.everyMs, next);
    };
    world.at(SHORT_MS / 2, next);
  }

  /** Whatever stands still goes on, and there is room. */
  end(): void {
    const { world, storage } = this.#browser;
    this.#isOver = true;
    this.#duels.end();
    storage.limit = Number.POSITIVE_INFINITY;
    storage.refuses = 0;
    for (const tab of this.#browser.living) {
      tab.lag(0);
      const { isFrozen } = tab;
      tab.thaw();
      if (isFrozen) world.at(0, () => tab.tell('pageshow'), tab);
    }
  }

  #move(): void {
    const { world } = this.#browser;
    const { random } = world;
    const tabs = this.#browser.living.filter(this.#isBusy);
    if (this.#kind.fills && random.chance(0.4)) {
      this.#fill();
      return;
    }
    const standing = tabs.filter(({ isFrozen }) => !isFrozen);
    if (standing.length === 0) {
      if (tabs.length < TABS_MAX) this.#spawn();
      return;
    }
    const tab = random.pick(standing);
    const worker = tab.workers.find(({ isDead }) => !isDead);
    if (worker !== undefined && random.chance(0.25)) this.#troubleWithin(tab, worker);
    else if (this.#kind.fights === 'duel') this.#duels.duel(tab, tabs);
    else if (this.#kind.fights === 'succession') this.#duels.succeed(tabs);
    else if (this.#kind.fights === 'theft') void this.#duels.steal(tab, tabs);
    else this.#trouble(tab, tabs.length, random.next());
  }

  #trouble(tab: Tab, tabs: number, chance: number): void {
    const { world } = this.#browser;
    const { random } = world;
    const mayOpen = tabs < TABS_MAX;
    if (chance < 0.3) {
      if (mayOpen && random.chance(0.5)) world.at(random.next() * 100, this.#spawn);
      this.#freeze(tab, random.next() * (random.chance(0.6) ? SHORT_MS : LONG_MS));
    } else if (chance < 0.48) {
      tab.kill();
      if (tabs < 3) world.at(random.next() * 300, this.#spawn);
    } else if (chance < 0.52) tab.loseConnections();
    else if (chance < 0.6) tab.loseConnectionsWhenWritten(() => this.#afterLoss(tab));
    else if (chance < 0.72) tab.putAway(random.next() * LONG_MS);
    else if (chance < 0.8) {
      if (mayOpen) this.#spawn();
    } else if (chance < 0.83) tab.clock.setDate((random.next() - 0.5) * 1e8);
    else if (chance < 0.87) tab.isHidden = random.chance(0.5);
    else if (chance < 0.9) tab.loseChannels();
    else if (chance < 0.94) this.#lag(tab);
    else world.at(random.next() * 100, () => this.#trouble(tab, tabs, random.next() * 0.5));
  }

  /** What became of the write can be looked for at once, or when others have covered it, or not for a while. */
  #afterLoss(tab: Tab): void {
    const { world } = this.#browser;
    const { random } = world;
    const chance = random.next();
    if (chance < 0.4) this.#freeze(tab, random.next() * LONG_MS);
    else if (chance < 0.7) {
      const untilMs = world.now + random.next() * BROKEN_MS;
      const again = (): void => {
        if (world.now > untilMs || tab.isDead) return;
        tab.loseConnections();
        world.at(random.next() * 10, again);
      };
      again();
    }
  }

  /** A worker ends or stands still without its page, as by a task that takes long, or the page without its worker. */
  #troubleWithin(tab: Tab, worker: Tab): void {
    const { world } = this.#browser;
    const { random } = world;
    if (random.chance(0.3)) worker.kill();
    else if (random.chance(0.6)) this.#freeze(worker, random.next() * LONG_MS);
    else {
      tab.freeze(false, false);
      world.at(random.next() * LONG_MS, () => tab.thaw());
    }
  }

  #freeze(tab: Tab, ms: number): void {
    if (this.#browser.world.random.chance(0.5)) tab.freezeWhenItAsks();
    else tab.freeze();
    this.#browser.world.at(ms, () => tab.thaw());
  }

  /** For a while what tabs say to each other takes long, but not so long that it would count as standing still. */
  #lag(tab: Tab): void {
    const { world } = this.#browser;
    tab.lag(world.random.next() * LAG_MS);
    world.at(world.random.next() * LONG_MS, () => tab.lag(0));
  }

  /** There is hardly any room, or none, or some writes are refused though there is; or there is room again. */
  #fill(): void {
    const { storage, world } = this.#browser;
    const { random } = world;
    const chance = random.next();
    storage.refuses = chance < 0.3 ? random.next() * 0.2 : 0;
    storage.limit =
      chance < 0.3 || chance > 0.6 ? Number.POSITIVE_INFINITY : storage.used + random.below(3_000);
    world.note(`there is room for ${storage.limit - storage.used}, ${storage.refuses} are refused`);
  }
}
