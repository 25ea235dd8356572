/** Two tabs of which one stands still for as long as the other needs to take its lock by force, or to find that it is alone; or ends meanwhile. */
import type { Browser } from './platform/browser';
import type { Tab } from './platform/tab';

/** The lock of who may write, by which a tab knows that it is alone. */
const PRESENCE = 'settledb:db:presence';
/** How often it is looked whether what is waited for has happened, … */
const LOOK_MS = 4;
/** … and for how long: a theft takes a second, and finding that nobody else is there as long, … */
const PATIENCE_MS = 3_000;
/** … and for who is put away to come back: another would have taken its lock, if it had any, … */
const AWAY_MS = 1_500;
/** … and for who comes to have read all and to be alone, … */
const COMES_MS = 40;
/** … and for a tab that is busy to ask for something. */
const ASKS_MS = 700;

export class Duels {
  readonly #browser: Browser;
  readonly #spawn: () => void;
  readonly #isBusy: (tab: Tab) => boolean;
  #isStealing = false;
  #isOver = false;

  /** @param spawn opens another tab, in which a program runs; `isBusy`: one does in this tab */
  constructor(browser: Browser, spawn: () => void, isBusy: (tab: Tab) => boolean) {
    this.#browser = browser;
    this.#spawn = spawn;
    this.#isBusy = isBusy;
  }

  /** Only one of the others stays, or a new one comes, and one of both is killed at last. */
  duel(tab: Tab, tabs: readonly Tab[]): void {
    const { world } = this.#browser;
    const { random } = world;
    const others = tabs.filter((other) => other !== tab);
    for (const other of others.slice(1)) other.kill();
    if (others.length === 0) world.at(random.next() * 60, this.#spawn);
    // Just so long that its lock is taken when it goes on, any time, or until the other has found that it is alone.
    const times = [950 + random.next() * 500, random.next() * 2500, 3_000 + random.next() * 3_000];
    const ms = random.pick(times);
    if (random.chance(0.5)) tab.freezeWhenItAsks();
    else tab.freeze();
    world.at(ms, () => tab.thaw());
    world.at(ms + 500 + random.next() * 3000, () => {
      const left = this.#browser.living.filter(this.#isBusy);
      if (left.length > 1 && random.chance(0.7)) random.pick(left).kill();
    });
  }

  /** All end while another comes: what they wrote last it has to find, though it may have read before. */
  succeed(tabs: readonly Tab[]): void {
    const { world } = this.#browser;
    this.#spawn();
    for (const tab of tabs) world.at(world.random.next() * COMES_MS, () => tab.kill());
  }

  /**
   * A tab that is alone stands still as soon as it has asked for a write, and goes on when another has taken its lock and is alone in its
   * turn: what it has asked for arrives then, and the news of the theft, most likely, after that.
   */
  async steal(tab: Tab, tabs: readonly Tab[]): Promise<void> {
    if (this.#isStealing) return;
    this.#isStealing = true;
    const { world } = this.#browser;
    const { random } = world;
    for (const other of tabs) if (other !== tab) other.kill();
    await this.#until(() => this.#hasAlone(tab));
    if (this.#isOver) return;
    if (random.chance(0.2)) return this.#putAway(tab);
    // A commit that is not checked, as of who is sure to be alone; or anything.
    if (random.chance(0.7)) tab.freezeWhenItWrites('log');
    else tab.freezeWhenItAsks();
    await this.#until(() => tab.isFrozen || tab.isDead, ASKS_MS);
    if (this.#isOver) return;
    if (!tab.isFrozen) tab.freeze();
    this.#spawn();
    const isNext = (other: Tab): boolean => other !== tab && this.#hasAlone(other);
    const { locks } = this.#browser;
    const next = (): Tab | undefined => this.#browser.living.find(isNext);
    if (random.chance(0.3)) {
      await this.#until(() => locks.thief(PRESENCE) !== undefined || next() !== undefined);
      locks.thief(PRESENCE)?.kill();
      this.#spawn();
    }
    await this.#until(() => next() !== undefined);
    const thief = next();
    await this.#sleep(random.next() * (random.chance(0.5) ? 20 : 500));
    tab.thaw(random.chance(0.8));
    await this.#sleep(300 + random.next() * 1_000);
    if (random.chance(0.6) && !this.#isOver) thief?.kill();
    this.#isStealing = false;
  }

  /** A tab that is alone is put away, and another comes, which finds the lock free. */
  async #putAway(tab: Tab): Promise<void> {
    tab.putAway(AWAY_MS);
    this.#spawn();
    await this.#sleep(2 * AWAY_MS);
    this.#isStealing = false;
  }

  /** What stands still is made to go on by somebody else, and nothing happens any more. */
  end(): void {
    this.#isOver = true;
  }

  #hasAlone(tab: Tab): boolean {
    return this.#browser.locks.sole(PRESENCE) === tab && !tab.isFrozen;
  }

  async #until(isSo: () => boolean, patienceMs = PATIENCE_MS): Promise<void> {
    for (let ms = 0; ms < patienceMs && !isSo(); ms += LOOK_MS) await this.#sleep(LOOK_MS);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#browser.world.at(ms, resolve));
  }
}
