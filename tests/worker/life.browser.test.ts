/** Who is taken for gone, by a lock that is held, released, or seen by nobody. */
import { describe, expect, it, vi } from 'vitest';
import { hold, whenGone } from '../../packages/worker/src/life';

describe('a context', () => {
  it('is gone when its lock is released, and not before', async () => {
    const held = hold('life 1');
    await held.name;
    const gone = vi.fn();
    whenGone('life 1', gone);
    const stopped = vi.fn();
    whenGone('life 1', stopped)();
    await turnOfLocks();
    expect(gone).not.toHaveBeenCalled();
    held.release();
    await vi.waitFor(() => expect(gone).toHaveBeenCalledOnce());
    await turnOfLocks();
    expect(stopped).not.toHaveBeenCalled();
  });

  it('whose lock is not to be seen is not taken for gone, but when its port ends, where a browser says so', async () => {
    const { port1, port2 } = new MessageChannel();
    const gone = vi.fn();
    whenGone('life 2', gone, port1);
    await turnOfLocks();
    expect(gone).not.toHaveBeenCalled();
    port1.start();
    port2.close();
    if ('onclose' in MessagePort.prototype) await vi.waitFor(() => expect(gone).toHaveBeenCalledOnce());
  });
});

/** Whatever was asked of the locks before has been answered. */
const turnOfLocks = async (): Promise<void> => {
  for (let n = 0; n < 3; n++) await navigator.locks.request('life turn', () => {});
};
