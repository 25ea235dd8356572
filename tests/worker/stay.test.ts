/** Service workers, which browsers stop when they seem to have nothing to do: see `targets.ts`. */

import { expect, it, onTestFinished, vi } from 'vitest';
import { connect } from '../../packages/settledb/src/connect';
import { hostAndPage, withVerb } from './support';

it.each([
  'container',
  'registration',
])('a service worker is told to stay while it owes an answer, though it does not control the page: by its %s', async (how) => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  let answer = (_: object): void => {};
  const asked = vi.fn(() => new Promise((resolve) => (answer = resolve)));
  const { host } = hostAndPage({}, {}, withVerb('get', asked));
  const { port1, port2 } = new MessageChannel();
  const stays: unknown[] = [];
  port1.addEventListener('message', (event) => {
    if (event.data.settledb === 'stay') stays.push(event.data);
    host.accept(event as MessageEvent);
  });
  port1.start();
  const registration = { active: port2 };
  const target =
    how === 'container' ? { controller: null, ready: Promise.resolve(registration) } : registration;
  const Hosted = connect(target as never, { adapters: ['memory'] });
  onTestFinished(() => {
    Hosted.disconnect();
    port1.close();
  });
  const asking = new Hosted('notes').get('a');
  await vi.waitFor(() => expect(asked).toHaveBeenCalled());
  for (const count of [1, 2, 3]) {
    vi.advanceTimersByTime(5_000);
    await vi.waitFor(() => expect(stays).toHaveLength(count));
  }
  answer({ _id: 'a' });
  expect(await asking).toEqual({ _id: 'a' });
  vi.advanceTimersByTime(60_000);
  await new Promise((resolve) => setTimeout(resolve));
  expect(stays).toHaveLength(3);
});
