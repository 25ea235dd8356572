/** The one feed behind all live results of a handle: whom it tells what, and when it is open. Over a source in name only. */
import { ioError } from '@settledb/core';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ChangeHub, MAX_IDS, RETRY_MS } from '../../packages/query/src/live/hub';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());
const turn = async (ms = 0): Promise<void> => void (await vi.advanceTimersByTimeAsync(ms));

/** Tells what the test tells it. */
class Feed implements PromiseLike<unknown> {
  isOpen = true;
  tell: (change: { readonly id: string }) => void = () => {};
  fail!: (error: unknown) => void;
  readonly #outcome = new Promise((_, reject) => {
    this.fail = reject;
  });
  readonly then = this.#outcome.then.bind(this.#outcome) as PromiseLike<unknown>['then'];
  on(_: string, tell: Feed['tell']): void {
    this.tell = tell;
  }
  cancel(): void {
    this.isOpen = false;
  }
}

function hub() {
  const feeds: Feed[] = [];
  const source = { info: vi.fn(async () => ({ update_seq: 0, purge_seq: 0 })), feeds };
  const changes = () => {
    const feed = new Feed();
    feeds.push(feed);
    return feed;
  };
  const watching = { commit: (): void => {}, isOn: false };
  const watch = (hear: () => void) => {
    Object.assign(watching, { commit: hear, isOn: true });
    return () => {
      watching.isOn = false;
    };
  };
  const isPassing = (error: unknown) => (error as Error).message === 'passing';
  return {
    hub: new ChangeHub({ info: source.info, changes } as never, watch, isPassing),
    source,
    feeds,
    watching,
  };
}

const listener = (waits = false) => ({ ready: vi.fn(), changed: vi.fn(), end: vi.fn(), waits: () => waits });
const passing = () => Object.assign(new Error('passing'));

it('one that leaves takes nothing from the others, the last one closes the feed', async () => {
  const { hub: all, feeds, watching } = hub();
  const [one, other] = [listener(), listener()];
  const leave = [one, other].map((each) => all.join(each));
  await turn();
  leave[0]!();
  leave[0]!();
  feeds[0]!.tell({ id: 'a' });
  await turn();
  expect(one.changed).not.toHaveBeenCalled();
  expect(other.changed).toHaveBeenCalledWith(new Set(['a']));
  expect([feeds[0]!.isOpen, watching.isOn]).toEqual([true, true]);
  leave[1]!();
  expect([feeds[0]!.isOpen, watching.isOn, feeds.length]).toEqual([false, false, 1]);
});

it('one that comes to an open feed is told so, unless it has left by then', async () => {
  const { hub: all, feeds } = hub();
  all.join(listener());
  await turn();
  const [stays, leaves] = [listener(), listener()];
  all.join(stays);
  all.join(leaves)();
  await turn();
  expect(stays.ready).toHaveBeenCalledTimes(1);
  expect(leaves.ready).not.toHaveBeenCalled();
  expect(feeds).toHaveLength(1);
});

it('a feed that nobody waits for any more is not opened, nor does its failure concern who came later', async () => {
  const { hub: all, source, feeds } = hub();
  all.join(listener())();
  await turn();
  expect(feeds).toHaveLength(0);
  let fail = (_: unknown): void => {};
  source.info.mockImplementationOnce(() => new Promise((_, reject) => (fail = reject)));
  all.join(listener())();
  const later = listener();
  all.join(later);
  await turn();
  fail(ioError('of before'));
  await turn();
  expect(later.end).not.toHaveBeenCalled();
  expect([later.ready.mock.calls.length, feeds.length]).toEqual([1, 1]);
});

it('what a feed fails with after it was left does not concern who came later', async () => {
  const { hub: all, feeds } = hub();
  const leave = all.join(listener());
  await turn();
  leave();
  const later = listener();
  all.join(later);
  await turn();
  feeds[0]!.fail(ioError('of before'));
  await turn();
  expect(later.end).not.toHaveBeenCalled();
  expect(feeds[1]!.isOpen).toBe(true);
});

it('as many ids as are kept are told, and of more that everything may have changed', async () => {
  const { hub: all, feeds } = hub();
  const hears = listener();
  all.join(hears);
  await turn();
  for (const count of [MAX_IDS, MAX_IDS + 1, 2]) {
    for (let n = 0; n < count; n++) feeds[0]!.tell({ id: `${n}` });
    await turn();
  }
  expect(hears.changed.mock.calls.map(([ids]) => ids?.size)).toEqual([MAX_IDS, undefined, 2]);
});

it('a commit is looked at for purges, which are told to all, until nobody is left', async () => {
  const { hub: all, source, watching } = hub();
  const hears = listener();
  const leave = all.join(hears);
  await turn();
  watching.commit();
  await turn();
  expect(hears.changed).not.toHaveBeenCalled();
  source.info.mockRejectedValueOnce(ioError('closed meanwhile'));
  watching.commit();
  await turn();
  source.info.mockResolvedValue({ update_seq: 0, purge_seq: 1 });
  watching.commit();
  await turn();
  expect(hears.changed.mock.calls).toEqual([[undefined]]);
  leave();
  expect(watching.isOn).toBe(false);
});

it('after a failure that will pass, who waits is told when a feed is open again, and who does not, of the failure', async () => {
  const { hub: all, feeds } = hub();
  const [waits, not] = [listener(true), listener()];
  for (const each of [waits, not]) all.join(each);
  await turn();
  const error = passing();
  feeds[0]!.fail(error);
  await turn();
  expect(not.end).toHaveBeenCalledWith({ error });
  expect([waits.end.mock.calls.length, feeds[0]!.isOpen, feeds.length]).toEqual([0, false, 1]);
  await turn(RETRY_MS);
  expect([waits.ready.mock.calls.length, feeds.length]).toEqual([2, 2]);
});

it('when who waited has left, no feed is opened, and no timer is left', async () => {
  const { hub: all, feeds } = hub();
  const leave = all.join(listener(true));
  await turn();
  feeds[0]!.fail(passing());
  await turn();
  leave();
  expect(vi.getTimerCount()).toBe(0);
  await turn(2 * RETRY_MS);
  expect(feeds).toHaveLength(1);
});
