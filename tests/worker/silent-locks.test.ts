/** A lock manager that answers nothing, or shows nobody: no call waits for ever. In Node, since WebKit lets nobody replace its own. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { Hosts } from './hosts';
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

it('a page that is prerendered is given no lock and no worker before somebody looks at it: its calls and feeds wait', async () => {
  const { Hosted } = hostAndPage();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const page = { prerendering: true };
  vi.stubGlobal('document', page);
  let activate = (): void => {};
  const activated = new Promise<void>((resolve) => {
    activate = resolve;
  });
  const request = async (name: string, _: LockOptions, granted: (lock: object) => unknown) => {
    await activated;
    await granted({ name });
  };
  vi.stubGlobal('navigator', { locks: { request } });
  onTestFinished(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });
  const db = new Hosted('notes');
  const writing = db.put({ _id: 'a' });
  const feed = db.changes({ live: true });
  const heard = new Promise((resolve, reject) => {
    feed.on('change', ({ id }) => resolve(id));
    feed.on('error', reject);
  });
  await new Promise((resolve) => setTimeout(resolve)); // all that waits has begun to
  vi.advanceTimersByTime(60_000);
  page.prerendering = false;
  activate();
  expect(await writing).toMatchObject({ ok: true });
  expect(await heard).toBe('a');
});

it('a worker that holds no lock, as far as its page can see, is given up after ten seconds without an answer', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const now = performance.now.bind(performance);
  let ahead = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
  const request = async (
    name: string,
    how: LockOptions,
    granted: (lock: object) => unknown,
  ): Promise<void> => {
    await undefined;
    await granted({ name, ...how });
  };
  vi.stubGlobal('navigator', { locks: { request } });
  onTestFinished(() => {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
    vi.useRealTimers();
  });
  const hosts = new Hosts(true);
  hosts.lock = 'of the worker';
  // A dedicated one, which its page ends.
  const Hosted = hosts.connect((worker) => () => Object.assign(worker(), { terminate: () => {} }) as never);
  const db = new Hosted('notes');
  await db.get('a');
  hosts.silent.add(0);
  const asked = db.get('b');
  for (; ahead < 15_000; ahead += 2_500) {
    vi.advanceTimersByTime(2_500);
    await new Promise((resolve) => setTimeout(resolve));
  }
  expect(await asked).toMatchObject({ host: 1 });
});
