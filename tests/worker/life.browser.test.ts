/** Who is taken for gone, by a lock that is held, released, or seen by nobody. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { hold, whenGone, whenReleased } from '../../packages/worker/src/life';
import { onPutAway } from '../../packages/worker/src/page-life';

describe('a context', () => {
  it('is gone when its lock is released, and not before', async () => {
    const held = hold('life 1');
    await held.name;
    const [gone, seen, stopped] = [vi.fn(), vi.fn(), vi.fn()];
    whenGone('life 1', gone, port(), seen);
    whenGone('life 1', stopped, port())();
    const stop = whenGone('life 1', stopped, port());
    await turnOfLocks();
    stop();
    expect(gone).not.toHaveBeenCalled();
    expect(seen.mock.calls).toEqual([[true]]);
    held.release();
    await vi.waitFor(() => expect(gone).toHaveBeenCalledOnce());
    await turnOfLocks();
    expect(stopped).not.toHaveBeenCalled();
    const released = vi.fn();
    whenReleased('life 1', released);
    await vi.waitFor(() => expect(released).toHaveBeenCalledOnce());
  });

  it('whose lock is not to be seen is not taken for gone, but when its port ends, where a browser says so', async () => {
    const { port1, port2 } = new MessageChannel();
    const [gone, seen] = [vi.fn(), vi.fn()];
    whenGone('life 2', gone, port1, seen);
    await turnOfLocks();
    expect(gone).not.toHaveBeenCalled();
    expect(seen.mock.calls).toEqual([[false]]);
    port1.start();
    port2.close();
    if ('onclose' in MessagePort.prototype) await vi.waitFor(() => expect(gone).toHaveBeenCalledOnce());
  });
});

describe('a page that is put away', () => {
  it('is told of it once, and once of its return, however many events say so', () => {
    const told: string[] = [];
    const stop = onPutAway(
      () => told.push('away'),
      () => told.push('still'),
      () => told.push('back'),
    );
    // Added later, and yet called before the page stands still.
    const save = (): void => void told.push('program');
    document.addEventListener('freeze', save);
    onTestFinished(() => document.removeEventListener('freeze', save));
    const turn = (type: string): boolean => dispatchEvent(new PageTransitionEvent(type, { persisted: true }));
    const say = (type: string): boolean => document.dispatchEvent(new Event(type));
    // As Chromium does, with the cache; then frozen only; then as Firefox and WebKit do.
    turn('pagehide');
    say('freeze');
    say('resume');
    turn('pageshow');
    expect(told.splice(0)).toEqual(['away', 'program', 'still', 'back']);
    say('freeze');
    say('resume');
    turn('pagehide');
    turn('pageshow');
    // One that is left for good is not put away.
    dispatchEvent(new PageTransitionEvent('pagehide', { persisted: false }));
    stop();
    turn('pagehide');
    say('freeze');
    expect(told).toEqual(['away', 'program', 'still', 'back', 'away', 'back', 'program']);
  });
});

const port = (): MessagePort => new MessageChannel().port1;

/** Whatever was asked of the locks before has been answered. */
const turnOfLocks = async (): Promise<void> => {
  for (let n = 0; n < 3; n++) await navigator.locks.request('life turn', () => {});
};
