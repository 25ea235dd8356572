/**
 * What a program in one tab does: it opens the database, writes, reads, compacts, sweeps, closes and opens again. Each
 * read is compared with the model.
 */

import type { indexeddb } from '@settledb/adapter-indexeddb';
import type { Journal, openLogStore } from '@settledb/engine';
import { Calls } from './calls';
import type { Model } from './model';
import type { Tab } from './platform/tab';
import type { World } from './platform/world';
import { Reader, type Rows, schema, type TrialStore } from './rows';
import { type Serial, Writer } from './writer';

/** What the program in each tab exports. */
export interface EngineExports {
  readonly indexeddb: typeof indexeddb;
  readonly openLogStore: typeof openLogStore;
}
export const ENGINE = `
  export { indexeddb } from './adapters/indexeddb/src/index';
  export { openLogStore } from './packages/engine/src/index';
`;

/** How much of what a tab does has to do with content. */
export type Content = 'none' | 'some' | 'much';
/** How many of its writes have some. */
const CONTENT_OF_WRITES = { none: 0, some: 0.3, much: 0.8 };
/** How many of its calls sweep, and as many look at all contents. */
const SWEEPS = { none: 0, some: 0.01, much: 0.04 };

export interface Habits {
  /** How much of what tabs do has to do with content. */
  readonly content: Content;
  /** How many tabs only read. Who writes nothing meets nobody else's writes, and has to hear of them, or ask. */
  readonly readers: number;
  /** One tab sweeps all the time, while others come, store content, and go. */
  readonly isVisited?: boolean;
}

/** The name of the database. */
export const NAME = 'db';
/** Small, so that texts have to be loaded. */
const TEXT_CACHE_LENGTH = 2_000;
/** Tries at opening, with pauses: a storage that is taken away for a while, or full. */
const OPENINGS = 5;
const PAUSE_MS = 500;
/** Rows that are asked for one after the other, with pauses. */
const WALK = 5;
const WALK_MS = 40;

/**
 * That only who is alone sweeps merely spares others that they have to store contents again. Here one does so beside them: what is to be
 * dropped, and what is named, must exclude each other without that.
 */
function sweepsBesideOthers(journal: Journal): void {
  const { alone } = journal;
  const { places } = journal.blobs;
  let isNext = false;
  journal.blobs.places = async () => {
    const found = await places();
    isNext = found.length > 0; // then it is asked next, in the same task
    return found;
  };
  journal.alone = () => {
    const isAlone = isNext || alone.call(journal);
    isNext = false;
    return isAlone;
  };
}

export class Life {
  readonly tab: Tab;
  readonly calls: Calls;
  isOver = false;
  readonly #world: World;
  readonly #model: Model;
  readonly #exports: EngineExports;
  readonly #writer: Writer;
  readonly #habits: Habits;
  /** Some people are in no hurry. */
  readonly #pace: number;
  readonly #onlyReads: boolean;
  /** How often others look, at once, after each call. */
  readonly #looks: number;
  readonly #steps = new Set<Promise<void>>();
  #leaving: Promise<void> | undefined;
  #store: TrialStore | undefined;
  #reader: Reader | undefined;

  constructor(world: World, model: Model, tab: Tab, exports: EngineExports, serial: Serial, habits: Habits) {
    this.tab = tab;
    this.calls = new Calls(world, tab);
    this.#world = world;
    this.#model = model;
    this.#exports = exports;
    this.#writer = new Writer(world, model, tab, serial);
    this.#habits = habits;
    this.#onlyReads = world.random.chance(habits.readers);
    this.#looks = world.random.chance(this.#onlyReads ? 0.5 : 0.3) ? 8 : 0;
    this.#pace = world.random.chance(0.5) ? 1 : 6;
  }

  get reader(): Reader {
    return this.#reader!;
  }

  get store(): TrialStore {
    return this.#store!;
  }

