/** A lock manager that answers nothing: no call waits for ever. In Node, since WebKit lets nobody replace its own. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { hostAndPage, rejection } from './support';

it('a lock that is not granted in time fails the call, and the next one asks for another', async () => {
  const { page } = hostAndPage();
  const Hosted = page({ timeout_ms: 50 });
  let grant = async (): Promise<void> => {};
  const request = (_name: string, _how: LockOptions, granted: typeof grant): Promise<void> => {
    grant = granted;
    return new Promise(() => {});
  };
  vi.stubGlobal('navigator', { locks: { request } });
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  const db = new Hosted('notes');
  expect(await rejection(db.info())).toMatchObject({
    name: 'io',
    reason: expect.stringContaining('lock manager'),
  });
  vi.unstubAllGlobals();
  await grant(); // It is let go at once.
  expect(await db.put({ _id: 'a' })).toMatchObject({ ok: true });
});
