/**
 * A page that can have no worker for a while, as when it is offline and the worker's script is in no cache: what had begun and has no
 * end waits. In Node, where the test says when the page is online.
 */
import { DatabaseError } from '@settledb/core';
import { expect, it, onTestFinished, vi } from 'vitest';
import { workerTerminated } from '../../packages/worker/src/errors';
import { type Doc, Hosts, PATIENCE } from './hosts';
import { rejection } from './support';

/** More than hosts that feeds may lose in a row. */
const ATTEMPTS = 12;

/** Far below the seconds between two attempts. */
const SOON_MS = 3_000;

/** A worker whose script cannot be loaded, or throws. */
class Missing extends EventTarget {
  readonly terminate = vi.fn();

  postMessage(): void {
    queueMicrotask(() => this.dispatchEvent(new Event('error')));
  }
}

/** A handle whose host has ended, with feeds that had begun there. Another cannot be had. */
const lost = () =>
  lostTo((_hosts, state) => {
    state.isMissing = true;
  });

/** @param next what is made of the next host before the first one ends */
async function lostTo(next: (hosts: Hosts, state: { isMissing: boolean }) => void) {
  const realm = new EventTarget();
  vi.stubGlobal('addEventListener', realm.addEventListener.bind(realm));
  vi.stubGlobal('removeEventListener', realm.removeEventListener.bind(realm));
  onTestFinished(() => void vi.unstubAllGlobals());
  const hosts = new Hosts();
  const state = { isMissing: false, attempts: 0, missing: [] as Missing[] };
  hosts.begin = async () => {
    if (state.isMissing) throw workerTerminated('gone');
  };
  const make = (worker: () => MessagePort) => () => {
    state.attempts++;
    if (!state.isMissing) return worker();
    const missing = new Missing();
    state.missing.push(missing);
    return missing as never;
  };
  const Databases = hosts.connect(make);
  const db = new Databases<Doc>('notes');
  await db.get('first');
  const feeds = [
    db.changes({ live: true }),
    db.replicate.to('other', { live: true, retry: true }),
    db.replicate.to('another', { retry: true }),
  ] as const;
  const oneShots = [rejection(db.replicate.from('other')), rejection(db.changes())];
  await vi.waitFor(() => expect(hosts.feeds).toBe(5), PATIENCE);
  next(hosts, state);
  hosts.now.leave();
  const online = (): void => void realm.dispatchEvent(new Event('online'));
  /** By the clock it would take twice as long: each attempt waits longer than the one before, or until the page is online. */
  const tried = (): Promise<void> =>
    vi.waitFor(() => {
      online();
      expect(state.attempts).toBeGreaterThan(ATTEMPTS);
    }, PATIENCE);
  return { Databases, hosts, state, db, feeds, oneShots, online, tried };
}

it('feeds wait for a host as long as there is none, and say so; a call, and what has an end, is refused', async () => {
  const { hosts, state, db, feeds, oneShots, online, tried } = await lost();
  const paused: unknown[] = [];
  feeds[1].on('paused', (error: unknown) => paused.push(error));
  await tried();
  for (const error of oneShots) expect(await error).toMatchObject({ name: 'worker_terminated' });
  expect(feeds[1].status()).toMatchObject({ phase: 'waiting', error: { name: 'worker_terminated' } });
  expect(paused).toMatchObject([{ name: 'worker_terminated' }]);
  expect(await rejection(db.get('a'))).toMatchObject({ name: 'worker_terminated' });
  state.isMissing = false;
  await vi.waitFor(() => {
    online();
    expect(hosts.feeds).toBe(8);
  }, PATIENCE);
  for (const feed of feeds) {
    feed.cancel();
    await feed;
  }
  // One whose script threw would live on, and each attempt would add one.
  for (const { terminate } of state.missing) expect(terminate).toHaveBeenCalledOnce();
});

it('feeds that wait end soon when the page lets its worker go', async () => {
  const { Databases, db, feeds, oneShots, online, tried } = await lost();
  await Promise.all(oneShots);
  await tried();
  const refused = rejection(db.get('a'));
  online();
  await refused; // the next attempt is seconds away
  await new Promise((resolve) => setTimeout(resolve));
  const began = performance.now();
  Databases.disconnect();
  for (const feed of feeds) expect(await rejection(feed)).toMatchObject({ name: 'worker_terminated' });
  expect(performance.now() - began).toBeLessThan(SOON_MS);
});

it('feeds end with the reason when the page gave its one worker, and that has ended', async () => {
  const hosts = new Hosts();
  const db = new (hosts.connect())<Doc>('notes');
  await db.get('first');
  const feed = rejection(db.changes({ live: true }));
  await vi.waitFor(() => expect(hosts.feeds).toBe(1), PATIENCE);
  hosts.begin = async () => {
    throw workerTerminated('gone');
  };
  hosts.now.leave();
  expect(await feed).toMatchObject({ name: 'worker_terminated' });
});

it('feeds wait while the next host lacks code that the one before had loaded, and ask again when the page is online', async () => {
  const { hosts, db, feeds, oneShots, online } = await lostTo((hosts) => {
    hosts.onFeed = () => {
      throw new DatabaseError({ status: 503, name: 'not_loaded', reason: 'The code could not be loaded' });
    };
  });
  const paused: unknown[] = [];
  feeds[1].on('paused', (error: unknown) => paused.push(error));
  for (const error of oneShots) expect(((await error) as Error).name).toMatch(/not_loaded|worker_terminated/);
  await vi.waitFor(() => expect(paused).toMatchObject([{ name: 'not_loaded' }]), PATIENCE);
  expect(feeds[1].status()).toMatchObject({ phase: 'waiting', error: { name: 'not_loaded' } });
  expect(await db.get('a')).toMatchObject({ host: 1 });
  const asked = hosts.feeds;
  await db.get('b');
  expect(hosts.feeds).toBe(asked); // not again and again
  online();
  await vi.waitFor(() => expect(hosts.feeds).toBe(asked + feeds.length), PATIENCE);
  const begun: unknown[] = [];
  hosts.onFeed = (emit) => void begun.push(emit);
  await vi.waitFor(() => {
    online();
    expect(begun).toHaveLength(feeds.length);
  }, PATIENCE);
  for (const feed of feeds) {
    feed.cancel();
    await feed;
  }
});

it('a feed that waits for code ends with its handle', async () => {
  const { hosts, db, feeds, oneShots } = await lostTo((hosts) => {
    hosts.onFeed = () => {
      throw new DatabaseError({ status: 503, name: 'not_loaded', reason: 'The code could not be loaded' });
    };
  });
  await Promise.all(oneShots);
  await vi.waitFor(() => expect(feeds[1].status().phase).toBe('waiting'), PATIENCE);
  const asked = hosts.feeds;
  await db.close();
  for (const feed of feeds) expect(await feed).toMatchObject({ status: 'cancelled' });
  expect(hosts.feeds).toBe(asked);
});
