/** What of the way between a page and its worker has a bound: what goes in one message, and how often something is tried. */
import { describe, expect, it } from 'vitest';
import { Call } from '../../packages/worker/src/call';
import { FeedPump } from '../../packages/worker/src/feed-pump';
import { Outbox } from '../../packages/worker/src/outbox';
import type { FeedLike } from '../../packages/worker/src/verbs';
import type { HostOp } from '../../packages/worker/src/wire';

describe('operations that go out', () => {
  /** @returns how many went in each message */
  async function sent(fill: (outbox: Outbox<number>) => void, goes = (): void => {}): Promise<number[]> {
    const lengths: number[] = [];
    const outbox = new Outbox<number>((ops) => {
      lengths.push(ops.length);
      goes();
    }, 8);
    fill(outbox);
    await expect.poll(() => lengths.reduce((sum, length) => sum + length, 0)).toBe(5_000);
    return lengths;
  }

  it('are at most two thousand in a message, and between two of them other tasks have their turn', async () => {
    const tasks: number[] = [];
    let task = 0;
    const timer = setInterval(() => task++);
    const lengths = await sent(
      (outbox) => {
        for (let n = 0; n < 5_000; n++) outbox.add(n);
      },
      () => void tasks.push(task),
    );
    clearInterval(timer);
    expect(lengths).toEqual([2_000, 2_000, 1_000]);
    expect(new Set(tasks).size).toBe(3);
  });

  it('are at most so many also where they are sent at once, or some are made later', async () => {
    const lengths = await sent((outbox) => {
      for (let n = 0; n < 4_999; n++) outbox.add(n);
      outbox.add(() => 5_000);
      outbox.flush();
    });
    expect(lengths).toEqual([2_000, 2_000, 999, 1]);
  });

  it('go although more are added all the while', async () => {
    let isOver = false;
    const outbox = new Outbox<number>(() => {
      isOver = true;
    }, 8);
    for (let turns = 0; !isOver && turns < 10_000; turns++) {
      outbox.add(turns);
      await undefined;
    }
    expect(isOver).toBe(true);
  });
});

it('the items of a feed that has many at hand go in messages of at most five hundred', async () => {
  const ops: HostOp[] = [];
  const pump = new FeedPump(1, 2_000, (op) => ops.push(op));
  const feed = {
    async *[Symbol.asyncIterator]() {
      for (let n = 0; n < 1_200; n++) yield n;
    },
    then: (done: (end: object) => void) => done({}),
    on: () => {},
    cancel: () => {},
  } as unknown as FeedLike;
  await pump.run(() => feed);
  const items = ops.flatMap((op) => (op[0] === 'items' ? [op[2] as unknown[]] : []));
  expect(items.flat()).toEqual(Array.from({ length: 1_200 }, (_, n) => n));
  expect(Math.max(...items.map(({ length }) => length))).toBeLessThanOrEqual(500);
});

it('a call that reads is sent to five further hosts, and then refused with what the last was lost by', () => {
  let sent = 0;
  const errors: unknown[] = [];
  const encoded = { args: [], signals: [] } as never;
  const call = new Call(
    1,
    'get',
    encoded,
    () => {},
    (error) => errors.push(error),
    () => sent++,
  );
  for (let host = 1; host <= 6; host++) call.lost(`lost ${host}`, true);
  expect([sent, errors]).toEqual([5, ['lost 6']]);
});
