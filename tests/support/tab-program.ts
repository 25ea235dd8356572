/**
 * What runs in each context of the tests of several tabs: a `SettleDB` in IndexedDB, driven from the test. The same script is
 * the program of the page and of the workers the page starts; the test speaks to either through `tabs.ts`.
 */
import {
  type Change,
  type ChangesFeed,
  type ChangesResult,
  SettleDB,
} from '../../packages/settledb/src/entry.browser';
import { mixture } from './tab-mixture';

/** For events that must come. Below the 20 s after which an idle feed looks by itself, which would hide that it heard nothing. */
const DEADLINE_MS = 15_000;

let db: SettleDB;
/** How often `destroyed` was told to this context's first handle. */
let destructions = 0;
let tellDestroyed = (): void => {};
let feed: ChangesFeed;
const followed: Change[] = [];
let checkFollowed = (): void => {};

/** Revisions that this context mapped for the view `byN`, each as often as it did. */
const mapped: string[] = [];
function countedByN(doc: { _id: string; _rev: string; n?: number }, emit: (key: unknown) => void): void {
  mapped.push(`${doc._id} ${doc._rev}`);
  if (doc.n !== undefined) emit(doc.n);
}

/** A call's answer as plain data: errors lose their fields on the way out of a page. */
export type Answer = { readonly value: unknown } | { readonly name: string; readonly status?: number };

const settle = (call: Promise<unknown>): Promise<Answer> =>
  call.then(
    (value) => ({ value }),
    (error) => ({ name: error.name, status: error.status }),
  );

async function put(_id: string, size = 0): Promise<string> {
  return (await db.put({ _id, text: 'x'.repeat(size) })).rev;
}

/** Adds one to `n` of document `id`, until it is not beaten to it. @returns how often it was */
async function increment(id: string): Promise<number> {
  for (let beaten = 0; ; beaten++) {
    const doc = await db.get(id);
    const answer = await settle(db.put({ ...doc, n: doc.n + 1 }));
    if ('value' in answer) return beaten;
    if (answer.status !== 409) throw new Error(`refused with ${JSON.stringify(answer)}`);
  }
}

type Verb = 'put' | 'get' | 'allDocs' | 'info' | 'bulkDocs' | 'revsDiff' | 'compact' | 'query';

const run = (verb: Verb, args: unknown[]): Promise<Answer> =>
  settle((db[verb] as (...list: unknown[]) => Promise<unknown>)(...args));

