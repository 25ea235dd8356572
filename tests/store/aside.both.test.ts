/** A checkpoint lets who writes one document after another, or reads in a loop, go first, and gets done nevertheless. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Aside } from '../../packages/engine/src/aside';
import type { Rewritable } from '../../packages/engine/src/checkpoint';

/** ms of the clock that a call of `whileCalled` takes, while what it looks at changes every ms as `step` says. */
async function waited(aside: Aside, step: (ms: number) => void = () => undefined): Promise<number> {
  const begun = Date.now();
  let isDone = false;
  const done = aside.whileCalled().then(() => {
    isDone = true;
  });
  for (let ms = 0; ms < 5_000; ms++) {
    await vi.advanceTimersByTimeAsync(0);
    if (isDone) break;
    step(ms);
    await vi.advanceTimersByTimeAsync(1);
  }
  await done;
  return Date.now() - begun;
}

describe('standing aside', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const setUp = () => {
    const image = { n: 1, recentRows: 100, recentLength: 10_000 };
    const turn = { over: 0 };
    const store = { image, turn } as unknown as Rewritable;
    const ending = new AbortController();
    return { image, turn, store, ending, aside: new Aside(store, ending.signal) };
  };

  it('looks for some ms whether anybody writes, then no more until somebody has', async () => {
    const { image, aside } = setUp();
    expect(await waited(aside)).toBe(20);
    expect(await waited(aside)).toBe(0);
    image.n++;
    expect(await waited(aside)).toBe(20);
  });

  it('waits until the writing pauses', async () => {
    const { image, aside } = setUp();
    const ms = await waited(aside, (ms) => {
      if (ms < 100) image.n++;
    });
    expect(ms).toBeGreaterThanOrEqual(100);
    expect(ms).toBeLessThanOrEqual(140);
  });

  it('waits until a loop of reads has ended', async () => {
    const { turn, aside } = setUp();
    const ms = await waited(aside, (ms) => {
      if (ms < 100 && ms % 10 === 0) turn.over++;
    });
    expect(ms).toBeGreaterThanOrEqual(90);
    expect(ms).toBeLessThanOrEqual(140);
  });

  it('waits a quarter of a second in all for who writes on', async () => {
    const { image, aside } = setUp();
    let all = 0;
    for (let i = 0; i < 5; i++) all += await waited(aside, () => image.n++);
    expect(all).toBeGreaterThanOrEqual(250);
    expect(all).toBeLessThan(270);
  });

  it('ends when the work is waited for', async () => {
    const { image, ending, aside } = setUp();
    const ms = await waited(aside, (ms) => {
      image.n++;
      if (ms === 45) ending.abort();
    });
    expect(ms).toBe(46); // It is seen in the next one.
    expect(await waited(aside, () => image.n++)).toBe(0);
  });

  it('waits for nobody where much is outside pages, or the work was asked for', async () => {
    const { image, store, ending, aside } = setUp();
    image.recentRows = 40_000;
    expect(await waited(aside, () => image.n++)).toBe(0);
    image.recentRows = 100;
    image.recentLength = 40_000_000; // long keys
    expect(await waited(new Aside(store, ending.signal))).toBe(0);
    expect(await waited(new Aside(store, undefined))).toBe(0);
  });
});
