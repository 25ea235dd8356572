/**
 * A time in which programs destroy the database, and the browser evicts it. Then all calls come to an end, all programs meet the same database,
 * and their feeds tell of what is written into it.
 */
import type { DatabaseLife } from './database-life';
import { NAME } from './homes';
import type { Known } from './known';
import type { Moves } from './moves';
import type { Browser } from './platform/browser';

const EVICTED_MS = 2_000;
const SETTLES_MS = 120_000;
/** Within this who stood still has noticed that the database is another one: a call before that may be refused. */
const NOTICED_MS = 2_000;
/** A feed that has lost its channel looks every 20 seconds. */
const FOLLOWS_MS = 45_000;

export class Removal {
  readonly #browser: Browser;
  readonly #known: Known;
  readonly #living: () => readonly DatabaseLife[];
  readonly #begin: () => DatabaseLife;

  /** @param begin opens another tab, in which a program runs */
  constructor(
    browser: Browser,
    known: Known,
    living: () => readonly DatabaseLife[],
    begin: () => DatabaseLife,
  ) {
    this.#browser = browser;
    this.#known = known;
    this.#living = living;
    this.#begin = begin;
  }

  async run(untilMs: number, moves: Moves): Promise<void> {
    const { world } = this.#browser;
    const known = this.#known;
    known.era = undefined;
    const evict = (): void => {
      if (world.now > untilMs) return;
      known.removals++;
      this.#browser.storage.evict(`settledb:${NAME}`);
      world.at(world.random.next() * EVICTED_MS, evict);
    };
    world.at(world.random.next() * EVICTED_MS, evict);
    moves.begin(untilMs);
    await world.run(untilMs, () => this.#isWrong);
    moves.end();
    known.isQuiet = true;
    const isSettled = (): boolean => this.#living().every(({ calls }) => calls.running.length === 0);
    await world.run(world.now + SETTLES_MS, () => this.#isWrong || isSettled());
    for (const { calls } of this.#living()) calls.findUnsettled();
    await world.run(world.now + NOTICED_MS, () => this.#isWrong);
    if (!this.#isWrong) await this.#look();
    known.isQuiet = false;
    known.era = Symbol();
  }

  /** Every handle that is not closed is of the same database, and every feed tells of a last write. */
  async #look(): Promise<void> {
    const { world } = this.#browser;
    const ids = new Map<string, string>();
    let last: string | undefined;
    let following: DatabaseLife[] = [];
    const look = async (life: DatabaseLife): Promise<void> => {
      for (const { db, tab } of this.#living()) {
        const id = await db.id().catch((error: Error) => `${error.name} ${error.message}`);
        if (!id.startsWith('closed')) ids.set(id, tab.name);
      }
      following = this.#living().filter(({ feeds }) => feeds.followed !== undefined);
      last = await life.writes.post();
    };
    world.at(0, () => {
      look(this.#begin()).catch((error: Error) =>
        world.wrong(`the look at what is left failed: ${error.stack}`),
      );
    });
    const deaf = (): DatabaseLife[] =>
      following.filter(({ feeds }) => feeds.followed?.has(last ?? '') === false);
    await world.run(
      world.now + FOLLOWS_MS,
      () => this.#isWrong || (last !== undefined && deaf().length === 0),
    );
    if (ids.size !== 1)
      world.wrong(`there are several databases: ${[...ids].map(([id, name]) => `${name} ${id}`)}`);
    for (const { tab } of deaf()) world.wrong(`${tab.name} has not heard of the last write`);
  }

  get #isWrong(): boolean {
    return this.#browser.world.violations.length > 0;
  }
}