  async run(untilMs: number): Promise<void> {
    const { random } = this.#world;
    await this.open();
    while (this.#world.now < untilMs) {
      await this.#leaving;
      if (this.#store === undefined) break;
      const doing = this.#step(random.next()).finally(() => this.#steps.delete(doing));
      this.#steps.add(doing);
      // Mostly one call after the other; others beside it, or long before.
      if (random.chance(0.85)) await doing;
      for (let i = 0; i < this.#looks; i++) {
        await this.tab.sleep(random.next() * 4);
        this.#now();
      }
      if (random.chance(0.3)) await this.tab.sleep(random.next() * 40 * this.#pace);
      if (random.chance(0.02)) await this.tab.sleep(random.next() * 1500 * this.#pace);
      this.#now();
    }
    await Promise.all(this.#steps);
    await this.close();
    this.isOver = true;
  }

  async open(): Promise<void> {
    const { indexeddb, openLogStore } = this.#exports;
    for (let i = 0; i < OPENINGS && this.#store === undefined; i++) {
      await this.calls.call('open', async () => {
        const opening = indexeddb().open(NAME);
        if (this.#habits.isVisited) sweepsBesideOthers(await opening);
        this.#store = await openLogStore<Rows>(opening, schema, { textCacheLength: TEXT_CACHE_LENGTH });
      });
      if (this.#store === undefined) await this.tab.sleep(PAUSE_MS);
    }
    if (this.#store === undefined) return;
    this.#reader = new Reader(this.#world, this.#model, this.tab.name, this.#store);
    // Not always, as who listens asks more.
    if (this.#world.random.chance(0.5)) this.#store.watch(() => this.#now());
  }

  async close(): Promise<void> {
    const store = this.#store;
    this.#store = undefined;
    if (store !== undefined) await this.calls.call('close', () => store.close());
  }

  /** Stores something, and is closed. */
  async visit(): Promise<void> {
    await this.open();
    const { random } = this.#world;
    const store = this.#store;
    for (let i = 0; i <= random.below(2) && store !== undefined; i++)
      await this.calls.call('write', () => this.#writer.write(store, 1));
    await this.close();
    this.isOver = true;
    this.tab.kill();
  }

  /** If it is one who looks often. */
  lookNow(): void {
    if (this.#looks > 0) this.#world.at(0, () => this.#now(), this.tab);
  }

  async #step(chance: number): Promise<void> {
    const store = this.#store!;
    const reader = this.#reader!;
    const { content, isVisited = false } = this.#habits;
    const sweeps = SWEEPS[content];
    let error: Error | undefined;
    if (isVisited && this.#world.random.chance(0.7)) {
      await this.calls.call('sweep', () => this.sweep());
      return;
    }
    if (chance < 0.05) error = await this.calls.call('write nothing', () => this.#writer.writeNothing(store));
    else if (chance < 0.5 && !this.#onlyReads)
      error = await this.calls.call('write', () => this.#writer.write(store, CONTENT_OF_WRITES[content]));
    else if (chance < 0.6) error = await this.calls.call('read all', () => reader.all());
    else if (chance < 0.75) error = await this.calls.call('read some', () => reader.some());
    else if (chance < 0.88) error = await this.calls.call('read the next', () => this.#walk(reader));
    else if (chance < 0.9) error = await this.calls.call('compact', () => store.compact());
    else if (chance < 0.9 + sweeps) error = await this.calls.call('sweep', () => this.sweep());
    else if (chance < 0.9 + 2 * sweeps) error = await this.calls.call('contents', () => reader.contents());
    else if (chance > 0.98) await this.#leave();
    else this.#now();
    // As a program that is told that its database is gone: it opens the next.
    if (error?.name === 'closed' && this.#store === store) await this.#leave();
  }

  /** Row after row, while others write and cover what they wrote. */
  async #walk(reader: Reader): Promise<void> {
    for (let i = 0; i < WALK; i++) {
      await reader.next();
      await this.tab.sleep(this.#world.random.next() * WALK_MS);
    }
  }

  async sweep(): Promise<boolean> {
    return this.store.blobs.sweep(() => this.reader.places());
  }

  /** One at a time, whoever asks for it. */
  #leave(): Promise<void> {
    this.#leaving ??= this.#leaveOnce().finally(() => {
      this.#leaving = undefined;
    });
    return this.#leaving;
  }

  /** Writes all rows into another database, and makes it small. */
  async copy(name: string): Promise<void> {
    const { indexeddb, openLogStore } = this.#exports;
    const [meta, docs, past] = await this.store.read([
      { from: 'meta', range: {} },
      { from: 'docs', range: {}, texts: true },
      { from: 'past', range: {}, texts: true },
    ]);
    const copy = await openLogStore<Rows>(indexeddb().open(name), schema);
    const writes = [
      { into: 'meta', put: meta },
      { into: 'docs', put: docs },
      { into: 'past', put: past },
    ] as const;
    await copy.write([], () => ({ writes, value: undefined }));
    await copy.compact();
    await copy.close();
  }

  async #leaveOnce(): Promise<void> {
    await this.close();
    await this.tab.sleep(this.#world.random.next() * 100);
    await this.open();
  }

  #now(): void {
    try {
      if (this.#store !== undefined) this.#reader?.now();
    } catch (cause) {
      this.calls.failed('read now', cause as Error);
    }
  }
}
