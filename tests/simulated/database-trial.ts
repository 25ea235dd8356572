/** One trial of whole databases: programs in several tabs while things happen to them, then a last look at everything. */
import { DATABASE, type DatabaseExports, DatabaseLife } from './database-life';
import { Known } from './known';
import { type Kind, Moves } from './moves';
import { Browser } from './platform/browser';
import { Program } from './platform/program';
import type { Engine } from './platform/storage';
import { World } from './platform/world';

export interface DatabaseKind extends Kind {
  readonly name: string;
  readonly engine: Engine;
  readonly lastsMs: number;
}

/** Within this every call settles once nothing happens any more. */
const SETTLES_MS = 120_000;
/** A feed that has lost its channel looks every 20 seconds. */
const FOLLOWS_MS = 45_000;

let program: Program<DatabaseExports> | undefined;

export class DatabaseTrial {
  readonly world: World;
  readonly #browser: Browser;
  readonly #kind: DatabaseKind;
  readonly #known: Known;
  readonly #lives: DatabaseLife[] = [];

  constructor(seed: number, kind: DatabaseKind) {
    this.world = new World(seed);
    this.#browser = new Browser(this.world, kind.engine);
    this.#known = new Known(this.world);
    this.#kind = kind;
  }

  /** @returns the first thing that was wrong, if anything was */
  async run(): Promise<string | undefined> {
    program ??= await Program.of<DatabaseExports>(DATABASE, new Browser(new World(0)).open());
    const { world } = this;
    const { tabs, lastsMs } = this.#kind;
    const isBusy = (tab: object): boolean => this.#lives.some((life) => life.tab === tab && !life.isOver);
    const moves = new Moves(this.#browser, this.#kind, () => this.#begin(), isBusy);
    for (let i = 0; i < tabs; i++) world.at(0, () => this.#begin());
    moves.begin(lastsMs);
    await world.run(lastsMs, () => this.#isWrong);
    moves.end();
    await world.run(lastsMs + SETTLES_MS, () => this.#isWrong || this.#living.every(({ isOver }) => isOver));
    for (const { tab, calls } of this.#living)
      for (const call of calls.running) world.wrong(`${tab.name}: ${call} has not settled`);
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

  #begin(): void {
    const life = this.#makeLife();
    life
      .run(this.#kind.lastsMs)
      .catch((error: Error) => this.world.wrong(`${life.tab.name}: ${error.stack}`));
  }

  #makeLife(): DatabaseLife {
    const tab = this.#browser.open();
    const life = new DatabaseLife(this.world, this.#known, tab, program!.run(tab));
    this.#lives.push(life);
    return life;
  }

  async #look(): Promise<void> {
    const { world } = this;
    world.at(0, () => {
      const life = this.#makeLife();
      this.#lookWith(life).catch((error: Error) => world.wrong(`the last look failed: ${error.stack}`));
    });
    const isOver = (): boolean => this.#lives.at(-1)?.isOver === true;
    const lives = this.#lives.length;
    await world.run(world.now + SETTLES_MS, () => this.#isWrong || (this.#lives.length > lives && isOver()));
    if (!isOver()) world.wrong('the last look has not ended');
  }

  async #lookWith(life: DatabaseLife): Promise<void> {
    await this.#compare(life);
    await this.#compareFeeds(life);
    await life.db.compact();
    await this.#compare(life);
    await life.db.close();
    life.open(false);
    await this.#compare(life);
    await life.db.close();
    life.isOver = true;
  }

  /** Counters, lists, changes, finds and the view say the same. */
  async #compare(life: DatabaseLife): Promise<void> {
    await life.all();
    const { db } = life;
    const info = await db.info();
    const { rows } = await db.allDocs({ include_docs: true, conflicts: true });
    const docs = rows.map((row) => (row as unknown as { doc: Record<string, unknown> }).doc);
    const changes = await db.changes({ since: 0 });
    const results = 'results' in changes ? changes.results : [];
    const deleted = results.filter((change) => change.deleted === true).length;
    const view = await db.query('byK', { reduce: false });
    this.#same('doc_count', info.doc_count, docs.length);
    this.#same('update_seq', info.update_seq, 'last_seq' in changes ? changes.last_seq : undefined);
    this.#same('the number of changes', results.length, docs.length + deleted);
    this.#same('doc_del_count', info.doc_del_count, deleted);
    this.#same('the number of conflicts', docs.filter((doc) => '_conflicts' in doc).length, 0);
    const inView = view.rows.map(({ id, key, value }) => `${key} ${id} ${value}`);
    this.#same(
      'the view',
      inView.sort().join(),
      docs
        .map((doc) => `${doc.k} ${doc._id} ${doc.n}`)
        .sort()
        .join(),
    );
    for (const k of new Set(docs.map((doc) => doc.k))) {
      const { docs: found } = await db.find({ selector: { k } as never, limit: 10_000 });
      this.#same(`what is found of ${k}`, found.length, docs.filter((doc) => doc.k === k).length);
    }
  }

  /** Each feed has told of each document's last change. */
  async #compareFeeds(life: DatabaseLife): Promise<void> {
    const changes = await life.db.changes({ since: 0 });
    const results = 'results' in changes ? changes.results : [];
    for (const { tab, followed } of this.#living) {
      if (followed === undefined || tab === life.tab) continue;
      for (const { id, seq } of results)
        this.#same(`the feed of ${tab.name} about ${id}`, followed.get(id), Number(seq));
    }
  }

  #same(what: string, found: unknown, wanted: unknown): void {
    if (found !== wanted) this.world.wrong(`${what} is ${found}, where it is ${wanted}`);
  }
}
