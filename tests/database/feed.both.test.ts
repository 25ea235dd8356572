import { BasicFeed, type FeedController } from '@settledb/core';
import { describe, expect, it, vi } from 'vitest';
import { uncaught, unhandledBy } from '../support/unhandled';

type Driver = (controller: FeedController<number>) => Promise<string> | string;
const cancelled = () => 'cancelled';
const numbers = (count: number): Driver => {
  return async (controller) => {
    for (let n = 1; n <= count; n++) {
      const wait = controller.push(n);
      if (wait) await wait;
      if (controller.cancelled) break;
    }
    return 'done';
  };
};
/** A driver that is told from outside when to go on. */
function held(): {
  driver: Driver;
  controller: Promise<FeedController<number>>;
  finish: (r: string) => void;
  fail: (e: unknown) => void;
} {
  let started!: (controller: FeedController<number>) => void;
  let finish!: (result: string) => void;
  let fail!: (error: unknown) => void;
  const controller = new Promise<FeedController<number>>((resolve) => {
    started = resolve;
  });
  const end = new Promise<string>((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });
  return {
    controller,
    finish,
    fail,
    driver: (given) => {
      started(given);
      return end;
    },
  };
}
describe('a feed as a promise', () => {
  it('resolves to what the driver returns and rejects with what it throws', async () => {
    expect(await new BasicFeed(numbers(2))).toBe('done');
    const error = new Error('no');
    const feed = new BasicFeed<number, string>(() => Promise.reject(error));
    await expect(feed.catch((e: unknown) => e)).resolves.toBe(error);
    await expect(Promise.resolve(feed)).rejects.toBe(error);
    let last = false;
    await new BasicFeed(numbers(1)).finally(() => {
      last = true;
    });
    expect(last).toBe(true);
  });

  it('also takes a driver that throws at once, without a promise', async () => {
    const feed = new BasicFeed<number, string>(() => {
      throw new Error('at once');
    });
    await expect(Promise.resolve(feed)).rejects.toThrow('at once');
  });
});

describe('a feed as an emitter', () => {
  it('gives listeners of the same turn every item, then complete with the result', async () => {
    const heard: unknown[] = [];
    const feed = new BasicFeed(numbers(3));
    expect(feed.on('change', (n) => heard.push(n)).on('complete', (r) => heard.push(r))).toBe(feed);
    await feed;
    expect(heard).toEqual([1, 2, 3, 'done']);
  });

  it('passes other events on, takes listeners away and calls those of once once', async () => {
    const heard: string[] = [];
    const feed = new BasicFeed<number, string>((controller) => {
      controller.emit('paused');
      controller.emit('active');
      controller.emit('paused', 'again');
      return 'done';
    });
    const gone = (): void => void heard.push('gone');
    feed.once('paused', (value) => heard.push(`paused ${value}`)).on('active', () => heard.push('active'));
    feed
      .on('active', gone)
      .removeListener('active', gone)
      .on('complete', gone)
      .removeAllListeners('complete');
    feed.once('active', gone).off('active', gone);
    await feed;
    expect(heard).toEqual(['paused undefined', 'active']);
    expect(feed.listenerCount('paused')).toBe(0);
  });

  it('refuses at once a listener that is no function', () => {
    const feed = new BasicFeed(async () => 1);
    for (const wrong of [undefined, null, 'heard', { handleEvent: () => {} }] as never[])
      for (const add of [feed.on, feed.once, feed.addListener])
        expect(() => add.call(feed, 'change', wrong)).toThrow("listener of 'change' must be a function");
    expect(feed.listenerCount('change')).toBe(0);
  });

  it('calls a listener as its own method, so that a function may say `this.cancel()`', async () => {
    const heard: unknown[] = [];
    const feed = new BasicFeed(numbers(3), { cancelled });
    feed.on('change', function (this: typeof feed, n) {
      heard.push(n);
      this.cancel();
    });
    feed.once('complete', function (this: unknown) {
      heard.push(this === feed);
    });
    expect(await feed).toBe('cancelled');
    expect(heard).toEqual([1, true]);
  });

  it('fires error once, with what the driver threw', async () => {
    const heard: unknown[] = [];
    const feed = new BasicFeed<number, string>(() => Promise.reject('no'));
    feed.on('error', (error) => heard.push(error)).on('complete', () => heard.push('complete'));
    await feed.catch(() => {});
    expect(heard).toEqual(['no']);
  });

  it('goes on when a listener throws, calls the others, and lets the platform report it', async () => {
    const heard: number[] = [];
    const { seen, stop } = uncaught(3);
    const feed = new BasicFeed(numbers(3));
    feed.on('change', (n) => {
      throw new Error(`mine ${n}`);
    });
    feed.on('change', (n) => heard.push(n));
    expect(await feed).toBe('done');
    expect(heard).toEqual([1, 2, 3]);
    expect((await seen).map(String)).toEqual(['Error: mine 1', 'Error: mine 2', 'Error: mine 3']);
    stop();
  });
});

