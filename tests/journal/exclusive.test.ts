/** What one context at a time may do, and a channel that is closed while its page is put away. */
import { afterEach, expect, it, vi } from 'vitest';
import { Channel } from '../../adapters/indexeddb/src/channel';
import { runExclusively } from '../../adapters/indexeddb/src/turn';

afterEach(() => vi.unstubAllGlobals());

it('is done by one where there are no locks, and by the next after it', async () => {
  vi.stubGlobal('navigator', undefined);
  let other: Promise<boolean> | undefined;
  const work = vi.fn(async () => {
    other ??= runExclusively('a', work);
    expect(await other).toBe(false);
  });
  expect(await runExclusively('a', work)).toBe(true);
  expect(work).toHaveBeenCalledTimes(1);
  expect(await runExclusively('a', work)).toBe(true);
  const failing = runExclusively('a', () => Promise.reject(new Error('not now')));
  await expect(failing).rejects.toThrow('not now');
  expect(await runExclusively('a', work)).toBe(true);
});

it('a channel that was closed while it slept does not wake', () => {
  const made = vi.fn();
  class Watched {
    constructor(name: string) {
      made(name);
    }
    addEventListener(): void {}
    removeEventListener(): void {}
    close(): void {}
  }
  vi.stubGlobal('BroadcastChannel', Watched);
  const channel = new Channel('a');
  channel.sleep();
  channel.wake();
  channel.sleep();
  channel.close();
  channel.wake();
  expect(made.mock.calls).toEqual([['settledb:a'], ['settledb:a']]);
});
