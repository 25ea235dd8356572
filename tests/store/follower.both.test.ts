/** What memory could not take in, it lags behind with, until it could. */
import { expect, it } from 'vitest';
import { Follower } from '../../packages/engine/src/follower';

it('is not current from an answer that could not be taken in until the next one that could', async () => {
  let broken = false;
  const image = {
    position: {},
    isAt: () => true,
    absorb() {
      if (broken) throw new RangeError('Invalid string length');
    },
  };
  const journal = { alone: () => true, read: async () => ({}) };
  const follower = new Follower(journal as never, image as never, () => {});
  expect(follower.current()).toBe(true);
  broken = true;
  await expect(follower.catchUp()).rejects.toThrow('Invalid string length');
  expect(follower.current()).toBe(false);
  broken = false;
  await follower.catchUp();
  expect(follower.current()).toBe(true);
});
