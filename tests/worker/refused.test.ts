/**
 * Workers of an origin that the browser refuses its storage, as Firefox does where cookies are blocked: neither locks nor channels to
 * other contexts are to be had either (SecurityError, seen in Firefox 153; a worker of opaque origin has no locks in any browser).
 * Then each worker serves its own page.
 */
import { ioError } from '@settledb/core';
import { Host } from '@settledb/worker';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { connect, type HostedSettleDB } from '../../packages/settledb/src/connect';
import { contextOf } from '../../packages/settledb/src/hosting';
import { memory } from '../../packages/settledb/src/memory';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { host } from '../../packages/settledb/src/worker';
import { rejection } from './support';

/** Below the six seconds for which the word of another worker is waited for, and more than a machine stands still. */
const SOON_MS = 5_000;
/** Far below the minute for which these pages would wait for their worker. */
const AT_ONCE_MS = 15_000;

const refusal = (): DOMException => new DOMException('The operation is insecure.', 'SecurityError');

function refuseLocks(): void {
  vi.stubGlobal('navigator', { locks: { request: () => Promise.reject(refusal()) } });
  onTestFinished(() => void vi.unstubAllGlobals());
}

function refuseChannels(): void {
  class Refused {
    constructor() {
      throw refusal();
    }
  }
  vi.stubGlobal('BroadcastChannel', Refused);
}

function hostedByDedicated(Class: typeof SettleDB): HostedSettleDB {
  const host = new Host({ ...contextOf(Class), dedicated: true });
  const { port1, port2 } = new MessageChannel();
  port1.addEventListener('message', host.accept);
  port1.start();
  const Hosted = connect(port2, { timeout_ms: SOON_MS, adapters: ['memory'] });
  onTestFinished(() => {
    Hosted.disconnect();
    port1.close();
    port2.close();
  });
  return Hosted;
}

describe.each([
  ['locks', refuseLocks],
  [
    'locks and channels',
    () => {
      refuseLocks();
      refuseChannels();
    },
  ],
])('a worker that is refused %s', (_, refuse) => {
  it('serves its page', async () => {
    refuse();
    const Hosted = hostedByDedicated(SettleDB.defaults({ adapter: memory() }));
    const db = new Hosted('refused');
    expect(await db.put({ _id: 'a' })).toMatchObject({ ok: true });
    expect(await db.get('a')).toMatchObject({ _id: 'a' });
    await db.destroy();
  });

  it('says what else is refused', async () => {
    refuse();
    const refused = { ...memory(), open: () => Promise.reject(ioError('Opening failed: SecurityError')) };
    const db = new (hostedByDedicated(SettleDB.defaults({ adapter: refused })))('refused');
    expect(await rejection(db.info())).toMatchObject({
      name: 'io',
      reason: expect.stringContaining('Security'),
    });
  });
});

describe('a page that is refused the worker itself', () => {
  it('is told so by every call, with the reason of the browser', async () => {
    const denied = new DOMException('SharedWorker constructor: StorageAccess denied.', 'SecurityError');
    const Refused = connect(() => {
      throw denied;
    });
    const db = new Refused('refused');
    for (const refused of [db.info(), db.put({ _id: 'a' }), db.changes({ live: true })]) {
      const error = await rejection(refused);
      expect(error).toMatchObject({ name: 'io', status: 500, cause: denied });
      expect((error as Error).message).toMatch(/StorageAccess denied; does the browser block cookies/);
    }
    Refused.disconnect();
  });

  // What `navigator.serviceWorker` is on a page without https (Chromium 156, Firefox 153), or where service workers are switched off.
  it.each([
    ['that worker', undefined as never],
    ['a function that gives it', () => undefined as never],
  ])('because there is none is told so by every call, given %s', async (_, none) => {
    const Absent = connect(none);
    const db = new Absent('refused');
    for (const refused of [db.info(), db.put({ _id: 'a' }), db.changes({ live: true })]) {
      expect(await rejection(refused)).toMatchObject({
        name: 'io',
        status: 500,
        reason: expect.stringMatching(/given undefined.*navigator\.serviceWorker/),
      });
    }
    await db.close();
    Absent.disconnect();
  });

  it.each([
    ['/db-worker.js', '"/db-worker.js"'],
    [new URL('https://app.example/db-worker.js'), 'https://app.example/db-worker.js'],
    [Promise.resolve(), 'no worker'],
    [5, '5'],
  ])('because it gave %s is told what to give', async (given, shown) => {
    const told = { name: 'TypeError', message: expect.stringContaining('connect(() => new Worker(…))') };
    expect(() => connect(given as never)).toThrow(expect.objectContaining(told));
    const Wrong = connect(() => given as never);
    const error = await rejection(new Wrong('refused').info());
    expect(error).toMatchObject(told);
    expect((error as Error).message).toContain(shown);
    Wrong.disconnect();
  });

  it('by an error of the program is told that error', async () => {
    const bug = new TypeError('no');
    const Broken = connect(() => {
      throw bug;
    });
    expect(await rejection(new Broken('refused').info())).toBe(bug);
    Broken.disconnect();
  });
});

