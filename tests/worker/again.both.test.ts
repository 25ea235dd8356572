/**
 * Calls whose host is lost: which of them are asked of the next one, and which are refused because they may have been done. Hosts are
 * sessions that the test makes, each over a BroadcastChannel as another tab's worker has it, and moves or silences when it wants.
 */
import { BasicFeed, onAbort } from '@settledb/core';
import type { Replication } from '@settledb/replication';
import { expose } from 'comlink';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { connect } from '../../packages/settledb/src/hosted';
import { Session } from '../../packages/worker/src/session';
import { transfers } from '../../packages/worker/src/streams';
import type { Hosted } from '../../packages/worker/src/verbs';
import type { Control, Endpoint, Hello, Welcome } from '../../packages/worker/src/wire';
import { rejection } from './support';

const PATIENCE = { timeout: 15_000, interval: 5 };

interface Doc {
  readonly _id: string;
  readonly n?: number;
}

/** One after the other serves the page. */
class Hosts {
  readonly sessions: Session[] = [];
  /** What each host has done, in order. */
  readonly done: string[][] = [];
  /** Hosts that hear nothing and say nothing. */
  readonly silent = new Set<number>();
  /** What verbs wait for. */
  gate: (verb: string, host: number) => Promise<void> = async () => {};
  /** Hosts whose handle was opened, and closed. */
  readonly opened: number[] = [];
  readonly closed: number[] = [];
  /** Hosts that serve no more before their page listens to them. */
  readonly brief = new Set<number>();
  /** Pages that are yet to be refused. */
  refusals = 0;
  /** How many feeds were begun. They tell no items by themselves. */
  feeds = 0;
  /** What a feed does when it begins. */
  onFeed: (emit: (event: string, value?: unknown) => void, push: (item: unknown) => unknown) => void =
    () => {};
  /** As the first host has them. */
  #endpoint: EventTarget | undefined;
  readonly #isOwn: boolean;

  /** @param isOwn over a port of the page, as its own worker is reached */
  constructor(isOwn = false) {
    this.#isOwn = isOwn;
  }

  get now(): Session {
    return this.sessions.at(-1)!;
  }

  /** The first host does nothing of what it takes from now on. @returns lets it go on */
  holdFirst(): () => void {
    let release!: () => void;
    const open = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.gate = async (_verb, host) => (host === 0 ? open : undefined);
    return release;
  }

  /** What the first host is told until `said` is over cannot be read by it. */
  async garble(said: () => Promise<void>): Promise<void> {
    this.silent.add(0);
    await said();
    this.silent.delete(0);
    this.#endpoint!.dispatchEvent(new MessageEvent('messageerror'));
  }

  /** A class of handles that they serve. */
  connect() {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener('message', ({ data }: MessageEvent<Hello>) => {
      const control: Control = {
        attach: async (port) => this.#attach(port),
        suspect: async () => true,
      };
      expose(control, data.port);
    });
    port1.start();
    const Connected = connect(port2, { timeout_ms: PATIENCE.timeout });
    onTestFinished(() => {
      Connected.disconnect();
      for (const session of this.sessions) session.end();
      port1.close();
    });
    return Connected;
  }

  #attach(port: MessagePort): Welcome {
    if (this.refusals-- > 0) throw new Error('not now');
    const host = this.sessions.length;
    const link = `again ${crypto.randomUUID()}`;
    this.done.push([]);
    const options = {
      open: () => this.#handle(host),
      own: false,
      functions: {},
      follow: (_hosted: Hosted, verb: string) => {
        this.feeds++;
        this.done[host]!.push(verb);
        return new BasicFeed<unknown, unknown>(({ signal, emit, push }) => {
          this.onFeed(emit, push);
          return new Promise((end) => onAbort(signal, () => end({})));
        });
      },
    };
    const endpoint = this.#isOwn ? port : new BroadcastChannel(link);
    this.#endpoint ??= endpoint as unknown as EventTarget;
    this.sessions.push(new Session(this.#unless(host, endpoint), options));
    if (this.brief.has(host)) this.now.leave();
    return { host: String(host), lock: undefined, link: this.#isOwn ? undefined : link };
  }

  #unless(host: number, endpoint: Endpoint): Endpoint {
    return {
      postMessage: (message, transfer) => {
        if (!this.silent.has(host)) endpoint.postMessage(message, transfer ?? []);
      },
      addEventListener: (type, listener) =>
        endpoint.addEventListener(type, (event) => {
          if (!this.silent.has(host)) listener(event);
        }),
      start: () => endpoint.start?.(),
      close: () => endpoint.close(),
    };
  }

  #handle(host: number): Hosted {
    const verb =
      (name: string) =>
      async (first: unknown): Promise<unknown> => {
        const docs = Array.isArray(first) ? (first as Doc[]) : [first as Doc | string];
        for (const doc of docs)
          this.done[host]!.push(
            `${name} ${typeof doc === 'string' ? doc : `${doc._id} ${doc.n ?? ''}`}`.trim(),
          );
        await this.gate(name, host);
        return { ok: true, host };
      };
    const verbs = ['put', 'get', 'bulkDocs', 'putAttachment'].map((name) => [name, verb(name)] as const);
    this.opened.push(host);
    const close = async (): Promise<void> => {
      this.closed.push(host);
      await this.gate('close', host);
    };
    const info = async (): Promise<object> => ({ update_seq: 0 });
    return Object.assign({ on: () => {}, close, info }, Object.fromEntries(verbs));
  }
}