const calls = {
  async open(name: string): Promise<void> {
    db = new SettleDB(name, { views: { byN: countedByN } });
    db.on('destroyed', () => {
      destructions++;
      tellDestroyed();
    });
    await db.info();
  },
  /** Any verb of the database. */
  run: (verb: Verb, ...args: unknown[]) => run(verb, args),
  /** Stands still (with a debugger attached), and calls the verb before it has heard anything of what happened meanwhile. */
  async stopThenRun(verb: Verb, ...args: unknown[]): Promise<Answer> {
    // biome-ignore lint/suspicious/noDebugger: the test is the debugger
    debugger;
    return run(verb, args);
  },
  /** Calls the verb, and stands still before anything of it has been done. */
  async runThenStop(verb: Verb, ...args: unknown[]): Promise<Answer> {
    const running = run(verb, args);
    // biome-ignore lint/suspicious/noDebugger: as above
    debugger;
    return running;
  },
  /** What a page hears when the browser freezes it, and when it thaws. */
  async hear(event: 'freeze' | 'resume'): Promise<void> {
    document.dispatchEvent(new Event(event));
  },
  /** What `byN` mapped here since the last call. */
  mapped: async (): Promise<string[]> => mapped.splice(0),
  /** Writes documents `d0` … with `n` 0 …; after every other one it changes the one before, to `n` + 0.5. */
  async putAndChange(count: number): Promise<void> {
    let before: { _id: string; _rev: string; n: number } | undefined;
    for (let n = 0; n < count; n++) {
      if (before !== undefined && n % 2 === 0) await db.put({ ...before, n: before.n + 0.5 });
      const _id = `d${n}`;
      before = { _id, n, _rev: (await db.put({ _id, n })).rev };
    }
  },
  /** Queries `byN` until it has the row of this key. @returns every answer */
  async queryUntil(key: number): Promise<{ update_seq: unknown; rows: unknown[] }[]> {
    const answers: { update_seq: unknown; rows: unknown[] }[] = [];
    for (;;) {
      const { update_seq, rows } = await db.query('byN', { update_seq: true });
      answers.push({ update_seq, rows: rows.map((row) => [row.id, row.key]) });
      if (rows.at(-1)?.key === key) return answers;
    }
  },
  changes: async () => (await db.changes()) as ChangesResult,
  /** The same with a handle made for it. */
  async infoOfNew(name: string) {
    const other = new SettleDB(name);
    const info = await other.info();
    await other.close();
    return info;
  },

  /** Writes one after the other. @returns revisions by id */
  async putEach(prefix: string, count: number, size = 0): Promise<Record<string, string>> {
    const revs: Record<string, string> = {};
    for (let i = 0; i < count; i++) revs[`${prefix} ${i}`] = await put(`${prefix} ${i}`, size);
    return revs;
  },
  async putAtOnce(prefix: string, count: number): Promise<number> {
    return (await Promise.all(Array.from({ length: count }, (_, i) => put(`${prefix} ${i}`)))).length;
  },
  /** Writes without end, each acknowledgement told to the console; ends with the page. */
  async putForEver(prefix: string, size = 0): Promise<void> {
    for (let i = 0; ; i++) {
      await put(`${prefix} ${i}`, size);
      console.log(`${prefix} ${i}`);
    }
  },
  /** As `putForEver`, with `perCall` documents at a time, called `<prefix> <call> <index>`. */
  async bulkForEver(prefix: string, perCall: number): Promise<void> {
    for (let i = 0; ; i++) {
      const docs = Array.from({ length: perCall }, (_, k) => ({
        _id: `${prefix} ${i} ${k}`,
        text: 'x'.repeat(500),
      }));
      await db.bulkDocs(docs);
      console.log(`${prefix} ${i}`);
    }
  },
  /** @returns conflicts met */
  async increments(ids: string[], rounds: number): Promise<number> {
    let beaten = 0;
    for (let i = 0; i < rounds; i++) for (const id of ids) beaten += await increment(id);
    return beaten;
  },
  mixture: (who: string, seed: number, steps: number) => mixture(db, who, seed, steps),

  /** Begins a live feed over everything. */
  async follow(): Promise<void> {
    feed = db.changes({ live: true, since: 0 });
    feed.on('change', (change) => {
      followed.push(change as Change);
      checkFollowed();
    });
  },
  /** How it ended, once it has. */
  feedEnd: (): Promise<Answer> =>
    within('the end of the feed', (resolve) => settle(feed.finally()).then(resolve)),
  /** What the feed has told, as soon as the last it told of each of these documents is this revision. */
  followed: (revs: Record<string, string>): Promise<Change[]> =>
    within(`the last changes of ${Object.keys(revs).length} documents`, (resolve) => {
      const waiting = new Map(Object.entries(revs));
      let read = 0;
      checkFollowed = () => {
        for (; read < followed.length; read++) {
          const { id, changes } = followed[read]!;
          if (revs[id] === changes[0]!.rev) waiting.delete(id);
          else if (Object.hasOwn(revs, id)) waiting.set(id, revs[id]!);
        }
        if (waiting.size === 0) resolve(followed);
      };
      checkFollowed();
    }),

  /** The first word of the event, from now on. */
  async blocked(): Promise<string> {
    return new Promise((resolve) => db.once('blocked', resolve));
  },
  destroy: async () => settle(db.destroy()),
  /** How often the handle heard of it, once it has. */
  destroyed: (): Promise<number> =>
    within('destroyed', (resolve) => {
      tellDestroyed = () => {
        if (destructions > 0) resolve(destructions);
      };
      tellDestroyed();
    }),

  /** Whether this context holds the presence lock for itself alone, and so need not ask the storage. */
  async isSolo(name: string): Promise<boolean> {
    await db.info(); // what looks whether others have gone is a read
    return navigator.locks.request(`${Math.random()}`, async (own) => {
      const { held = [] } = await navigator.locks.query();
      const me = held.find((lock) => lock.name === own!.name)!.clientId;
      const presence = `settledb:${name}:presence`;
      return held.some((lock) => lock.clientId === me && lock.name === presence && lock.mode === 'exclusive');
    });
  },
  /** What lies in IndexedDB: number of the last commit, and epoch. */
  async stored(name: string): Promise<{ commits: number; epoch: number }> {
    const { promise, resolve, reject } = withResolvers<IDBDatabase>();
    const opening = indexedDB.open(`settledb:${name}`);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
    const raw = await promise;
    const tx = raw.transaction(['log', 'meta']);
    const [last, state] = [
      tx.objectStore('log').openKeyCursor(null, 'prev'),
      tx.objectStore('meta').get('state'),
    ];
    await new Promise((done) => tx.addEventListener('complete', done));
    raw.close();
    const { epoch, through } = state.result;
    return { commits: Math.max(through, Number(last.result?.key ?? 0)), epoch };
  },
} satisfies Record<string, (...args: never[]) => Promise<unknown>>;

export type TabCalls = typeof calls;

function within<Value>(what: string, start: (resolve: (value: Value) => void) => void): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`Waited in vain for ${what}`)), DEADLINE_MS);
    start((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });
}

function withResolvers<Value>() {
  let resolve!: (value: Value) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<Value>((...both) => {
    [resolve, reject] = both;
  });
  return { promise, resolve, reject };
}

const call = (name: string, args: unknown[]): Promise<unknown> =>
  (calls as unknown as Record<string, (...list: unknown[]) => Promise<unknown>>)[name]!(...args);

if (typeof document === 'undefined') {
  addEventListener('message', ({ data: { id, name, args } }: MessageEvent) => {
    call(name, args).then(
      (value) => postMessage({ id, value }),
      (error) => postMessage({ id, error: String(error) }),
    );
  });
} else {
  let serial = 0;
  const inWorker = (worker: Worker, name: string, args: unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = serial++;
      const hear = ({ data }: MessageEvent): void => {
        if (data.id !== id) return;
        worker.removeEventListener('message', hear);
        'error' in data ? reject(new Error(data.error)) : resolve(data.value);
      };
      worker.addEventListener('message', hear);
      worker.postMessage({ id, name, args });
    });
  const startWorker = (): Worker => new Worker('/entry.js', { type: 'module' });
  Object.assign(globalThis, { tab: { call, startWorker, inWorker } });
}
