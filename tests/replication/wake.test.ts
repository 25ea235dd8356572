/**
 * A live replication whose connections died without anybody being told: it connects anew when the network is back, when the
 * page is looked at after a while, and when the machine wakes. The page is a stub, the clock is fake.
 */

import { remote } from '@settledb/remote';
import { runCode } from '@settledb/replication';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { bringAll } from '../../packages/core/src/database/static';
import { tellSign } from '../../packages/core/src/index';
import {
  type Peer,
  type ReplicateOptions,
  type Replication,
  replicate,
} from '../../packages/replication/src/index';
import { ORIGIN, testServer } from '../remote/support';
import { type AnyDatabase, fill, openTwo, peer } from './databases';

class Page extends EventTarget {
  visibilityState = 'visible';
  show(state: 'visible' | 'hidden'): void {
    this.visibilityState = state;
    this.dispatchEvent(new Event('visibilitychange'));
  }
}

let realm: EventTarget;
let page: Page;
const running: Replication[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
  realm = new EventTarget();
  page = new Page();
  vi.stubGlobal('document', page);
  vi.stubGlobal('addEventListener', realm.addEventListener.bind(realm));
  vi.stubGlobal('removeEventListener', realm.removeEventListener.bind(realm));
});
afterEach(() => {
  for (const one of running.splice(0)) one.cancel();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A source whose live feed is dead: nothing comes over it, not even its end. */
function dead(db: AnyDatabase): { source: ReturnType<typeof peer>; feeds: () => number } {
  let feeds = 0;
  const source = peer(db, {
    changes: (options: { live?: boolean }) => {
      if (!options.live) return db.changes(options as never);
      feeds++;
      return { on: () => undefined, cancel: () => undefined, then: () => undefined };
    },
  });
  return { source, feeds: () => feeds };
}

/** What waits for no timer comes to its end: there are only promises, once all code is loaded. */
async function turns(): Promise<void> {
  for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve));
}
beforeAll(async () => {
  bringAll();
  await runCode.load();
});

async function idle(options: ReplicateOptions = { retry: true }) {
  const [a, b] = await openTwo();
  const { source, feeds } = dead(a);
  const replication = replicate(source, b, { live: true, ...options });
  running.push(replication);
  const events: string[] = [];
  for (const event of ['active', 'paused', 'error', 'complete'] as const)
    replication.on(event, () => events.push(event));
  await turns();
  expect(replication.status().phase).toBe('idle');
  await fill(a, 3);
  await turns();
  expect((await b.info()).doc_count).toBe(0);
  return { a, b, replication, feeds, events };
}

describe('a live replication with retry over a dead connection', () => {
  const wakes: [string, () => Promise<void> | void][] = [
    ['the browser is online again', () => void realm.dispatchEvent(new Event('online'))],
    [
      'the page is looked at after a while',
      () => {
        page.show('hidden');
        vi.setSystemTime(Date.now() + 31_000);
        page.show('visible');
      },
    ],
    [
      'the machine wakes from sleep',
      async () => {
        vi.setSystemTime(Date.now() + 3_600_000);
        await vi.advanceTimersByTimeAsync(30_000);
      },
    ],
  ];
  it.each(wakes)('goes on when %s, and nobody hears of a failure', async (_name, wake) => {
    const { b, replication, feeds, events } = await idle();
    await wake();
    await turns();
    expect((await b.info()).doc_count).toBe(3);
    expect(replication.status()).toMatchObject({ phase: 'idle', attempts: 2, error: undefined });
    expect(feeds()).toBe(2);
    expect(events).toEqual(['paused', 'active', 'paused']);
  });

  it('is left alone by a page that was hidden for a moment, and by a late timer', async () => {
    const { replication } = await idle();
    page.show('hidden');
    vi.setSystemTime(Date.now() + 5_000);
    page.show('visible');
    vi.setSystemTime(Date.now() + 60_000);
    await vi.advanceTimersByTimeAsync(30_000);
    await turns();
    expect(replication.status().attempts).toBe(1);
  });

  it('leaves no listener and no timer behind, however often it was woken', async () => {
    const { replication } = await idle();
    const timers = vi.getTimerCount();
    for (let i = 0; i < 20; i++) {
      realm.dispatchEvent(new Event('online'));
      await turns();
    }
    expect(replication.status().attempts).toBe(21);
    expect(vi.getTimerCount()).toBe(timers);
    replication.cancel();
    await replication;
    expect(vi.getTimerCount()).toBe(0);
  });

  it('without retry is not touched', async () => {
    const { replication } = await idle({});
    realm.dispatchEvent(new Event('online'));
    await turns();
    expect(replication.status().attempts).toBe(1);
  });
});