/** Never comes. */
const never = new Promise<void>(() => {});

async function begun(hosts = new Hosts()) {
  const db = new (hosts.connect())<Doc>('notes');
  expect(await db.get('first')).toMatchObject({ host: 0 });
  hosts.done[0]!.length = 0;
  return { hosts, db };
}

describe('a call that its host did not take', () => {
  it('goes to the next host, a write too, and is done once', async () => {
    const { hosts, db } = await begun();
    // Posted, and on its way when the host says that it serves no more.
    const calls = [db.put({ _id: 'a' }), db.get('b'), db.bulkDocs([{ _id: 'c' }, { _id: 'd' }])];
    await undefined;
    await undefined;
    hosts.now.leave();
    expect(await Promise.all(calls)).toMatchObject([{ host: 1 }, { host: 1 }, { host: 1 }]);
    expect(hosts.done).toEqual([[], ['put a', 'get b', 'bulkDocs c', 'bulkDocs d']]);
  });

  it('goes there in the order in which it was made, before those made later, in whatever parts it is sent', async () => {
    const { hosts, db } = await begun();
    const many = Array.from({ length: 4_100 }, (_, n) => ({ _id: 'm', n }));
    const calls: Promise<unknown>[] = [
      db.put({ _id: 'a', n: 1 }),
      db.bulkDocs(many),
      db.put({ _id: 'a', n: 2 }),
    ];
    hosts.now.leave();
    calls.push(db.put({ _id: 'a', n: 3 }));
    await vi.waitFor(() => expect(hosts.sessions).toHaveLength(2), PATIENCE);
    calls.push(db.put({ _id: 'a', n: 4 }));
    await Promise.all(calls);
    const all = hosts.done.flat();
    expect(all.filter((each) => each.startsWith('put'))).toEqual([
      'put a 1',
      'put a 2',
      'put a 3',
      'put a 4',
    ]);
    expect(all.filter((each) => each.startsWith('bulkDocs'))).toEqual(many.map(({ n }) => `bulkDocs m ${n}`));
  });

  it.each([
    'serves no more before the page listens to it',
    'stands still from the start',
  ])('goes to the next host where the first %s, a write too', async (how) => {
    const hosts = new Hosts();
    (how.startsWith('stands') ? hosts.silent : hosts.brief).add(0);
    const db = new (hosts.connect())<Doc>('notes');
    expect(await Promise.all([db.put({ _id: 'a' }), db.get('b')])).toMatchObject([{ host: 1 }, { host: 1 }]);
    expect(hosts.done).toEqual([[], ['put a', 'get b']]);
  });

  it('because its message could not be read goes to the next host, and what was taken before is answered', async () => {
    const { hosts, db } = await begun();
    const release = hosts.holdFirst();
    const before = db.put({ _id: 'a' });
    await vi.waitFor(() => expect(hosts.done[0]).toHaveLength(1), PATIENCE);
    let calls: Promise<unknown>[] = [];
    await hosts.garble(async () => {
      calls = [db.put({ _id: 'b' }), db.get('c')];
      await new Promise((resolve) => setTimeout(resolve, 20));
    });
    expect(await Promise.all(calls)).toMatchObject([{ host: 1 }, { host: 1 }]);
    release();
    expect(await before).toMatchObject({ host: 0 });
    expect(hosts.done).toEqual([['put a'], ['put b', 'get c']]);
  });

  it('is refused when the streams it was given are gone with the host', async () => {
    const { hosts, db } = await begun(new Hosts(true));
    const attached = db.putAttachment('a', 'b', '1-c', new Blob(['hello']).stream(), 'text/plain');
    const put = db.put({ _id: 'a' });
    await undefined;
    await undefined;
    hosts.now.leave();
    // Where streams cannot be given away (Safari) it was read before, and is not lost.
    if (transfers(new MessageChannel().port1))
      expect(await rejection(attached)).toMatchObject({ status: 503, name: 'worker_terminated' });
    else expect(await attached).toMatchObject({ host: 1 });
    expect(await put).toMatchObject({ host: 1 });
    expect(hosts.done[0]).toEqual([]);
  });

  it('ends with the reason of its signal when that fired meanwhile', async () => {
    const { hosts, db } = await begun();
    const abort = new AbortController();
    const put = db.put({ _id: 'a' }, { signal: abort.signal });
    await undefined;
    await undefined;
    hosts.now.leave();
    const reason = new Error('enough');
    abort.abort(reason);
    await expect(put).rejects.toBe(reason);
    expect(await db.get('b')).toMatchObject({ host: 1 });
    expect(hosts.done.flat()).toEqual(['get b']);
  });
});

