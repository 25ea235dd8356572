/** Locks that a browser refuses though nothing is wrong. */
import { describe, expect, it } from 'vitest';
import { acquire } from '../../adapters/indexeddb/src/lock';
import { requestLock } from '../../packages/worker/src/locks';

const ROUNDS = 20;

describe('a lock', () => {
  it('is had by a page that calls window.open meanwhile', async () => {
    const refused: unknown[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const name = `window ${round}`;
      const bare = navigator.locks.request(name, () => 'given').catch((error) => refused.push(error));
      const asked = requestLock(navigator.locks, name, {}, async () => 'given');
      const held = acquire(navigator.locks, `held ${round}`, {});
      const opened = window.open('about:blank', '_blank', 'popup');
      expect(opened).not.toBeNull();
      expect(await asked).toBe('given');
      await bare;
      await (await held)!.release();
      opened!.close();
    }
    // Should that come of all browsers, `isLockFault` is of no more use.
    if (refused.length === 0) console.info('This browser refused no lock while windows were opened');
  });

  it('that is refused for a reason is not asked for again', async () => {
    const asked: string[] = [];
    const refusing = (error: unknown, calls = false): LockManager =>
      ({
        request: async (name: string, _: LockOptions, granted: (lock: Lock | null) => unknown) => {
          asked.push(name);
          if (calls) await granted(null);
          throw error;
        },
      }) as never;
    const of = async (name: string, locks: LockManager, options: LockOptions = {}): Promise<unknown> => {
      await expect(requestLock(locks, name, options, () => {})).rejects.toBeDefined();
      return asked.splice(0).length;
    };
    expect(await of('gone', refusing(new DOMException('gone', 'InvalidStateError')))).toBe(1);
    expect(await of('work', refusing(new Error('of the work'), true))).toBe(1);
    expect(await of('signal', refusing(new Error('mine')), { signal: AbortSignal.abort() })).toBe(1);
    expect(await of('always', refusing(new Error('no longer runnable')))).toBe(10);
  });
});
