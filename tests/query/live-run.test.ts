/** When a live query is evaluated, with what, and what is made of its failures: behind a feed in name only. */
import { ioError } from '@settledb/core';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type Changed, type ChangeHub, MAX_IDS, RETRY_MS } from '../../packages/query/src/live/hub';
import { LatestIterator } from '../../packages/query/src/live/latest';
import { Run } from '../../packages/query/src/live/run';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());
/** Longer than two evaluations are apart. */
const turn = async (ms = 50): Promise<void> => void (await vi.advanceTimersByTimeAsync(ms));
const ids = (count: number, from = 0): Changed =>
  new Set(Array.from({ length: count }, (_, n) => `${from + n}`));

function running() {
  const heard = { changed: (_: Changed | undefined): void => {} };
  const hub = {
    join: ({ ready, changed }: { ready(): void; changed(ids: Changed | undefined): void }) => {
      heard.changed = changed;
      ready();
      return () => {};
    },
    isPassing: (error: unknown) => (error as Error).message === 'passing',
  };
  const evaluate = vi.fn(async (_: Changed | undefined): Promise<object> => ({}));
  const events = { next: vi.fn(), end: vi.fn() };
  const run = new Run(hub as unknown as ChangeHub, { evaluate }, undefined, events);
  return { run, heard, evaluate, events, asked: () => evaluate.mock.calls.map(([changed]) => changed?.size) };
}

it('is asked everything at first, then what changed, and everything where that is too much to say', async () => {
  const { heard, asked } = running();
  await turn();
  heard.changed(ids(2));
  heard.changed(ids(2, 1));
  await turn();
  heard.changed(ids(MAX_IDS));
  await turn();
  heard.changed(ids(MAX_IDS));
  heard.changed(ids(1, MAX_IDS));
  heard.changed(ids(1));
  await turn();
  expect(asked()).toEqual([undefined, 3, MAX_IDS, undefined]);
});

it('is evaluated once at a time, and again for what changed meanwhile', async () => {
  const { heard, evaluate, events, asked } = running();
  let done = (_: object): void => {};
  const slow = new Promise<object>((resolve) => {
    done = resolve;
  });
  evaluate.mockReturnValueOnce(slow);
  await turn();
  heard.changed(ids(3));
  await turn(1_000);
  expect(asked()).toEqual([undefined]);
  done({});
  await turn(2_000);
  expect(asked()).toEqual([undefined, 3]);
  expect(events.next).toHaveBeenCalledTimes(2);
});

it('tells nobody anything after it was stopped, and is not evaluated any more', async () => {
  const early = running();
  early.run.stop();
  await turn();
  expect(early.asked()).toEqual([]);
  const { run, evaluate, events } = running();
  evaluate.mockImplementationOnce(async () => {
    run.stop();
    return {};
  });
  await turn();
  expect(events.next).not.toHaveBeenCalled();
  expect(events.end).not.toHaveBeenCalled();
});

it('is asked everything anew after a failure that will pass, and ends with any other', async () => {
  const { heard, evaluate, events, asked } = running();
  await turn();
  evaluate.mockRejectedValueOnce(new Error('passing'));
  heard.changed(ids(1));
  await turn(RETRY_MS / 2);
  expect(asked()).toEqual([undefined, 1]);
  await turn(RETRY_MS);
  expect(asked()).toEqual([undefined, 1, undefined]);
  expect(events.end).not.toHaveBeenCalled();
  const error = new Error('for good');
  evaluate.mockRejectedValueOnce(error);
  heard.changed(ids(1));
  await turn();
  expect(events.end.mock.calls).toEqual([[{ error }]]);
});

it('is asked again for half a minute while the storage cannot be read, unless there is no result yet', async () => {
  const io = ioError('the storage process is gone');
  const seconds = [1, 2, 4, 8, 16];
  const { heard, evaluate, events } = running();
  await turn();
  for (const isBack of [true, false]) {
    evaluate.mockClear();
    for (let n = isBack ? 1 : 0; n <= seconds.length; n++) evaluate.mockRejectedValueOnce(io);
    heard.changed(ids(1));
    await turn();
    for (const [before, each] of seconds.entries()) {
      expect(evaluate).toHaveBeenCalledTimes(before + 1);
      await turn(each * 1_000);
    }
    expect(evaluate).toHaveBeenCalledTimes(seconds.length + 1);
    expect(evaluate).toHaveBeenLastCalledWith(undefined, expect.anything()); // everything
    expect(events.end.mock.calls).toEqual(isBack ? [] : [[{ error: io }]]);
  }
  const none = running();
  none.evaluate.mockRejectedValueOnce(io);
  await turn();
  expect(none.events.end.mock.calls).toEqual([[{ error: io }]]);
});

it('an iteration throws what the query failed with once, to whoever waits or comes next, and is over then', async () => {
  const error = new Error('failed');
  for (const isWaiting of [true, false]) {
    let fail = (_: unknown): void => {};
    const iterator = new LatestIterator<number>((observer) => {
      fail = observer.error.bind(observer);
      return () => {};
    });
    const waiting = isWaiting ? [iterator.next(), iterator.next()] : [];
    fail(error);
    const [first, second] = isWaiting ? waiting : [iterator.next(), iterator.next()];
    await expect(first).rejects.toBe(error);
    expect(await second).toEqual({ value: undefined, done: true });
    expect(await iterator.next()).toEqual({ value: undefined, done: true });
  }
});