describe("a stream for another tab's worker, which is read in the page", () => {
  it('can be given up by a signal while it gives nothing, and is cancelled', async () => {
    const { hosts, db } = await begun();
    const abort = new AbortController();
    let cancelled: unknown;
    const silent = new ReadableStream({
      pull: () => never,
      cancel: (reason) => {
        cancelled = reason;
      },
    });
    const put = db.put({ _id: 'a', _attachments: { f: { data: silent } } } as never, {
      signal: abort.signal,
    });
    const reason = new Error('enough');
    setTimeout(() => abort.abort(reason), 10);
    await expect(put).rejects.toBe(reason);
    expect(cancelled).toBe(reason);
    expect(hosts.done.flat()).toEqual([]);
  });

  it('fails its call with what it fails with, and with what is no bytes', async () => {
    const { hosts, db } = await begun();
    const attach = (give: (controller: ReadableStreamDefaultController) => void) =>
      rejection(db.putAttachment('a', 'f', '1-b', new ReadableStream({ pull: give }), 'text/plain'));
    const cut = new Error('the line was cut');
    expect(await attach((controller) => controller.error(cut))).toBe(cut);
    expect(await attach((controller) => controller.enqueue('text'))).toMatchObject({ status: 400 });
    expect(hosts.done.flat()).toEqual([]);
  });
});

describe('a call that its host took', () => {
  it('is answered by it after it has resigned: a write by it alone, a read by whoever is first', async () => {
    const { hosts, db } = await begun();
    const release = hosts.holdFirst();
    const [put, get] = [db.put({ _id: 'a' }), db.get('b')];
    await vi.waitFor(() => expect(hosts.done[0]).toHaveLength(2), PATIENCE);
    hosts.now.leave();
    expect(await get).toMatchObject({ host: 1 });
    expect(await db.put({ _id: 'later' })).toMatchObject({ host: 1 });
    release();
    expect(await put).toMatchObject({ host: 0 });
    expect(hosts.done).toEqual([
      ['put a', 'get b'],
      ['get b', 'put later'],
    ]);
  });

  it.each([
    'resigns and stands still',
    'stands still without a word',
  ])('whose host %s: a read is asked of the next, a write that may have been done is refused', async (how) => {
    const { hosts, db } = await begun();
    hosts.gate = async (_verb, host) => (host === 0 ? never : undefined);
    const [put, get] = [db.put({ _id: 'a' }), db.get('b')];
    await vi.waitFor(() => expect(hosts.done[0]).toHaveLength(2), PATIENCE);
    if (how.startsWith('resigns')) hosts.now.leave();
    // What was said is on its way.
    await new Promise((resolve) => setTimeout(resolve, 20));
    hosts.silent.add(0);
    const refused = rejection(put);
    expect(await get).toMatchObject({ host: 1 });
    expect(await refused).toMatchObject({ status: 503, name: 'worker_terminated' });
    expect(await db.put({ _id: 'c' })).toMatchObject({ host: 1 });
    expect(hosts.done[1]).toEqual(['get b', 'put c']);
  });

  it('and that hosts without end take and lose: is refused at last', async () => {
    const { hosts, db } = await begun();
    hosts.gate = () => never;
    const get = rejection(db.get('a'));
    for (let host = 0; host < 6; host++) {
      await vi.waitFor(() => expect(hosts.done[host]).toEqual(['get a']), PATIENCE);
      hosts.now.leave();
    }
    expect(await get).toMatchObject({ name: 'worker_terminated' });
  });
});

