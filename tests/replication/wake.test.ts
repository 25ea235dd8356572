/**
 * A live replication whose connections died without anybody being told: it connects anew when the network is back, when the
 * page is looked at after a while, and when the machine wakes. The page is a stub, the clock is fake.
 */

import { runCode } from '@settledb/replication';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { bringAll } from '../../packages/core/src/database/static';
import { type ReplicateOptions, type Replication, replicate } from '../../packages/replication/src/index';
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
});
