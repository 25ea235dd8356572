/** A page whose workers end as soon as they have begun. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { connect } from '../../packages/settledb/src/worker';
import { PATIENCE_MS } from '../support/timeouts';

it('makes a few, if nobody asks anything, and the next one when somebody does', async () => {
  let made = 0;
  const SettleDB = connect(() => {
    made++;
    return new Worker(new URL('./brief-worker.ts', import.meta.url), { type: 'module' });
  });
  onTestFinished(() => SettleDB.disconnect());
  const db = new SettleDB<{ _id: string }>(`brief ${Math.random()}`);
  /** Until no worker was made for a second. By the clock the last of them would come seconds later. */
  const rest = async (): Promise<void> => {
    for (let seen = made, since = performance.now(); performance.now() - since < 1_000; ) {
      dispatchEvent(new Event('online'));
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (made > 40) throw new Error('one after the other without end');
      if (made > seen) [seen, since] = [made, performance.now()];
    }
  };
  // Each takes longer than that to begin where other programs run.
  await vi.waitFor(() => {
    dispatchEvent(new Event('online'));
    expect(made).toBeGreaterThan(2);
  }, PATIENCE_MS);
  await rest();
  const before = made;
  const asked = db.info().catch((error) => error); // on a slow machine none of them lives long enough to answer
  await rest();
  await asked;
  expect(made).toBeGreaterThan(before);
});
