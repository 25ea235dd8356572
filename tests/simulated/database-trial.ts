/** One trial of whole databases: programs in several tabs while things happen to them, then a last look at everything. */
import { DATABASE, type DatabaseExports, type DatabaseHabits, DatabaseLife } from './database-life';
import { DatabaseLook } from './database-look';
import { Known } from './known';
import { type Kind, Moves } from './moves';
import { Browser, type BrowserKind } from './platform/browser';
import { Program } from './platform/program';
import { World } from './platform/world';
import { watchThefts } from './thefts';

export interface DatabaseKind extends BrowserKind, Kind, DatabaseHabits {
  readonly name: string;
  readonly lastsMs: number;
}

/** Within this every call settles once nothing happens any more. */
const SETTLES_MS = 120_000;
/** A feed that has lost its channel looks every 20 seconds. */
const FOLLOWS_MS = 45_000;
const EVICTED_MS = 2_000;
/** Within this who stood still has noticed that the database is another one: a call before that may be refused. */
const NOTICED_MS = 2_000;

let program: Program<DatabaseExports> | undefined;

export class DatabaseTrial {
  readonly world: World;
  readonly #browser: Browser;
  readonly #kind: DatabaseKind;
  readonly #known: Known;
  readonly #lives: DatabaseLife[] = [];
  #untilMs = 0;

  constructor(seed: number, kind: DatabaseKind) {
    this.world = new World(seed);
    this.#browser = new Browser(this.world, kind);
    this.#known = new Known(this.world);
    this.#kind = kind;
  }

  /** @returns the first thing that was wrong, if anything was */
  async run(): Promise<string | undefined> {
    program ??= await Program.of<DatabaseExports>(DATABASE, new Browser(new World(0)).open());
    const { world } = this;
    const { tabs, lastsMs, isRemoved = false } = this.#kind;
    const isBusy = (tab: object): boolean => this.#lives.some((life) => life.tab === tab && !life.isOver);
    const moves = new Moves(this.#browser, this.#kind, () => this.#begin(), isBusy);
    if (!isRemoved) watchThefts(this.#browser);
    // It is removed in the first half only, so that what is acknowledged in the second must last.
    this.#untilMs = isRemoved ? SETTLES_MS + lastsMs : lastsMs;
    for (let i = 0; i < tabs; i++) world.at(0, () => this.#begin());
    if (isRemoved) await this.#removeUntil(lastsMs / 2, moves);
    const untilMs = isRemoved ? world.now + lastsMs / 2 : lastsMs;
    this.#untilMs = untilMs;
    moves.begin(untilMs);
    await world.run(untilMs, () => this.#isWrong);
    moves.end();
    await world.run(untilMs + SETTLES_MS, () => this.#isWrong || this.#living.every(({ isOver }) => isOver));
    this.#findUnsettled();
    if (!this.#isWrong) await world.run(world.now + FOLLOWS_MS, () => this.#isWrong);
    if (!this.#isWrong) await this.#look();
    return world.violations[0];
  }

  /** Programs destroy it, and the browser evicts it. Then all calls come to an end, before a database that stays is made. */
  async #removeUntil(untilMs: number, moves: Moves): Promise<void> {
    const { world } = this;
    this.#known.era = undefined;
    const evict = (): void => {
      if (world.now > untilMs) return;
      this.#browser.storage.evict('settledb:db');
      world.at(world.random.next() * EVICTED_MS, evict);
    };
    world.at(world.random.next() * EVICTED_MS, evict);
    moves.begin(untilMs);
    await world.run(untilMs, () => this.#isWrong);
    moves.end();
    this.#known.isQuiet = true;
    const isSettled = (): boolean => this.#living.every(({ calls }) => calls.running.length === 0);
    await world.run(world.now + SETTLES_MS, () => this.#isWrong || isSettled());
    this.#findUnsettled();
    await world.run(world.now + NOTICED_MS, () => this.#isWrong);
    this.#known.isQuiet = false;
    this.#known.era = Symbol();
  }

  #findUnsettled(): void {
    for (const { tab, calls } of this.#living)
      for (const call of calls.running) this.world.wrong(`${tab.name}: ${call} has not settled`);
  }

  get #isWrong(): boolean {
    return this.world.violations.length > 0;
  }

  get #living(): DatabaseLife[] {
    return this.#lives.filter(({ tab }) => !tab.isDead);
  }

  #begin(): void {
    const life = this.#makeLife();
    life
      .run(() => this.world.now >= this.#untilMs)
      .catch((error: Error) => this.world.wrong(`${life.tab.name}: ${error.stack}`));
  }

  #makeLife(): DatabaseLife {
    const tab = this.#browser.open();
    const life = new DatabaseLife(this.world, this.#known, tab, program!.run(tab), this.#kind);
    this.#lives.push(life);
    return life;
  }

  async #look(): Promise<void> {
    const { world } = this;
    let isOver = false;
    const look = new DatabaseLook(
      this.#browser,
      () => this.#living,
      () => this.#makeLife(),
    );
    world.at(0, () => {
      look.run().then(
        () => {
          isOver = true;
        },
        (error: Error) => world.wrong(`the last look failed: ${error.stack}`),
      );
    });
    await world.run(world.now + SETTLES_MS, () => this.#isWrong || isOver);
    if (!isOver) world.wrong('the last look has not ended');
  }
}