describe('a feed as an iteration', () => {
  it('gives every item in order and then ends, several times side by side', async () => {
    const feed = new BasicFeed(numbers(20));
    const collect = async (): Promise<number[]> => {
      const all: number[] = [];
      for await (const n of feed) all.push(n);
      return all;
    };
    const expected = Array.from({ length: 20 }, (_, i) => i + 1);
    expect(await Promise.all([collect(), collect()])).toEqual([expected, expected]);
    expect(await feed).toBe('done');
  });

  it('pulls: the driver is never more than two items ahead of the consumer', async () => {
    let made = 0;
    const feed = new BasicFeed<number, string>(async (controller) => {
      for (let n = 1; n <= 10; n++) {
        made = n;
        await controller.push(n);
      }
      return 'done';
    });
    for await (const n of feed) expect(made).toBeLessThanOrEqual(n + 2);
  });

  it('throws what the driver threw, after the items before it', async () => {
    const feed = new BasicFeed<number, string>(async (controller) => {
      await controller.push(1);
      throw new Error('no');
    });
    const seen: number[] = [];
    const loop = (async () => {
      for await (const n of feed) seen.push(n);
    })();
    await expect(loop).rejects.toThrow('no');
    expect(seen).toEqual([1]);
  });

  it('cancels the feed when the loop is left', async () => {
    const feed = new BasicFeed(numbers(1_000), { cancelled });
    for await (const n of feed) if (n === 3) break;
    expect(await feed).toBe('cancelled');
  });

  it('ends at once on a feed that is over', async () => {
    const feed = new BasicFeed(numbers(2));
    await feed;
    for await (const _ of feed) expect.unreachable();
    const failed = new BasicFeed<number, string>(() => Promise.reject(new Error('no')));
    await failed.catch(() => {});
    await expect(failed[Symbol.asyncIterator]().next()).rejects.toThrow('no');
  });

  it('misses nothing when it begins late on a feed that holds', async () => {
    const feed = new BasicFeed(numbers(3), { holds: true });
    await new Promise<void>((resolve) => setTimeout(resolve));
    const seen: number[] = [];
    for await (const n of feed) seen.push(n);
    expect(seen).toEqual([1, 2, 3]);
  });
});

describe('cancel', () => {
  it('before the driver began ends the feed without it, also for listeners added after', async () => {
    let began = false;
    const feed = new BasicFeed<number, string>(
      () => {
        began = true;
        return 'done';
      },
      { cancelled },
    );
    feed.cancel();
    const complete = new Promise((resolve) => feed.on('complete', resolve));
    expect(await complete).toBe('cancelled');
    expect(await feed).toBe('cancelled');
    expect(began).toBe(false);
  });

  it('in a listener stops at that item, whatever the driver still pushes', async () => {
    const heard: number[] = [];
    const feed = new BasicFeed<number, string>(
      (controller) => {
        for (let n = 1; n <= 11; n++) controller.push(n);
        return 'done';
      },
      { cancelled },
    );
    feed.on('change', (n) => {
      heard.push(n);
      if (n === 5) feed.cancel();
    });
    expect(await feed).toBe('cancelled');
    expect(heard).toEqual([1, 2, 3, 4, 5]);
  });

  it('ends a waiting iteration, aborts the controller, mutes other events, and works twice', async () => {
    const { driver, controller } = held();
    const feed = new BasicFeed(driver, { cancelled });
    let paused = 0;
    feed.on('paused', () => paused++);
    const next = feed[Symbol.asyncIterator]().next();
    const { signal, emit } = await controller;
    expect(signal.aborted).toBe(false);
    feed.cancel();
    feed.cancel();
    emit('paused');
    expect(await next).toEqual({ done: true, value: undefined });
    expect(signal.aborted).toBe(true);
    expect(await feed).toBe('cancelled');
    expect(paused).toBe(0);
  });

  it('does not hear a driver that fails afterwards', async () => {
    const { driver, controller, fail } = held();
    const feed = new BasicFeed(driver, { cancelled });
    await controller;
    feed.cancel();
    fail(new Error('late'));
    expect(await feed).toBe('cancelled');
  });

  it('waits for the driver where there is no result for cancelling', async () => {
    const feed = new BasicFeed<number, string>(
      (controller) =>
        new Promise((resolve) => {
          if (controller.signal.aborted) resolve('wound up');
          controller.signal.addEventListener('abort', () => resolve('wound up'));
        }),
    );
    feed.cancel();
    expect(await feed).toBe('wound up');
  });

  it('leaves nothing to iterate, however long the driver goes on', async () => {
    const { driver, finish } = held();
    const feed = new BasicFeed<number, string>(driver);
    feed.cancel();
    expect(await feed[Symbol.asyncIterator]().next()).toEqual({ value: undefined, done: true });
    finish('wound up');
    expect(await feed).toBe('wound up');
  });

  it('by signal puts one listener on it for any number of feeds, and none when they have ended', async () => {
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    const feeds = Array.from({ length: 20 }, () => new BasicFeed(numbers(1), { signal }));
    expect(added).toHaveBeenCalledTimes(1);
    await Promise.all(feeds);
    expect(removed).toHaveBeenCalledTimes(1);
  });

  it('comes by signal too, also by one that was aborted before', async () => {
    const abort = new AbortController();
    const { driver } = held();
    const feed = new BasicFeed(driver, { cancelled, signal: abort.signal });
    abort.abort(new Error('enough'));
    expect(await feed).toBe('cancelled');
    expect(await new BasicFeed(driver, { cancelled, signal: abort.signal })).toBe('cancelled');
  });
});

describe('a failure', () => {
  const failing = (): BasicFeed<number, string> => new BasicFeed(() => Promise.reject('no'));

  it('is an unhandled rejection when nobody listens', async () => {
    expect(await unhandledBy(() => void failing())).toEqual(['no']);
  });

  it('is none when there are listeners, of whatever event', async () => {
    expect(await unhandledBy(() => void failing().on('error', () => {}))).toEqual([]);
    expect(await unhandledBy(() => void failing().on('change', () => {}))).toEqual([]);
    expect(await unhandledBy(() => void failing().catch(() => {}))).toEqual([]);
  });

  it('is one for a promise that somebody made of it and left', async () => {
    expect(await unhandledBy(() => void failing().then(() => {}))).toEqual(['no']);
  });
});
