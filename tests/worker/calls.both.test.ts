/** Calls from a page to its host: how they travel, what is refused, and what of signals and functions crosses. */
import { badRequest, DatabaseError } from '@settledb/core';
import { named } from '@settledb/worker';
import { expose, transfer, wrap } from 'comlink';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { connect } from '../../packages/settledb/src/connect';
import { PATIENCE_MS } from '../support/timeouts';
import { timeless } from '../support/turns';
import { Hosts, PATIENCE } from './hosts';
import { countMessages, hostAndPage, rejection, withVerb } from './support';

const nextTask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

describe('calls', () => {
  it('of one microtask travel as one message, and so do their answers', async () => {
    // What is said now and then to a host that takes its time is no call.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    timeless();
    const { Hosted } = hostAndPage();
    const db = new Hosted('notes');
    await db.put({ _id: 'a', n: 1 });
    const messages = countMessages();
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => db.get('a')));
    // 1,000 answers are two messages' worth at least: a message is never larger than is good for the page.
    expect(messages.stop()).toBeLessThanOrEqual(6);
    expect(answers.every(({ n }) => n === 1)).toBe(true);
    // What the page says once those are there (how it waits) is not of the next call.
    await nextTask();
    const lone = countMessages();
    await db.get('a');
    expect(lone.stop()).toBe(2);
  });

  it('with a callback are refused in the page, as are streams to dump into', async () => {
    const { Hosted } = hostAndPage();
    const db = new Hosted('notes') as unknown as Record<string, (...args: unknown[]) => unknown>;
    const { to } = db.replicate as unknown as typeof db;
    const back = (): void => {};
    for (const call of [
      () => db.get!('a', back),
      () => db.sync!('other', {}, back),
      () => db.close!(back),
      () => db.dump!(back),
      () => to!('other', {}, back),
      () => Reflect.apply(Hosted.replicate, Hosted, [db, 'other', {}, back]),
      () => Reflect.construct(Hosted, ['other', back]),
    ])
      expect(call).toThrow(/^[\w.]+\(\) takes no callback/);
    expect(() => db.dump!(new WritableStream())).toThrow('dump() gives a stream');
    const { dump, load } = db;
    expect(await load!(dump!(null))).toMatchObject({ ok: true });
  });

  it('of a page of another release are refused, and it is told to reload', async () => {
    const { host } = hostAndPage();
    const hello = new MessageChannel();
    onTestFinished(() => hello.port1.close());
    host.accept({ data: { settledb: 'hello', port: hello.port2 } } as MessageEvent);
    const control = wrap<{ attach(port: MessagePort, client: object): unknown }>(hello.port1);
    for (const protocol of [5, 1_000]) {
      const { port1, port2 } = new MessageChannel();
      onTestFinished(() => port1.close());
      const asked = control.attach(transfer(port2, [port2]), { protocol, lock: undefined });
      expect(await rejection(asked)).toMatchObject({ message: expect.stringContaining('reload') });
    }
  });

  it('of a page that its host refuses are refused as any other, with status and reason', async () => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener('message', ({ data }) => {
      const attach = async (): Promise<never> => {
        throw badRequest('reload');
      };
      expose({ attach }, data.port);
    });
    port1.start();
    const Hosted = connect(port2);
    onTestFinished(() => {
      Hosted.disconnect();
      port1.close();
    });
    const refused = await rejection(new Hosted('notes').info());
    expect(refused).toBeInstanceOf(DatabaseError);
    expect(refused).toMatchObject({ status: 400, name: 'bad_request', reason: 'reload' });
  });

  it('of windows of other origins are not heard, where a window is a host', async () => {
    const own = globalThis.origin ?? 'https://notes.example';
    vi.stubGlobal('origin', own);
    onTestFinished(() => void vi.unstubAllGlobals());
    const { host } = hostAndPage();
    const from = (origin: string, timeout_ms: number): Promise<unknown> => {
      const postMessage = (data: unknown): void => host.accept({ data, origin } as MessageEvent);
      const target = Object.assign(new EventTarget(), { postMessage, terminate() {} });
      const Hosted = connect((() => target) as never, { timeout_ms, adapters: ['memory'] });
      onTestFinished(() => Hosted.disconnect());
      return new Hosted('notes').info();
    };
    for (const origin of ['', own])
      expect(await from(origin, PATIENCE_MS)).toMatchObject({ db_name: 'notes' });
    for (const origin of ['https://elsewhere.example', 'null'])
      expect(await rejection(from(origin, 100))).toMatchObject({ name: 'worker_terminated' });
    expect(host.pages).toBe(2);
  });

  it('of a host that says nothing heed their signals', async () => {
    const silent = Object.assign(new EventTarget(), { postMessage() {}, terminate() {} });
    const Hosted = connect((() => silent) as never, { timeout_ms: 10 * 60_000 });
    onTestFinished(() => Hosted.disconnect());
    const db = new Hosted('silent');
    const abort = new AbortController();
    const { signal } = abort;
    const calls = [db.get('a', { signal }), db.put({ _id: 'a' }, { signal }), db.allDocs({ signal })];
    const settled = Promise.allSettled(calls);
    const reason = new Error('enough');
    abort.abort(reason);
    expect(await settled).toEqual(calls.map(() => ({ status: 'rejected', reason })));
  });

  it.each([
    Number.POSITIVE_INFINITY,
    2 ** 40,
  ])('wait for %d ms, which is more than a timer takes, rather than for none', async (timeout_ms) => {
    const silent = Object.assign(new EventTarget(), { postMessage() {}, terminate() {} });
    const Hosted = connect((() => silent) as never, { timeout_ms });
    onTestFinished(() => Hosted.disconnect());
    const abort = new AbortController();
    const asked = rejection(new Hosted('silent').get('a', { signal: abort.signal }));
    for (let task = 0; task < 20; task++) await nextTask();
    const reason = new Error('enough');
    abort.abort(reason);
    expect(await asked).toBe(reason);
  });

  it('are answered though the page stood still for longer than the worker may take', async () => {
    const timeout_ms = 600;
    const { page } = hostAndPage();
    for (let steps = 0; steps < 5; steps++) {
      const db = new (page({ timeout_ms }))('slow');
      const asked = db.info();
      for (let step = 0; step < steps; step++) await new Promise((resolve) => setTimeout(resolve));
      for (const end = performance.now() + timeout_ms + 50; performance.now() < end; );
      expect(await asked, `after ${steps} steps`).toMatchObject({ db_name: 'slow' });
    }
  });

  it('of several handles and verbs at once, some of which fail, are each answered with its own', async () => {
    const { Hosted } = hostAndPage();
    const [one, other] = [new Hosted('one'), new Hosted('other')];
    await one.bulkDocs([{ _id: 'a' }, { _id: 'b' }]);
    await other.put({ _id: 'a', n: 1 });
    const kinds: [() => Promise<unknown>, object][] = [
      [() => one.get('a'), { _id: 'a' }],
      [() => one.get('b'), { _id: 'b' }],
      [() => rejection(one.get('gone')), { status: 404, docId: 'gone' }],
      [() => other.get('a'), { _id: 'a', n: 1 }],
      [() => one.info(), { db_name: 'one', doc_count: 2 }],
      [() => other.info(), { db_name: 'other', doc_count: 1 }],
      [() => one.allDocs(), { total_rows: 2 }],
      [() => one.get('a', { revs: true }), { _revisions: { start: 1 } }],
      [() => rejection(one.put({ _id: 'a' })), { status: 409 }],
      [() => one.revsDiff({ c: ['1-a' as never] }), { c: { missing: ['1-a'] } }],
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(kinds.length - 1), { maxLength: 60 }), async (picked) => {
        const answers = await Promise.all(picked.map((kind) => kinds[kind]![0]()));
        expect(answers).toMatchObject(picked.map((kind) => kinds[kind]![1]));
      }),
      { numRuns: 30 },
    );
  });

  it('reach any verb the host has, and none it has not', async () => {
    const find = vi.fn(async (request: unknown) => ({ docs: [], request }));
    const { Hosted } = hostAndPage({}, {}, withVerb('find', find) as never);
    const db = new Hosted('notes') as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    expect(await db.find!({ selector: { a: { $regex: /x/ } } })).toEqual({
      docs: [],
      request: { selector: { a: { $regex: /x/ } } },
    });
    expect(await rejection(db.explain!({}))).toMatchObject({ message: 'db.explain is not a function' });
  });

  it('end with the reason of their signal, which reaches the host', async () => {
    let heard: AbortSignal | undefined;
    const { Hosted } = hostAndPage(
      {},
      {},
      withVerb('get', (_id: string, { signal }: { signal: AbortSignal }) => {
        heard = signal;
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      }) as never,
    );
    const db = new Hosted('notes');
    const abort = new AbortController();
    const waiting = db.get('a', { signal: abort.signal });
    await vi.waitFor(() => expect(heard).toBeDefined());
    const reason = { a: 'reason' };
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(heard!.aborted).toBe(true);
    await expect(db.get('a', { signal: abort.signal })).rejects.toBe(reason);
  });

  it('take their lists as they are when they are made, whatever worker they have to wait for', async () => {
    const hosts = new Hosts();
    const gone = hosts.holdFirst();
    const asked: unknown[] = [];
    const get = async (...args: unknown[]): Promise<number> => {
      const host = hosts.sessions.length - 1;
      asked.push(args[1]);
      await hosts.gate('get', host);
      return host;
    };
    hosts.open = withVerb('get', get as never) as never;
    const db = new (hosts.connect())('notes');
    const options = { open_revs: ['1-a'], deep: { list: [{ a: 1 }] } };
    const first = db.get('a', options as never);
    options.open_revs[0] = '1-b';
    options.deep.list[0]!.a = 2;
    const second = db.get('a', options as never);
    await vi.waitFor(() => expect(asked).toHaveLength(2), PATIENCE);
    options.open_revs.length = 0;
    options.deep.list.length = 0;
    hosts.now.leave();
    expect(await Promise.all([first, second])).toEqual([1, 1]);
    gone();
    const once = [
      { open_revs: ['1-a'], deep: { list: [{ a: 1 }] } },
      { open_revs: ['1-b'], deep: { list: [{ a: 2 }] } },
    ];
    expect(asked).toEqual([...once, ...once]);
  });

  it('with a list of options reach the host with the signals in them', async () => {
    let heard: readonly AbortSignal[] = [];
    const queries = (_view: string, asked: readonly { signal: AbortSignal }[]): Promise<unknown> => {
      heard = asked.map(({ signal }) => signal);
      return new Promise((_, reject) => heard[1]!.addEventListener('abort', () => reject(heard[1]!.reason)));
    };
    const { Hosted } = hostAndPage({}, {}, withVerb('queries', queries as never) as never);
    const abort = new AbortController();
    const { signal } = abort;
    const asked = new Hosted('notes').queries('by-tag', [{ signal, key: 'a' }, { signal }]);
    await Promise.race([asked, vi.waitFor(() => expect(heard).toHaveLength(2))]);
    const reason = new Error('enough');
    abort.abort(reason);
    await expect(asked).rejects.toBe(reason);
  });
});