it('a handle that is closed while its host falls silent is closed at the next one too, which had opened it', async () => {
  const { hosts, db } = await begun();
  hosts.gate = (verb, host) => (verb === 'close' && host === 0 ? never : Promise.resolve());
  const closing = db.close();
  await vi.waitFor(() => expect(hosts.closed).toEqual([0]), PATIENCE);
  hosts.silent.add(0);
  await closing;
  await vi.waitFor(() => expect(hosts.closed).toContain(1), PATIENCE);
  expect(hosts.opened).toEqual([0, 1]);
});

describe('a live feed', () => {
  async function lose(times: number, apartMs: number) {
    const { now } = performance;
    let passed = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + passed);
    onTestFinished(() => clock.mockRestore());
    const { hosts, db } = await begun();
    const feed = db.changes({ live: true });
    const outcome = feed.then(
      () => 'over',
      (error) => error.name,
    );
    for (let time = 1; time <= times; time++) {
      await vi.waitFor(() => expect(hosts.feeds).toBe(time), PATIENCE);
      passed += apartMs;
      hosts.now.leave();
    }
    return { hosts, feed, outcome };
  }

  it('since now that its host did not take begins at the next one before what was written after it', async () => {
    const { hosts, db } = await begun();
    const feed = db.changes({ live: true, since: 'now' });
    const put = db.put({ _id: 'a' });
    await undefined;
    await undefined;
    hosts.now.leave();
    expect(await put).toMatchObject({ host: 1 });
    expect(hosts.done).toEqual([[], ['changes', 'put a']]);
    feed.cancel();
    await feed;
  });

  it('that is quiet goes on in the next host, however many it has lost in the time it was', async () => {
    const { hosts, feed, outcome } = await lose(12, 60_000);
    await vi.waitFor(() => expect(hosts.feeds).toBe(13), PATIENCE);
    feed.cancel();
    expect(await outcome).toBe('over');
  });

  it('that was begun waits for a host where there is none for a while; one that was not begun says why', async () => {
    const { hosts, db } = await begun();
    const feed = db.changes({ live: true });
    await vi.waitFor(() => expect(hosts.feeds).toBe(1), PATIENCE);
    hosts.refusals = 2;
    hosts.now.leave();
    await vi.waitFor(() => expect(hosts.feeds).toBe(2), PATIENCE);
    feed.cancel();
    await feed;
    const others = new Hosts();
    others.refusals = 1;
    const other = new (others.connect())('notes');
    await expect(Promise.resolve(other.changes({ live: true }))).rejects.toThrow('not now');
  });

  it('that hosts without end lose as soon as they have it fails at last', async () => {
    const { outcome } = await lose(6, 0);
    expect(await outcome).toBe('worker_terminated');
  });
});

describe('a feed with a limit', () => {
  const ends: [string, object, object][] = [
    ['with its results', {}, { results: [{ seq: 5 }, { seq: 7 }], last_seq: 7 }],
    ['with no results where it keeps none', { return_docs: false }, { results: [], last_seq: 7 }],
    [
      'with its results, descending',
      { descending: true },
      { results: [{ seq: 5 }, { seq: 7 }], last_seq: 7 },
    ],
    ['as a live one does', { live: true }, { status: 'cancelled' }],
  ];
  it.each(ends)('whose host is lost after the last change ends %s', async (_how, options, result) => {
    const { hosts, db } = await begun();
    hosts.onFeed = (_emit, push) => {
      for (const seq of [5, 7]) push({ seq });
    };
    const feed = db.changes({ limit: 2, ...options });
    const heard: unknown[] = [];
    feed.on('change', ({ seq }) => heard.push(seq));
    await vi.waitFor(() => expect(heard).toEqual([5, 7]), PATIENCE);
    hosts.now.leave();
    expect(await feed).toEqual(result);
    expect(hosts.feeds).toBe(1);
  });

  it('whose host is lost before the last change goes on with what is left of it', async () => {
    const { hosts, db } = await begun();
    hosts.onFeed = (_emit, push) => void push({ seq: hosts.feeds });
    const feed = db.changes({ limit: 2 });
    const heard: unknown[] = [];
    feed.on('change', ({ seq }) => heard.push(seq));
    for (const seq of [1, 2]) {
      await vi.waitFor(() => expect(heard).toHaveLength(seq), PATIENCE);
      hosts.now.leave();
    }
    expect(await feed).toMatchObject({ results: [{ seq: 1 }, { seq: 2 }], last_seq: 2 });
  });
});

