/** A page without Web Locks, as one without https, that is left. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { PATIENCE } from './hosts';
import { hostAndPage } from './support';

const hide = (persisted: boolean): boolean =>
  dispatchEvent(new PageTransitionEvent('pagehide', { persisted }));

it('tells its worker, which then serves it no more; one that is kept does not', async () => {
  Object.defineProperty(navigator, 'locks', { value: undefined, configurable: true });
  onTestFinished(() => {
    delete (navigator as { locks?: unknown }).locks;
  });
  const { Hosted, host } = hostAndPage();
  const db = new Hosted('left');
  await db.put({ _id: 'a' });
  hide(true);
  dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
  expect(await db.get('a')).toMatchObject({ _id: 'a' });
  await vi.waitFor(() => expect(host.pages).toBe(1), PATIENCE);
  hide(false);
  await vi.waitFor(() => expect(host.pages).toBe(0), PATIENCE);
});
