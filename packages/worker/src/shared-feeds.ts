/**
 * One live replication for all pages that ask for the same one: every tab of an application begins its own sync when it starts,
 * but the origin should have only one. It ends when no page follows it any more.
 *
 * "The same" means: handles opened alike, the verb, the peer, the options. If a function or an object of another handle is given,
 * or something that JSON has no text for, this cannot be told, and the replication is not shared.
 */
import { BasicFeed, type FeedController } from '@settledb/core';
import { isObject, isPlain } from './arguments-kinds';
import { Follower } from './shared-follower';
import type { FeedLike } from './verbs';

/** Events that late followers have to know at once. */
const STATES = ['paused', 'active'] as const;
const EVENTS = [...STATES, 'denied'];

interface Shared {
  readonly feed: FeedLike;
  readonly followers: Map<FeedController<unknown>, Follower>;
  /** Followers, and those about to become one. */
  users: number;
  state: readonly [event: string, value: unknown] | undefined;
  over: boolean;
}

export class SharedFeeds {
  readonly #running = new Map<string, Shared>();

  /** How many feeds run. */
  get size(): number {
    return this.#running.size;
  }

  /** The feed under `key`, begun if nobody follows it yet. Cancelling the last follower ends it. */
  follow(key: string, begin: () => FeedLike): FeedLike {
    const shared = this.#running.get(key) ?? this.#begin(key, begin());
    shared.users++;
    const feed = new BasicFeed<unknown, unknown>(async (controller) => {
      if (shared.state !== undefined) controller.emit(...shared.state);
      await new Promise<void>((resolve) => {
        const leave = (): void => {
          if (--shared.users === 0) {
            // At once: a request for the same from now on needs a feed that goes on.
            this.#forget(key, shared);
            shared.feed.cancel();
          }
          shared.followers.get(controller)?.leave();
          shared.followers.delete(controller);
          resolve();
        };
        // `feed.then` would keep all former followers until the feed ends.
        shared.followers.set(controller, new Follower(controller, resolve));
        if (shared.over) resolve();
        if (controller.cancelled) leave();
        else controller.signal.addEventListener('abort', leave, { once: true });
      });
      shared.followers.delete(controller);
      // Others go on with it: for this follower it ends here. Its page knows the counters, by the last status.
      if (controller.cancelled && shared.users > 0) return { status: 'cancelled' };
      return shared.feed;
    });
    const status = (): unknown => shared.feed.status?.();
    const statuses = (): AsyncIterableIterator<unknown> | undefined => shared.feed.statuses?.();
    const retried = (again: unknown): void => shared.feed.retried?.(again);
    return Object.assign(feed, { status, statuses, retried });
  }

  #begin(key: string, feed: FeedLike): Shared {
    const shared: Shared = { feed, followers: new Map(), users: 0, state: undefined, over: false };
    this.#running.set(key, shared);
    for (const event of EVENTS) {
      feed.on(event, (value) => {
        if (event !== 'denied') shared.state = [event, value];
        for (const follower of shared.followers.keys()) follower.emit(event, value);
      });
    }
    feed.on('change', (item) => {
      for (const follower of shared.followers.values()) follower.push(item);
    });
    hold(feed, shared.followers).catch(() => {}); // how it ends is told below
    const over = (): void => {
      this.#forget(key, shared);
      shared.over = true;
      for (const follower of shared.followers.values()) follower.end();
    };
    feed.then(over, over);
    return shared;
  }

  #forget(key: string, shared: Shared): void {
    if (this.#running.get(key) === shared) this.#running.delete(key);
  }
}

/** Holds the feed back while none of its followers has room for more: it goes as fast as the fastest of them. */
async function hold(feed: FeedLike, followers: ReadonlyMap<unknown, Follower>): Promise<void> {
  for await (const _ of feed) {
    for (;;) {
      const waits = [...followers.values()].map(({ wait }) => wait);
      if (waits.length === 0 || waits.includes(undefined)) break;
      await Promise.race(waits);
    }
  }
}

/**
 * Equal for two requests exactly if one feed can serve both; `undefined` if that cannot be told.
 * @param opened how the handle was opened
 */
export function keyOf(opened: unknown, verb: string, args: readonly unknown[]): string | undefined {
  const [peer, options] = args as [unknown, { live?: unknown; continuous?: unknown } | undefined];
  if (typeof peer !== 'string' || !(options?.live || options?.continuous)) return undefined;
  const request = [opened, verb, peer, options];
  if (!isTellable(request)) return undefined;
  return JSON.stringify(request, (_, value: unknown) => {
    // No text equals that of a regular expression, which a selector may hold, and of which JSON makes `{}`.
    if (typeof value === 'string') return `"${value}`;
    if (value instanceof RegExp) return String(value);
    return value instanceof AbortSignal ? undefined : value;
  });
}

/** Whether this JSON differs for all values that differ. It does not for functions, maps, dates, NaN, bigints. */
function isTellable(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (!isObject(value)) return !['function', 'symbol', 'bigint'].includes(typeof value);
  if (value instanceof RegExp || value instanceof AbortSignal) return true;
  if (Array.isArray(value)) return value.every((each) => each !== undefined && isTellable(each));
  return isPlain(value) && Object.values(value).every(isTellable);
}
