/**
 * What every topic of the suite is given: fresh databases that no other test sees, and the features that decide which
 * tests apply. A test that does not apply is skipped by name with its reason, never silently.
 */
import { afterEach, describe, expect, it } from 'vitest';
import type { TestDatabase } from './types';

/** What a database under test can do, beyond what all can. */
export interface Features {
  /** It runs in this context: functions and objects reach it as they are, not as JSON or structured clones. */
  readonly local: boolean;
  /** Methods also take a node-style callback. */
  readonly callbacks: boolean;
  /** `changes` takes a filter function. */
  readonly filterFunctions: boolean;
  /** `changes` runs filter and view functions stored as source text in design documents. */
  readonly storedFunctions: boolean;
  /** The names and options of the constructor are checked by the object under test. */
  readonly constructorChecks: boolean;
  /** `prefix` in the options is put before the stored name. */
  readonly prefix: boolean;
  /** `revs_limit`, `auto_compaction` and `deterministic_revs` may be set where the handle is opened. */
  readonly databaseOptions: boolean;
  /** `query` takes a view that is stored nowhere. */
  readonly temporaryViews: boolean;
  /** A handle emits `indexing`, and `error` where functions of views throw. */
  readonly viewEvents: boolean;
  /** Design documents are stored whatever is wrong with their views. */
  readonly uncheckedDesigns: boolean;
  /** `purge` is offered. */
  readonly purge: boolean;
  /** `_local/compaction` records how far compaction got. */
  readonly compactionRecord: boolean;
  /** A handle emits `destroyed` and `closed`. */
  readonly events: boolean;
  /** Every call takes an `AbortSignal`. */
  readonly signals: boolean;
  /** Feeds can be iterated with `for await`. */
  readonly iteration: boolean;
  /** A deleted leaf can be followed by `latest` (CouchDB over HTTP cannot). */
  readonly latestTombstone: boolean;
  /** It stores attachments, and answers them by all of its reads. */
  readonly attachments: boolean;
  /** Stubs may name content that is stored under another document, `_local/` documents may have attachments: PouchDB's own. */
  readonly localAttachments: boolean;
  /** Only topics are run whose tests open a database more than once. To others it is the same when each handle has a context of its own. */
  readonly onlySeveral: boolean;
}

/** A database in this context with everything that binds now; callbacks belong to a later entry. */
export const LOCAL_FEATURES: Features = {
  local: true,
  callbacks: false,
  filterFunctions: true,
  storedFunctions: true,
  constructorChecks: true,
  prefix: true,
  databaseOptions: true,
  temporaryViews: true,
  viewEvents: true,
  uncheckedDesigns: true,
  purge: true,
  compactionRecord: true,
  events: true,
  signals: true,
  iteration: true,
  latestTombstone: true,
  attachments: true,
  localAttachments: true,
  onlySeveral: false,
};

/** Opens a handle; two handles of one name are handles on one database. */
export type Open = (name: string, options?: object) => TestDatabase;

interface Opened {
  readonly handle: TestDatabase;
  readonly name: string;
  readonly options: object | undefined;
}

let count = 0;
const run = Math.random().toString(36).slice(2, 8);

/** One per suite; {@link Context.cleanUp} runs after each test. */
export class Context {
  readonly features: Features;
  readonly #open: Open;
  /** Names that nobody uses again. */
  readonly #names = new Set<string>();
  #opened: Opened[] = [];

  constructor(open: Open, features: Features) {
    this.#open = open;
    this.features = features;
  }

  /** A name no other test has, in this run or another. */
  name(): string {
    count += 1;
    const name = `conformance-${run}-${count}`;
    this.#names.add(name);
    return name;
  }

  /** A handle on the database of this name, closed after the test; a name that is not {@link name}'s is free again then. */
  open(name: string, options?: object): TestDatabase {
    const handle = options === undefined ? this.#open(name) : this.#open(name, options);
    this.#opened.push({ handle, name, options });
    return handle;
  }

  /** A handle on a new, empty database. */
  fresh(options?: object): TestDatabase {
    return this.open(this.name(), options);
  }

  /** Two handles on one new, empty database. */
  pair(options?: object): [TestDatabase, TestDatabase] {
    const name = this.name();
    return [this.open(name, options), this.open(name, options)];
  }

  /** A test that needs a feature; without it, one that is skipped and says so. */
  when(feature: keyof Features, title: string, test: () => Promise<void>): void {
    if (this.features[feature]) it(title, test);
    else omit(title, `this database is tested without '${feature}'`);
  }

  /** Whether the test has opened a database more than once. */
  get hasSeveral(): boolean {
    return new Set(this.#opened.map(({ name }) => name)).size < this.#opened.length;
  }

  /**
   * Closes what the test left open, and destroys the databases whose names it chose. The others go with the folder, the profile or
   * the process that they are in: to open and destroy one in Chromium takes longer than most tests.
   */
  async cleanUp(): Promise<void> {
    const opened = this.#opened;
    this.#opened = [];
    // A test may have closed or destroyed its handle itself; a second close may then reject.
    await Promise.allSettled(opened.map(({ handle }) => handle.close()));
    const chosen = new Map(
      opened
        .filter(({ name }) => !this.#names.has(name))
        .map((one) => [JSON.stringify([one.name, (one.options as { prefix?: string })?.prefix]), one]),
    );
    this.#names.clear();
    for (const { name, options } of chosen.values()) {
      await (options === undefined ? this.#open(name) : this.#open(name, options)).destroy();
    }
  }
}

/** What each topic is called, and the tests of it. */
export type Topics = Readonly<Record<string, (context: Context) => void>>;

/** @param several the topics whose tests open a database more than once; no other's may */
export function declareTopics(
  name: string,
  context: Context,
  topics: Topics,
  several: readonly string[],
): void {
  describe(name, () => {
    for (const [topic, conformance] of Object.entries(topics)) {
      const hasSeveral = several.includes(topic);
      if (context.features.onlySeveral && !hasSeveral) {
        omit(`${name}: ${topic}`, 'its tests open a database once: contexts apart make no difference');
        continue;
      }
      describe(topic, () => {
        afterEach(() => {
          const why = `a database is opened more than once: '${topic}' goes with such topics`;
          if (!hasSeveral) expect(context.hasSeveral, why).toBe(false);
        });
        conformance(context);
      });
    }
    afterEach(() => context.cleanUp());
  });
}

/** Skips a test aloud: its name and the reason stand in the output. */
export function omit(title: string, reason: string): void {
  console.info(`omitted: ${title} (${reason})`);
  it.skip(`${title} (omitted: ${reason})`, () => {});
}