it('a page whose service worker is not active yet is told so, and served when it is', async () => {
  const host = new Host({ ...contextOf(SettleDB.defaults({ adapter: memory() })), dedicated: false });
  const { port1, port2 } = new MessageChannel();
  port1.addEventListener('message', host.accept);
  port1.start();
  const registration: { active: MessagePort | null } = { active: null };
  const Hosted = connect(registration as never, { timeout_ms: SOON_MS, adapters: ['memory'] });
  onTestFinished(() => {
    Hosted.disconnect();
    port1.close();
    port2.close();
  });
  const db = new Hosted('not yet');
  for (const refused of [db.info(), db.put({ _id: 'a' })])
    expect((await rejection(refused)).message).toMatch('no active service worker');
  registration.active = port2;
  expect(await db.put({ _id: 'a' })).toMatchObject({ ok: true });
});

describe('a page whose worker never comes', () => {
  // A service worker that the Content Security Policy forbids is refused to who registers it; `ready` just never settles.
  const absent = (timeout_ms: number): HostedSettleDB => {
    const Hosted = connect({ ready: new Promise(() => {}) } as never, { timeout_ms });
    onTestFinished(() => Hosted.disconnect());
    return Hosted;
  };

  it('closes handles at once, also after calls that were refused, and their feeds end as cancelled', async () => {
    const SHORT_MS = 50;
    const db = new (absent(SHORT_MS))('absent');
    expect(await rejection(db.info())).toMatchObject({ name: 'worker_terminated' });
    const other = new (absent(60_000))('absent');
    const feeds = [
      other.changes({ live: true }),
      other.changes(),
      other.sync('http://127.0.0.1:9/a', { live: true }),
    ];
    const heard: string[] = [];
    for (const each of [db, other]) each.on('closed', () => heard.push('closed'));
    const began = performance.now();
    await Promise.all([db.close(), other.close(), other.close()]);
    const results = await Promise.all(feeds as PromiseLike<object>[]);
    expect(performance.now() - began).toBeLessThan(AT_ONCE_MS);
    expect(results.slice(0, 2)).toEqual([{ status: 'cancelled' }, { status: 'cancelled' }]);
    expect(heard).toEqual(['closed', 'closed']);
    for (const each of [db, other]) await expect(each.info()).rejects.toThrow('database is closed');
  });

  it('closes a handle after the calls that were made before', async () => {
    const SHORT_MS = 50;
    const db = new (absent(SHORT_MS))('absent');
    const order: string[] = [];
    const put = rejection(db.put({ _id: 'a' })).then(() => order.push('put'));
    await Promise.allSettled([db.close().then(() => order.push('closed'))]);
    await put;
    expect(order).toEqual(['put', 'closed']);
  });

  it('closes a handle behind calls that a browser refuses a worker for', async () => {
    const Hosted = connect(() => {
      throw refusal();
    });
    const db = new Hosted('refused');
    const closed = vi.fn();
    db.on('closed', closed);
    const put = rejection(db.put({ _id: 'a' }));
    await db.close();
    expect(await put).toMatchObject({ status: 500, name: 'io' });
    expect(closed).toHaveBeenCalledOnce();
  });
});

it('a thread of Node says that it serves no pages', () => {
  expect(() => host()).toThrow('threads of Node cannot serve pages');
});
