/** Workers that elect one of them, one of which has lost its channel to the others: the browser has ended it without a word. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { Election } from '../../packages/worker/src/election';
import { hold } from '../../packages/worker/src/life';
import { PROTOCOL } from '../../packages/worker/src/wire';
import { endChannels, mortalChannels } from '../support/mortal-channels';

const PAGE = { protocol: PROTOCOL, lock: undefined };

function worker(scope: string, host: string) {
  const deposed = vi.fn();
  const election = Election.begin(scope, host, { link: async () => {}, deposed })!;
  onTestFinished(() => election.resign());
  return { election, deposed };
}

it('an owner that is not heard is overruled once, and its pages go to the next one', async () => {
  const scope = crypto.randomUUID();
  mortalChannels();
  const first = worker(scope, 'first');
  expect(await first.election.seat(PAGE)).toBeUndefined();
  await endChannels();
  const second = worker(scope, 'second');
  expect(await second.election.seat(PAGE)).toBeUndefined();
  await vi.waitFor(() => expect(first.deposed).toHaveBeenCalledTimes(1));
  expect(await first.election.seat(PAGE)).toMatchObject({ host: 'second' });
  expect(second.deposed).not.toHaveBeenCalled();
});

it('an owner that keeps files is not overruled, and heard again when it has looked', async () => {
  const scope = crypto.randomUUID();
  const files = hold(`settledb:opfs:${scope}`);
  onTestFinished(files.release);
  await files.name;
  mortalChannels();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const first = worker(scope, 'first');
  expect(await first.election.seat(PAGE)).toBeUndefined();
  await endChannels();
  vi.advanceTimersByTime(20_000);
  vi.useRealTimers();
  const second = worker(scope, 'second');
  expect(await second.election.seat(PAGE)).toMatchObject({ host: 'first' });
  expect(first.deposed).not.toHaveBeenCalled();
});

it('looks no more when it is the owner no longer', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { election, deposed } = worker(crypto.randomUUID(), 'first');
  expect(await election.seat(PAGE)).toBeUndefined();
  expect(vi.getTimerCount()).toBe(1);
  election.resign();
  await vi.waitFor(() => expect(deposed).toHaveBeenCalled());
  expect(vi.getTimerCount()).toBe(0);
});