describe('a replication', () => {
  const COUNTERS = { docs_read: 0, docs_written: 0, doc_write_failures: 0, errors: [], last_seq: 0 };
  const lastOf = async (feed: Replication): Promise<string | undefined> => {
    let last: string | undefined;
    for await (const { phase } of feed.statuses()) last = phase;
    return last;
  };

  it('of one shot that loses its host fails with its counters, and its statuses end', async () => {
    const { hosts, db } = await begun();
    const feeds = [db.replicate.to('other'), db.replicate.from('other')];
    const ends = feeds.map((feed) => [rejection(feed), lastOf(feed)] as const);
    await vi.waitFor(() => expect(hosts.feeds).toBe(2), PATIENCE);
    hosts.now.leave();
    for (const [error, last] of ends) {
      expect(await error).toMatchObject({ name: 'worker_terminated', result: { ok: false, ...COUNTERS } });
      expect(await last).toBe('failed');
    }
    expect((await ends[0]![0]).result).not.toBe((await ends[1]![0]).result);
    expect(feeds[0]!.status()).toMatchObject({ phase: 'failed', error: { name: 'worker_terminated' } });
  });

  it('that is cancelled while its host is lost is a cancelled one, and its statuses end', async () => {
    const { hosts, db } = await begun();
    const feed = db.replicate.to('other', { live: true, retry: true });
    const last = lastOf(feed);
    await vi.waitFor(() => expect(hosts.feeds).toBe(1), PATIENCE);
    hosts.refusals = 1;
    hosts.now.leave();
    feed.cancel();
    expect(await feed).toMatchObject({ ok: true, status: 'cancelled', ...COUNTERS });
    expect(await last).toBe('cancelled');
  });

  it('is active and paused in turn, whatever the next host begins with', async () => {
    const { hosts, db } = await begun();
    const offline = { name: 'unreachable' };
    const told = [
      [['active'], ['paused']],
      [['paused'], ['active']],
      [['active'], ['paused', offline]],
      [['paused', offline], ['paused']],
    ];
    hosts.onFeed = (emit) => {
      for (const [event, value] of told[hosts.feeds - 1]!) emit(event as string, value);
    };
    const feed = db.replicate.to('other', { live: true, retry: true });
    const heard: unknown[] = [];
    for (const event of ['active', 'paused'] as const)
      feed.on(event, (value: unknown) => heard.push(value === undefined ? event : [event, value]));
    for (const [at, count] of [2, 3, 4, 6].entries()) {
      await vi.waitFor(() => expect(heard).toHaveLength(count), PATIENCE);
      if (at < told.length - 1) hosts.now.leave();
    }
    expect(heard).toEqual(['active', 'paused', 'active', ['paused', offline], 'active', 'paused']);
    feed.cancel();
    await feed;
  });
});

it('whatever is called while hosts come and go, a write is done once, and everything is answered', async () => {
  const step = fc.oneof(
    fc.constant('put'),
    fc.constant('get'),
    fc.constant('bulk'),
    fc.constant('leave'),
    fc.constant('task'),
    fc.constant('microtask'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.nat(3), async (steps, slow) => {
      const hosts = new Hosts();
      const Connected = hosts.connect();
      const db = new Connected<Doc>('notes');
      hosts.gate = async () => {
        for (let task = 0; task < slow; task++) await new Promise((resolve) => setTimeout(resolve));
      };
      const calls: Promise<unknown>[] = [];
      const writes: string[] = [];
      for (const [at, kind] of steps.entries()) {
        if (kind === 'put') calls.push(db.put({ _id: `${at}` }));
        else if (kind === 'get') calls.push(db.get(`${at}`));
        else if (kind === 'bulk') calls.push(db.bulkDocs([{ _id: `${at}` }]));
        else if (kind === 'leave') hosts.sessions.at(-1)?.leave();
        else if (kind === 'task') await new Promise((resolve) => setTimeout(resolve));
        else await undefined;
        if (kind === 'put') writes.push(`put ${at}`);
        if (kind === 'bulk') writes.push(`bulkDocs ${at}`);
      }
      await Promise.all(calls);
      const done = hosts.done.flat().filter((each) => !each.startsWith('get'));
      expect([...done].sort()).toEqual([...writes].sort());
      Connected.disconnect();
      for (const session of hosts.sessions) session.end();
    }),
    { numRuns: 40 },
  );
});
