/** A worker that takes the place of an owner that does not answer, where the browser takes its time to give it the lock. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { Election } from '../../packages/worker/src/election';

/** Longer than it asks twice for the owner. */
const SLOW_MS = 1_500;

it('asks for that place once, and is not deposed by itself', async () => {
  let steals = 0;
  const request = async (_name: string, how: LockOptions, term: () => unknown): Promise<unknown> => {
    if (how.steal !== true) return new Promise(() => {});
    steals++;
    await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
    return term();
  };
  vi.stubGlobal('navigator', { locks: { request, query: async () => ({}) } });
  onTestFinished(() => void vi.unstubAllGlobals());
  const deposed = vi.fn();
  const election = Election.begin(`slow ${Math.random()}`, 'mine', { link: async () => {}, deposed })!;
  onTestFinished(() => election.resign());
  expect(await election.seat({ protocol: 1, lock: undefined })).toBeUndefined();
  expect(steals).toBe(1);
  expect(deposed).not.toHaveBeenCalled();
});