describe('functions', () => {
  const filter = (doc: { n: number }): boolean => doc.n % 2 === 0;
  const docs = [1, 2, 3, 4].map((n) => ({ _id: String(n), n }));
  const ids = (result: object): string[] =>
    ((result as { results?: { id: string }[] }).results ?? []).map(({ id }) => id);

  it('are refused, and what to do instead is said', async () => {
    const db = new (hostAndPage().Hosted)('notes');
    const error = await rejection(db.changes({ filter: filter as never }));
    expect(error).toMatchObject({ status: 400, name: 'bad_request' });
    expect(error.reason).toMatch(/design document.*named\('…'\).*functions: 'source'/);
    expect(error.reason).toMatch(/^A function \(argument 1\.filter\)/);
    const { reason } = await rejection(db.query((_, emit) => emit(1)));
    expect(reason).toMatch(/^A function \(argument 1\).*SettleDB\.defaults\({ views }\)/);
    expect(await rejection(db.replicate.to('other', { filter: filter as never }))).toMatchObject({
      status: 400,
    });
  });

  it('are found by name where the host has them', async () => {
    const { Hosted } = hostAndPage({}, { functions: { isEven: filter } });
    const db = new Hosted('notes');
    await db.bulkDocs(docs);
    expect(ids(await db.changes({ filter: named('isEven') }))).toEqual(['2', '4']);
    expect(await rejection(db.changes({ filter: named('isOdd') }))).toMatchObject({ status: 400 });
    expect(await rejection(db.changes({ filter: named('constructor') }))).toMatchObject({
      status: 400,
    });
  });

  it('cross as their source when asked to, also written as methods', async () => {
    const { Hosted } = hostAndPage({ functions: 'source' });
    const db = new Hosted('notes');
    await db.bulkDocs(docs);
    expect(ids(await db.changes({ filter: filter as never }))).toEqual(['2', '4']);
    const options = {
      filter(doc: { n: number }) {
        return doc.n > 2;
      },
    };
    expect(ids(await db.changes(options as never))).toEqual(['3', '4']);
  });
});
