/** What a test leaves that takes too long, so that it is given up while its browser runs, or whose browser ends by itself: nothing. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { type Engine, kill, list, Profile } from './browser';

const engine = process.env.ENGINE as Engine;
vi.setConfig({ testTimeout: 300_000 });
const PATIENCE = { timeout: 180_000, interval: 20 };

it.each(['runs', 'has ended'])(`a profile of ${engine} is removed where its browser %s`, async (state) => {
  const profile = await Profile.make(engine);
  onTestFinished(() => profile.remove());
  const browser = profile.start(['about:blank']);
  await vi.waitFor(() => expect(browser.family.length).toBeGreaterThan(2), PATIENCE);
  const pids = browser.family.map(({ pid }) => pid);
  if (state === 'has ended') {
    for (const pid of pids) kill(pid);
    await vi.waitFor(() => expect(running(pids)).toEqual([]), PATIENCE);
    await browser.kill('main');
  }
  await profile.remove();
  expect(running(pids)).toEqual([]);
  expect(() => profile.start([])).toThrow('the test is over');
});

const running = (pids: readonly number[]) => list().filter(({ pid }) => pids.includes(pid));