describe('a transfer', () => {
  it('that goes on is not disturbed by a wake-up; one that hangs is begun anew', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    let asked = 0;
    const source = peer(a, {
      bulkGet: (request: never) => (++asked === 1 ? new Promise(() => undefined) : a.bulkGet(request)),
    });
    const replication = replicate(source, b, { retry: true });
    running.push(replication);
    await turns();
    realm.dispatchEvent(new Event('online'));
    await turns();
    expect(replication.status().attempts).toBe(1);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await replication).toMatchObject({ ok: true, docs_written: 3 });
    expect(replication.status().attempts).toBe(2);
  });

  const wakeAndWait = async (): Promise<void> => {
    realm.dispatchEvent(new Event('online'));
    await vi.advanceTimersByTimeAsync(3_500);
    await turns();
  };
  const later = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));
  const begin = (source: Peer, target: Peer): Replication => {
    const replication = replicate(source, target, { retry: true });
    running.push(replication);
    return replication;
  };

  it('of which bytes arrive is not disturbed, however long one answer takes', async () => {
    const [a, b] = await openTwo();
    await fill(a, 3);
    const source = peer(a, {
      bulkGet: async (request: { signal: AbortSignal }) => {
        for (let i = 0; i < 10; i++) await later(1_000).then(() => tellSign(request.signal));
        return a.bulkGet(request as never);
      },
    });
    const replication = begin(source, b);
    await turns();
    for (let i = 0; i < 3; i++) await wakeAndWait();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await replication).toMatchObject({ docs_written: 3 });
    expect(replication.status().attempts).toBe(1);
  });

  it('that has not even found its server is begun anew on another connection', async () => {
    const [a] = await openTwo();
    await fill(a, 3);
    const server = testServer();
    let asked = 0;
    const fetch: typeof globalThis.fetch = (url, init) => {
      // Whether the database is there at all.
      const isFirst = url === `${ORIGIN}/db` && ++asked === 1;
      return isFirst ? new Promise(() => undefined) : server.fetch(url, init);
    };
    const replication = begin(a, remote(`${ORIGIN}/db`, { fetch }));
    await turns();
    expect(asked).toBe(1);
    await wakeAndWait();
    expect(await replication).toMatchObject({ docs_written: 3 });
    expect(replication.status().attempts).toBe(2);
  });

  it.each([
    [100_000, 1],
    [10, 2],
  ])('that sends %i characters is begun anew only if they are few', async (length, attempts) => {
    const [a, b] = await openTwo();
    await a.put({ _id: 'x', text: 'x'.repeat(length) });
    let asked = 0;
    const target = peer(b, {
      bulkDocs: async (docs: never, options: never) => {
        if (++asked === 1) await later(8_000);
        return b.bulkDocs(docs, options);
      },
    });
    const replication = begin(a, target);
    await turns();
    await wakeAndWait();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await replication).toMatchObject({ ok: true });
    expect(replication.status().attempts).toBe(attempts);
  });

  it.each([
    ['goes on', 1],
    ['stands still', 2],
  ])('of a large attachment that %s: %i attempts', async (how, attempts) => {
    const [a, b] = await openTwo();
    const data = new Uint8Array(2_000_000);
    await a.put({ _id: 'x', _attachments: { f: { content_type: 'a/b', data } } } as never);
    let opened = 0;
    const openAttachment = async (...asked: Parameters<AnyDatabase['openAttachment']>) => {
      const found = await a.openAttachment(...asked);
      if (++opened > 1) return found;
      const slow = new TransformStream<Uint8Array, Uint8Array>({
        async transform(piece, controller) {
          await (how === 'goes on' ? later(2_500) : new Promise(() => undefined));
          controller.enqueue(piece);
        },
      });
      return { ...found, stream: found.stream.pipeThrough(slow) };
    };
    const replication = begin(peer(a, { openAttachment }), b);
    await turns();
    await wakeAndWait();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await replication).toMatchObject({ docs_written: 1 });
    expect(replication.status().attempts).toBe(attempts);
  });
});
