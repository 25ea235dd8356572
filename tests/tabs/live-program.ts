/** What runs in each tab of the tests of live results: subscriptions, what they were told, and what they leave behind. */
import { SettleDB } from '../../packages/settledb/src/entry.browser';
import { memory } from '../../packages/settledb/src/memory';

// biome-ignore lint/suspicious/noExplicitAny: documents and rows of the test's own making
type Any = any;

/** For events that must come. Below the 20 s after which an idle feed looks by itself, which would hide that it heard nothing. */
const DEADLINE_MS = 15_000;

/** One result, as it was told. */
export interface Told {
  /** `[what is shown, which object it is]` for each document or row: the same number is the same object. */
  readonly parts: readonly (readonly [string, number])[];
  /** Which list it is. */
  readonly list: number;
}

interface Subscription {
  readonly told: Told[];
  readonly controller: AbortController;
  readonly leave: () => void;
  ending: string | undefined;
}

let db: SettleDB;
/** Feeds of the handle that were opened and have not ended. */
let feeds = 0;
let reads = 0;
const subscriptions = new Map<string, Subscription>();
let check = (): void => {};

const numbers = new WeakMap<object, number>();
let count = 0;
function numberOf(part: object): number {
  if (!numbers.has(part)) numbers.set(part, ++count);
  return numbers.get(part)!;
}

/** Documents have a field `n`; so has the key or the value of whatever is shown of them. */
function shownOf(part: Any): string {
  const doc = part.doc ?? part;
  return `${part.id ?? part._id ?? part.key} ${JSON.stringify(doc.n ?? part.value)}`;
}

/** Texts of documents that were parsed here, by id: what is mapped is parsed first. */
const parsed: string[] = [];
const { parse } = JSON;
JSON.parse = (text: string, reviver?: Any): Any => {
  const mark = typeof text === 'string' ? /^\{"mark":"(\w+)"/.exec(text)?.[1] : undefined;
  if (mark !== undefined) parsed.push(mark);
  return parse(text, reviver);
};
/** Changes that were indexed here, told by `indexing`. */
let indexed = 0;

const calls = {
  async open(name: string): Promise<void> {
    db = new SettleDB(name);
    const { changes, allDocs, query, find } = db;
    Object.assign(db, {
      changes: (options: object) => {
        const feed = changes(options);
        feeds++;
        feed.then(
          () => feeds--,
          () => feeds--,
        );
        return feed;
      },
      allDocs: (options: object) => {
        reads++;
        return allDocs(options);
      },
      query: (...args: Parameters<typeof query>) => {
        reads++;
        return query(...args);
      },
      find: (request: never) => {
        reads++;
        return find(request);
      },
    });
    db.on('indexing', (step) => {
      indexed += (step as { results_count?: number }).results_count ?? 0;
    });
    await db.info();
  },
  async run(
    verb: 'put' | 'get' | 'bulkDocs' | 'find' | 'createIndex' | 'info',
    ...args: unknown[]
  ): Promise<Any> {
    return (db[verb] as (...list: unknown[]) => Promise<unknown>)(...args);
  },
  async change(_id: string, n: number): Promise<void> {
    const doc = await db.get(_id).catch(() => ({ _id }));
    await db.put({ ...doc, n });
  },
  async remove(id: string): Promise<void> {
    await db.remove(await db.get(id));
  },
  /** A burst: `many` puts, none waiting for the one before. */
  async burst(prefix: string, many: number): Promise<void> {
    await Promise.all(Array.from({ length: many }, (_, n) => db.put({ _id: `${prefix}${n}`, n })));
  },
  /** Documents of another database come by replication. */
  async receive(docs: { _id: string; n: number }[]): Promise<void> {
    const other = new SettleDB('other', { adapter: memory() });
    await other.bulkDocs(docs);
    await other.replicate.to(db);
    await other.destroy();
  },
  async putAndChange(many: number): Promise<void> {
    let before: { _id: string; _rev: string; n: number } | undefined;
    for (let n = 0; n < many; n++) {
      if (before !== undefined && n % 2 === 0) await db.put({ ...before, n: before.n + 0.5 });
      const _id = `d${n}`;
      before = { _id, n, _rev: (await db.put({ _id, n })).rev };
    }
  },
  /** Finds by `n` until there is this one. @returns every answer, `[id, n]` each */
  async findUntil(n: number): Promise<[string, number][][]> {
    const answers: [string, number][][] = [];
    for (;;) {
      const { docs } = await db.find({ selector: { n: { $gte: 0 } }, sort: ['n'], limit: 10_000 });
      answers.push(docs.map((doc) => [doc._id, doc.n]));
      if (docs.at(-1)?.n === n) return answers;
    }
  },

  /** Begins to hear a live result, under its name. */
  async subscribe(name: string, kind: 'find' | 'query' | 'allDocs'): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    const live: Any =
      kind === 'find'
        ? db.live.find({ selector: { n: { $gt: 0 } }, sort: ['n'], signal })
        : kind === 'query'
          ? db.live.query((doc, emit) => doc.n > 0 && emit(doc.n, doc.n), { signal })
          : db.live.allDocs({ include_docs: true, startkey: 'a', endkey: 'd\ufff0', signal });
    const told: Told[] = [];
    const subscription: Subscription = {
      told,
      controller,
      leave: live.subscribe({
        next: (result: Any) => {
          const list = result.docs ?? result.rows;
          told.push({
            parts: list.map((part: object) => [shownOf(part), numberOf(part)]),
            list: numberOf(list),
          });
          check();
        },
        complete: () => {
          subscription.ending = 'complete';
          check();
        },
        error: (error: unknown) => {
          subscription.ending = String(error);
          check();
        },
      }),
      ending: undefined,
    };
    subscriptions.set(name, subscription);
  },
  /** All that was told, as soon as the last of it shows just this. */
  told: (name: string, shown: string[]): Promise<Told[]> =>
    within(
      () => {
        const { told } = subscriptions.get(name)!;
        const last = told.at(-1)?.parts.map(([text]) => text);
        return JSON.stringify(last) === JSON.stringify(shown) ? told : undefined;
      },
      () => `${name} to show ${shown}, not ${JSON.stringify(subscriptions.get(name)!.told.at(-1)?.parts)}`,
    ),
  async abort(name: string): Promise<void> {
    subscriptions.get(name)!.controller.abort();
  },
  async leave(name: string): Promise<void> {
    subscriptions.get(name)!.leave();
  },
  ending: (name: string): Promise<string> =>
    within(
      () => subscriptions.get(name)!.ending,
      () => `the end of ${name}`,
    ),
  async counts(): Promise<{ feeds: number; reads: number; parsed: string[]; indexed: number }> {
    // Feeds end a few turns after they are cancelled.
    await new Promise((resolve) => setTimeout(resolve));
    return { feeds, reads, parsed: parsed.splice(0), indexed };
  },
} satisfies Record<string, (...args: never[]) => Promise<unknown>>;

export type LiveCalls = typeof calls;

function within<Value>(get: () => Value | undefined, what: () => string): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`Waited in vain for ${what()}`)), DEADLINE_MS);
    check = () => {
      const value = get();
      if (value === undefined) return;
      clearTimeout(timer);
      check = () => {};
      resolve(value);
    };
    check();
  });
}

Object.assign(globalThis, {
  live: (name: string, args: unknown[]) =>
    (calls as unknown as Record<string, (...list: unknown[]) => Promise<unknown>>)[name]!(...args),
});
