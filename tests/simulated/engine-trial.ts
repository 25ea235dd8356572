/** One trial of the engine and its adapter: tabs that write and read one database while things happen to them, then a last look at it. */
import { ENGINE, type EngineExports, type Habits, Life, NAME } from './life';
import { Model } from './model';
import { type Kind, Moves } from './moves';
import { Browser, type BrowserKind } from './platform/browser';
import type { Key } from './platform/keys';
import { Program } from './platform/program';
import { World, type WorldOptions } from './platform/world';
import { watchThefts } from './thefts';
import type { Serial } from './writer';

export interface EngineKind extends BrowserKind, Kind, Habits, WorldOptions {
  readonly name: string;
  /** How long tabs are opened and write. */
  readonly lastsMs: number;
  /** The database is destroyed, or evicted, now and then. */
  readonly isRemoved?: boolean;
}

/** Within this every call settles once nothing happens any more: an opening, a silent storage and a lock each have their own bound. */
const SETTLES_MS = 120_000;

/** Who is the last to be there notices that when it looks, every two seconds. */
const LOOK_MS = 2_100;
const LOOKS = 5;

/** Between two visits, at most, and how late visitors are heard: they must be able to store something before. */
const VISITS_MS = 250;
const VISIT_LAG_MS = 40;

const COPY = 'copy';
/** Texts that came one by one are cut into blocks in another way than those of one write: of 50 trials none had 1.25 times as many. */
const BLOCKS_SHARE = 1.25;
const BLOCKS_MORE = 10;

/** It is the same for all trials. */
let program: Program<EngineExports> | undefined;

export class EngineTrial {
  readonly world: World;
  readonly model: Model;
  readonly browser: Browser;
  readonly #kind: EngineKind;
  readonly #lives: Life[] = [];
  readonly #serial: Serial = { next: 1 };

  constructor(seed: number, kind: EngineKind) {
    this.world = new World(seed, kind);
    this.model = new Model(this.world);
    this.model.lasts = () => {
      for (const life of this.#lives) life.lookNow();
    };
    this.browser = new Browser(this.world, kind);
    this.#kind = kind;
  }

  /** @returns the first thing that was wrong, if anything was */
  async run(): Promise<string | undefined> {
    program ??= await Program.of<EngineExports>(ENGINE, new Browser(new World(0)).open());
    const { world, browser } = this;
    const { tabs, lastsMs, isRemoved = false, isVisited = false } = this.#kind;
    const isBusy = (tab: object): boolean => this.#lives.some((life) => life.tab === tab && !life.isOver);
    const moves = new Moves(browser, this.#kind, () => this.#begin(), isBusy);
    for (let i = 0; i < tabs; i++) world.at(0, () => this.#begin());
    if (isVisited) this.#visit();
    else moves.begin(lastsMs);
    if (isRemoved) this.#remove();
    else watchThefts(browser);
    await world.run(lastsMs, () => this.#isWrong);
    moves.end();
    await world.run(lastsMs + SETTLES_MS, () => this.#isWrong || this.#hasSettled);
    for (const { tab, calls } of this.#lives)
      for (const call of tab.isDead ? [] : calls.running) world.wrong(`${tab.name}: ${call} has not settled`);
    if (!this.#isWrong && !isRemoved) await this.#look();
    return world.violations[0];
  }

  get commits(): number {
    return this.model.acknowledged;
  }

  get #isWrong(): boolean {
    return this.world.violations.length > 0;
  }

  get #hasSettled(): boolean {
    return this.#lives.every(({ tab, isOver }) => tab.isDead || isOver);
  }

  #begin(): Life {
    const life = this.#makeLife();
    this.#report(life, life.run(this.#kind.lastsMs));
    return life;
  }

  #report({ tab }: Life, running: Promise<void>): void {
    running.catch((error: Error) => this.world.wrong(`${tab.name}: ${error.stack}`));
  }

  /** Now and then a tab comes, and is closed when it has stored something. Of messages between tabs some come late. */
  #visit(): void {
    const { world } = this;
    const next = (): void => {
      if (world.now > this.#kind.lastsMs) return;
      const life = this.#makeLife();
      life.tab.lag(world.random.next() * VISIT_LAG_MS);
      this.#report(life, life.visit());
      world.at(world.random.next() * VISITS_MS, next);
    };
    world.at(VISITS_MS, next);
  }

  #makeLife(): Life {
    const tab = this.browser.open();
    const life = new Life(this.world, this.model, tab, program!.run(tab), this.#serial, this.#kind);
    this.#lives.push(life);
    return life;
  }

  #remove(): void {
    const { world, browser } = this;
    this.model.isLasting = false;
    const next = (): void => {
      if (world.now > this.#kind.lastsMs) return;
      if (world.random.chance(0.5)) browser.storage.evict(`settledb:${NAME}`);
      else {
        const tab = browser.open();
        void program!
          .run(tab)
          .indexeddb()
          .destroy(NAME)
          .then(
            () => world.note('destroyed'),
            () => {},
          );
      }
      world.at(world.random.next() * 4_000, next);
    };
    world.at(1_000 + world.random.next() * 2_000, next);
  }

  /** A last tab finds all of it, makes it small, and finds it again. */
  async #look(): Promise<void> {
    const { world } = this;
    const life = this.#makeLife();
    world.at(0, () => {
      this.#lookWith(life).catch((error: Error) => world.wrong(`the last look failed: ${error.stack}`));
    });
    await world.run(world.now + SETTLES_MS, () => this.#isWrong || life.isOver);
    if (!life.isOver) world.wrong(`the last look has not ended: ${life.calls.running}`);
  }

  async #lookWith(life: Life): Promise<void> {
    await life.open();
    await life.reader.all();
    await life.store.compact();
    await life.reader.all();
    await life.store.compact();
    await life.close();
    await life.open();
    await life.reader.all();
    await life.reader.contents();
    // Where something lacks nobody knows that others are not there, and nothing that is left over is swept.
    if (this.#kind.content !== 'none' && this.#kind.lacks === undefined) await this.#sweepWith(life);
    await life.copy(COPY);
    await life.close();
    this.#compareWithCopy();
    life.isOver = true;
  }

  /** What is left over from killed tabs goes, and nothing else. */
  async #sweepWith(life: Life): Promise<void> {
    let isSwept = await life.sweep();
    for (let i = 0; i < LOOKS && !isSwept; i++) {
      await life.reader.all(); // who asks also looks whether the others have gone
      await life.tab.sleep(LOOK_MS);
      isSwept = await life.sweep();
    }
    if (!isSwept) this.world.wrong('what is left over was not swept, though nobody else is there');
    await life.reader.contents();
    const named = await life.reader.places();
    const places = new Set(this.#keysOf('blob').map((key) => (key as string[])[0]!));
    const others = [...places].filter((place) => !named.has(place));
    if (others.length > 0) this.world.wrong(`contents that no row names are left: ${others}`);
  }

  /** Pages and texts that nothing names, left over from killed tabs, are gone: a database that was never in trouble has as many. */
  #compareWithCopy(): void {
    const blocks = this.#keysOf('block').length;
    const needed = this.#keysOf('block', COPY).length;
    if (blocks > needed * BLOCKS_SHARE + BLOCKS_MORE)
      this.world.wrong(`${blocks} blocks are left, where ${needed} are needed`);
  }

  #keysOf(store: string, name = NAME): Key[] {
    return this.browser.storage.databases.get(`settledb:${name}`)!.stores.get(store)!.keys();
  }
}
