import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sleep } from '../../packages/core/src/database/sleep';
import { BackOff, defaultBackOff, LONGEST_DELAY_MS } from '../../packages/replication/src/backoff';

describe('the default back-off', () => {
  it('grows from a moment to ten minutes and no further', () => {
    const next = defaultBackOff();
    let delay = 0;
    for (let i = 0; i < 60; i++) {
      const longer = next(delay);
      expect(longer).toBeGreaterThan(0);
      expect(longer).toBeLessThanOrEqual(LONGEST_DELAY_MS);
      expect(longer).toBeGreaterThan(Math.min(delay, LONGEST_DELAY_MS * 0.7));
      delay = longer;
    }
    expect(delay).toBeGreaterThan(LONGEST_DELAY_MS * 0.7);
  });

  it('is spread, so that clients do not come back together', () => {
    expect(defaultBackOff(() => 0)(10_000)).toBe(15_000);
    expect(defaultBackOff(() => 1)(10_000)).toBe(20_000);
  });
});

describe('waiting', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
  const never = new AbortController().signal;

  /** @returns how many ms pass until the wait ends */
  async function lasts(wait: Promise<void>): Promise<number> {
    let ended = false;
    const start = Date.now();
    void wait.then(() => {
      ended = true;
    });
    while (!ended) await vi.advanceTimersToNextTimerAsync();
    return Date.now() - start;
  }

  it('hands the last delay to the function, and 0 after progress', async () => {
    const asked: number[] = [];
    const backOff = new BackOff((delay) => {
      asked.push(delay);
      return delay + 100;
    });
    expect(await lasts(backOff.wait(undefined, never))).toBe(100);
    expect(await lasts(backOff.wait(undefined, never))).toBe(200);
    backOff.reset();
    expect(await lasts(backOff.wait(undefined, never))).toBe(100);
    expect(asked).toEqual([0, 100, 0]);
  });

  it('is a first one again after a live feed that held, and no sooner', async () => {
    const asked: number[] = [];
    const backOff = new BackOff((delay) => {
      asked.push(delay);
      return delay + 100;
    });
    for (const held of [0, 7_000, 9_000, 7_000]) {
      backOff.caughtUp();
      await vi.advanceTimersByTimeAsync(held / 2);
      // More changes came.
      backOff.caughtUp();
      await vi.advanceTimersByTimeAsync(held / 2);
      await lasts(backOff.wait(undefined, never));
    }
    // What an earlier feed did does not count for an attempt that came to none.
    await vi.advanceTimersByTimeAsync(9_000);
    await lasts(backOff.wait(undefined, never));
    expect(asked).toEqual([0, 100, 0, 100, 200]);
  });

  it('is the usual one where the function gives no time, and never more than ten minutes', async () => {
    for (const odd of [Number.NaN, -1, '5', '', undefined, null, {}, true, Promise.resolve(5), 10n]) {
      const backOff = new BackOff((() => odd) as never);
      for (const least of [370, 560, 840])
        expect(await lasts(backOff.wait(undefined, never)), String(odd)).toBeGreaterThan(least);
    }
    const most = [Number.POSITIVE_INFINITY, 1e20, 2 ** 31];
    for (const long of most)
      expect(await lasts(new BackOff(() => long).wait(undefined, never))).toBe(LONGEST_DELAY_MS);
    for (const short of [0, 0.5, 1.5])
      expect(await lasts(new BackOff(() => short).wait(undefined, never))).toBeLessThan(3);
  });

  const unreachable = { status: 503, name: 'unreachable' };

  it('by default finds whoever comes back within 10 s, however long nobody answered', async () => {
    const backOff = new BackOff();
    const waits: number[] = [];
    for (let i = 0; i < 200; i++)
      waits.push(await lasts(backOff.wait(i % 2 ? unreachable : new Error('lost'), never)));
    expect(waits[0]).toBeLessThanOrEqual(500);
    expect(Math.max(...waits)).toBeLessThanOrEqual(8_000);
    expect(Math.min(...waits.slice(10))).toBeGreaterThanOrEqual(6_000);
  });

  it('asks a server that keeps answering with errors more rarely, after minutes of patience', async () => {
    const backOff = new BackOff();
    const broken = { status: 500, name: 'internal_server_error' };
    let waited = 0;
    for (let i = 0; i < 40; i++) {
      const wait = await lasts(backOff.wait(broken, never));
      expect(wait).toBeLessThanOrEqual(8_000);
      waited += wait;
    }
    expect(waited).toBeGreaterThan(4 * 60_000);
    for (let i = 0; i < 20; i++) waited = await lasts(backOff.wait(broken, never));
    expect(waited).toBeGreaterThan(LONGEST_DELAY_MS * 0.7);
    expect(waited).toBeLessThanOrEqual(LONGEST_DELAY_MS);
    backOff.reset();
    expect(await lasts(backOff.wait(broken, never))).toBeLessThanOrEqual(500);
  });

  it('takes the longest delay for one without end', async () => {
    const wait = new BackOff(() => Number.POSITIVE_INFINITY).wait(undefined, never);
    expect(await lasts(wait)).toBe(LONGEST_DELAY_MS);
  });

  it('obeys Retry-After, but not for longer than ten minutes', async () => {
    const wait = (error: object): Promise<number> => lasts(new BackOff(() => 100).wait(error, never));
    expect(await wait({ retryAfter: 7 })).toBe(7000);
    expect(await wait({ retryAfterMs: 7000 })).toBe(7000);
    expect(await wait({ retryAfterMs: 5 })).toBe(100);
    expect(await wait({ retryAfter: 1e9 })).toBe(LONGEST_DELAY_MS);
  });

  it('ends at once when aborted, before and during', async () => {
    await sleep(1000, AbortSignal.abort());
    const abort = new AbortController();
    const waiting = sleep(1000, abort.signal);
    abort.abort();
    await waiting;
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is woken when the browser is online again or the page visible again, and then listens no more', async () => {
    const realm = new EventTarget();
    const page = Object.assign(new EventTarget(), { visibilityState: 'hidden' });
    let listeners = 0;
    for (const target of [realm, page]) {
      const { addEventListener: add, removeEventListener: remove } = target;
      target.addEventListener = (...args: Parameters<typeof add>) => {
        listeners++;
        add.apply(target, args);
      };
      target.removeEventListener = (...args: Parameters<typeof add>) => {
        listeners--;
        remove.apply(target, args);
      };
    }
    vi.stubGlobal('addEventListener', realm.addEventListener);
    vi.stubGlobal('removeEventListener', realm.removeEventListener);
    vi.stubGlobal('document', page);

    const first = sleep(1000, never, { wakes: true });
    expect(listeners).toBe(2);
    realm.dispatchEvent(new Event('online'));
    await first;
    expect(listeners).toBe(0);

    let ended = false;
    const second = sleep(1000, never, { wakes: true }).then(() => {
      ended = true;
    });
    page.dispatchEvent(new Event('visibilitychange'));
    await Promise.resolve();
    expect(ended).toBe(false);
    page.visibilityState = 'visible';
    page.dispatchEvent(new Event('visibilitychange'));
    await second;
    expect([listeners, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it('is not woken from what the server asked for', async () => {
    const realm = new EventTarget();
    vi.stubGlobal('addEventListener', realm.addEventListener.bind(realm));
    vi.stubGlobal('removeEventListener', realm.removeEventListener.bind(realm));
    const waiting = lasts(new BackOff(() => 0).wait({ retryAfterMs: 500 }, never));
    realm.dispatchEvent(new Event('online'));
    expect(await waiting).toBe(500);
  });
});
