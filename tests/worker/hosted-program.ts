/**
 * What runs in each tab of the tests of hosted databases: a handle over whichever kind of worker the test asks for, driven from the
 * test. Everything is told as plain data; a call's failure is its error's name.
 */
import type { Change, ChangesFeed } from '@settledb/core';
import { connect, type HostedSettleDB, named } from '../../packages/settledb/src/worker';

export type Kind = 'dedicated' | 'instance' | 'shared' | 'service';

/** For events that must come, with some room: well below what backstops would take. */
const DEADLINE_MS = 15_000;

let Hosted: HostedSettleDB;
let db: InstanceType<HostedSettleDB>;
let worker: Worker;
let feed: ChangesFeed;
let replication: ReturnType<typeof db.replicate.to>;
const followed: Change[] = [];
let check = (): void => {};
const events: string[] = [];
let stopped = false;
const refusals: string[] = [];

const start = (): Worker => {
  worker = new Worker('/worker.js', { type: 'module' });
  return worker;
};

async function targetOf(kind: Kind): Promise<Parameters<typeof connect>[0]> {
  if (kind === 'dedicated') return start;
  if (kind === 'instance') return start();
  if (kind === 'shared') return () => new SharedWorker('/worker.js', { type: 'module' });
  await navigator.serviceWorker.register('/worker.js', { type: 'module' });
  return navigator.serviceWorker;
}

export interface Told {
  readonly value?: unknown;
  readonly error?: string;
  readonly ms: number;
}

async function settle(call: PromiseLike<unknown>): Promise<Told> {
  const began = performance.now();
  const ms = (): number => performance.now() - began;
  return call.then(
    (value) => ({ value, ms: ms() }),
    (error: Error) => ({ error: error.name, ms: ms() }),
  );
}

