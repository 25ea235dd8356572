/** One trial of whole databases: programs in several tabs while things happen to them, then a last look at everything. */
import { type DatabaseHabits, DatabaseLife } from './database-life';
import { DatabaseLook } from './database-look';
import { Homes } from './homes';
import { Known } from './known';
import { type Kind, Moves } from './moves';
import { Browser, type BrowserKind } from './platform/browser';
import { World } from './platform/world';
import { Removal } from './removal';
import { watchThefts } from './thefts';

export interface DatabaseKind extends BrowserKind, Kind, DatabaseHabits {
  readonly name: string;
  readonly lastsMs: number;
  /** In workers, of which one serves all tabs. */
  readonly isHosted?: boolean;
}

/** Within this every call settles once nothing happens any more. */
const SETTLES_MS = 120_000;
/** A feed that has lost its channel looks every 20 seconds. */
const FOLLOWS_MS = 45_000;

let homes: Homes | undefined;

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
    homes ??= await Homes.of(new Browser(new World(0)).open());
    const { world } = this;
    const { tabs, lastsMs, isRemoved = false } = this.#kind;
    const isBusy = (tab: object): boolean => this.#lives.some((life) => life.tab === tab && !life.isOver);
    const moves = new Moves(this.#browser, this.#kind, () => this.#begin(), isBusy);
    if (!isRemoved) watchThefts(this.#browser);
    // It is removed in the first half only, so that what is acknowledged in the second must last.
    this.#untilMs = isRemoved ? SETTLES_MS + lastsMs : lastsMs;
    for (let i = 0; i < tabs; i++) world.at(0, () => this.#begin());
    if (isRemoved) await this.#remove(moves);
    const untilMs = isRemoved ? world.now + lastsMs / 2 : lastsMs;
    this.#untilMs = untilMs;
    moves.begin(untilMs);
    await world.run(untilMs, () => this.#isWrong);
    moves.end();
    await world.run(untilMs + SETTLES_MS, () => this.#isWrong || this.#living.every(({ isOver }) => isOver));
    for (const { calls } of this.#living) calls.findUnsettled();
    if (!this.#isWrong) await world.run(world.now + FOLLOWS_MS, () => this.#isWrong);
    if (!this.#isWrong) await this.#look();
    return world.violations[0];
  }

  get #isWrong(): boolean {
    return this.world.violations.length > 0;
  }

  get #living(): DatabaseLife[] {
    return this.#lives.filter(({ tab }) => !tab.isDead);
  }

  #remove(moves: Moves): Promise<void> {
    const removal = new Removal(
      this.#browser,
      this.#known,
      () => this.#living,
      () => this.#begin(),
    );
    return removal.run(this.#kind.lastsMs / 2, moves);
  }

  #begin(): DatabaseLife {
    const life = this.#makeLife();
    life
      .run(() => this.world.now >= this.#untilMs)
      .catch((error: Error) => this.world.wrong(`${life.tab.name}: ${error.stack}`));
    return life;
  }

  #makeLife(): DatabaseLife {
    const tab = this.#browser.open();
    const home = this.#kind.isHosted ? homes!.inWorker(tab) : homes!.inPage(tab);
    const life = new DatabaseLife(this.world, this.#known, tab, home, this.#kind);
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