const calls = {
  async open(kind: Kind, name: string, adapter: string): Promise<void> {
    Hosted = connect(await targetOf(kind), { adapters: [adapter] });
    db = new Hosted(name);
    for (const event of ['created', 'destroyed', 'closed', 'evicted'] as const)
      db.on(event, () => events.push(event));
    await db.info();
  },
  /** Any verb. */
  run: (verb: string, ...args: unknown[]): Promise<Told> =>
    settle((db as unknown as Record<string, (...list: unknown[]) => Promise<unknown>>)[verb]!(...args)),
  /** Writes until stopped; what was acknowledged is told to the console. What fails is tried again, as a program would. */
  async putForEver(prefix: string): Promise<void> {
    for (let n = 0; ; n++) {
      const answer = await settle(db.put({ _id: `${prefix} ${n}` }));
      // Tried again, it may be there already: the fate of the first was not known.
      if ('value' in answer || answer.error === 'conflict') console.log(`${prefix} ${n}`);
      else n--;
    }
  },
  /** As {@link putForEver}, until `stop`, which tells the names of the errors met. */
  async putUntilStopped(prefix: string): Promise<void> {
    for (let n = 0; !stopped; n++) {
      const answer = await settle(db.put({ _id: `${prefix} ${n}` }));
      if (answer.error !== undefined && answer.error !== 'conflict') refusals.push(answer.error);
      if ('value' in answer || answer.error === 'conflict') console.log(`${prefix} ${n}`);
      else n--;
    }
  },
  async stop(): Promise<string[]> {
    stopped = true;
    return refusals;
  },
  async putEach(prefix: string, count: number): Promise<string[]> {
    const ids: string[] = [];
    for (let n = 0; n < count; n++) {
      const _id = `${prefix} ${n}`;
      const answer = await settle(db.put({ _id }));
      if ('value' in answer || answer.error === 'conflict') ids.push(_id);
      else n--;
    }
    return ids;
  },
  async terminate(): Promise<void> {
    worker.terminate();
  },
  /** Calls, terminates the worker in the same turn or `afterMs` later, and tells how the call ended. */
  async callAndTerminate(afterMs: number | undefined, verb: string, ...args: unknown[]): Promise<Told> {
    const running = calls.run(verb, ...args);
    if (afterMs !== undefined) await new Promise((resolve) => setTimeout(resolve, afterMs));
    worker.terminate();
    return running;
  },
  /** Reads one chunk of an attachment, terminates the worker, reads on after `afterMs`, and tells how that ended. */
  async readAndTerminate(size: number, afterMs: number): Promise<Told> {
    await db.put({
      _id: 'large',
      _attachments: { f: { content_type: 'a/b', data: new Blob([new Uint8Array(size)]) } },
    });
    const { stream } = await db.openAttachment('large', 'f');
    const reader = stream.getReader();
    await reader.read();
    worker.terminate();
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    const rest = async (): Promise<void> => {
      while (!(await reader.read()).done);
    };
    return settle(rest());
  },
  /** Four writers without pause, until the worker is terminated under them at the given acknowledgement. */
  async writeAndTerminate(
    prefix: string,
    acknowledgements: number,
  ): Promise<{ acknowledged: string[]; errors: string[] }> {
    const acknowledged: string[] = [];
    const writer = async (who: number): Promise<string> => {
      for (let n = 0; ; n++) {
        const _id = `${prefix} ${who} ${n}`;
        const answer = await settle(db.put({ _id }));
        if (answer.error !== undefined) return answer.error;
        acknowledged.push(_id);
        if (acknowledged.length === acknowledgements) worker.terminate();
      }
    };
    const errors = await Promise.all([0, 1, 2, 3].map(writer));
    return { acknowledged, errors };
  },
  async follow(options: object = { live: true, since: 0 }): Promise<void> {
    feed = db.changes(options) as unknown as ChangesFeed;
    feed.on('change', (change) => {
      followed.push(change as Change);
      check();
    });
    feed.on('error', (error) => console.log(`feed failed: ${error}`));
  },
  /** The ids the feed told of, once all of these are among them. */
  followed: (ids: string[]): Promise<string[]> =>
    within(`changes of ${ids.length} documents`, (resolve) => {
      const missing = new Set(ids);
      let looked = 0;
      // Each change is looked at once: a slow machine leaves tens of thousands of them.
      check = () => {
        while (looked < followed.length) missing.delete(followed[looked++]!.id);
        if (missing.size > 0) return;
        check = () => {};
        resolve(followed.map(({ id }) => id));
      };
      check();
    }),
  async replicate(to: string): Promise<string> {
    const replication = db.replicate.to(to, { live: true, retry: true });
    await within('an idle replication', (resolve) => {
      const look = (): void => {
        if (replication.status().phase === 'idle') resolve(undefined);
        else setTimeout(look, 10);
      };
      look();
    });
    return replication.status().start_time;
  },
  /** One that waits for ten minutes when it has failed. */
  async replicateLate(to: string): Promise<void> {
    replication = db.replicate.to(to, { live: true, retry: true, back_off_function: named('late') });
    replication.catch(() => {});
  },
  async attempts(): Promise<{ phase: string; attempts: number }> {
    const { phase, attempts } = replication.status();
    return { phase, attempts };
  },
  heard: (event: string): Promise<string[]> =>
    within(event, (resolve) => {
      const look = (): void => {
        if (events.includes(event)) resolve(events);
        else setTimeout(look, 10);
      };
      look();
    }),
  /** Whether this tab's worker is the owner; and whether any is. */
  async owners(): Promise<{ held: number; waiting: number }> {
    const { held = [], pending = [] } = await navigator.locks.query();
    const isOwner = ({ name }: LockInfo): boolean => name?.startsWith('settledb:owner:') === true;
    return { held: held.filter(isOwner).length, waiting: pending.filter(isOwner).length };
  },
  async locks(): Promise<string[]> {
    const { held = [], pending = [] } = await navigator.locks.query();
    return [...held, ...pending]
      .map(({ name }) => name!)
      .filter((name) => /^settledb:(host|page):/.test(name));
  },
  async disconnect(): Promise<void> {
    Hosted.disconnect();
  },
} satisfies Record<string, (...args: never[]) => Promise<unknown>>;

export type HostedCalls = typeof calls;

function within<Value>(what: string, begin: (resolve: (value: Value) => void) => void): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`Waited in vain for ${what}`)), DEADLINE_MS);
    begin((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });
}

Object.assign(globalThis, {
  call: (name: string, args: unknown[]) =>
    (calls as unknown as Record<string, (...list: unknown[]) => Promise<unknown>>)[name]!(...args),
});
